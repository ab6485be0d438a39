/*
 * cron.h - recurring times, in the syntax of cron.
 *
 *     [second] minute hour day-of-month month day-of-week
 *
 * Five fields, or six with seconds in front.  A field is * or a list of values, ranges (a-b) and
 * steps (a-b/n, a/n, or * with /n).  Months and weekdays also have names (JAN, MON); Sunday is 0
 * and 7.  @hourly, @daily, @weekly, @monthly and @yearly stand for the usual five.  When neither
 * day field begins with *, a day counts if one of them has it, as cron has always had it.
 * All times are UTC: no hour is missing and none comes twice.
 */
#ifndef CORE_QUEUE_CRON_H
#define CORE_QUEUE_CRON_H
#include "base/rc.h"
#include <stdbool.h>
#include <stdint.h>

enum { CRON_TEXT_MAX = 200 };

struct cron { /* A bit for each value that counts. */
    uint64_t seconds, minutes, hours, days, months, weekdays;
    bool any_day, any_weekday; /* The field begins with *. */
};

/* RC_INVALID, with a text that names the field. */
MUST_USE enum rc cron_parse(const char *text, struct cron *ret_cron, struct err *err);
/* The first time after that one, to the second; 0: none within 8 years, that is, never. */
int64_t cron_next(const struct cron *cron, int64_t after_us);
#endif
