/*
 * interval.h - spans of calendar days.  Both ends belong to the interval.
 */
#ifndef INTERVAL_H
#define INTERVAL_H
#include <stdbool.h>

struct date {
    int year, month, day;
};

struct interval {
    struct date first, last;
};

/* Days since 1 March of the year 0 in the Gregorian calendar. */
long date_number(struct date date);

/* How many days it has, both ends counted; 0 when it ends before it begins. */
long interval_days(struct interval interval);

/* Is there a day that belongs to both? */
bool interval_overlaps(struct interval a, struct interval b);
#endif
