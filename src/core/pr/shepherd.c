/*
 * shepherd.c - see shepherd.h.
 *
 *   open ---> checks ---> review ---> mergeable ---> merging ---> merged
 *    ^  <--------+-----------+------------+-------------+   |        ^
 *    |           |           |            |             |   |        | at the forge, from every
 *    |           v           v            v             v   |        | state that is not final
 *    |        failing, changes_requested, conflicting, stale, blocked
 *    +-----------------------------+         (blocked also from the four before it)
 *
 *   every state that is not final: closed, when the forge says so
 *
 * A state of the upper line leads to the next one, to each of the lower line, and back to open: a
 * new head, or what was there is there no more.  A state of the lower line leads to open, from
 * where the pull request takes the upper line again, and to blocked when a budget is used up.
 */
#include "core/pr/shepherd.h"
#include "base/str.h"
#include <assert.h>
#include <stddef.h>

/* ---- moves ---- */

#define BIT(state) (1U << (state))
#define TROUBLES                                                                           \
    (BIT(SHEPHERD_FAILING) | BIT(SHEPHERD_CHANGES_REQUESTED) | BIT(SHEPHERD_CONFLICTING) | \
     BIT(SHEPHERD_STALE) | BIT(SHEPHERD_BLOCKED))
#define ENDS (BIT(SHEPHERD_MERGED) | BIT(SHEPHERD_CLOSED))

static const unsigned moves[SHEPHERD_STATE_COUNT] = {
    [SHEPHERD_OPEN] = BIT(SHEPHERD_CHECKS) | TROUBLES | ENDS,
    [SHEPHERD_CHECKS] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_REVIEW) | TROUBLES | ENDS,
    [SHEPHERD_REVIEW] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_MERGEABLE) | TROUBLES | ENDS,
    [SHEPHERD_MERGEABLE] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_MERGING) | TROUBLES | ENDS,
    [SHEPHERD_MERGING] = BIT(SHEPHERD_OPEN) | TROUBLES | ENDS,
    [SHEPHERD_FAILING] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_BLOCKED) | ENDS,
    [SHEPHERD_CHANGES_REQUESTED] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_BLOCKED) | ENDS,
    [SHEPHERD_CONFLICTING] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_BLOCKED) | ENDS,
    [SHEPHERD_STALE] = BIT(SHEPHERD_OPEN) | BIT(SHEPHERD_BLOCKED) | ENDS,
    [SHEPHERD_BLOCKED] = BIT(SHEPHERD_OPEN) | ENDS,
};

bool shepherd_is_final(enum shepherd_state state)
{
    assert((unsigned)state < SHEPHERD_STATE_COUNT);
    return moves[state] == 0;
}

bool shepherd_may_move(enum shepherd_state from, enum shepherd_state to)
{
    assert((unsigned)from < SHEPHERD_STATE_COUNT && (unsigned)to < SHEPHERD_STATE_COUNT);
    return (moves[from] & BIT(to)) != 0;
}

enum shepherd_state shepherd_toward(enum shepherd_state from, enum shepherd_state aim)
{
    if (from == aim || shepherd_is_final(from))
        return from;
    if (shepherd_may_move(from, aim))
        return aim;
    /* On along the upper line while the aim lies ahead on it, else back to its beginning. */
    bool ahead = aim <= SHEPHERD_MERGING && from < aim;
    return ahead ? (enum shepherd_state)(from + 1) : SHEPHERD_OPEN;
}

/* ---- decisions ---- */

static struct shepherd_decision decision(enum shepherd_state state, enum shepherd_wait wait,
                                         const char *reason)
{
    return (struct shepherd_decision){.state = state, .wait = wait, .reason = reason};
}

static struct shepherd_decision act(enum shepherd_state state, unsigned acts, const char *reason)
{
    return (struct shepherd_decision){
        .state = state, .acts = acts, .wait = WAIT_SOON, .reason = reason};
}

/* A person is asked once; until there is an answer, or the facts change, it waits. */
static struct shepherd_decision ask(const struct shepherd_facts *facts, const char *reason)
{
    struct shepherd_decision asked = decision(SHEPHERD_BLOCKED, WAIT_LONG, reason);
    if (facts->person == PERSON_NONE)
        asked.acts = ACT_ASK;
    return asked;
}

struct repair_words {
    const char *begin, *under_way, *used_up;
};

/* A repair, or what stands in its way. */
static struct shepherd_decision repair(const struct shepherd_facts *facts,
                                       enum shepherd_state state, enum repair_cause cause,
                                       const struct repair_words *words)
{
    if (facts->work != WORK_NONE)
        return decision(state, WAIT_POLL, words->under_way);
    if (!facts->may_repair)
        return ask(facts, words->used_up);
    struct shepherd_decision begun = act(state, ACT_REPAIR, words->begin);
    begun.cause = cause;
    return begun;
}

