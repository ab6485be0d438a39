#include "core/agent/instance.h"
#include "base/clock.h"
#include "base/str.h"
#include "core/queue/backoff.h"
#include <assert.h>
#include <stddef.h>

static const char *const state_names[] = {
    [INSTANCE_REGISTERED] = "registered", [INSTANCE_STARTING] = "starting",
    [INSTANCE_ACTIVE] = "active",         [INSTANCE_LATE] = "late",
    [INSTANCE_RESTARTING] = "restarting", [INSTANCE_STOPPED] = "stopped",
    [INSTANCE_FAILED] = "failed",         [INSTANCE_KILLED] = "killed",
    [INSTANCE_STATE_COUNT] = NULL,
};
const char *const restart_policy_names[] = {[RESTART_NEVER] = "never",
                                            [RESTART_ON_FAILURE] = "on_failure",
                                            [RESTART_ALWAYS] = "always",
                                            [RESTART_POLICY_COUNT] = NULL};
const char *const kill_policy_names[] = {
    [KILL_REQUEUE] = "requeue", [KILL_FAIL] = "fail", [KILL_POLICY_COUNT] = NULL};

/* The state after each event; NONE: it cannot happen. */
enum { NONE = INSTANCE_STATE_COUNT };
#define R INSTANCE_REGISTERED
#define S INSTANCE_STARTING
#define A INSTANCE_ACTIVE
#define L INSTANCE_LATE
#define T INSTANCE_RESTARTING
#define P INSTANCE_STOPPED
#define F INSTANCE_FAILED
#define K INSTANCE_KILLED
#define o NONE
static const int moves[INSTANCE_STATE_COUNT][INSTANCE_EV_COUNT] = {
    /*                       LAUNCH BEGIN BEAT MISS END STOP GIVE_UP LOSE KILL */
    [INSTANCE_REGISTERED] = {S, o, A, o, o, o, o, o, K},
    [INSTANCE_STARTING] = {o, A, o, o, T, P, F, S, K},
    [INSTANCE_ACTIVE] = {o, o, A, L, T, P, F, S, K},
    [INSTANCE_LATE] = {o, o, A, o, T, P, F, S, K},
    [INSTANCE_RESTARTING] = {o, A, o, o, T, P, F, S, K},
    [INSTANCE_STOPPED] = {S, o, o, o, o, o, o, o, K},
    [INSTANCE_FAILED] = {S, o, o, o, o, o, o, o, K},
    [INSTANCE_KILLED] = {S, o, o, o, o, o, o, o, o},
};
#undef R
#undef S
#undef A
#undef L
#undef T
#undef P
#undef F
#undef K
#undef o

static int name_index(const char *const *names, const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (text_same(names[i], name))
            return i;
    return -1;
}

const char *instance_state_name(enum instance_state state)
{
    return state_names[state];
}

bool instance_state_parse(const char *name, enum instance_state *ret_state)
{
    int index = name_index(state_names, name);
    if (index >= 0)
        *ret_state = (enum instance_state)index;
    return index >= 0;
}

const char *restart_policy_name(enum restart_policy policy)
{
    return restart_policy_names[policy];
}

bool restart_policy_parse(const char *name, enum restart_policy *ret_policy)
{
    int index = name_index(restart_policy_names, name);
    if (index >= 0)
        *ret_policy = (enum restart_policy)index;
    return index >= 0;
}

const char *kill_policy_name(enum kill_policy policy)
{
    return kill_policy_names[policy];
}

bool kill_policy_parse(const char *name, enum kill_policy *ret_policy)
{
    int index = name_index(kill_policy_names, name);
    if (index >= 0)
        *ret_policy = (enum kill_policy)index;
    return index >= 0;
}

bool instance_may_claim(enum instance_state state)
{
    return moves[state][INSTANCE_EV_BEAT] != NONE;
}

bool instance_has_process(enum instance_state state)
{
    return moves[state][INSTANCE_EV_LOSE] != NONE;
}

static bool of_process(enum instance_state state)
{
    return state == INSTANCE_STARTING || state == INSTANCE_RESTARTING ||
           state == INSTANCE_STOPPED || state == INSTANCE_FAILED;
}

static void instance_check(const struct instance *instance)
{
    assert((unsigned)instance->state < INSTANCE_STATE_COUNT);
    assert((unsigned)instance->rule.policy < RESTART_POLICY_COUNT);
    assert(instance->launched || !of_process(instance->state));
    assert(instance->failures >= 0);
    assert(instance->failures <= instance->rule.max || instance->state == INSTANCE_FAILED ||
           instance->state == INSTANCE_KILLED);
}

enum rc instance_step(const struct instance *instance, enum instance_event event,
                      struct instance *ret_next)
{
    instance_check(instance);
    assert((unsigned)event < INSTANCE_EV_COUNT);
    int next = moves[instance->state][event];
    bool needs_process = event != INSTANCE_EV_BEAT && event != INSTANCE_EV_MISS &&
                         event != INSTANCE_EV_KILL;
    if (next == NONE || (needs_process && !instance->launched))
        return RC_CONFLICT;
    struct instance after = *instance;
    after.state = (enum instance_state)next;
    if (event == INSTANCE_EV_LAUNCH)
        after.failures = 0;
    instance_check(&after);
    *ret_next = after;
    return RC_OK;
}

struct process_verdict instance_ended(const struct instance *instance,
                                      const struct process_end *end)
{
    const struct restart_rule *rule = &instance->rule;
    const struct backoff backoff = {.base_us = rule->backoff_ms * US_PER_MS,
                                    .max_us = RESTART_BACKOFF_MS_MAX * US_PER_MS,
                                    .jitter_us = rule->backoff_ms * US_PER_MS / 4};
    bool healthy = end->lived_ms >= INSTANCE_HEALTHY_MS;
    bool again = rule->policy == RESTART_ALWAYS || (rule->policy == RESTART_ON_FAILURE && !end->ok);
    struct process_verdict verdict = {.event = INSTANCE_EV_STOP, .failures = instance->failures};
    if (!again)
        return verdict;
    verdict.failures = healthy ? 1 : instance->failures + 1;
    verdict.event = verdict.failures > rule->max ? INSTANCE_EV_GIVE_UP : INSTANCE_EV_END;
    if (verdict.event == INSTANCE_EV_END)
        verdict.pause_ms = backoff_delay_us(&backoff, verdict.failures, end->random) / US_PER_MS;
    return verdict;
}
