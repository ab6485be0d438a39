#include "core/queue/cron.h"
#include "base/clock.h"
#include "base/str.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    FIELDS_MAX = 6,
    DAYS_AHEAD = 8 * 366, /* 29 February is at most so far away: 2096 to 2104. */
    SECONDS_PER_DAY = 86400,
    NAME_LEN = 3,
    NUMBER_LEN_MAX = 4
};

static const char *const month_names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL",
                                          "AUG", "SEP", "OCT", "NOV", "DEC", NULL};
static const char *const weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", NULL};

static const struct field {
    const char *name;
    unsigned min, max;
    const char *const *names; /* Of the values from min on, or NULL. */
} fields[FIELDS_MAX] = {
    {"second", 0, 59, NULL},       {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},         {"day-of-month", 1, 31, NULL},
    {"month", 1, 12, month_names}, {"day-of-week", 0, 7, weekday_names},
};

static const struct {
    const char *word, *text;
} shorthands[] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

/* ---- reading ---- */

static enum rc refuse(const struct field *field, struct str part, struct err *err)
{
    return err_field(err, RC_INVALID, "INVALID_FIELD", "cron",
                     "the field %s takes *, or values from %u to %u, ranges and steps, with a "
                     "comma between them; not %.*s",
                     field->name, field->min, field->max, (int)(part.len < 40 ? part.len : 40),
                     part.at);
}

/* Takes digits from the front. */
static bool take_number(struct str *text, unsigned *ret_value)
{
    unsigned value = 0;
    size_t len = 0;
    while (len < text->len && len < NUMBER_LEN_MAX && isdigit((unsigned char)text->at[len]))
        value = value * 10 + (unsigned)(text->at[len++] - '0');
    text->at += len;
    text->len -= len;
    *ret_value = value;
    return len > 0;
}

static bool take_name(const struct field *field, struct str *text, unsigned *ret_value)
{
    if (field->names == NULL || text->len < NAME_LEN)
        return false;
    for (unsigned i = 0; field->names[i] != NULL; i++) {
        if (strncasecmp(text->at, field->names[i], NAME_LEN) != 0)
            continue;
        text->at += NAME_LEN;
        text->len -= NAME_LEN;
        *ret_value = field->min + i;
        return true;
    }
    return false;
}

static bool take_value(const struct field *field, struct str *text, unsigned *ret_value)
{
    return (take_number(text, ret_value) || take_name(field, text, ret_value)) &&
           *ret_value >= field->min && *ret_value <= field->max;
}

static bool take_char(struct str *text, char c)
{
    if (text->len == 0 || text->at[0] != c)
        return false;
    text->at++;
    text->len--;
    return true;
}

/* One of a list: *, a, a-b, each with a step or without. */
static bool read_part(const struct field *field, struct str part, uint64_t *bits)
{
    unsigned from = field->min, to = field->max, step = 1;
    if (!take_char(&part, '*')) {
        if (!take_value(field, &part, &from))
            return false;
        bool stepped = part.len > 0 && part.at[0] == '/';
        if (take_char(&part, '-')) {
            if (!take_value(field, &part, &to) || to < from)
                return false;
        } else if (!stepped) {
            to = from;
        }
    }
    if (take_char(&part, '/') && (!take_number(&part, &step) || step == 0))
        return false;
    if (part.len > 0)
        return false;
    for (unsigned value = from; value <= to; value += step)
        *bits |= UINT64_C(1) << value;
    return true;
}

static enum rc read_field(const struct field *field, struct str text, uint64_t *ret_bits,
                          struct err *err)
{
    uint64_t bits = 0;
    for (struct str rest = text;;) {
        const char *comma = memchr(rest.at, ',', rest.len);
        struct str part = {rest.at, comma != NULL ? (size_t)(comma - rest.at) : rest.len};
        if (!read_part(field, part, &bits))
            return refuse(field, text, err);
        if (comma == NULL)
            break;
        rest = (struct str){comma + 1, rest.len - part.len - 1};
    }
    *ret_bits = bits;
    return RC_OK;
}

