#include "core/conductor/issue.h"
#include "core/conductor/issue_clock.h"
#include <assert.h>
#include <string.h>

/* ---- the table ---- */

struct move {
    bool legal;
    enum issue_stage next;
};

#define TO(stage)                      \
    {                                  \
        .legal = true, .next = (stage) \
    }
/* What an agent that is at work may run into. */
#define GIVES_UP(from) \
    [from][ISSUE_EV_STUCK] = TO(STAGE_STUCK), [from][ISSUE_EV_ESCALATED] = TO(STAGE_ESCALATED)
/* Before the merge its agent can be taken off without being stuck. */
#define UNDER_WORK(from) GIVES_UP(from), [from][ISSUE_EV_UNASSIGNED] = TO(STAGE_WAITING)
#define GATED(from)                                                                        \
    [from][ISSUE_EV_GATE_TRIGGERED] = TO(from), [from][ISSUE_EV_GATE_REMINDER] = TO(from), \
    [from][ISSUE_EV_GATE_APPROVED] = TO(from),                                             \
    [from][ISSUE_EV_GATE_REJECTED] = TO(STAGE_ESCALATED)
#define DISPUTED(from) [from][ISSUE_EV_REVIEW_DISPUTED] = TO(from)

static const struct move moves[STAGE_COUNT][ISSUE_STEP_COUNT] = {
    [STAGE_NEW][ISSUE_EV_APPROVED] = TO(STAGE_WAITING),

    [STAGE_WAITING][ISSUE_EV_ASSIGNED] = TO(STAGE_ASSIGNED),
    [STAGE_WAITING][ISSUE_EV_ESCALATED] = TO(STAGE_ESCALATED),

    UNDER_WORK(STAGE_ASSIGNED),
    [STAGE_ASSIGNED][ISSUE_EV_WORK_STARTED] = TO(STAGE_WORKING),

    UNDER_WORK(STAGE_WORKING),
    [STAGE_WORKING][ISSUE_EV_BRANCH_CREATED] = TO(STAGE_WORKING),
    [STAGE_WORKING][ISSUE_EV_PR_CREATED] = TO(STAGE_IN_CI),
    [STAGE_WORKING][ISSUE_EV_DEPLOYED_STAGING] = TO(STAGE_STAGED),

    UNDER_WORK(STAGE_IN_CI),
    GATED(STAGE_IN_CI),
    [STAGE_IN_CI][ISSUE_EV_CI_PASSED] = TO(STAGE_GREEN),
    [STAGE_IN_CI][ISSUE_EV_CI_FAILED] = TO(STAGE_CI_FAILED),
    [STAGE_IN_CI][ISSUE_EV_REVIEW_PASSED] = TO(STAGE_IN_CI),

    UNDER_WORK(STAGE_CI_FAILED),
    GATED(STAGE_CI_FAILED),
    [STAGE_CI_FAILED][ISSUE_EV_PR_CREATED] = TO(STAGE_IN_CI),

    UNDER_WORK(STAGE_GREEN),
    GATED(STAGE_GREEN),
    [STAGE_GREEN][ISSUE_EV_CI_FAILED] = TO(STAGE_CI_FAILED),
    [STAGE_GREEN][ISSUE_EV_REVIEW_PASSED] = TO(STAGE_GREEN),
    [STAGE_GREEN][ISSUE_EV_MERGED] = TO(STAGE_MERGED),

    GIVES_UP(STAGE_MERGED),
    GATED(STAGE_MERGED),
    DISPUTED(STAGE_MERGED),
    [STAGE_MERGED][ISSUE_EV_DEPLOYED_STAGING] = TO(STAGE_STAGED),
    [STAGE_MERGED][ISSUE_EV_DEPLOYED_PRODUCTION] = TO(STAGE_IN_PRODUCTION),

    GIVES_UP(STAGE_STAGED),
    GATED(STAGE_STAGED),
    DISPUTED(STAGE_STAGED),
    [STAGE_STAGED][ISSUE_EV_SMOKE_PASSED] = TO(STAGE_SMOKE_PASSED),
    [STAGE_STAGED][ISSUE_EV_SMOKE_FAILED] = TO(STAGE_SMOKE_FAILED),

    GIVES_UP(STAGE_SMOKE_PASSED),
    GATED(STAGE_SMOKE_PASSED),
    DISPUTED(STAGE_SMOKE_PASSED),
    [STAGE_SMOKE_PASSED][ISSUE_EV_DEPLOYED_PRODUCTION] = TO(STAGE_IN_PRODUCTION),

    UNDER_WORK(STAGE_SMOKE_FAILED),
    DISPUTED(STAGE_SMOKE_FAILED),
    [STAGE_SMOKE_FAILED][ISSUE_EV_WORK_STARTED] = TO(STAGE_SMOKE_FAILED),
    [STAGE_SMOKE_FAILED][ISSUE_EV_BRANCH_CREATED] = TO(STAGE_SMOKE_FAILED),
    [STAGE_SMOKE_FAILED][ISSUE_EV_PR_CREATED] = TO(STAGE_IN_CI),

    GIVES_UP(STAGE_IN_PRODUCTION),
    DISPUTED(STAGE_IN_PRODUCTION),
    [STAGE_IN_PRODUCTION][ISSUE_EV_SMOKE_FAILED] = TO(STAGE_SMOKE_FAILED),
    [STAGE_IN_PRODUCTION][ISSUE_EV_VERIFIED] = TO(STAGE_VERIFIED),

    GIVES_UP(STAGE_VERIFIED),
    DISPUTED(STAGE_VERIFIED),
    [STAGE_VERIFIED][ISSUE_EV_DONE] = TO(STAGE_DONE),

    DISPUTED(STAGE_DONE),

    DISPUTED(STAGE_STUCK),
    [STAGE_STUCK][ISSUE_EV_UNASSIGNED] = TO(STAGE_WAITING),
    [STAGE_STUCK][ISSUE_EV_ESCALATED] = TO(STAGE_ESCALATED),

    DISPUTED(STAGE_ESCALATED),
    [STAGE_ESCALATED][ISSUE_EV_UNASSIGNED] = TO(STAGE_ESCALATED),
    [STAGE_ESCALATED][ISSUE_EV_APPROVED] = TO(STAGE_WAITING),
};

