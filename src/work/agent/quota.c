#include "work/agent/quota.h"
#include "base/clock.h"
#include "base/str.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Longer than the longest limit that providers have, a month. */
static const int64_t wait_us_max = 32 * US_PER_DAY;
/* Until a limit is tried again that should be over by now; clocks may differ. */
static const int64_t soon_us = US_PER_MINUTE;

static void lower_case(char to[QUOTA_TEXT_MAX], const char *text)
{
    size_t len = strnlen(text, QUOTA_TEXT_MAX - 1);
    for (size_t i = 0; i < len; i++)
        to[i] = (char)tolower((unsigned char)text[i]);
    to[len] = '\0';
}

/* ---- is it one ---- */

static const char *const phrases[] = {
    "usage limit reached",
    "usage_limit_reached",
    "usage_limit_exceeded",
    "rate limit reached",
    "rate limit exceeded",
    "exceed your account's rate limit",
    "rate_limit_error",
    "rate_limit_exceeded",
    "too many requests",
    "quota exceeded",
    "insufficient_quota",
    "exceeded your current quota",
    "exhausted your",
    "resource_exhausted",
    "5-hour limit reached",
    "weekly limit reached",
    "session limit reached",
    "api error: 429",
    "status: 429",
    "status code 429",
    "status 429",
    "http 429",
};

/* "hit your limit", "hit your usage limit", "reached your weekly limit" */
static bool hit_limit(const char *text)
{
    static const char *const verbs[] = {"hit your ", "reached your "};
    enum { WORDS_BETWEEN_MAX = 24 };
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        const char *at = strstr(text, verbs[i]);
        const char *noun = at != NULL ? strstr(at + strlen(verbs[i]), "limit") : NULL;
        if (noun != NULL && noun - at < (ptrdiff_t)(strlen(verbs[i]) + WORDS_BETWEEN_MAX))
            return true;
    }
    return false;
}

/* Messages about a request that the agent itself retries. */
static bool is_retrying(const char *text)
{
    return strstr(text, "retrying") != NULL || text_starts(text, "reconnecting");
}

bool quota_mentioned(const char *text)
{
    char low[QUOTA_TEXT_MAX];
    lower_case(low, text);
    if (is_retrying(low))
        return false;
    for (size_t i = 0; i < COUNT_OF(phrases); i++) {
        if (strstr(low, phrases[i]) != NULL)
            return true;
    }
    return hit_limit(low);
}

bool quota_notice(const char *text)
{
    static const char *const starts[] = {
        "Claude AI usage limit reached", "Claude usage limit reached", "You've hit your ",
        "You\u2019ve hit your ",         "5-hour limit reached",       "Weekly limit reached"};
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        if (text_starts(text, starts[i]))
            return quota_mentioned(text);
    }
    return false;
}

/* ---- until when ---- */

static int64_t sensible(int64_t at_us, int64_t now_us)
{
    return at_us > now_us && at_us - now_us <= wait_us_max ? at_us : 0;
}

int64_t quota_reset_epoch(int64_t seconds, int64_t now_us)
{
    return seconds > 0 && seconds < INT64_MAX / US_PER_SECOND
               ? sensible(seconds * US_PER_SECOND, now_us)
               : 0;
}

/* The first number after the key, past quotes, colons and blanks; -1: none. */
static int64_t number_after(const char *text, const char *key)
{
    enum { DIGITS_MAX = 15 };
    const char *at = strstr(text, key);
    if (at == NULL)
        return -1;
    at += strlen(key);
    at += strspn(at, "\\\": ");
    int64_t value = 0;
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX)
        return -1;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (at[i] - '0');
    return value;
}

static int64_t reset_by_epoch(const char *text, int64_t now_us)
{
    static const char *const keys[] = {"limit reached|", "resets_at", "resetsat"};
    static const int64_t milliseconds_from = INT64_C(100000000000);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        int64_t epoch = number_after(text, keys[i]);
        if (epoch > 0)
            return quota_reset_epoch(epoch >= milliseconds_from ? epoch / 1000 : epoch, now_us);
    }
    return 0;
}

