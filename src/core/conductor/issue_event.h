/*
 * issue_event.h - one event of an issue, as its data has it.
 *
 *   {"issueId": "42",               all; a number is taken as its text
 *    "agentId", "branch", "reason", "pullRequest", "base", "taskId",
 *    "title", "description", "repository", "milestone", "persona", "priority", "labels",
 *    "dependsOn",                   of ISSUE_APPROVED
 *    "period",                      of HUMAN_GATE_REMINDER
 *    ...}                           others are kept as they are
 */
#ifndef CORE_CONDUCTOR_ISSUE_EVENT_H
#define CORE_CONDUCTOR_ISSUE_EVENT_H
#include "base/arena.h"
#include "base/id.h"
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/conductor/issue_kind.h"
#include <stdint.h>

enum {
    ISSUE_EVENT_NAME_MAX =
        200, /* issueId, agentId, branch, repository, milestone, persona, a label. */
    ISSUE_EVENT_TITLE_MAX = 500,
    ISSUE_EVENT_TEXT_MAX = 32 * 1024, /* description */
    ISSUE_EVENT_REASON_MAX = 1000,
    ISSUE_EVENT_LABELS_MAX = 50,
    ISSUE_EVENT_DEPENDS_MAX = 50,
    ISSUE_EVENT_PRIORITY_MAX = 1000,
    ISSUE_EVENT_PRIORITY_DEFAULT = 100, /* As of a task: the lowest number goes first. */
};

/* Reasons of SMOKE_FAILED. */
#define SMOKE_REASON_CODE     "code"
#define SMOKE_REASON_EXTERNAL "external_dependency"

struct issue_event {
    enum issue_kind kind;
    int64_t time_us;
    const char *issue_id; /* NULL with MILESTONE_COMPLETE */
    const char *agent_id; /* These are NULL where the data has none. */
    const char *branch, *base, *pull_request, *reason;
    const char *title, *description, *repository, *milestone, *persona;
    struct str labels, depends_on; /* JSON arrays of texts; empty: none. */
    int64_t priority;              /* 0: not given */
    int64_t period;                /* Of a reminder: half hours since the gate was triggered. */
    struct id
        task_id; /* Of an assignment, or of work on a fix: the task that works on it; or none. */
};

/* Texts live in the document or in the arena.  RC_INVALID: INVALID_FIELD, MISSING_FIELD, with the
   path of the member. */
MUST_USE enum rc issue_event_decode(enum issue_kind kind, const struct js *data,
                                    struct arena *arena, struct issue_event *ret_event,
                                    struct err *err);
/* The data again: what was given (a JSON object or NULL), with the members of the event over it. */
struct str issue_event_data(const struct issue_event *event, const struct js *given,
                            struct arena *arena);
#endif