static struct shepherd_decision decide_new_head(const struct shepherd_facts *facts)
{
    if (facts->certificate == CERT_UNOBTAINABLE && facts->work == WORK_NONE)
        return ask(facts, "The head could not be verified; its certificate is missing");
    if (facts->work != WORK_NONE)
        return decision(SHEPHERD_OPEN, WAIT_POLL, "The new head is being verified");
    return act(SHEPHERD_OPEN, ACT_VERIFY, "The head is new and has no certificate");
}

static struct shepherd_decision decide_conflict(const struct shepherd_facts *facts)
{
    static const struct repair_words words = {
        "It conflicts with the target and could not be rebased by itself; an agent rebases it",
        "It conflicts with the target; its repair is under way",
        "It conflicts with the target, and the budget for repairs is used up",
    };
    if (facts->base == BASE_EMPTY)
        return act(SHEPHERD_CONFLICTING, ACT_CLOSE,
                   "The target has all of its changes already; nothing is left of it");
    if (facts->base == BASE_STUCK || facts->work == WORK_REPAIR)
        return repair(facts, SHEPHERD_CONFLICTING, REPAIR_CONFLICT, &words);
    if (facts->work != WORK_NONE)
        return decision(SHEPHERD_CONFLICTING, WAIT_POLL,
                        "It conflicts with the target and is being rebased");
    if (!facts->may_rebase)
        return ask(facts, "It conflicts with the target, and the budget for rebases is used up");
    return act(SHEPHERD_CONFLICTING, ACT_REBASE, "It conflicts with the target");
}

/* Flaky ones and infrastructure. */
static struct shepherd_decision decide_rerun(const struct shepherd_facts *facts, const char *reason)
{
    if (facts->work != WORK_NONE)
        return decision(SHEPHERD_FAILING, WAIT_POLL, reason);
    return act(SHEPHERD_FAILING, ACT_RERUN, reason);
}

static struct shepherd_decision decide_red(const struct shepherd_facts *facts)
{
    static const struct repair_words words = {
        "Checks fail because of the patch",
        "Checks fail because of the patch; its repair is under way",
        "Checks fail because of the patch, and the budget for repairs is used up",
    };
    switch (facts->failure) {
    case CI_FLAKY:
        if (facts->may_rerun)
            return decide_rerun(facts, "Checks fail that may be flaky; they run again");
        break; /* Red again: it is the patch after all. */
    case CI_INFRASTRUCTURE:
        if (facts->may_rerun)
            return decide_rerun(facts, "Checks could not run; they run again");
        return ask(facts, "Checks cannot run, and the budget for reruns is used up");
    case CI_BASE:
        return decision(SHEPHERD_BLOCKED, WAIT_LONG,
                        "Checks fail on the target branch as well; it waits for the target");
    case CI_METADATA:
        return ask(facts, "Checks fail that no patch can mend: title, labels or sign-off");
    case CI_REPEATED:
        return ask(facts, "Checks fail as they did before, when a repair did not help");
    case CI_PATCH:
    case CI_CAUSE_COUNT:
        break;
    }
    return repair(facts, SHEPHERD_FAILING, REPAIR_CHECKS, &words);
}

static struct shepherd_decision decide_review(const struct shepherd_facts *facts)
{
    static const struct repair_words words = {
        "Reviewers ask for changes",
        "Reviewers ask for changes; its repair is under way",
        "Reviewers ask for changes, and the budget for repairs is used up",
    };
    if (facts->review == REVIEW_TALKING)
        return decision(SHEPHERD_CHANGES_REQUESTED, WAIT_QUIET,
                        "A review is under way; comments are collected until it is done");
    return repair(facts, SHEPHERD_CHANGES_REQUESTED, REPAIR_REVIEW, &words);
}

static struct shepherd_decision decide_stale(const struct shepherd_facts *facts)
{
    if (facts->work != WORK_NONE)
        return decision(SHEPHERD_STALE, WAIT_POLL, "The target has moved; it is being rebased");
    if (!facts->may_rebase)
        return ask(facts, "The target has moved, and the budget for rebases is used up");
    return act(SHEPHERD_STALE, ACT_REBASE, "The target has moved, and it has to be up to date");
}

