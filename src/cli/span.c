#include "cli/span.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>

enum { SPAN_DAYS_MAX = 36600, DIGITS_MAX = 12 };

bool span_parse(const char *text, int64_t *ret_us)
{
    static const struct {
        char unit;
        int64_t us;
    } units[] = {{'s', US_PER_SECOND}, {'m', US_PER_MINUTE}, {'h', US_PER_HOUR}, {'d', US_PER_DAY}};
    char digits[DIGITS_MAX + 1];
    size_t len = strlen(text);
    int64_t count = 0;
    if (len < 2 || len - 1 > DIGITS_MAX)
        return false;
    text_copy(digits, len, text);
    if (!text_to_i64(digits, &count) || count < 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (text[len - 1] == units[i].unit && count <= SPAN_DAYS_MAX * US_PER_DAY / units[i].us) {
            *ret_us = count * units[i].us;
            return true;
        }
    }
    return false;
}

/* As people write times in UTC: "2026-07-03", "2026-07-03 12:00", "2026-07-03 12:00:30". */
static bool short_time_parse(const char *text, int64_t *ret_us)
{
    static const char pattern[] = "0000-00-00T00:00:00Z";
    char whole[sizeof pattern];
    size_t len = strlen(text);
    if (len != 10 && len != 16 && len != 19)
        return false;
    (void)snprintf(whole, sizeof whole, "%s%s", text, pattern + len);
    if (len > 10 && (whole[10] == ' ' || whole[10] == 'T'))
        whole[10] = 'T';
    return time_parse(whole, ret_us);
}

bool span_time_parse(const char *text, int64_t now_us, int64_t *ret_us)
{
    int64_t span_us = 0;
    if (time_parse(text, ret_us) || short_time_parse(text, ret_us))
        return true;
    if (!span_parse(text, &span_us) || span_us > now_us)
        return false;
    *ret_us = now_us - span_us;
    return true;
}

const char *span_time_text(const char *text, int64_t now_us, char to[TIME_TEXT_BYTES])
{
    int64_t us = 0;
    return span_time_parse(text, now_us, &us) ? time_format(to, us) : text;
}
