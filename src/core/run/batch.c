#include "core/run/batch.h"
#include "base/str.h"
#include <assert.h>

/* ---- the life of a batch ---- */

struct move {
    bool legal;
    enum batch_status next;
};

#define TO(state)                      \
    {                                  \
        .legal = true, .next = (state) \
    }

static const struct move moves[BATCH_STATUS_COUNT][BATCH_EV_COUNT] = {
    [BATCH_RUNNING][BATCH_EV_PAUSE] = TO(BATCH_PAUSED),
    [BATCH_RUNNING][BATCH_EV_STOP] = TO(BATCH_STOPPING),
    [BATCH_RUNNING][BATCH_EV_CANCEL] = TO(BATCH_CANCELLING),
    [BATCH_RUNNING][BATCH_EV_DRAINED] = TO(BATCH_COMPLETED),

    [BATCH_PAUSED][BATCH_EV_RESUME] = TO(BATCH_RUNNING),
    [BATCH_PAUSED][BATCH_EV_STOP] = TO(BATCH_STOPPING),
    [BATCH_PAUSED][BATCH_EV_CANCEL] = TO(BATCH_CANCELLING),
    [BATCH_PAUSED][BATCH_EV_DRAINED] = TO(BATCH_COMPLETED),

    [BATCH_STOPPING][BATCH_EV_CANCEL] = TO(BATCH_CANCELLING),
    [BATCH_STOPPING][BATCH_EV_DRAINED] = TO(BATCH_STOPPED),

    [BATCH_CANCELLING][BATCH_EV_DRAINED] = TO(BATCH_CANCELLED),
};

bool batch_has_ended(enum batch_status status)
{
    return status == BATCH_COMPLETED || status == BATCH_STOPPED || status == BATCH_CANCELLED;
}

bool batch_goes_on(enum batch_status status)
{
    return status == BATCH_RUNNING || status == BATCH_PAUSED;
}

static void check_status(enum batch_status status)
{
    assert((unsigned)status < BATCH_STATUS_COUNT);
    bool ended = batch_has_ended(status);
    assert(moves[status][BATCH_EV_DRAINED].legal == !ended);
    assert(moves[status][BATCH_EV_STOP].legal == batch_goes_on(status));
    for (size_t i = 0; i < BATCH_EV_COUNT; i++)
        assert(!ended || !moves[status][i].legal);
}

enum rc batch_step(enum batch_status status, enum batch_event event, enum batch_status *ret_next)
{
    check_status(status);
    assert((unsigned)event < BATCH_EV_COUNT);
    const struct move *move = &moves[status][event];
    if (!move->legal)
        return RC_CONFLICT;
    *ret_next = move->next;
    return RC_OK;
}

/* ---- names ---- */

static const char *const status_names[BATCH_STATUS_COUNT] = {
    [BATCH_RUNNING] = "running",     [BATCH_PAUSED] = "paused",
    [BATCH_STOPPING] = "stopping",   [BATCH_CANCELLING] = "cancelling",
    [BATCH_COMPLETED] = "completed", [BATCH_STOPPED] = "stopped",
    [BATCH_CANCELLED] = "cancelled",
};
static const char *const event_names[BATCH_EV_COUNT] = {
    [BATCH_EV_PAUSE] = "pause",   [BATCH_EV_RESUME] = "resume",   [BATCH_EV_STOP] = "stop",
    [BATCH_EV_CANCEL] = "cancel", [BATCH_EV_DRAINED] = "drained",
};
static const char *const state_names[MEMBER_STATE_COUNT] = {
    [MEMBER_WAITING] = "waiting", [MEMBER_SUBMITTED] = "submitted", [MEMBER_REFUSED] = "refused",
    [MEMBER_SKIPPED] = "skipped", [MEMBER_DROPPED] = "dropped",
};
static const char *const phase_names[PHASE_COUNT] = {
    [PHASE_WAITING] = "waiting", [PHASE_ACTIVE] = "active",       [PHASE_COMPLETED] = "completed",
    [PHASE_FAILED] = "failed",   [PHASE_CANCELLED] = "cancelled", [PHASE_SKIPPED] = "skipped",
};
static const char *const stop_codes[] = {
    [BATCH_STOP_NONE] = NULL,
    [BATCH_STOP_FAILURES] = "too_many_failures",
    [BATCH_STOP_PERCENT] = "too_many_failures",
    [BATCH_STOP_BUDGET] = "batch_budget_exceeded",
};

static bool find_name(const char *const *names, size_t count, const char *name, size_t *ret_at)
{
    for (size_t i = 0; i < count; i++) {
        if (text_same(names[i], name)) {
            *ret_at = i;
            return true;
        }
    }
    return false;
}

const char *batch_status_name(enum batch_status status)
{
    assert((unsigned)status < BATCH_STATUS_COUNT);
    return status_names[status];
}

