/*
 * traceparent.h - the trace that an event belongs to, as W3C Trace Context writes it:
 *
 *     00-<trace id: 32 hex digits>-<parent id: 16>-<flags: 2>
 *
 * A task has that of the request which submitted it.  Where the request had none, it follows from
 * ids that the event has anyway, so that every event of a flow has the same trace id.
 */
#ifndef CORE_TRACEPARENT_H
#define CORE_TRACEPARENT_H
#include "base/id.h"

enum { TRACEPARENT_LEN = 55, TRACEPARENT_BYTES = TRACEPARENT_LEN + 1 };

/* Lower-case hex digits, neither id zero, a version below ff.  Of later versions, which may be
   longer, only those are taken that have this form. */
bool traceparent_valid(const char *text);
/* The trace id is the UUID of the flow, the parent id the last half of another: its random part. */
void traceparent_of_ids(const struct id *trace, const struct id *parent,
                        char ret_text[static TRACEPARENT_BYTES]);
#endif