const char *const issue_stage_names[] = {
    [STAGE_NEW] = "new",
    [STAGE_WAITING] = "waiting",
    [STAGE_ASSIGNED] = "assigned",
    [STAGE_WORKING] = "working",
    [STAGE_IN_CI] = "in_ci",
    [STAGE_CI_FAILED] = "ci_failed",
    [STAGE_GREEN] = "green",
    [STAGE_MERGED] = "merged",
    [STAGE_STAGED] = "staged",
    [STAGE_SMOKE_PASSED] = "smoke_passed",
    [STAGE_SMOKE_FAILED] = "smoke_failed",
    [STAGE_IN_PRODUCTION] = "in_production",
    [STAGE_VERIFIED] = "verified",
    [STAGE_DONE] = "done",
    [STAGE_STUCK] = "stuck",
    [STAGE_ESCALATED] = "escalated",
    [STAGE_COUNT] = NULL,
};

static const struct {
    const char *name, *text;
} rules[ISSUE_RULE_COUNT] = {
    [ISSUE_RULE_KEPT] = {"kept", ""},
    [ISSUE_RULE_NOT_APPROVED] = {"not_approved", "the issue has no ISSUE_APPROVED yet"},
    [ISSUE_RULE_NOT_IN_STATE] = {"not_in_state", "the state of the issue does not allow it"},
    [ISSUE_RULE_WRITER] = {"writer", "the token may not write this event"},
    [ISSUE_RULE_ASSIGNED_AGENT] =
        {"assigned_agent", "only the agent that the issue is assigned to writes it: ask for "
                           "your assignments"},
    [ISSUE_RULE_DONE_NEEDS_VERIFIED] =
        {"done_needs_verified", "ISSUE_DONE is valid only after VERIFIED of the same issue"},
    [ISSUE_RULE_CI_FAILED_BACK_TO_PR] =
        {"ci_failed_back_to_pr", "after CI_FAILED the fix comes first: write PR_CREATED again"},
    [ISSUE_RULE_FRESH_BRANCH] = {"fresh_branch",
                                 "the branch was abandoned when the issue was reassigned: create "
                                 "another one"},
    [ISSUE_RULE_TOO_MANY_BRANCHES] = {"too_many_branches",
                                      "too many branches of the issue were abandoned: it needs a "
                                      "person"},
    [ISSUE_RULE_SMOKE_RETRIES] = {"smoke_retries",
                                  "three smoke tests have failed in code: write AGENT_STUCK"},
    [ISSUE_RULE_EXTERNAL_DEPENDENCY] = {"external_dependency",
                                        "a smoke test failed for an external dependency: write "
                                        "ESCALATED"},
    [ISSUE_RULE_FIX_IS_NEW_PR] =
        {"fix_is_new_pr", "a fix after a smoke failure is another pull request, from another "
                          "branch, on top of main"},
    [ISSUE_RULE_DEPENDENCIES_OPEN] = {"dependencies_open",
                                      "issues that it depends on are not done"},
    [ISSUE_RULE_TWO_STUCK_AGENTS] = {"two_stuck_agents",
                                     "two agents were stuck on it: it is escalated, and a person "
                                     "approves it again"},
    [ISSUE_RULE_STILL_ASSIGNED] = {"still_assigned", "write ISSUE_UNASSIGNED first"},
    [ISSUE_RULE_STAGING_NEEDS_MERGE] = {"staging_needs_merge",
                                        "nothing of the issue is merged that could be deployed"},
    [ISSUE_RULE_GATE_OPEN] = {"gate_open", "a human gate is open: a person answers it first"},
    [ISSUE_RULE_NO_GATE] = {"no_gate", "the issue has no open human gate"},
    [ISSUE_RULE_REMINDER_ONCE] = {"reminder_once", "people were reminded in this period already"},
    [ISSUE_RULE_MILESTONE_OPEN] = {"milestone_open", "issues of the milestone are not done"},
    [ISSUE_RULE_MILESTONE_ONCE] = {"milestone_once", "the milestone is complete already"},
};

