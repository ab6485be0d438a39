/*
 * question.h - a question to a person, for whose answer a run waits.
 */
#ifndef CONTROL_RUN_QUESTION_H
#define CONTROL_RUN_QUESTION_H
#include "control/run/flow.h"

/* Asks a person; the run waits for the answer, or for its expiry. */
struct question {
    const char *kind;    /* plan, patch, override */
    const char *reason;  /* Why it is asked. */
    const char *summary; /* What is asked about, or NULL. */
    struct str detail;   /* JSON object, or empty. */
};
MUST_USE enum rc ask_person(struct context *ctx, struct flow *flow,
                            const struct question *question);
/* Timers of the question: it expired without an answer; a reminder is due while it has none. */
MUST_USE enum rc question_expired(struct context *ctx, const struct id *approval_id);
MUST_USE enum rc question_remind(struct context *ctx, const struct id *approval_id);
#endif
