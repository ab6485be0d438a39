/*
 * fault.h - named points at which a test build kills or stops itself, or lets a call fail.
 *
 * Only builds with -DDROVER_FAULTS have them (`make faults`); in all others a point is no code.
 *
 *     DROVER_FAULT=commit.after:die:3      at the third time: kill -9 of ourselves
 *     DROVER_FAULT=artifact.write:fail:1   at the first time: the call fails
 *     DROVER_FAULT=publish.push:stop:1     at the first time: SIGSTOP of ourselves, until a SIGCONT
 *
 * The table in fault.c lists every point and what can happen there; a test walks it.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H
#include "base/rc.h"

#ifdef DROVER_FAULTS
/* RC_OK, or RC_IO when the call must fail now.  Does not return when the process kills itself. */
MUST_USE enum rc fault_point(const char *name, struct err *err);
#else
MUST_USE static inline enum rc fault_point(const char *name, struct err *err)
{
    (void)name;
    (void)err;
    return RC_OK;
}
#endif
#endif