const char *issue_rule_name(enum issue_rule rule)
{
    assert((unsigned)rule < ISSUE_RULE_COUNT);
    return rules[rule].name;
}

const char *issue_rule_text(enum issue_rule rule)
{
    assert((unsigned)rule < ISSUE_RULE_COUNT);
    return rules[rule].text;
}

const char *issue_stage_name(enum issue_stage stage)
{
    assert((unsigned)stage < STAGE_COUNT);
    return issue_stage_names[stage];
}

bool issue_stage_parse(const char *name, enum issue_stage *ret_stage)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (text_same(issue_stage_names[i], name)) {
            *ret_stage = (enum issue_stage)i;
            return true;
        }
    }
    return false;
}

bool issue_has_agent(enum issue_stage stage)
{
    return stage >= STAGE_ASSIGNED && stage <= STAGE_VERIFIED;
}

bool issue_is_open(enum issue_stage stage)
{
    return stage != STAGE_NEW && stage != STAGE_DONE && stage != STAGE_ESCALATED;
}

void issue_check(const struct issue_life *issue)
{
    enum issue_stage stage = issue->stage;
    const char *agent = issue->life.assigned_to;
    assert((unsigned)stage < STAGE_COUNT);
    if (issue_has_agent(stage) || stage == STAGE_STUCK)
        assert(agent != NULL);
    if (stage == STAGE_NEW || stage == STAGE_WAITING)
        assert(agent == NULL);
    if (stage == STAGE_MERGED || stage == STAGE_STAGED || stage == STAGE_SMOKE_PASSED ||
        stage == STAGE_IN_PRODUCTION || stage == STAGE_VERIFIED || stage == STAGE_DONE)
        assert(issue->merged);
    assert(stage != STAGE_SMOKE_FAILED || !issue->merged);
    assert(issue->gate_us == 0 || moves[stage][ISSUE_EV_GATE_TRIGGERED].legal);
    assert(issue->smoke_failures >= 0 && issue->stuck_agents >= 0);
}

#define NUMBER(member)                                  \
    {                                                   \
#member, offsetof(struct issue_life, member), 0 \
    }
#define TEXT(member)                                    \
    {                                                   \
#member, offsetof(struct issue_life, member), 1 \
    }