/* How many fields; more than to has room for are counted, not kept. */
static size_t split(const char *text, struct str to[FIELDS_MAX])
{
    size_t count = 0;
    for (const char *at = text + strspn(text, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        size_t len = strcspn(at, " \t");
        if (count < FIELDS_MAX)
            to[count] = (struct str){at, len};
        count++;
        at += len;
    }
    return count;
}

static const char *expand(const char *text)
{
    for (size_t i = 0; i < COUNT_OF(shorthands); i++)
        if (strcasecmp(shorthands[i].word, text) == 0)
            return shorthands[i].text;
    return text;
}

enum rc cron_parse(const char *text, struct cron *ret_cron, struct err *err)
{
    struct str parts[FIELDS_MAX];
    uint64_t bits[FIELDS_MAX] = {1}; /* Without a field for seconds: at second 0. */
    size_t count = split(expand(text), parts);
    if (count != FIELDS_MAX && count != FIELDS_MAX - 1)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "cron",
                         "cron has five fields (minute hour day-of-month month day-of-week), six "
                         "with seconds in front, or is @hourly, @daily, @weekly, @monthly or "
                         "@yearly; this has %zu",
                         count);
    size_t skipped = FIELDS_MAX - count;
    for (size_t i = skipped; i < FIELDS_MAX; i++) {
        enum rc rc = read_field(&fields[i], parts[i - skipped], &bits[i], err);
        if (rc != RC_OK)
            return rc;
    }
    uint64_t sunday = bits[5] >> 7 & 1;
    *ret_cron = (struct cron){
        .seconds = bits[0],
        .minutes = bits[1],
        .hours = bits[2],
        .days = bits[3],
        .months = bits[4],
        .weekdays = (bits[5] | sunday) & 0x7f,
        .any_day = parts[3 - skipped].at[0] == '*',
        .any_weekday = parts[5 - skipped].at[0] == '*',
    };
    return RC_OK;
}

/* ---- the next time ---- */

/* Month and day of a day since 1970, which may not be before it: the years are made to begin in
   March, so that a leap day is the last of them. */
static void date_of(int64_t day, unsigned *ret_month, unsigned *ret_day)
{
    int64_t since = day + 719468; /* Days since 1 March of the year 0. */
    int64_t of_era = since % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* From March. */
    *ret_day = (unsigned)(of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (unsigned)(month < 10 ? month + 3 : month - 9);
}

static bool has(uint64_t bits, unsigned value)
{
    return (bits >> value & 1) != 0;
}

static bool day_counts(const struct cron *cron, int64_t day)
{
    unsigned month, of_month, of_week = (unsigned)((day + 4) % 7); /* 1970 began on a Thursday. */
    date_of(day, &month, &of_month);
    bool by_day = has(cron->days, of_month), by_weekday = has(cron->weekdays, of_week);
    bool either = !cron->any_day && !cron->any_weekday;
    return has(cron->months, month) && (either ? by_day || by_weekday : by_day && by_weekday);
}

/* The first value from `from` on; -1: none. */
static int first_from(uint64_t bits, int from)
{
    for (int value = from; value < 64; value++)
        if (has(bits, (unsigned)value))
            return value;
    return -1;
}

/* The first second of a day that counts, from `from` on; -1: none. */
static int64_t second_of_day(const struct cron *cron, int64_t from)
{
    int from_hour = (int)(from / 3600), from_minute = (int)(from / 60 % 60);
    for (int h = first_from(cron->hours, from_hour); h >= 0; h = first_from(cron->hours, h + 1)) {
        bool same_hour = h == from_hour;
        int m = first_from(cron->minutes, same_hour ? from_minute : 0);
        for (; m >= 0; m = first_from(cron->minutes, m + 1)) {
            bool same_minute = same_hour && m == from_minute;
            int s = first_from(cron->seconds, same_minute ? (int)(from % 60) : 0);
            if (s >= 0)
                return h * 3600 + m * 60 + s;
        }
    }
    return -1;
}

int64_t cron_next(const struct cron *cron, int64_t after_us)
{
    int64_t from = (after_us < 0 ? -1 : after_us / US_PER_SECOND) + 1;
    int64_t first_day = from / SECONDS_PER_DAY;
    for (int64_t day = first_day; day < first_day + DAYS_AHEAD; day++) {
        if (!day_counts(cron, day))
            continue;
        int64_t second = second_of_day(cron, day == first_day ? from % SECONDS_PER_DAY : 0);
        if (second >= 0)
            return (day * SECONDS_PER_DAY + second) * US_PER_SECOND;
    }
    return 0;
}
