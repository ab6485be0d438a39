/*
 * train_flow.h - a train and its cars while a command works on them.
 *
 * core/pr/train.h decides, this does: it keeps the rows as the decisions leave them, makes jobs for
 * what is to be tested or landed, gives up those that are of no more use, appends the events, and
 * sets a timer for every car that has ended, by which the shepherd is told in a transaction of its
 * own.  A command loads a flow, lets something happen to it, and ends it once.
 *
 * Locks: the train's row is locked after the pull request and its run, and before the jobs that it
 * gives up.
 */
#ifndef CONTROL_PR_TRAIN_FLOW_H
#define CONTROL_PR_TRAIN_FLOW_H
#include "control/commit/context.h"
#include "control/run/effective.h"
#include "core/pr/train.h"
#include "store/pull_requests.h"
#include "store/repositories.h"
#include "store/trains.h"

#define TIMER_TRAIN     "train"     /* Of a train: is all that it waits for still there? */
#define TIMER_TRAIN_CAR "train_car" /* Of a car that has ended: the shepherd is told. */

struct train_flow {
    struct train_row row;
    struct repository_row repository;
    struct train_car_row *cars;   /* Room for one more than were loaded. */
    struct train_car_row *stored; /* As the store has them. */
    size_t count;
    struct train train; /* tag: index in cars */
    struct train_car *line;
    struct train_rules rules;
    struct known_config *known;
};

/* RC_NOT_FOUND.  ctx->arena holds it. */
MUST_USE enum rc train_flow_load(struct context *ctx, const struct id *train_id,
                                 struct train_flow *ret_flow);
/* The train of a branch, which is made when there is none. */
MUST_USE enum rc train_flow_of(struct context *ctx, const struct pull_request_row *pr,
                               struct train_flow *ret_flow);
void train_flow_release(struct train_flow *flow); /* For CLEANUP. */

/* Where the car is in the line; count of the line: it is not there. */
size_t train_flow_place(const struct train_flow *flow, const struct train_car_row *car);
struct train_car_row *train_flow_find(struct train_flow *flow, const struct id *car_id);

/* Puts a new car at the end and lets it take its place. */
MUST_USE enum rc train_flow_enter(struct context *ctx, struct train_flow *flow,
                                  const struct train_car_row *car);

/* After every change of flow->train: takes it over into the rows. */
MUST_USE enum rc train_flow_sync(struct context *ctx, struct train_flow *flow);
/* Then: decides what is next until nothing is, and saves. */
MUST_USE enum rc train_flow_end(struct context *ctx, struct train_flow *flow);

/* A job could not be done: nothing is begun for a while. */
MUST_USE enum rc train_flow_stall(struct context *ctx, struct train_flow *flow, const char *code,
                                  const char *message);
/* Appends an event of the train, about a car or NULL; extra writes further members, or NULL. */
struct train_note {
    const char *type;
    const struct train_car_row *car;
    const char *outcome; /* or NULL */
    const char *detail;  /* or NULL */
    const char *commit;  /* or NULL */
};
MUST_USE enum rc train_flow_emit(struct context *ctx, const struct train_flow *flow,
                                 const struct train_note *note);
#endif
