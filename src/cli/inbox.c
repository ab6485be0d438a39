/*
 * inbox.c - what needs a person, the most urgent first, each with the command that answers it.
 */
#include "core/inbox.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <inttypes.h>
#include <stdio.h>

enum { PATH_BYTES_MAX = 1024 };

static enum tone tone_of(const char *kind)
{
    enum inbox_kind known;
    if (!inbox_kind_parse(kind, &known))
        return TONE_PLAIN;
    return known <= INBOX_TRAIN ? TONE_RED : known <= INBOX_QUESTION ? TONE_YELLOW : TONE_PLAIN;
}

/* "acme/billing: Make it faster: why", or "NAME: why" of what has neither. */
static const char *what_of(struct cli *cli, const struct js *item)
{
    const char *parts[] = {js_get_str(item, "repository", ""), js_get_str(item, "title", ""),
                           js_get_str(item, "reason", js_get_str(item, "detail", ""))};
    const char *text = "";
    if (parts[0][0] == '\0' && parts[1][0] == '\0')
        parts[1] = js_get_str(item, "id", "");
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (parts[i][0] != '\0')
            text = arena_printf(&cli->arena, "%s%s%s", text, text[0] != '\0' ? ": " : "", parts[i]);
    int64_t count = js_get_int(item, "count", 1);
    return count > 1 ? arena_printf(&cli->arena, "%s (%" PRId64 ")", text, count) : text;
}

static void inbox_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"KIND", false, false},        {"SINCE", true, false},    {"BEHIND", true, false},
        {"WHAT AND WHY", false, true}, {"COMMAND", false, false},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    table.below = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *kind = js_get_str(item, "kind", "?");
        int64_t behind = js_get_int(item, "behind", 0);
        table_cell(&table, kind, tone_of(kind));
        table_cell(&table, term_time(&cli->term, js_get_str(item, "since", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, behind > 0 ? arena_printf(&cli->arena, "%" PRId64, behind) : "",
                   TONE_PLAIN);
        table_cell(&table, what_of(cli, item), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "command", js_get_str(item, "show", "")), TONE_BOLD);
    }
    table_print(&table, stdout);
}

static int run_inbox(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/inbox");
    if (args_has(&cli->args, "kind"))
        url_add_query(&path, "kind", args_text(&cli->args, "kind", ""));
    if (args_has(&cli->args, "repo"))
        url_add_query(&path, "repository", args_text(&cli->args, "repo", ""));
    return show_list(cli,
                     &(struct show_list){buf_text(&path), "Nothing needs a person.", inbox_table});
}

static const struct arg_option inbox_options[] = {
    {"kind", "KIND", "only of this kind: approval, question, dead_letters, ...", ARG_CHOICE, 0, 0,
     inbox_kind_names},
    {"repo", "NAME", "only of this repository", ARG_TEXT, 0, 0, NULL},
    {"limit", "N", "at most so many, the most urgent first (default 50)", ARG_INT, 1, CLI_LIMIT_MAX,
     NULL},
    {0},
};

const struct cli_command cli_inbox_commands[] = {
    {"inbox", "list what needs a person, the most urgent first",
     "[--kind KIND] [--repo NAME] [--limit N] [--watch] [--json]", inbox_options,
     "drover inbox --watch", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_inbox},
    {0},
};
