/*
 * questions.h - what the agent of a run asks people.
 *
 *   pending --> answered    a person (control/admit/answer.c)
 *      |  +---> expired     its deadline, at most timeouts.questionMs: the default is the answer
 *      |  +---> cancelled   the run ended, or the agent has withdrawn it
 *      +--> reminded        every policy.reminderMs, until one of these
 *
 * A run has at most one open question, question_id.  Its clocks stand still meanwhile.  The agent
 * may wait for the answer, or end; its worker may be lost.  No agent starts while the question is
 * open: the run waits for the answer (awaiting_approval), which then starts the next attempt.
 *
 *   agent works    question pending          answered: the agent gets it
 *   agent gone     run awaits the answer     answered: the next assignment of the agent has it
 */
#ifndef CONTROL_RUN_QUESTIONS_H
#define CONTROL_RUN_QUESTIONS_H
#include "base/js.h"
#include "control/run/flow.h"
#include "core/run/question_spec.h"
#include "store/questions.h"

enum {
    ANSWER_BYTES_MAX = 16 * 1024,
    QUESTIONS_MAX = 50,    /* Of a run. */
    ANSWERS_TOLD_MAX = 10, /* In an assignment: the newest, */
    ANSWERS_BYTES_MAX = 64 * 1024,
    ANSWER_NAME_BYTES = 48,
};

#define TIMER_QUESTION_EXPIRY   "question_expiry"
#define TIMER_QUESTION_REMINDER "question_reminder"

bool question_is_open(const struct flow *flow);
/* Asks.  The caller has checked that none is open, and saves the flow. */
MUST_USE enum rc question_ask(struct context *ctx, struct flow *flow,
                              const struct question_spec *spec, struct question_row *ret_row);
/* The same for the completion record of an agent, as a result has it; unless one is open. */
MUST_USE enum rc question_of_record(struct context *ctx, struct flow *flow,
                                    const struct js *question);
/* The run waits for the answer: the question moves it on. */
MUST_USE enum rc question_await(struct context *ctx, struct flow *flow);

/* It has its answer, or has none in time.  Wakes who waits for it; the caller moves the run on. */
struct question_end {
    const char *status; /* answered, expired; cancelled: withdrawn */
    const char *answer; /* or NULL */
    const char *by;     /* or NULL */
};
MUST_USE enum rc question_close(struct context *ctx, struct flow *flow, struct question_row *row,
                                const struct question_end *end);
/* The run ends without it. */
MUST_USE enum rc question_cancel(struct context *ctx, struct flow *flow);
/* The name that wakes who waits for the answer; no queue can have it. */
void question_name(char to[ANSWER_NAME_BYTES], const struct id *id);
/* A reminder is due. */
MUST_USE enum rc question_remind(struct context *ctx, const struct id *question_id);
/* RC_OK and *ret_pending false when it was closed meanwhile. */
MUST_USE enum rc question_load(struct context *ctx, const struct id *question_id,
                               struct question_row *ret_row, struct flow *ret_flow,
                               bool *ret_pending);

/* The member `answers` of an assignment for an agent: what people have answered in this run.  An
   answer that no agent has had yet is `unread` in this assignment and in no later one: an agent
   that asks the same again gets it once. */
MUST_USE enum rc questions_write(struct context *ctx, const struct flow *flow, struct jw *jw);
#endif
