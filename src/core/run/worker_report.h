/*
 * worker_report.h - the shapes of what workers report: results of steps, and progress events.
 *
 * 1. A member that the tables name has its type, its range and its set of values, or the report is
 *    refused; null counts as absent.
 * 2. Members that the tables do not name are ignored by the server.
 * 3. A shape does not prove that a report is true: control/run/result_facts.c compares it with what
 *    the server has stored.
 *
 * If you read another member of a result or of an event, add it to the table first.
 */
#ifndef CORE_RUN_WORKER_REPORT_H
#define CORE_RUN_WORKER_REPORT_H
#include "base/js.h"
#include "base/rc.h"
#include "core/run/event_budget.h"
#include <stdbool.h>

enum {
    REPORT_CHECKS_MAX = 64,
    REPORT_JUDGES_MAX = 32,
    REPORT_ARTIFACTS_MAX = 64,
};

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

/* 40 or 64 lower-case hexadecimal digits. */
bool report_is_commit(const char *text);
/* The path of a ref without anything that git or a shell could take for something else. */
bool report_is_ref(const char *text);
#endif
