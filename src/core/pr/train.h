/*
 * train.h - the merge train of one target branch, as a pure function.
 *
 *     target --- car 0 --- car 1 ...    position k: the target with the cars 0 to k merged
 *
 * Cars are pull requests in the order in which they would land.  A position is verified on a clean
 * checkout; what is verified lands, and what fails is isolated and leaves.  Two ways to verify:
 *
 *     each    every position is verified, several at once; each lands as a commit of its own
 *     batch   the last position of a batch is verified, and the batch lands as one commit; one that
 *             fails is bisected: about log2(batch) verifications for each bad car
 *
 * In both no commit of the target is one that was not verified.
 *
 * Of a car:
 *
 *     waiting --TEST--> testing --PASS--> green --LAND--> landing --ARRIVE--> landed
 *        |  ^              |                |                |
 *        |  |              +--FAIL--> red --(all before it are green) BLAME--> rejected, conflict
 *        |  |                          |    |
 *        |  +---- RESET ---------------+----+   a car before it changed, or the target moved
 *        |  +---- MISS ------------------------------ landing: the target was not what it should be
 *        +--LAND--> landing                     batch: a position behind it is green
 *
 *     waiting, testing, green, red: LEAVE -> left
 *     any that has not ended: ARRIVE -> landed (the target has it already)
 *
 * Invariants (train_check):
 *   1. Order: cars that land, then urgent ones, then the others, each by arrival.
 *   2. Cars that land come first.
 *   3. A car is green only while the cars before it, and their heads, are those it was verified on.
 */
#ifndef CORE_PR_TRAIN_H
#define CORE_PR_TRAIN_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRAIN_CARS_MAX = 200, /* Of one train. */
    TRAIN_BATCH_MAX = 50,
    TRAIN_AHEAD_MAX = 16,
};

enum car_state {
    CAR_WAITING, /* Not verified on what is before it. */
    CAR_TESTING,
    CAR_GREEN,
    CAR_RED, /* Its position failed; it is not known whose fault that is. */
    CAR_LANDING,
    CAR_LANDED,
    CAR_REJECTED, /* It failed on a green position. */
    CAR_CONFLICT, /* It does not merge onto a green position. */
    CAR_LEFT,
    CAR_STATE_COUNT
};

enum car_event {
    CAR_EV_TEST,
    CAR_EV_PASS,
    CAR_EV_FAIL,
    CAR_EV_BLAME,
    CAR_EV_RESET,
    CAR_EV_LAND,
    CAR_EV_ARRIVE,
    CAR_EV_MISS,
    CAR_EV_LEAVE,
    CAR_EV_COUNT
};

struct train_car {
    int64_t seq; /* Of arrival. */
    bool urgent;
    bool clash; /* CAR_RED: it does not merge. */
    enum car_state state;
    size_t tag; /* The caller's. */
};

struct train {
    struct train_car *cars; /* In order; none that has ended. */
    size_t count;
    bool based; /* The commit that position 0 is merged onto is known. */
};

struct train_rules {
    bool batch;       /* Else each. */
    size_t batch_max; /* How many cars are verified together, or may be ahead of the target. */
    size_t ahead_max; /* each: positions verified at once. */
};

/* RC_CONFLICT: there is no such move. */
MUST_USE enum rc car_step(struct train_car *car, enum car_event event);
bool car_has_ended(enum car_state state);
const char *car_state_name(enum car_state state);
bool car_state_parse(const char *name, enum car_state *ret_state);
const char *car_event_name(enum car_event event);

/* Puts the cars in order, as read from anywhere. */
void train_sort(struct train *train);

/* Each of these changes states as described above; ended cars stay in place until train_shed. */

/* The car at the end takes its place; what is behind it there starts again. */
void train_entered(struct train *train);
/* It has another head, or became urgent: it and all behind it start again.  RC_CONFLICT: it
   lands. */
MUST_USE enum rc train_renewed(struct train *train, size_t at);
MUST_USE enum rc train_left(struct train *train, size_t at);
/* A test of position `at` has ended.  clash: the car `at` does not merge onto those before it. */
void train_passed(struct train *train, size_t at);
void train_failed(struct train *train, size_t at, bool clash);
/* The test could not be made: it is made again. */
void train_untested(struct train *train, size_t at);
/* The target has another commit than the train knew.  based: the caller knows which. */
void train_moved(struct train *train, bool based);
/* The landing of the cars that land has ended. */
void train_landed(struct train *train);
void train_missed(struct train *train);
/* The target is found to have this one already. */
void train_arrived(struct train *train, size_t at);

enum train_act { TRAIN_REST, TRAIN_TEST, TRAIN_LAND, TRAIN_BLAME };
/* What to do next, and with which car: TEST position *ret_at; LAND all before *ret_at; BLAME the
   car *ret_at.  The states are changed; the caller does it and asks again. */
enum train_act train_next(struct train *train, const struct train_rules *rules, size_t *ret_at);

/* Removes the cars that have ended. */
void train_shed(struct train *train);

/* Asserts the invariants. */
void train_check(const struct train *train);
#endif
