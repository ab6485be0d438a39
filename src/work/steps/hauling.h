/*
 * hauling.h - what the parts of the step train share: the positions of a merge train as its payload
 * describes them.
 *
 *     payload: {"act": "test" | "land" | "hand", "targetBranch", "base": commit or null, "single",
 *               "cars": [{"number", "runId", "branch", "head", "title", "time", "tree"}]}
 *     result:  {"outcome": passed | failed | conflict | moved | gone | landed | handed, ...}
 */
#ifndef WORK_STEPS_HAULING_H
#define WORK_STEPS_HAULING_H
#include "forge/landing.h"
#include "forge/port/prs.h"
#include "work/job/step.h"

struct hauling {
    struct step *step;
    struct forge_call call;
    const struct forge_ops *ops; /* NULL: not opened yet. */
    struct landing landing;
    struct landing_car cars[LANDING_CARS_MAX];
    const char *trees[LANDING_CARS_MAX]; /* Verified before; NULL: not. */
    struct landing_position positions[LANDING_CARS_MAX];
    size_t merged; /* Positions that were made; all, unless one does not merge. */
    struct err clash;
    const char *tip; /* Of the target, as just fetched. */
};

/* How the job ended: the result, at most STEP_RESULT_MAX. */
struct haul_outcome {
    const char *name;
    size_t at;          /* The car that it is about; for landed: how many have. */
    const char *commit; /* Of the position; or NULL */
    const char *tree;   /* The same. */
    const char *detail; /* For people; or NULL */
    bool reused;        /* The tree was verified before: no check was run. */
    bool unverified;    /* landed: what the forge has made is not what was verified. */
    const bool *merged; /* One for each car: the target has it already; or NULL */
};
void haul_report(struct hauling *hauling, const struct haul_outcome *outcome);

/* Does the target have the head of this car?  asks: also asks the forge. */
MUST_USE enum rc haul_is_merged(struct hauling *hauling, size_t at, bool asks, bool *ret_merged,
                                struct err *err);
MUST_USE enum rc haul_is_ancestor(struct hauling *hauling, const char *commit, const char *of,
                                  bool *ret_is, struct err *err);
/* Reports that the target has moved, and which cars it has. */
MUST_USE enum rc haul_moved(struct hauling *hauling, struct err *err);
/* The target as it is now: sets tip. */
MUST_USE enum rc haul_fetch(struct hauling *hauling, struct err *err);
/* Opens the forge of the repository for writing. */
MUST_USE enum rc haul_open_forge(struct hauling *hauling, struct err *err);
/* What it all becomes: the last position, or the single commit. */
MUST_USE enum rc haul_goal(struct hauling *hauling, const char **ret_commit, struct err *err);

MUST_USE enum rc haul_land(struct hauling *hauling, struct err *err); /* train_land.c */
MUST_USE enum rc haul_hand(struct hauling *hauling, struct err *err);
#endif
