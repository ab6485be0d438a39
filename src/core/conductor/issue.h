/*
 * issue.h - one issue from its approval to production, as a pure function of its events.
 *
 *   new --APPROVED--> waiting --ASSIGNED--> assigned --WORK_STARTED--> working
 *                      ^   ^                                              |
 *                      |   |  (assigned ... green, stuck) UNASSIGNED      | PR_CREATED
 *                      |   +--------------------------------------+      v
 *                      |                    +-- CI_FAILED --- in_ci <--+
 *                      |                    v                    |     | PR_CREATED
 *                      |                ci_failed -- PR_CREATED -|-----+
 *                      |                                         | CI_PASSED
 *                      |                                         v
 *                      |                                       green -- CI_FAILED --> ci_failed
 *                      |                                         | MERGED
 *                      |                                         v
 *                      |       working --DEPLOYED_STAGING---> merged ---------------+
 *                      |       (what was merged before)          | DEPLOYED_STAGING |
 *                      |                                         v                  |
 *                      |     smoke_failed <-- SMOKE_FAILED -- staged                |
 *                      |       | PR_CREATED: in_ci               | SMOKE_PASSED     |
 *                      |       ^                                 v                  |
 *                      |       |                            smoke_passed            |
 *                      |       |                                 | DEPLOYED_PRODUCTION
 *                      |       |                                 v                  |
 *                      |       +---- SMOKE_FAILED -------- in_production <----------+
 *                      |                                         | VERIFIED
 *                      |                                         v
 *                      | APPROVED                            verified --ISSUE_DONE--> done
 *                      |
 *     assigned ... verified --AGENT_STUCK--> stuck --UNASSIGNED--> waiting
 *     every stage but new, done and escalated: ESCALATED, HUMAN_GATE_REJECTED --> escalated
 *
 * A gate is a mark on the issue: HUMAN_GATE_TRIGGERED sets it, HUMAN_GATE_APPROVED takes it away,
 * and while it is there nothing is merged or deployed.
 *
 * Rules beside the table (enum issue_rule); a refused event names the rule that it breaks.
 *
 * Invariants (issue_check):
 *   1. An issue has an agent in assigned to verified and stuck, none in new and waiting.
 *   2. merged is set from merged to done, but for smoke_failed.
 *   3. A gate is open only where it may be triggered.
 */
#ifndef CORE_CONDUCTOR_ISSUE_H
#define CORE_CONDUCTOR_ISSUE_H
#include "core/conductor/issue_event.h"
#include "core/conductor/lifecycle.h"

enum issue_stage {
    STAGE_NEW,     /* No approval yet: it has no row. */
    STAGE_WAITING, /* For an agent, or for issues that it depends on. */
    STAGE_ASSIGNED,
    STAGE_WORKING,
    STAGE_IN_CI, /* A pull request is open. */
    STAGE_CI_FAILED,
    STAGE_GREEN,
    STAGE_MERGED,
    STAGE_STAGED,
    STAGE_SMOKE_PASSED,
    STAGE_SMOKE_FAILED,
    STAGE_IN_PRODUCTION,
    STAGE_VERIFIED,
    STAGE_DONE,
    STAGE_STUCK,     /* Its agent is; another one gets it. */
    STAGE_ESCALATED, /* A person decides; an approval lets it start again. */
    STAGE_COUNT
};