static int64_t reset_by_seconds(const char *text, int64_t now_us)
{
    static const char *const keys[] = {"resets_in_seconds", "retry-after", "retry_after"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        int64_t seconds = number_after(text, keys[i]);
        if (seconds > 0 && seconds < wait_us_max / US_PER_SECOND)
            return now_us + seconds * US_PER_SECOND;
    }
    return 0;
}

/* ---- "in 2 days 3 hours", "in 45s" ---- */

static int64_t unit_us(const char *word, size_t len)
{
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {
        {"milliseconds", US_PER_MS}, {"ms", US_PER_MS},       {"seconds", US_PER_SECOND},
        {"minutes", US_PER_MINUTE},  {"mins", US_PER_MINUTE}, {"hours", US_PER_HOUR},
        {"hrs", US_PER_HOUR},        {"days", US_PER_DAY},    {"secs", US_PER_SECOND},
        {"weeks", 7 * US_PER_DAY},
    };
    for (size_t i = 0; len > 0 && i < COUNT_OF(units); i++) {
        /* A unit may be shortened: m, min, minute. */
        if (strncmp(units[i].name, word, len) == 0 && (len > 1 || word[0] != 'm'))
            return units[i].us;
    }
    return len == 1 && word[0] == 'm' ? US_PER_MINUTE : 0;
}

/* The duration in the text; 0 when there is none. */
static int64_t read_duration(const char *at)
{
    int64_t total_us = 0;
    for (;;) {
        at += strspn(at, " ,");
        if (text_starts(at, "and "))
            at += strlen("and ");
        if (!isdigit((unsigned char)*at))
            return total_us;
        char *end;
        double value = strtod(at, &end);
        at = end + strspn(end, " ");
        size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        int64_t unit = unit_us(at, len);
        if (unit == 0 || !(value >= 0 && value < 1e6))
            return total_us;
        total_us += (int64_t)(value * (double)unit);
        if (total_us > wait_us_max)
            return 0;
        at += len;
    }
}

static int64_t reset_by_duration(const char *text, int64_t now_us)
{
    static const char *const leads[] = {"try again in ", "retry in ", "resets in ", "reset in "};
    for (size_t i = 0; i < COUNT_OF(leads); i++) {
        const char *at = strstr(text, leads[i]);
        int64_t wait_us = at != NULL ? read_duration(at + strlen(leads[i])) : 0;
        if (wait_us > 0)
            return now_us + wait_us;
    }
    return 0;
}

/* ---- "at 3:28 pm", "aug 8th, 2026 12:30 pm", "feb 7, 11am (utc)" ---- */

struct reading {
    const char *at;
    struct tm tm;
    bool has_year, has_day;
};

static bool read_number(struct reading *reading, int max, int *ret_value)
{
    int value = 0, digits = 0;
    const char *at = reading->at;
    for (; isdigit((unsigned char)*at) && digits < 4; at++, digits++)
        value = value * 10 + (*at - '0');
    if (digits == 0 || value > max)
        return false;
    reading->at = at;
    *ret_value = value;
    return true;
}

/* "aug 8th, 2026 " or nothing. */
static void read_day(struct reading *reading)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    struct reading trial = *reading;
    int month = 0;
    while (month < 12 && strncmp(trial.at, months + (ptrdiff_t)month * 3, 3) != 0)
        month++;
    if (month == 12)
        return;
    trial.at += strspn(trial.at, "abcdefghijklmnopqrstuvwxyz.");
    trial.at += strspn(trial.at, " ");
    if (!read_number(&trial, 31, &trial.tm.tm_mday) || trial.tm.tm_mday < 1)
        return;
    trial.tm.tm_mon = month;
    trial.has_day = true;
    trial.at += strspn(trial.at, "stndrh"); /* 1st, 2nd, 3rd, 4th */
    trial.at += strspn(trial.at, ", ");
    *reading = trial;
    int year;
    if (read_number(&trial, 9999, &year) && year >= 2000) {
        trial.tm.tm_year = year - 1900;
        trial.has_year = true;
        trial.at += strspn(trial.at, ", ");
        *reading = trial;
    }
}

