/*
 * judging.h - the judges of a patch: what they are given, and what each of them gives.
 *
 *     judge.c           runs them in order and writes the result
 *     judge_command.c   a command in the sandbox, on a clean checkout
 *     judge_model.c     a language model over HTTP
 *
 * A judge that cannot work gives a doubt (judgement_doubt), never an error: that is no finding
 * about the patch, and a person decides.  Only a step that is stopped, or has no sandbox for a
 * command, returns something else than RC_OK.
 */
#ifndef WORK_STEPS_JUDGING_H
#define WORK_STEPS_JUDGING_H
#include "core/run/judge.h"
#include "work/job/step.h"

/* The input of all judges. */
struct judging {
    struct step *step;
    struct buf diff;
    struct patch_stats stats;
    struct buf certificate; /* Of the verification, JSON; empty: there is none. */
    const char *dir;        /* run_dir/judge-<attempt>: theirs to work in. */
};

/* The result of one judge. */
struct opinion {
    const struct judge_config *judge;
    struct judgement judgement;
    const char *output; /* What it printed or answered, for the report; or NULL. */
    const char *report; /* Artifact, or NULL. */
    const char *model;  /* Which one answered, or NULL: none did. */
    int64_t input_tokens, output_tokens;
    double cost_usd; /* 0: not known. */
};

MUST_USE enum rc judge_by_command(struct judging *judging, struct opinion *opinion,
                                  struct err *err);
MUST_USE enum rc judge_by_model(struct judging *judging, struct opinion *opinion, struct err *err);

/* What is left of the judge's time, and of the step's: at least 1. */
int64_t judging_left_ms(const struct judging *judging, int64_t until_us);
#endif
