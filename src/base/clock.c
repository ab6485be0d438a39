/*
 * clock.c - clocks, RFC 3339 text and durations for people.
 *
 * The calendar is computed here (proleptic Gregorian, UTC) instead of by libc:
 * it is pure, takes no locks and uses no time zones.
 */
#include "base/clock.h"
#include <assert.h>
#include <stdio.h>
#include <time.h>

static const int64_t time_min_us = INT64_C(-62167219200) * US_PER_SECOND;     /* Year 0000. */
static const int64_t time_max_us = INT64_C(253402300800) * US_PER_SECOND - 1; /* Year 9999. */

struct date {
    int64_t year;
    int64_t month;
    int64_t day;
};

static int64_t read_clock(clockid_t which)
{
    struct timespec now;
    int failed = clock_gettime(which, &now);
    assert(!failed);
    return (int64_t)now.tv_sec * US_PER_SECOND + now.tv_nsec / 1000;
}

static int64_t real_now_us(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_now_us(const struct clock *clock)
{
    return clock->now_us(clock->ctx);
}

struct clock clock_real(void)
{
    return (struct clock){.now_us = real_now_us};
}

int64_t clock_mono_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_boot_us(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

struct timespec clock_mono_after(int64_t wait_us)
{
    int64_t until_us = clock_mono_us() + wait_us;
    return (struct timespec){.tv_sec = (time_t)(until_us / US_PER_SECOND),
                             .tv_nsec = (long)(until_us % US_PER_SECOND) * 1000};
}

/*
 * Days since 1970-01-01 to a date and back, after Howard Hinnant: the year is
 * taken to begin in March, so that the leap day is its last, and is counted
 * within an era of 400 years (146,097 days).
 */
static struct date date_of_days(int64_t days)
{
    days += 719468; /* From 0000-03-01. */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
                           day_of_era / 146096) /
                          365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* 0 is March. */
    struct date date = {
        .year = year_of_era + era * 400 + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
    };
    return date;
}

static int64_t days_of_date(struct date date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static char *put_digits(char *at, int64_t value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + width;
}

char *time_format(char to[TIME_TEXT_BYTES], int64_t time_us)
{
    if (time_us < time_min_us)
        time_us = time_min_us;
    if (time_us > time_max_us)
        time_us = time_max_us;
    int64_t day_us = time_us % US_PER_DAY;
    if (day_us < 0)
        day_us += US_PER_DAY;
    struct date date = date_of_days((time_us - day_us) / US_PER_DAY);
    char *at = put_digits(to, date.year, 4);
    *at++ = '-';
    at = put_digits(at, date.month, 2);
    *at++ = '-';
    at = put_digits(at, date.day, 2);
    *at++ = 'T';
    at = put_digits(at, day_us / US_PER_HOUR, 2);
    *at++ = ':';
    at = put_digits(at, day_us / US_PER_MINUTE % 60, 2);
    *at++ = ':';
    at = put_digits(at, day_us / US_PER_SECOND % 60, 2);
    if (day_us % US_PER_SECOND) {
        *at++ = '.';
        at = put_digits(at, day_us % US_PER_SECOND, 6);
    }
    *at++ = 'Z';
    *at = '\0';
    return to;
}

/* Reads exactly width digits with a value within min and max; NULL input stays NULL. */
static const char *take_digits(const char *at, int width, const int64_t range[2], int64_t *ret)
{
    if (at == NULL)
        return NULL;
    int64_t value = 0;
    for (int i = 0; i < width; i++) {
        if (at[i] < '0' || at[i] > '9')
            return NULL;
        value = value * 10 + (at[i] - '0');
    }
    if (value < range[0] || value > range[1])
        return NULL;
    *ret = value;
    return at + width;
}

static const char *take_char(const char *at, char c)
{
    return at != NULL && *at == c ? at + 1 : NULL;
}

/* Digits past the microsecond are read and dropped. */
static const char *take_fraction(const char *at, int64_t *ret_us)
{
    *ret_us = 0;
    if (at == NULL || *at != '.')
        return at;
    at++;
    if (*at < '0' || *at > '9')
        return NULL;
    int64_t unit = US_PER_SECOND / 10;
    for (; *at >= '0' && *at <= '9'; at++, unit /= 10)
        *ret_us += unit * (*at - '0');
    return at;
}

static const char *take_offset(const char *at, int64_t *ret_us)
{
    *ret_us = 0;
    if (at == NULL)
        return NULL;
    if (*at == 'Z' || *at == 'z')
        return at + 1;
    if (*at != '+' && *at != '-')
        return NULL;
    int64_t sign = *at == '-' ? -1 : 1;
    int64_t hours = 0, minutes = 0;
    at = take_digits(at + 1, 2, (int64_t[]){0, 23}, &hours);
    at = take_char(at, ':');
    at = take_digits(at, 2, (int64_t[]){0, 59}, &minutes);
    *ret_us = sign * (hours * US_PER_HOUR + minutes * US_PER_MINUTE);
    return at;
}

bool time_parse(const char *text, int64_t *ret_us)
{
    if (text == NULL)
        return false;
    struct date date = {0};
    int64_t hour = 0, minute = 0, second = 0, fraction_us = 0, offset_us = 0;
    const char *at = take_digits(text, 4, (int64_t[]){0, 9999}, &date.year);
    at = take_char(at, '-');
    at = take_digits(at, 2, (int64_t[]){1, 12}, &date.month);
    at = take_char(at, '-');
    at = take_digits(at, 2, (int64_t[]){1, 31}, &date.day);
    if (at == NULL || (*at != 'T' && *at != 't') || date.day > days_in_month(date.year, date.month))
        return false;
    at = take_digits(at + 1, 2, (int64_t[]){0, 23}, &hour);
    at = take_char(at, ':');
    at = take_digits(at, 2, (int64_t[]){0, 59}, &minute);
    at = take_char(at, ':');
    at = take_digits(at, 2, (int64_t[]){0, 60}, &second); /* 60: a leap second. */
    at = take_fraction(at, &fraction_us);
    at = take_offset(at, &offset_us);
    if (at == NULL || *at != '\0')
        return false;
    *ret_us = days_of_date(date) * US_PER_DAY + hour * US_PER_HOUR + minute * US_PER_MINUTE +
              second * US_PER_SECOND + fraction_us - offset_us;
    return true;
}

/* "3 min 20 s", or "3 min" when the smaller part is nought. */
static void two_parts(char to[TIME_TEXT_BYTES], int64_t total, int64_t per,
                      const char *const units[2])
{
    long long large = (long long)(total / per), small = (long long)(total % per);
    if (small)
        (void)snprintf(to, TIME_TEXT_BYTES, "%lld %s %lld %s", large, units[0], small, units[1]);
    else
        (void)snprintf(to, TIME_TEXT_BYTES, "%lld %s", large, units[0]);
}

char *duration_format(char to[TIME_TEXT_BYTES], int64_t duration_us)
{
    int64_t us = duration_us < 0 ? 0 : duration_us;
    if (us < US_PER_MS) {
        (void)snprintf(to, TIME_TEXT_BYTES, "%d us", (int)us);
    } else if (us < US_PER_SECOND) {
        (void)snprintf(to, TIME_TEXT_BYTES, "%d ms", (int)(us / US_PER_MS));
    } else if (us < US_PER_MINUTE) {
        int tenths = (int)(us / (US_PER_SECOND / 10));
        (void)snprintf(to, TIME_TEXT_BYTES, "%d.%d s", tenths / 10, tenths % 10);
    } else if (us < US_PER_HOUR) {
        two_parts(to, us / US_PER_SECOND, 60, (const char *const[]){"min", "s"});
    } else if (us < US_PER_DAY) {
        two_parts(to, us / US_PER_MINUTE, 60, (const char *const[]){"h", "min"});
    } else {
        two_parts(to, us / US_PER_HOUR, 24, (const char *const[]){"d", "h"});
    }
    return to;
}