static struct shepherd_decision decide_merge(const struct shepherd_facts *facts)
{
    static const unsigned ways[WAY_COUNT] = {
        [WAY_TRAIN] = ACT_TRAIN,
        [WAY_DIRECT] = ACT_MERGE,
        [WAY_AUTO] = ACT_AUTO_MERGE,
        [WAY_QUEUE] = ACT_ENQUEUE,
    };
    const char *asks = facts->cut
                           ? "Drover could not read all of its checks, reviews and comments; "
                             "a person is asked to merge it"
                           : "It is ready; a person is asked to merge it";
    switch (facts->permission) {
    case MERGE_BY_OTHERS:
        return decision(SHEPHERD_MERGEABLE, WAIT_POLL, "It is ready; a person merges it");
    case MERGE_TO_ASK:
        return act(SHEPHERD_MERGEABLE, ACT_ASK_MERGE, asks);
    case MERGE_ASKED:
        return decision(SHEPHERD_MERGEABLE, WAIT_LONG, asks);
    case MERGE_GRANTED:
    case MERGE_PERMISSION_COUNT:
        break;
    }
    if (facts->merge_refused)
        return ask(facts, "The forge refuses to merge it");
    if (facts->submitted)
        return decision(SHEPHERD_MERGING, WAIT_POLL, "It is being merged");
    return act(SHEPHERD_MERGING, ways[facts->way], "It is ready to be merged");
}

/* Nothing speaks against the head but what is still to come. */
static struct shepherd_decision decide_good(const struct shepherd_facts *facts)
{
    if (facts->checks == CHECKS_RUNNING)
        return decision(SHEPHERD_CHECKS, WAIT_POLL, "Checks are running");
    if (facts->draft)
        return act(SHEPHERD_REVIEW, ACT_READY, "Checks are green; it is no draft any more");
    if (facts->review == REVIEW_MISSING)
        return decision(SHEPHERD_REVIEW, WAIT_POLL, "It waits for an approval of this head");
    if (facts->base == BASE_UNKNOWN)
        return decision(SHEPHERD_REVIEW, WAIT_SOON, "The forge works out whether it can be merged");
    return decide_merge(facts);
}

static struct shepherd_decision decide_open(const struct shepherd_facts *facts)
{
    bool behind = facts->base == BASE_BEHIND && facts->way != WAY_TRAIN; /* Which rebases itself. */
    if (facts->work == WORK_OUTDATED)
        return act(SHEPHERD_OPEN, ACT_STOP_WORK,
                   "The head has changed; what was begun for the old one is stopped");
    if (facts->certificate == CERT_NONE || facts->certificate == CERT_UNOBTAINABLE)
        return decide_new_head(facts);
    if (facts->base == BASE_CONFLICT || facts->base == BASE_STUCK || facts->base == BASE_EMPTY)
        return decide_conflict(facts);
    if (facts->checks == CHECKS_RED || facts->certificate == CERT_BAD)
        return decide_red(facts);
    if (facts->review == REVIEW_TALKING || facts->review == REVIEW_ASKING)
        return decide_review(facts);
    if (behind && facts->checks == CHECKS_GREEN)
        return decide_stale(facts);
    return decide_good(facts);
}

/* What is done beside the rest, in any state. */
static unsigned beside(const struct shepherd_facts *facts, enum shepherd_state state)
{
    unsigned acts = 0;
    if (facts->certificate == CERT_GOOD && !facts->shown)
        acts |= ACT_CERTIFICATE;
    if (facts->unanswered && facts->work == WORK_NONE)
        acts |= ACT_ANSWER;
    if (facts->submitted && facts->way == WAY_TRAIN && state != SHEPHERD_MERGING)
        acts |= ACT_LEAVE;
    return acts;
}

struct shepherd_decision shepherd_decide(const struct shepherd_facts *facts)
{
    if (facts->life == LIFE_MERGED)
        return decision(SHEPHERD_MERGED, WAIT_NEVER, "It is merged");
    if (facts->life == LIFE_CLOSED)
        return decision(SHEPHERD_CLOSED, WAIT_NEVER, "It was closed without being merged");
    struct shepherd_decision decided;
    if (facts->person == PERSON_STOPS) {
        decided = decision(SHEPHERD_BLOCKED, WAIT_LONG, "A person has taken it over");
        decided.acts = facts->work != WORK_NONE ? ACT_STOP_WORK : 0;
        decided.acts |= beside(facts, decided.state) & ACT_LEAVE;
        return decided;
    }
    decided = decide_open(facts);
    bool waits = decided.state != SHEPHERD_MERGEABLE && decided.state != SHEPHERD_MERGING;
    if (!facts->in_time && waits && facts->work == WORK_NONE)
        decided = ask(facts, "It was not merged within its time (shepherd.maxHours)");
    decided.acts |= beside(facts, decided.state);
    return decided;
}

