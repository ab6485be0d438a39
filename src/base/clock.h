/*
 * clock.h - time as microseconds since 1970, from a source that can be replaced.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define US_PER_MS     INT64_C(1000)
#define US_PER_SECOND INT64_C(1000000)
#define US_PER_MINUTE (60 * US_PER_SECOND)
#define US_PER_HOUR   (60 * US_PER_MINUTE)
#define US_PER_DAY    (24 * US_PER_HOUR)

struct clock {
    int64_t (*now_us)(void *ctx);
    void *ctx;
};

int64_t clock_now_us(const struct clock *clock);
struct clock clock_real(void);
int64_t clock_mono_us(void); /* For measuring and for waits, never stored. */
int64_t clock_boot_us(void); /* The same, and it counts while the machine is suspended. */
/* That long from now, for waits on a condition that uses the monotonic clock. */
struct timespec clock_mono_after(int64_t wait_us);

enum { TIME_TEXT_BYTES = 32 };
/* 2026-07-03T12:00:00.123456Z; whole seconds print without a fraction.  Returns to. */
char *time_format(char to[TIME_TEXT_BYTES], int64_t time_us);
/* RFC 3339 with Z or an offset. */
MUST_USE bool time_parse(const char *text, int64_t *ret_us);
/* "1.2 s", "340 ms", "3 min 20 s", "2 h 5 min": for people. */
char *duration_format(char to[TIME_TEXT_BYTES], int64_t duration_us);
#endif
