/*
 * issue_kind.h - the events of an issue's way from its approval to production: a name, a type of
 * the log and the writers of each.
 *
 *   name     ISSUE_APPROVED                 in the view events, and for people
 *   type     conductor.issue.approved       in the log (core/event_table.inc)
 *   writers  who may write it               a token lists the writers that it may act as
 */
#ifndef CORE_CONDUCTOR_ISSUE_KIND_H
#define CORE_CONDUCTOR_ISSUE_KIND_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

enum issue_kind {
    ISSUE_EV_APPROVED,
    ISSUE_EV_ASSIGNED,
    ISSUE_EV_UNASSIGNED,
    ISSUE_EV_WORK_STARTED,
    ISSUE_EV_BRANCH_CREATED,
    ISSUE_EV_PR_CREATED,
    ISSUE_EV_CI_PASSED,
    ISSUE_EV_CI_FAILED,
    ISSUE_EV_REVIEW_PASSED,
    ISSUE_EV_REVIEW_DISPUTED,
    ISSUE_EV_GATE_TRIGGERED,
    ISSUE_EV_GATE_REMINDER,
    ISSUE_EV_GATE_APPROVED,
    ISSUE_EV_GATE_REJECTED,
    ISSUE_EV_MERGED,
    ISSUE_EV_DEPLOYED_STAGING,
    ISSUE_EV_SMOKE_PASSED,
    ISSUE_EV_SMOKE_FAILED,
    ISSUE_EV_DEPLOYED_PRODUCTION,
    ISSUE_EV_VERIFIED,
    ISSUE_EV_DONE,
    ISSUE_EV_STUCK,
    ISSUE_EV_ESCALATED,
    ISSUE_STEP_COUNT,
    /* From here on: no step of an issue. */
    ISSUE_EV_HEARTBEAT = ISSUE_STEP_COUNT, /* Never in the log. */
    ISSUE_EV_MILESTONE_COMPLETE,           /* About a milestone. */
    ISSUE_EV_COUNT
};

const char *issue_kind_name(enum issue_kind kind); /* "ISSUE_APPROVED" */
const char *issue_kind_type(enum issue_kind kind); /* "conductor.issue.approved" */
/* Is it written in the name of the agent at work?  Others may have an agentId of their own. */
bool issue_kind_is_of_agent(enum issue_kind kind);
/* Of one of drover's own types. */
MUST_USE bool issue_kind_of_type(const char *type, enum issue_kind *ret_kind);
/* Also of types of clients: the name itself, or a type that ends with it in any spelling:
   conductor.issue.approved, com.example.issue-approved, ISSUE_APPROVED. */
MUST_USE bool issue_kind_guess(const char *type, enum issue_kind *ret_kind);

enum issue_writer {
    WRITER_CTO,
    WRITER_CONDUCTOR,
    WRITER_DEV_AGENT,
    WRITER_REVIEW_AGENT,
    WRITER_CI,
    WRITER_COUNT
};
const char *issue_writer_name(enum issue_writer writer); /* "dev-agent" */
MUST_USE bool issue_writer_parse(const char *name, enum issue_writer *ret_writer);
extern const char *const issue_writer_names[]; /* NULL-terminated */

/* A set of writers, one bit each. */
#define WRITERS(writer) (1U << (writer))
unsigned issue_kind_writers(enum issue_kind kind);
/* "cto or dev-agent", for people. */
enum { WRITERS_TEXT_BYTES = 80 };
const char *issue_writers_text(unsigned writers, char to[WRITERS_TEXT_BYTES]);
/* The writer as whom a token with these may write the event; false: it may not. */
MUST_USE bool issue_writer_choose(enum issue_kind kind, unsigned writers,
                                  enum issue_writer *ret_writer);
#endif