static const struct {
    const char *name;
    size_t offset;
    int is_text;
} compared[] = {
    NUMBER(stage_us),
    NUMBER(life.status_us),
    NUMBER(life.assigned_us),
    NUMBER(life.approved_us),
    NUMBER(life.done_us),
    NUMBER(life.assignments),
    NUMBER(life.unassignments),
    NUMBER(life.reassignments),
    NUMBER(smoke_failures),
    NUMBER(stuck_agents),
    NUMBER(gate_us),
    NUMBER(gate_period),
    NUMBER(sla_us),
    NUMBER(priority),
    TEXT(life.status),
    TEXT(life.assigned_to),
    TEXT(branch),
    TEXT(abandoned),
    TEXT(pull_request),
    TEXT(last_stuck),
    TEXT(title),
    TEXT(description),
    TEXT(repository),
    TEXT(milestone),
    TEXT(persona),
};

const char *issue_differs(const struct issue_life *a, const struct issue_life *b)
{
    if (a->stage != b->stage)
        return "stage";
    if (a->reviewed != b->reviewed || a->merged != b->merged || a->external != b->external ||
        a->fixing != b->fixing)
        return "reviewed, merged, external or fixing";
    if (!id_same(&a->task_id, &b->task_id))
        return "task_id";
    if (!str_same(a->labels, b->labels) || !str_same(a->depends_on, b->depends_on))
        return "labels or depends_on";
    for (size_t i = 0; i < COUNT_OF(compared); i++) {
        const char *left = (const char *)a + compared[i].offset;
        const char *right = (const char *)b + compared[i].offset;
        bool same = compared[i].is_text
                        ? text_same(*(const char *const *)left, *(const char *const *)right)
                        : *(const int64_t *)left == *(const int64_t *)right;
        if (!same)
            return compared[i].name;
    }
    return NULL;
}

/* ---- rules beside the table ---- */

static bool is_abandoned(const struct issue_life *issue, const char *branch)
{
    struct str rest = str_of(issue->abandoned), line;
    while (branch != NULL && str_take_line(&rest, &line))
        if (str_is(line, branch))
            return true;
    return false;
}

bool issue_branches_full(const struct issue_life *issue)
{
    /* One more of an agent, and that of the smoke failure before it. */
    return str_of(issue->abandoned).len + 2 * (ISSUE_EVENT_NAME_MAX + 1) > ISSUE_ABANDONED_MAX;
}

static enum issue_rule check_assignment(const struct issue_life *issue,
                                        const struct issue_facts *facts)
{
    if (facts->open_dependencies > 0)
        return ISSUE_RULE_DEPENDENCIES_OPEN;
    if (issue->stuck_agents >= ISSUE_STUCK_MAX)
        return ISSUE_RULE_TWO_STUCK_AGENTS;
    return issue_branches_full(issue) ? ISSUE_RULE_TOO_MANY_BRANCHES : ISSUE_RULE_KEPT;
}

/* A fix after a smoke failure. */
static enum issue_rule check_fix(const struct issue_life *issue, const struct issue_event *event)
{
    if (issue->external)
        return ISSUE_RULE_EXTERNAL_DEPENDENCY;
    if (issue->smoke_failures >= ISSUE_SMOKE_MAX)
        return ISSUE_RULE_SMOKE_RETRIES;
    if (event->kind != ISSUE_EV_PR_CREATED)
        return ISSUE_RULE_KEPT;
    bool same = text_same(event->pull_request, issue->pull_request);
    bool stacked = event->base != NULL && is_abandoned(issue, event->base);
    return same || stacked ? ISSUE_RULE_FIX_IS_NEW_PR : ISSUE_RULE_KEPT;
}

static enum issue_rule check_branch(const struct issue_life *issue, const struct issue_event *event)
{
    if (is_abandoned(issue, event->branch))
        return issue->stage == STAGE_SMOKE_FAILED ? ISSUE_RULE_FIX_IS_NEW_PR
                                                  : ISSUE_RULE_FRESH_BRANCH;
    return issue->stage == STAGE_SMOKE_FAILED ? check_fix(issue, event) : ISSUE_RULE_KEPT;
}

