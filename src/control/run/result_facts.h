/*
 * result_facts.h - is what a worker reports of its step true, as far as the server can check?
 *
 * | step            | compared with                                                            |
 * |-----------------|--------------------------------------------------------------------------|
 * | all             | artifacts: are stored, have the size and the kind that the result gives   |
 * | prepare         | the base commit of the run, once it is known                             |
 * | hydrate, plan   | prompt and plan are stored                                               |
 * | agent, collect  | the patch is stored; its sums fit together; a pull request as below, from |
 * |                 | collect only                                                             |
 * | verify          | the certificate is stored and is of this run, attempt, base, patch and    |
 * |                 | tree; its checks are the configured ones in order; the verdict follows    |
 * |                 | from their statuses; the result repeats the certificate                  |
 * | judge           | the configured judges in order; the verdict follows from theirs          |
 * | publish         | the run's branch; the address that the forge gives the number; no other   |
 * |                 | run has that pull request open; draft according to the task's mode        |
 * | others          | the shape alone; a repository's own step is trusted                      |
 *
 * What a worker is trusted with instead is listed in docs/OPERATIONS.md.
 */
#ifndef CONTROL_RUN_RESULT_FACTS_H
#define CONTROL_RUN_RESULT_FACTS_H
#include "control/run/flow.h"

/* A result that is being checked. */
struct result_claims {
    struct context *ctx;
    struct flow *flow;
    const struct repo_config *config;
    const struct js *result;
};
/* RC_INVALID RESULT_REFUSED: ctx->err names the member and what it should have been.  Nothing is
   written.  The shape was checked before (core/run/worker_report.h). */
typedef enum rc result_facts_fn(const struct result_claims *claims);
result_facts_fn facts_of_prepare, facts_of_hydrate, facts_of_plan, facts_of_agent, facts_of_collect,
    facts_of_verify, facts_of_judge, facts_of_publish;

/* The artifacts of the result, then the facts of its step; NULL: it has none. */
MUST_USE enum rc result_check_facts(struct context *ctx, struct flow *flow, result_facts_fn *facts,
                                    const struct js *result);
/* The same of a pull request: {number, url, branch, headCommit, draft}; prefix names its place in
   the result, "" or "pullRequest.". */
MUST_USE enum rc result_check_pr(struct context *ctx, struct flow *flow, const struct js *pr,
                                 const char *prefix);
/* The address that the run's forge gives its pull request of this number. */
MUST_USE enum rc result_pr_url(struct context *ctx, struct flow *flow, int64_t number,
                               const char **ret_url);

/* An event that a worker reports of a run: refs are those of the run, the worker is the one that
   holds the lease.  RC_INVALID INVALID_FIELD. */
MUST_USE enum rc event_check_facts(const struct job_row *job, const char *type,
                                   const struct js *data, struct err *err);
#endif