void shepherd_check(const struct shepherd_facts *facts, const struct shepherd_decision *decided)
{
    const unsigned costly = ACT_RERUN | ACT_REPAIR | ACT_REBASE | ACT_VERIFY;
    const unsigned merge = ACT_TRAIN | ACT_MERGE | ACT_AUTO_MERGE | ACT_ENQUEUE;
    bool final = shepherd_is_final(decided->state);
    assert(decided->reason != NULL);
    assert(final == (facts->life != LIFE_OPEN));
    assert(!final || (decided->acts == 0 && decided->wait == WAIT_NEVER));
    assert(final || decided->wait != WAIT_NEVER);
    assert(!(decided->acts & costly) || facts->work == WORK_NONE);
    assert(!(decided->acts & costly) || facts->in_time);
    assert(!(decided->acts & ACT_RERUN) || facts->may_rerun);
    assert(!(decided->acts & ACT_REPAIR) || facts->may_repair);
    assert(!(decided->acts & ACT_REBASE) || facts->may_rebase);
    assert(!(decided->acts & ACT_VERIFY) || facts->certificate == CERT_NONE);
    assert(((decided->acts & ACT_REPAIR) != 0) == (decided->cause != REPAIR_NOTHING));
    assert(!(decided->acts & ACT_ASK) || facts->person == PERSON_NONE);
    assert(!(decided->acts & merge) ||
           (facts->certificate == CERT_GOOD && facts->checks == CHECKS_GREEN && !facts->draft &&
            facts->review == REVIEW_QUIET && facts->permission == MERGE_GRANTED));
    assert(facts->person != PERSON_STOPS || !(decided->acts & (costly | merge)));
}

/* ---- names ---- */

static const char *const state_names[SHEPHERD_STATE_COUNT] = {
    [SHEPHERD_OPEN] = "open",
    [SHEPHERD_CHECKS] = "checks",
    [SHEPHERD_REVIEW] = "review",
    [SHEPHERD_MERGEABLE] = "mergeable",
    [SHEPHERD_MERGING] = "merging",
    [SHEPHERD_MERGED] = "merged",
    [SHEPHERD_FAILING] = "failing",
    [SHEPHERD_CHANGES_REQUESTED] = "changes_requested",
    [SHEPHERD_CONFLICTING] = "conflicting",
    [SHEPHERD_STALE] = "stale",
    [SHEPHERD_BLOCKED] = "blocked",
    [SHEPHERD_CLOSED] = "closed",
};
static const char *const act_names[ACT_COUNT] = {
    "rerun", "repair",     "rebase",  "verify", "ready",     "certificate", "answer", "train",
    "merge", "auto_merge", "enqueue", "ask",    "ask_merge", "stop_work",   "leave",  "close",
};
static const char *const failure_names[CI_CAUSE_COUNT] = {
    [CI_PATCH] = "patch",       [CI_FLAKY] = "flaky",
    [CI_BASE] = "base",         [CI_INFRASTRUCTURE] = "infrastructure",
    [CI_METADATA] = "metadata", [CI_REPEATED] = "repeated",
};
static const char *const cause_names[REPAIR_CAUSE_COUNT] = {"nothing", "checks", "review",
                                                            "conflict"};

const char *shepherd_state_name(enum shepherd_state state)
{
    assert((unsigned)state < SHEPHERD_STATE_COUNT);
    return state_names[state];
}

bool shepherd_state_parse(const char *name, enum shepherd_state *ret_state)
{
    for (size_t i = 0; i < SHEPHERD_STATE_COUNT; i++) {
        if (text_same(name, state_names[i])) {
            *ret_state = (enum shepherd_state)i;
            return true;
        }
    }
    return false;
}

const char *shepherd_act_name(enum shepherd_act which)
{
    for (size_t i = 0; i < ACT_COUNT; i++)
        if ((unsigned)which == 1U << i)
            return act_names[i];
    return "nothing";
}

const char *ci_cause_name(enum ci_cause failure)
{
    assert((unsigned)failure < CI_CAUSE_COUNT);
    return failure_names[failure];
}

bool ci_cause_parse(const char *name, enum ci_cause *ret_failure)
{
    for (size_t i = 0; i < CI_CAUSE_COUNT; i++) {
        if (text_same(name, failure_names[i])) {
            *ret_failure = (enum ci_cause)i;
            return true;
        }
    }
    return false;
}

const char *repair_cause_name(enum repair_cause cause)
{
    assert((unsigned)cause < REPAIR_CAUSE_COUNT);
    return cause_names[cause];
}
