/*
 * saga.h - the life of one saga, as a pure function: what comes after the step, or the undoing of
 * a step, that has just ended.
 *
 *   running --(the last step is done)--> completed
 *      |
 *      +--(a step failed for good, or it was cancelled)--> compensating --> compensated
 *                                                            |     ^
 *                    (an undoing failed for good)  stuck <---+     |
 *                                                    +-------------+  (it was replayed)
 *
 * Steps run one after the other.  Compensations run in reverse, for the steps that succeeded and
 * have one; the step that failed is undone too when its plan has compensateFailed.  While a saga
 * is not finished exactly one job advances it: that of the step or compensation at `position`.
 */
#ifndef CORE_QUEUE_SAGA_H
#define CORE_QUEUE_SAGA_H
#include "base/rc.h"
#include "core/queue/saga_plan.h"
#include <stdbool.h>
#include <stdint.h>

enum saga_status {
    SAGA_RUNNING,
    SAGA_COMPENSATING, /* Or waits for the step in flight, to undo it with the others. */
    SAGA_COMPLETED,
    SAGA_COMPENSATED,
    SAGA_STUCK, /* A compensation is a dead letter; replayed with success, the saga continues. */
    SAGA_STATUS_COUNT
};

enum saga_event {
    SAGA_EV_STEP_DONE,
    SAGA_EV_STEP_FAILED, /* For good: a dead letter, or cancelled. */
    SAGA_EV_COMPENSATION_DONE,
    SAGA_EV_COMPENSATION_FAILED,
    SAGA_EV_CANCEL,
    SAGA_EV_COUNT
};

enum saga_phase { SAGA_STEP, SAGA_COMPENSATION, SAGA_PHASE_COUNT };

/* Also stored: a new member means a column in store/sagas.c and a migration. */
struct saga {
    enum saga_status status;
    enum saga_phase phase; /* Of what is, or was last, in flight. */
    int64_t position;      /* Its step, from 0. */
};

struct saga_move {
    struct saga next;
    bool starts; /* The job of next.phase and next.position is to be made. */
};

/* RC_CONFLICT: the table does not list it, or it is not what is in flight. */
MUST_USE enum rc saga_step(const struct saga *saga, const struct saga_plan *plan,
                           enum saga_event event, struct saga_move *ret_move);
/* The end of a job in this phase, as an event. */
enum saga_event saga_event_of(enum saga_phase phase, bool succeeded);

bool saga_is_finished(enum saga_status status); /* completed, compensated */
const char *saga_status_name(enum saga_status status);
const char *saga_event_name(enum saga_event event);
const char *saga_phase_name(enum saga_phase phase);
MUST_USE bool saga_status_parse(const char *name, enum saga_status *ret_status);
MUST_USE bool saga_phase_parse(const char *name, enum saga_phase *ret_phase);
#endif
