/*
 * answer.h - commands about the questions of agents: ask, wait for the answer, answer.
 */
#ifndef CONTROL_ADMIT_ANSWER_H
#define CONTROL_ADMIT_ANSWER_H
#include "control/commit/command.h"
#include "control/queue/jobs.h"
#include "control/run/questions.h"

enum { ANSWER_WAIT_MS_MAX = 30000 };

/* The agent of a run asks, while it works.  The same question again is the one that is open.
   RC_CONFLICT: RUN_FINISHED, RUN_STOPPING, NO_AGENT_WORKS, QUESTION_OPEN.  RC_LIMIT. */
struct cmd_ask {
    struct command base;
    struct id run_id;
    struct job_ref ref; /* Of the worker that asks for its agent, in place of run_id; or none. */
    struct question_spec spec;
    struct question_row row; /* The answer. */
};
struct cmd_ask *cmd_ask_new(void);

/* Reads a question; waits while it is open.  Once it is closed, an agent or its worker that reads
   it has the answer. */
struct cmd_question {
    struct command base;
    struct id id;
    struct id agent_run; /* Only a question of this run, while that works; none: any. */
    struct job_ref ref;  /* The same for the run of this lease; or none. */
    int64_t wait_us;     /* 0: answered at once */
    char name[ANSWER_NAME_BYTES];
    bool waiting;
    struct question_row row; /* The answer. */
};
struct cmd_question *cmd_question_new(void);

/* The agent does not want to know any more, by the lease of its worker.  One that is closed stays
   as it is. */
struct cmd_withdraw {
    struct command base;
    struct job_ref ref;
    struct id id;
};
struct cmd_withdraw *cmd_withdraw_new(void);

/* A person answers.  RC_CONFLICT QUESTION_CLOSED; RC_INVALID: not one of the options. */
struct cmd_answer {
    struct command base;
    struct id id;
    const char *answer;
    struct question_row row; /* The answer. */
};
struct cmd_answer *cmd_answer_new(void);

/* For due.c: the deadline of a question has passed. */
MUST_USE enum rc question_expired(struct context *ctx, const struct id *question_id);
#endif