enum issue_rule {
    ISSUE_RULE_KEPT, /* None is broken. */
    ISSUE_RULE_NOT_APPROVED,
    ISSUE_RULE_NOT_IN_STATE,
    ISSUE_RULE_WRITER,
    ISSUE_RULE_ASSIGNED_AGENT,
    ISSUE_RULE_DONE_NEEDS_VERIFIED,
    ISSUE_RULE_CI_FAILED_BACK_TO_PR,
    ISSUE_RULE_FRESH_BRANCH,
    ISSUE_RULE_TOO_MANY_BRANCHES,
    ISSUE_RULE_SMOKE_RETRIES,
    ISSUE_RULE_EXTERNAL_DEPENDENCY,
    ISSUE_RULE_FIX_IS_NEW_PR,
    ISSUE_RULE_DEPENDENCIES_OPEN,
    ISSUE_RULE_TWO_STUCK_AGENTS,
    ISSUE_RULE_STILL_ASSIGNED,
    ISSUE_RULE_STAGING_NEEDS_MERGE,
    ISSUE_RULE_GATE_OPEN,
    ISSUE_RULE_NO_GATE,
    ISSUE_RULE_REMINDER_ONCE,
    ISSUE_RULE_MILESTONE_OPEN,
    ISSUE_RULE_MILESTONE_ONCE,
    ISSUE_RULE_COUNT
};
/* "done_needs_verified": the code of a refusal is issue.NAME. */
const char *issue_rule_name(enum issue_rule rule);
const char *issue_rule_text(enum issue_rule rule); /* What it says, and what to do. */

enum {
    ISSUE_SMOKE_MAX = 3,       /* Smoke failures in code; then the agent is stuck. */
    ISSUE_STUCK_MAX = 2,       /* Stuck agents; then the issue is escalated. */
    ISSUE_ABANDONED_MAX = 4096 /* Bytes of the names of abandoned branches. */
};

/* Also stored: a new member means a column in store/issue_states.c and a migration. */
struct issue_life {
    enum issue_stage stage;
    int64_t stage_us; /* Since when. */
    struct lifecycle life;
    const char *branch;       /* Of the agent; NULL: none yet. */
    const char *abandoned;    /* Branches of earlier agents, a line each; or NULL. */
    const char *pull_request; /* The last one; or NULL. */
    bool reviewed;            /* The pull request. */
    bool merged;              /* Something that was not smoke tested as bad. */
    bool external;            /* A smoke test failed for something that no agent can fix. */
    int64_t smoke_failures;   /* In code, since the last approval; */
    int64_t stuck_agents;     /* as this. */
    int64_t gate_us;          /* A gate is open since then; 0: none. */
    int64_t gate_period;      /* Of its last reminder. */
    int64_t sla_us;           /* For the implementation. */
    struct id task_id;        /* Of drover, that works on it; or none. */
    bool fixing;              /* After a smoke failure: its agent works on the fix. */
    const char *last_stuck;   /* The agent that was stuck on it last; or NULL. */
    const char *title, *description, *repository, *milestone, *persona; /* or NULL */
    struct str labels, depends_on; /* JSON arrays; empty: none. */
    int64_t priority;
};

/* What the stage of other rows adds. */
struct issue_facts {
    int64_t open_dependencies; /* Issues that it depends on and that are not done. */
};

const char *issue_stage_name(enum issue_stage stage);
MUST_USE bool issue_stage_parse(const char *name, enum issue_stage *ret_stage);
extern const char *const issue_stage_names[]; /* NULL-terminated */
bool issue_has_agent(enum issue_stage stage); /* Its agent is at work, or should be. */
bool issue_is_open(enum issue_stage stage);   /* It will move on without a person. */

/* No more branches can be abandoned: it is not assigned again. */
bool issue_branches_full(const struct issue_life *issue);

/* Aborts where an invariant does not hold. */
void issue_check(const struct issue_life *issue);

/* The name of the first member in which they differ; NULL: in none. */
const char *issue_differs(const struct issue_life *a, const struct issue_life *b);

/* RC_CONFLICT: *ret_rule is broken, and *ret_next untouched.  Texts live in the issue, the event or
   the arena. */
MUST_USE enum rc issue_step(const struct issue_life *issue, const struct issue_event *event,
                            const struct issue_facts *facts, struct arena *arena,
                            struct issue_life *ret_next, enum issue_rule *ret_rule);
#endif
