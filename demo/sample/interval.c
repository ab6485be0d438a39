#include "interval.h"

long date_number(struct date date)
{
    /* The year begins in March here, so that a leap day is the last day of one. */
    long shift = date.month <= 2;
    long year = date.year - shift;
    long month = date.month + 12 * shift - 3;
    return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + date.day - 1;
}

long interval_days(struct interval interval)
{
    long days = date_number(interval.last) - date_number(interval.first);
    return days > 0 ? days : 0;
}

bool interval_overlaps(struct interval a, struct interval b)
{
    return date_number(a.first) <= date_number(b.last) &&
           date_number(b.first) <= date_number(a.last);
}
