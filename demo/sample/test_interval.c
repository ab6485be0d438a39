#include "interval.h"
#include <stdio.h>

static int failures;

static void check(const char *what, long want, long got)
{
    if (want == got)
        return;
    printf("FAIL %s: want %ld, got %ld\n", what, want, got);
    failures++;
}

static void interval_days_counts_both_ends(void)
{
    static const struct {
        const char *what;
        struct interval interval;
        long want;
    } table[] = {
        {"a long weekend", {{2026, 5, 22}, {2026, 5, 25}}, 4},
        {"one day", {{2026, 5, 22}, {2026, 5, 22}}, 1},
        {"over a leap day", {{2028, 2, 28}, {2028, 3, 1}}, 3},
        {"over new year", {{2026, 12, 31}, {2027, 1, 1}}, 2},
        {"ends before it begins", {{2026, 5, 22}, {2026, 5, 21}}, 0},
    };
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
        check(table[i].what, table[i].want, interval_days(table[i].interval));
}

static void neighbours_overlap_only_when_they_share_a_day(void)
{
    struct interval may = {{2026, 5, 1}, {2026, 5, 31}};
    struct interval june = {{2026, 6, 1}, {2026, 6, 30}};
    struct interval turn = {{2026, 5, 31}, {2026, 6, 1}};
    check("May and June", false, interval_overlaps(may, june));
    check("May and its last day", true, interval_overlaps(may, turn));
}

int main(void)
{
    interval_days_counts_both_ends();
    neighbours_overlap_only_when_they_share_a_day();
    if (failures == 0)
        puts("all tests passed");
    return failures != 0;
}
