/*
 * launch.h - agents whose process drover starts: a job of the step `launch` for each start.
 *
 *   launch ──► job queued ──► a worker leases it and asks for the agent's token (agent_begin):
 *     ▲                       the process begins
 *     └── after a pause ◄──── the step ends with its process, and completes with how it ended
 *
 * The lease is renewed while the process runs.  A worker that is lost gives the job to another one:
 * its epoch fences, so that the process is started again exactly once, and each start has a token
 * of its own, so that a process of a worker that was only slow can do nothing more.
 */
#ifndef CONTROL_AGENTS_LAUNCH_H
#define CONTROL_AGENTS_LAUNCH_H
#include "base/hash.h"
#include "control/agents/agent_flow.h"
#include "control/queue/jobs.h"

/* Puts the job for the next start on its queue, due after the pause; the row is not saved. */
MUST_USE enum rc launch_start(struct context *ctx, struct agent_row *row, int64_t pause_ms);
/* Saves the row, and takes its job away, also from a worker that has it. */
MUST_USE enum rc launch_cancel(struct context *ctx, struct agent_row *row);

bool launch_job_is(const struct job_row *job);
/* The step has ended: result is what it reported, or empty where it failed. */
MUST_USE enum rc launch_ended(struct context *ctx, const struct job_row *job);
/* Its worker is gone, or has given it back: it waits for another one. */
MUST_USE enum rc launch_lost(struct context *ctx, struct job_row *job);

/* A worker starts the process: the agent gets a new token.  LEASE_LOST: the job is not the
   caller's. */
struct cmd_agent_begin {
    struct command base;
    struct job_ref ref;
    char sha256[SHA256_TEXT_BYTES]; /* Of the token, which the caller keeps. */
};
struct cmd_agent_begin *cmd_agent_begin_new(void);

struct cmd_agent_launch {
    struct command base;
    struct agent_ref ref;
    struct agent_row row; /* The answer. */
};
struct cmd_agent_launch *cmd_agent_launch_new(void);
#endif