static enum issue_rule check_gate(const struct issue_life *issue, const struct issue_event *event)
{
    if (event->kind == ISSUE_EV_GATE_TRIGGERED)
        return issue->gate_us > 0 ? ISSUE_RULE_GATE_OPEN : ISSUE_RULE_KEPT;
    if (issue->gate_us == 0)
        return ISSUE_RULE_NO_GATE;
    if (event->kind == ISSUE_EV_GATE_REMINDER && event->period <= issue->gate_period)
        return ISSUE_RULE_REMINDER_ONCE;
    return ISSUE_RULE_KEPT;
}

/* The move is one of the table. */
static enum issue_rule check_rules(const struct issue_life *issue, const struct issue_event *event,
                                   const struct issue_facts *facts)
{
    switch (event->kind) {
    case ISSUE_EV_APPROVED:
        return issue->life.assigned_to != NULL ? ISSUE_RULE_STILL_ASSIGNED : ISSUE_RULE_KEPT;
    case ISSUE_EV_ASSIGNED:
        return check_assignment(issue, facts);
    case ISSUE_EV_UNASSIGNED:
        return issue->life.assigned_to == NULL ? ISSUE_RULE_ASSIGNED_AGENT : ISSUE_RULE_KEPT;
    case ISSUE_EV_WORK_STARTED:
        return issue->stage == STAGE_SMOKE_FAILED ? check_fix(issue, event) : ISSUE_RULE_KEPT;
    case ISSUE_EV_BRANCH_CREATED:
    case ISSUE_EV_PR_CREATED:
        return check_branch(issue, event);
    case ISSUE_EV_GATE_TRIGGERED:
    case ISSUE_EV_GATE_REMINDER:
    case ISSUE_EV_GATE_APPROVED:
    case ISSUE_EV_GATE_REJECTED:
        return check_gate(issue, event);
    case ISSUE_EV_DEPLOYED_STAGING:
        if (!issue->merged)
            return ISSUE_RULE_STAGING_NEEDS_MERGE;
        return issue->gate_us > 0 ? ISSUE_RULE_GATE_OPEN : ISSUE_RULE_KEPT;
    case ISSUE_EV_MERGED:
    case ISSUE_EV_DEPLOYED_PRODUCTION:
        return issue->gate_us > 0 ? ISSUE_RULE_GATE_OPEN : ISSUE_RULE_KEPT;
    default:
        return ISSUE_RULE_KEPT;
    }
}

static enum issue_rule refusal(const struct issue_life *issue, enum issue_kind kind)
{
    if (kind == ISSUE_EV_DONE && issue->stage != STAGE_DONE)
        return ISSUE_RULE_DONE_NEEDS_VERIFIED;
    if (issue->stage == STAGE_NEW)
        return ISSUE_RULE_NOT_APPROVED;
    if (issue->stage == STAGE_CI_FAILED &&
        (kind == ISSUE_EV_CI_PASSED || kind == ISSUE_EV_MERGED || kind == ISSUE_EV_CI_FAILED))
        return ISSUE_RULE_CI_FAILED_BACK_TO_PR;
    return ISSUE_RULE_NOT_IN_STATE;
}

static enum issue_rule judge(const struct issue_life *issue, const struct issue_event *event,
                             const struct issue_facts *facts)
{
    if (event->kind >= ISSUE_STEP_COUNT)
        return ISSUE_RULE_NOT_IN_STATE;
    bool stranger = issue_kind_is_of_agent(event->kind) && event->agent_id != NULL &&
                    !text_same(event->agent_id, issue->life.assigned_to);
    if (stranger && issue->stage != STAGE_NEW)
        return ISSUE_RULE_ASSIGNED_AGENT;
    if (!moves[issue->stage][event->kind].legal)
        return refusal(issue, event->kind);
    return check_rules(issue, event, facts);
}

/* ---- effects ---- */

static const char *or_else(const char *text, const char *other)
{
    return text != NULL ? text : other;
}

