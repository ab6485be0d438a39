#include "api/metrics_text.h"
#include "base/clock.h"
#include <inttypes.h>

void metrics_family(struct buf *to, const char *name, const char *type, const char *help)
{
    buf_addf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void label_value(struct buf *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            buf_addc(to, '\\');
        if (*text == '\n')
            buf_adds(to, "\\n");
        else
            buf_addc(to, *text);
    }
}

static void name_and_labels(struct buf *to, const char *name, const struct metrics_label *labels,
                            size_t count)
{
    buf_adds(to, name);
    for (size_t i = 0; i < count; i++) {
        buf_addf(to, "%s%s=\"", i ? "," : "{", labels[i].name);
        label_value(to, labels[i].value);
        buf_addc(to, '"');
    }
    buf_adds(to, count ? "} " : " ");
}

void metrics_sample(struct buf *to, const char *name, const struct metrics_label *labels,
                    size_t count, int64_t value)
{
    name_and_labels(to, name, labels, count);
    buf_addf(to, "%" PRId64 "\n", value);
}

void metrics_seconds(struct buf *to, const char *name, const struct metrics_label *labels,
                     size_t count, int64_t value_us)
{
    name_and_labels(to, name, labels, count);
    buf_addf(to, "%" PRId64 ".%06" PRId64 "\n", value_us / US_PER_SECOND, value_us % US_PER_SECOND);
}

void metrics_single(struct buf *to, const char *name, const char *type, const char *help,
                    int64_t value)
{
    metrics_family(to, name, type, help);
    metrics_sample(to, name, NULL, 0, value);
}
