/*
 * batch.h - a batch: one piece of work over many repositories, as members that become tasks.  Pure.
 *
 *   running --PAUSE--> paused          no member starts
 *   running <-RESUME-- paused
 *   running, paused --STOP--> stopping             too many failed, or the budget is used up: no
 *                                                  member starts any more
 *   running, paused, stopping --CANCEL--> cancelling    the same for a person, and those under way
 *                                                       are cancelled
 *   running, paused --DRAINED--> completed         DRAINED: no member waits or is under way
 *   stopping --DRAINED--> stopped
 *   cancelling --DRAINED--> cancelled
 *
 * A member:
 *
 *   waiting --> submitted      it is a task; what becomes of it is that task's status
 *           --> refused        the task was refused: counts as failed
 *           --> dropped        the batch stopped, or was cancelled, before its turn
 *           <-> skipped        one that it depends on ended without completing; it waits again
 *                              when that one is retried while the batch goes on
 *
 * Invariants:
 *   1. Nothing is counted in a column: all numbers are made from the members each time.
 *   2. Nothing leaves completed, stopped or cancelled.
 *   3. No member waits in a batch that is stopping or cancelling, or has ended.
 *   4. At most max_active members are under way by the batch's own doing.
 *   5. Dependencies form no circle, so a member that waits will start, be skipped or be dropped.
 */
#ifndef CORE_RUN_BATCH_H
#define CORE_RUN_BATCH_H
#include "base/arena.h"
#include "base/rc.h"
#include "core/run/task.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BATCH_MEMBERS_MAX = 1000,
    BATCH_GLOBS_MAX = 100,   /* Each is compared with the names of all repositories. */
    BATCH_DEPENDS_MAX = 100, /* Of one member, */
    BATCH_EDGES_MAX = 10000, /* and of all together. */
    BATCH_STOP_AFTER_DEFAULT = 5,
    BATCH_TENTHS = 10 /* Progress is told in tenths: batch_tenths. */
};

enum batch_status {
    BATCH_RUNNING,
    BATCH_PAUSED,
    BATCH_STOPPING,
    BATCH_CANCELLING,
    BATCH_COMPLETED,
    BATCH_STOPPED,
    BATCH_CANCELLED,
    BATCH_STATUS_COUNT
};

enum batch_event {
    BATCH_EV_PAUSE,
    BATCH_EV_RESUME,
    BATCH_EV_STOP,
    BATCH_EV_CANCEL,
    BATCH_EV_DRAINED,
    BATCH_EV_COUNT
};

/* RC_CONFLICT when the table does not list the move. */
MUST_USE enum rc batch_step(enum batch_status status, enum batch_event event,
                            enum batch_status *ret_next);
bool batch_has_ended(enum batch_status status);
/* May members still start, now or after a pause? */
bool batch_goes_on(enum batch_status status);

const char *batch_status_name(enum batch_status status);
const char *batch_event_name(enum batch_event event);
MUST_USE bool batch_status_parse(const char *name, enum batch_status *ret_status);

enum member_state {
    MEMBER_WAITING,
    MEMBER_SUBMITTED,
    MEMBER_REFUSED,
    MEMBER_SKIPPED,
    MEMBER_DROPPED,
    MEMBER_STATE_COUNT
};
const char *member_state_name(enum member_state state);
MUST_USE bool member_state_parse(const char *name, enum member_state *ret_state);

/* What a member counts as. */
enum member_phase {
    PHASE_WAITING,
    PHASE_ACTIVE,
    PHASE_COMPLETED,
    PHASE_FAILED,    /* Its task failed or timed out, or was refused. */
    PHASE_CANCELLED, /* Its task was, or it was dropped. */
    PHASE_SKIPPED,
    PHASE_COUNT
};
const char *member_phase_name(enum member_phase phase);
/* task: the status of its task, which only a submitted one has. */
enum member_phase member_phase(enum member_state state, enum task_status task);

struct batch_member {
    enum member_state state;
    enum task_status task;
    const size_t *depends_on; /* Places of other members. */
    size_t depends_count;
    size_t broken; /* By batch_settle, of a skipped one: the place of the one that broke it. */
};

struct batch_limits {        /* 0: none */
    int64_t max_active;      /* Members under way at a time. */
    int64_t budget_microusd; /* Of the whole. */
    int64_t stop_failures;   /* So many that failed stop it. */
    int64_t stop_percent;    /* So many of a hundred that ended do, */
    int64_t stop_after;      /* when at least so many have ended. */
};

enum batch_stop { BATCH_STOP_NONE, BATCH_STOP_FAILURES, BATCH_STOP_PERCENT, BATCH_STOP_BUDGET };
const char *batch_stop_code(enum batch_stop stop); /* "too_many_failures", ... */

struct batch {
    enum batch_status status;
    struct batch_limits limits;
    int64_t cost_microusd; /* Of all members so far. */
    struct batch_member *members;
    size_t count;
};

struct batch_counts {
    int64_t of[PHASE_COUNT];
    int64_t total;
};
struct batch_counts batch_count(const struct batch *batch);
/* Tenths of the members that are neither waiting nor under way. */
int64_t batch_tenths(const struct batch_counts *counts);

/* Is it to be stopped?  Completed and failed members are what ended counts. */
enum batch_stop batch_stops(const struct batch_limits *limits, const struct batch_counts *counts,
                            int64_t cost_microusd);
/* "5 of 12 members that ended have failed; the batch stops at 40 %" */
const char *batch_explain(enum batch_stop stop, const struct batch_limits *limits,
                          const struct batch_counts *counts, int64_t cost_microusd,
                          struct arena *arena);

/*
 * Takes the members to where they are to be: skips and wakes those whose dependencies have changed,
 * stops the batch when the rule says so, drops those that wait in one that does not go on, and ends
 * it when nothing is left.  Changes states and status in place; a second call changes nothing.
 * *ret_stop: the rule that stopped it in this call.
 */
void batch_settle(struct batch *batch, enum batch_stop *ret_stop);
/* The first member that may become a task now; batch->count: none may. */
size_t batch_next(const struct batch *batch);

/* Do the dependencies of new members form a circle?  Then *ret_at is a member on it. */
bool batch_has_circle(const struct batch_member *members, size_t count, struct arena *arena,
                      size_t *ret_at);

/* Asserts the invariants. */
void batch_check(const struct batch *batch);
#endif
