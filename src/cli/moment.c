#include "cli/moment.h"
#include "base/clock.h"
#include "cli/span.h"
#include "net/url.h"

bool moment_add(struct cli *cli, struct buf *path, const char *option)
{
    const char *text = args_text(&cli->args, option, NULL);
    char time[TIME_TEXT_BYTES];
    int64_t time_us = 0;
    if (text == NULL)
        return true;
    if (!span_time_parse(text, cli->term.now_us, &time_us)) {
        (void)cli_usage(cli,
                        "--%s takes a time (2026-07-03T12:00:00Z) or an age (15m, 2h, 7d), not "
                        "\"%s\"",
                        option, text);
        return false;
    }
    url_add_query(path, option, time_format(time, time_us));
    return true;
}
