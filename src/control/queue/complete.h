/*
 * complete.h - workers report the end of jobs: complete, fail, release.  Every command takes many.
 */
#ifndef CONTROL_QUEUE_COMPLETE_H
#define CONTROL_QUEUE_COMPLETE_H
#include "control/queue/jobs.h"
#include "core/queue/job_error.h"

struct job_done {
    struct job_ref ref;
    struct str result;           /* JSON object, or empty */
    const struct job_spec *next; /* Made in the same commit, if the report counts; or NULL */
    size_t next_count;
    struct enqueue_answer *made; /* The answer: next_count of them, or NULL */
};
struct cmd_complete {
    struct command base;
    struct job_done *jobs;
    size_t count;
    struct job_answer *answers;
};
struct cmd_complete *cmd_complete_new(void);

struct job_failed {
    struct job_ref ref;
    const char *code, *message;
    bool retryable;
    bool policy;  /* Of the policy or security class. */
    bool classed; /* It was given a class: */
    enum error_class class;
};
struct cmd_fail {
    struct command base;
    const struct job_failed *jobs;
    size_t count;
    struct job_answer *answers;
};
struct cmd_fail *cmd_fail_new(void);

/* A job that is given back is not to be handed out before then. */
struct job_wait {
    int64_t wait_us; /* 0: at once. */
    const char *code, *message;
};
struct cmd_release { /* A worker gives jobs back in good order. */
    struct command base;
    const struct job_ref *leases;
    const struct job_wait *waits; /* One for each, or NULL. */
    size_t count;
    struct job_answer *answers;
};
struct cmd_release *cmd_release_new(void);
#endif