/* "3:28 pm", "5pm", "21:30" */
static bool read_time(struct reading *reading)
{
    int hour, minute = 0;
    if (text_starts(reading->at, "at "))
        reading->at += strlen("at ");
    if (!read_number(reading, 23, &hour))
        return false;
    bool has_minute = *reading->at == ':';
    if (has_minute) {
        reading->at++;
        if (!read_number(reading, 59, &minute))
            return false;
    }
    const char *half = reading->at + strspn(reading->at, " ");
    bool pm = text_starts(half, "pm") || text_starts(half, "p.m");
    bool am = text_starts(half, "am") || text_starts(half, "a.m");
    if (!has_minute && !am && !pm)
        return false;
    if ((am || pm) && (hour < 1 || hour > 12))
        return false;
    if (am || pm)
        hour = hour % 12 + (pm ? 12 : 0);
    reading->tm.tm_hour = hour;
    reading->tm.tm_min = minute;
    return true;
}

/* Seconds are never printed: the limit holds until the minute is over. */
static int64_t end_of_minute(const struct tm *day, bool utc)
{
    struct tm copy = *day;
    copy.tm_isdst = -1;
    time_t seconds = utc ? timegm(&copy) : mktime(&copy);
    return (int64_t)seconds * US_PER_SECOND + US_PER_MINUTE;
}

/* A time of day within the last hour, perhaps before midnight, passed while the message was on its
   way: providers print the date of a reset that is a day away. */
static bool just_passed(int64_t at_us, int64_t now_us)
{
    int64_t ago_us = now_us - at_us;
    if (ago_us < 0)
        ago_us += US_PER_DAY;
    return ago_us >= 0 && ago_us + US_PER_MINUTE < US_PER_HOUR;
}

static int64_t read_moment(const char *at, int64_t now_us)
{
    struct reading reading = {.at = at};
    bool utc = strstr(at, "utc") != NULL;
    time_t now = (time_t)(now_us / US_PER_SECOND);
    if ((utc ? gmtime_r(&now, &reading.tm) : localtime_r(&now, &reading.tm)) == NULL)
        return 0;
    reading.tm.tm_sec = 0;
    read_day(&reading);
    if (!read_time(&reading))
        return 0;
    int64_t at_us = end_of_minute(&reading.tm, utc);
    if (!reading.has_day && just_passed(at_us, now_us))
        return now_us + soon_us;
    if (at_us <= now_us && !reading.has_day) {
        reading.tm.tm_mday++; /* That time has long passed today: tomorrow. */
        at_us = end_of_minute(&reading.tm, utc);
    } else if (at_us <= now_us && !reading.has_year) {
        reading.tm.tm_year++;
        at_us = end_of_minute(&reading.tm, utc);
    }
    return sensible(at_us, now_us);
}

static int64_t reset_by_clock(const char *text, int64_t now_us)
{
    static const char *const leads[] = {"try again at ", "try again ", "reset at ",
                                        "resets at ",    "resets ",    "resuming at "};
    for (size_t i = 0; i < COUNT_OF(leads); i++) {
        const char *at = strstr(text, leads[i]);
        int64_t at_us = at != NULL ? read_moment(at + strlen(leads[i]), now_us) : 0;
        if (at_us > 0)
            return at_us;
    }
    return 0;
}

int64_t quota_reset(const char *text, int64_t now_us)
{
    static int64_t (*const readers[])(const char *text, int64_t now_us) = {
        reset_by_epoch, reset_by_seconds, reset_by_duration, reset_by_clock};
    char low[QUOTA_TEXT_MAX];
    lower_case(low, text);
    int64_t at_us = 0;
    for (size_t i = 0; at_us == 0 && i < COUNT_OF(readers); i++)
        at_us = readers[i](low, now_us);
    return at_us;
}
