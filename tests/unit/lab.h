/*
 * lab.h - the control plane in a test tube: real committer, real store (in memory, or a schema of
 * its own on PostgreSQL), virtual clock, no threads.
 */
#ifndef TESTS_UNIT_LAB_H
#define TESTS_UNIT_LAB_H
#include "control/commit/committer.h"
#include "control/queue/jobs.h"
#include "store/events.h"
#include "store/runs.h"
#include "store/store.h"
#include "store/tasks.h"

struct lab {
    struct store *store, *own; /* own: closed with the lab, or NULL. */
    struct db *db;
    struct committer *committer;
    struct arena arena; /* Everything that the helpers give out lives until lab_close. */
    int64_t now_us;
    char dir[256];
    char *schema; /* On PostgreSQL: returned at the end; else NULL. */
    int answered; /* Commands that lab_post'ed ones have answered so far. */
};

struct lab_options {
    struct store *store; /* NULL: one of its own, in memory. */
    struct committer_limits limits;
    struct str defaults; /* Of the server, or empty. */
    struct account_configs accounts;
    size_t queue_max, batch_max; /* 0: 1000 and 256 */
    int engine;                  /* One of lab_engines(). */
};

/* For loop tests: SQLite, and PostgreSQL when DROVER_TEST_POSTGRES names one. */
enum { LAB_SQLITE = 0, LAB_POSTGRES = 1 };
int lab_engines(void);

void lab_open(struct lab *lab, const struct lab_options *options); /* NULL: no limits */
void lab_close(struct lab *lab);
void lab_pass_ms(struct lab *lab, int64_t ms); /* Time passes; what is due happens. */

#define LAB_PRINCIPAL "lab"
/* Posts, runs rounds until it is answered, and gives its outcome; the command lives on.  Without a
   principal it speaks for LAB_PRINCIPAL. */
enum rc lab_call(struct lab *lab, struct command *command);
/* Posts without running a round. */
void lab_post(struct lab *lab, struct command *command);
void lab_rounds(struct lab *lab); /* Until there is nothing to do. */

/* A repository with this configuration beside url, agent and one check; NULL: nothing more. */
#define LAB_VERIFY ",\"verify\":[{\"name\":\"unit\",\"command\":\"make test\"}]"
void lab_repository(struct lab *lab, const char *name, const char *more_json);
/* The same with an agent that leases its work itself, from the queue "far". */
void lab_far_repository(struct lab *lab, const char *name, const char *more_json);
/* Gives a queue these rules. */
void lab_queue(struct lab *lab, const char *name, const char *rules_json);
/* A task with defaults; its run id. */
struct id lab_submit(struct lab *lab, const char *repository);
/* The next job of this step, which must be there. */
struct job_row lab_take(struct lab *lab, const char *step);
size_t lab_lease(struct lab *lab, const char *queue, const char *worker, struct job_row **ret_jobs);
/* Cancels the run's task, which must be accepted. */
void lab_cancel(struct lab *lab, const struct id *run_id);
/* Completes with what honest.h makes of the sketch; lab_finish: it must be taken. */
void lab_finish(struct lab *lab, const struct job_row *job, const char *sketch);
/* lab_take(), then lab_finish(). */
void lab_step(struct lab *lab, const char *step, const char *sketch);
struct job_answer lab_complete(struct lab *lab, const struct job_row *job, const char *sketch);
/* Completes with these very words. */
struct job_answer lab_claim(struct lab *lab, const struct job_row *job, const char *result);
/* events: a JSON array, as a worker sends it. */
struct job_answer lab_progress(struct lab *lab, const struct job_row *job, const char *events);
struct job_answer lab_fail(struct lab *lab, const struct job_row *job, const char *code,
                           bool retryable);
struct run_row lab_run(struct lab *lab, const struct id *run_id);
struct task_row lab_task(struct lab *lab, const struct id *run_id);
/* How many events of this type the run (and its task) has. */
int lab_count_events(struct lab *lab, const struct id *run_id, const char *type);
/* How many rows the audit log has of this action, about this resource. */
int lab_count_audit(struct lab *lab, const char *action, const char *resource_id);
/* The invariants that control/watch/doctor.c knows; fails the test with what it found. */
void lab_check(struct lab *lab);

/* Sketches of results that move a run along: honest.h. */
#define RESULT_PREPARE "{\"baseCommit\":\"1111111111111111111111111111111111111111\"}"
#define RESULT_HYDRATE \
    "{\"promptSha256\":\"aa\",\"sources\":[\"task_description\"],\"tokenEstimate\":10}"
#define RESULT_AGENT                                                                   \
    "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"fixed\",\"turns\":2," \
    "\"costUsd\":0.5,\"patch\":{\"sha256\":\"bb\",\"files\":1,\"linesAdded\":2,"       \
    "\"linesDeleted\":1,\"treeHash\":\"cc\"}}"
#define RESULT_VERIFIED                                                  \
    "{\"verdict\":\"verified\",\"certificateSha256\":\"dd\",\"checks\":" \
    "[{\"name\":\"unit\",\"command\":\"make test\",\"status\":\"passed\",\"exitCode\":0}]}"
#define RESULT_UNVERIFIED                                                                 \
    "{\"verdict\":\"failed\",\"feedbackSha256\":\"ee\",\"checks\":"                       \
    "[{\"name\":\"unit\",\"command\":\"make test\",\"status\":\"failed\",\"exitCode\":2," \
    "\"category\":\"test_failure\",\"summary\":\"1 of 3 failed\"}]}"
#define RESULT_PLANNED            \
    "{\"planSha256\":\"a plan\"," \
    "\"outcome\":\"ended\",\"report\":\"success\",\"turns\":1}"
#define RESULT_JUDGED                                                           \
    "{\"verdict\":\"pass\",\"judges\":[{\"name\":\"rules\",\"kind\":\"rules\"," \
    "\"verdict\":\"pass\",\"score\":1,\"findings\":[]}]}"
#define RESULT_REJECTED                                                                          \
    "{\"verdict\":\"fail\",\"feedbackSha256\":\"ff\",\"judges\":[{\"name\":\"rules\",\"kind\":"  \
    "\"rules\",\"verdict\":\"fail\",\"score\":0.5,\"category\":\"forbidden_path\",\"findings\":" \
    "[{\"rule\":\"forbidden_path\",\"path\":\"x\",\"text\":\"Revert x\"}]}]}"
#define RESULT_DOUBTED                                                                          \
    "{\"verdict\":\"inconclusive\",\"judges\":[{\"name\":\"rules\",\"kind\":\"rules\","         \
    "\"verdict\":\"pass\",\"score\":1,\"findings\":[]},{\"name\":\"model\",\"kind\":\"model\"," \
    "\"verdict\":\"inconclusive\",\"errored\":true,\"problem\":\"no answer\",\"findings\":[]}]}"
#define RESULT_PUBLISHED \
    "{\"number\":1,\"url\":\"/o.git#1\",\"headCommit\":\"22\",\"branch\":\"b\",\"draft\":true}"
#endif