const char *batch_event_name(enum batch_event event)
{
    assert((unsigned)event < BATCH_EV_COUNT);
    return event_names[event];
}

bool batch_status_parse(const char *name, enum batch_status *ret_status)
{
    size_t at;
    bool found = find_name(status_names, BATCH_STATUS_COUNT, name, &at);
    if (found)
        *ret_status = (enum batch_status)at;
    return found;
}

const char *member_state_name(enum member_state state)
{
    assert((unsigned)state < MEMBER_STATE_COUNT);
    return state_names[state];
}

bool member_state_parse(const char *name, enum member_state *ret_state)
{
    size_t at;
    bool found = find_name(state_names, MEMBER_STATE_COUNT, name, &at);
    if (found)
        *ret_state = (enum member_state)at;
    return found;
}

const char *member_phase_name(enum member_phase phase)
{
    assert((unsigned)phase < PHASE_COUNT);
    return phase_names[phase];
}

const char *batch_stop_code(enum batch_stop stop)
{
    return stop_codes[stop];
}

/* ---- counting ---- */

static enum member_phase phase_of_task(enum task_status task)
{
    switch (task) {
    case TASK_COMPLETED:
        return PHASE_COMPLETED;
    case TASK_FAILED:
    case TASK_TIMED_OUT:
        return PHASE_FAILED;
    case TASK_CANCELLED:
        return PHASE_CANCELLED;
    case TASK_SUBMITTED:
    case TASK_DEFERRED:
    case TASK_HYDRATING:
    case TASK_RUNNING:
    case TASK_FINALIZING:
    case TASK_STATUS_COUNT:
        break;
    }
    return PHASE_ACTIVE;
}

enum member_phase member_phase(enum member_state state, enum task_status task)
{
    static const enum member_phase phases[MEMBER_STATE_COUNT] = {
        [MEMBER_WAITING] = PHASE_WAITING,
        [MEMBER_REFUSED] = PHASE_FAILED,
        [MEMBER_SKIPPED] = PHASE_SKIPPED,
        [MEMBER_DROPPED] = PHASE_CANCELLED,
    };
    assert((unsigned)state < MEMBER_STATE_COUNT);
    return state == MEMBER_SUBMITTED ? phase_of_task(task) : phases[state];
}

static enum member_phase phase_at(const struct batch *batch, size_t at)
{
    return member_phase(batch->members[at].state, batch->members[at].task);
}

struct batch_counts batch_count(const struct batch *batch)
{
    struct batch_counts counts = {.total = (int64_t)batch->count};
    for (size_t i = 0; i < batch->count; i++)
        counts.of[phase_at(batch, i)]++;
    return counts;
}

int64_t batch_tenths(const struct batch_counts *counts)
{
    int64_t open = counts->of[PHASE_WAITING] + counts->of[PHASE_ACTIVE];
    return counts->total > 0 ? (counts->total - open) * BATCH_TENTHS / counts->total : 0;
}

/* ---- the rule ---- */

static int64_t count_ended(const struct batch_counts *counts)
{
    return counts->of[PHASE_COMPLETED] + counts->of[PHASE_FAILED];
}

static bool is_drained(const struct batch_counts *counts)
{
    return counts->of[PHASE_WAITING] + counts->of[PHASE_ACTIVE] == 0;
}

enum batch_stop batch_stops(const struct batch_limits *limits, const struct batch_counts *counts,
                            int64_t cost_microusd)
{
    int64_t failed = counts->of[PHASE_FAILED], ended = count_ended(counts);
    if (limits->stop_failures > 0 && failed >= limits->stop_failures)
        return BATCH_STOP_FAILURES;
    if (limits->stop_percent > 0 && failed > 0 && ended >= limits->stop_after &&
        failed * 100 >= limits->stop_percent * ended)
        return BATCH_STOP_PERCENT;
    /* With the last member's end there is nothing to save. */
    if (limits->budget_microusd > 0 && cost_microusd >= limits->budget_microusd &&
        !is_drained(counts))
        return BATCH_STOP_BUDGET;
    return BATCH_STOP_NONE;
}

const char *batch_explain(enum batch_stop stop, const struct batch_limits *limits,
                          const struct batch_counts *counts, int64_t cost_microusd,
                          struct arena *arena)
{
    switch (stop) {
    case BATCH_STOP_FAILURES:
        return arena_printf(arena, "%lld member%s failed; the batch stops at %lld",
                            (long long)counts->of[PHASE_FAILED],
                            counts->of[PHASE_FAILED] == 1 ? " has" : "s have",
                            (long long)limits->stop_failures);
    case BATCH_STOP_PERCENT:
        return arena_printf(arena,
                            "%lld of %lld members that ended have failed; the batch stops at "
                            "%lld %%",
                            (long long)counts->of[PHASE_FAILED], (long long)count_ended(counts),
                            (long long)limits->stop_percent);
    case BATCH_STOP_BUDGET:
        return arena_printf(arena, "the members have spent %.2f USD of %.2f",
                            (double)cost_microusd / 1e6, (double)limits->budget_microusd / 1e6);
    case BATCH_STOP_NONE:
        break;
    }
    return "";
}

