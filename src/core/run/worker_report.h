/*
 * worker_report.h - is what a worker reports well formed?  Results of steps have the shapes of the
 * table of steps (core/step_table.c), progress events those of worker_report.c.
 *
 * 1. What a shape means: core/report_shape.h.
 * 2. A shape does not prove that a report is true: control/run/result_facts.c compares it with what
 *    the server has stored.
 *
 * If you read another member of a result or of an event, add it to its shape first.
 */
#ifndef CORE_RUN_WORKER_REPORT_H
#define CORE_RUN_WORKER_REPORT_H
#include "base/js.h"
#include "base/rc.h"
#include "core/run/event_budget.h"
#include <stdbool.h>

/* Is this a step whose result has a shape? */
bool report_knows_step(const char *step);
/* RC_INVALID INVALID_RESULT: err names the member. */
MUST_USE enum rc report_check_result(const char *step, const struct js *result, struct err *err);

/* NULL when workers may not report this type; else its name, which is static. */
const char *report_event_type(const char *type);
/* Is it stored after the run's budget of events is used up?  The type is one that
   report_event_type accepts. */
enum event_kind report_event_kind(const char *type);
/* RC_INVALID INVALID_FIELD: err names the member.  The type is one that report_event_type
   accepts. */
MUST_USE enum rc report_check_event(const char *type, const struct js *data, struct err *err);
#endif
