#include "cli/span.h"
#include "base/clock.h"
#include "base/str.h"
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

bool span_time_parse(const char *text, int64_t now_us, int64_t *ret_us)
{
    int64_t span_us = 0;
    if (time_parse(text, ret_us))
        return true;
    if (!span_parse(text, &span_us) || span_us > now_us)
        return false;
    *ret_us = now_us - span_us;
    return true;
}