/* ---- dependencies ---- */

static bool is_broken(enum member_phase phase)
{
    return phase == PHASE_FAILED || phase == PHASE_CANCELLED || phase == PHASE_SKIPPED;
}

/* The first of its dependencies that ended without completing; batch->count: none. */
static size_t find_broken(const struct batch *batch, const struct batch_member *member)
{
    for (size_t i = 0; i < member->depends_count; i++)
        if (is_broken(phase_at(batch, member->depends_on[i])))
            return member->depends_on[i];
    return batch->count;
}

/* Anew from what the tasks are now, so that a retry wakes those that depend on it.  A round reaches
   one step further along the dependencies, and most batches have few of these. */
static void skip_broken(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->members[i].state == MEMBER_SKIPPED)
            batch->members[i].state = MEMBER_WAITING;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < batch->count; i++) {
            struct batch_member *member = &batch->members[i];
            if (member->state != MEMBER_WAITING || member->depends_count == 0)
                continue;
            size_t broken = find_broken(batch, member);
            if (broken == batch->count)
                continue;
            member->state = MEMBER_SKIPPED;
            member->broken = broken;
            again = true;
        }
    }
}

static bool are_met(const struct batch *batch, const struct batch_member *member)
{
    for (size_t i = 0; i < member->depends_count; i++)
        if (phase_at(batch, member->depends_on[i]) != PHASE_COMPLETED)
            return false;
    return true;
}

/* Takes away members without an open dependency until none is left, or only circles are. */
bool batch_has_circle(const struct batch_member *members, size_t count, struct arena *arena,
                      size_t *ret_at)
{
    bool *done = arena_array(arena, count > 0 ? count : 1, sizeof *done);
    size_t left = count;
    for (bool again = true; again && left > 0;) {
        again = false;
        for (size_t i = 0; i < count; i++) {
            bool open = false;
            for (size_t j = 0; !done[i] && j < members[i].depends_count; j++)
                open |= !done[members[i].depends_on[j]];
            if (done[i] || open)
                continue;
            done[i] = again = true;
            left--;
        }
    }
    if (left == 0)
        return false;
    /* From any of the rest, dependency after dependency that is left leads onto a circle. */
    size_t at = 0;
    while (done[at])
        at++;
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (done[members[at].depends_on[j]])
            j++;
        at = members[at].depends_on[j];
    }
    *ret_at = at;
    return true;
}

/* ---- what is next ---- */

void batch_check(const struct batch *batch)
{
    check_status(batch->status);
    assert(batch->count <= BATCH_MEMBERS_MAX);
    struct batch_counts counts = batch_count(batch);
    assert(batch_goes_on(batch->status) || counts.of[PHASE_WAITING] == 0);
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < batch->members[i].depends_count; j++)
            assert(batch->members[i].depends_on[j] < batch->count);
}

static void drop_waiting(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->members[i].state == MEMBER_WAITING)
            batch->members[i].state = MEMBER_DROPPED;
}

static void move(struct batch *batch, enum batch_event event)
{
    enum rc rc = batch_step(batch->status, event, &batch->status);
    assert(rc == RC_OK);
}

void batch_settle(struct batch *batch, enum batch_stop *ret_stop)
{
    *ret_stop = BATCH_STOP_NONE;
    if (batch_has_ended(batch->status))
        return;
    if (batch_goes_on(batch->status))
        skip_broken(batch);
    struct batch_counts counts = batch_count(batch);
    if (batch_goes_on(batch->status))
        *ret_stop = batch_stops(&batch->limits, &counts, batch->cost_microusd);
    if (*ret_stop != BATCH_STOP_NONE)
        move(batch, BATCH_EV_STOP);
    if (!batch_goes_on(batch->status))
        drop_waiting(batch);
    counts = batch_count(batch);
    if (is_drained(&counts))
        move(batch, BATCH_EV_DRAINED);
    batch_check(batch);
}

size_t batch_next(const struct batch *batch)
{
    struct batch_counts counts = batch_count(batch);
    bool full = batch->limits.max_active > 0 && counts.of[PHASE_ACTIVE] >= batch->limits.max_active;
    if (batch->status != BATCH_RUNNING || full)
        return batch->count;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->members[i].state == MEMBER_WAITING && are_met(batch, &batch->members[i]))
            return i;
    return batch->count;
}