/* A later approval may say some things anew. */
static void approve(struct issue_life *issue, const struct issue_event *event)
{
    issue->title = or_else(event->title, issue->title);
    issue->description = or_else(event->description, issue->description);
    issue->repository = or_else(event->repository, issue->repository);
    issue->milestone = or_else(event->milestone, issue->milestone);
    issue->persona = or_else(event->persona, issue->persona);
    if (event->labels.len > 0)
        issue->labels = event->labels;
    if (event->depends_on.len > 0)
        issue->depends_on = event->depends_on;
    if (event->priority > 0)
        issue->priority = event->priority;
    else if (issue->priority == 0)
        issue->priority = ISSUE_EVENT_PRIORITY_DEFAULT;
    issue->sla_us = issue_sla_of(issue->labels);
    issue->smoke_failures = issue->stuck_agents = 0;
    issue->external = false;
}

static void abandon(struct issue_life *issue, struct arena *arena)
{
    if (issue->branch == NULL || is_abandoned(issue, issue->branch))
        return;
    issue->abandoned = issue->abandoned == NULL
                           ? issue->branch
                           : arena_printf(arena, "%s\n%s", issue->abandoned, issue->branch);
}

static void start_anew(struct issue_life *issue)
{
    issue->branch = NULL;
    issue->pull_request = NULL;
    issue->reviewed = false;
    issue->fixing = false;
    issue->task_id = (struct id){0};
}

static void smoke_failed(struct issue_life *issue, const struct issue_event *event,
                         struct arena *arena)
{
    bool external = text_same(event->reason, SMOKE_REASON_EXTERNAL);
    issue->external |= external;
    issue->smoke_failures += !external;
    issue->merged = issue->fixing = false;
    abandon(issue, arena); /* What it has is merged: the fix needs another branch. */
}

static void take_effect(struct issue_life *issue, const struct issue_event *event,
                        struct arena *arena)
{
    switch (event->kind) {
    case ISSUE_EV_APPROVED:
        approve(issue, event);
        break;
    case ISSUE_EV_ASSIGNED:
        start_anew(issue);
        issue->task_id = event->task_id;
        break;
    case ISSUE_EV_UNASSIGNED:
        abandon(issue, arena);
        start_anew(issue);
        issue->gate_us = 0;
        break;
    case ISSUE_EV_WORK_STARTED:
        issue->fixing = issue->stage == STAGE_SMOKE_FAILED;
        if (!id_is_none(&event->task_id))
            issue->task_id = event->task_id;
        break;
    case ISSUE_EV_PR_CREATED:
        issue->fixing = false;
        issue->pull_request = event->pull_request;
        issue->reviewed = false;
        issue->branch = event->branch;
        break;
    case ISSUE_EV_BRANCH_CREATED:
        issue->branch = event->branch;
        break;
    case ISSUE_EV_REVIEW_PASSED:
        issue->reviewed = true;
        break;
    case ISSUE_EV_GATE_TRIGGERED:
        issue->gate_us = event->time_us;
        issue->gate_period = 0;
        break;
    case ISSUE_EV_GATE_REMINDER:
        issue->gate_period = event->period;
        break;
    case ISSUE_EV_MERGED:
        issue->merged = true;
        break;
    case ISSUE_EV_SMOKE_FAILED:
        smoke_failed(issue, event, arena);
        issue->gate_us = 0;
        break;
    case ISSUE_EV_STUCK:
        issue->stuck_agents++;
        issue->last_stuck = issue->life.assigned_to;
        issue->gate_us = 0;
        break;
    case ISSUE_EV_ESCALATED:
    case ISSUE_EV_GATE_APPROVED:
    case ISSUE_EV_GATE_REJECTED:
        issue->gate_us = 0;
        break;
    default:
        break;
    }
}

enum rc issue_step(const struct issue_life *issue, const struct issue_event *event,
                   const struct issue_facts *facts, struct arena *arena,
                   struct issue_life *ret_next, enum issue_rule *ret_rule)
{
    issue_check(issue);
    enum issue_rule rule = judge(issue, event, facts);
    *ret_rule = rule;
    if (rule != ISSUE_RULE_KEPT)
        return RC_CONFLICT;
    struct issue_life next = *issue;
    next.stage = moves[issue->stage][event->kind].next;
    if (next.stage != issue->stage)
        next.stage_us = event->time_us;
    lifecycle_apply(&next.life,
                    &(struct lifecycle_event){event->kind, event->agent_id, event->time_us}, arena);
    take_effect(&next, event, arena);
    issue_check(&next);
    *ret_next = next;
    return RC_OK;
}
