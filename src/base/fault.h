/*
 * fault.h - named points at which a test build dies, or lets a call fail.
 *
 * Only builds with -DDROVER_FAULTS have them; in all others a point is no code at all.
 *
 *     DROVER_FAULT=commit.after:die:3      at the third time: kill -9 of ourselves
 *     DROVER_FAULT=artifact.write:fail:1   at the first time: the call fails
 *
 * The table in fault.c lists every point and what it can do; a test walks it.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H
#include <stdbool.h>

#ifdef DROVER_FAULTS
/* True: the call must fail now.  Does not return when it is time to die. */
bool fault_strikes(const char *point);
/* "point die" or "point fail", a line each: for `drover faults`. */
const char *fault_list(void);
#else
static inline bool fault_strikes(const char *point)
{
    (void)point;
    return false;
}
#endif
#endif
