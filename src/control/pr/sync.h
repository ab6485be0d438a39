/*
 * sync.h - what changed at the forge of a repository, found without the help of a delivery.
 *
 *   timer ---> job `sync` {"what": "changes"}: lists what changed there since the last time, and,
 *     ^        with a webhook, the deliveries that the forge has sent
 *     |          |
 *     |          +-> each issue and pull request that changed is looked at (look.h)
 *     |          +-> deliveries without a receipt: jobs `sync` {"what": "payloads"} fetch them,
 *     +----------    and they are received as if they had arrived (receive.h)
 *
 * While webhooks work this happens every sync.recoverMs and finds nothing; without them every
 * sync.everyMs, and is how changes are found (core/pr/sync_mode.h).  It also happens at the start
 * of a server.  What was found is compared with receipts, not with the clock: a server that was
 * away for an hour asks from the last delivery on that it knows.
 */
#ifndef CONTROL_PR_SYNC_H
#define CONTROL_PR_SYNC_H
#include "control/admit/repo_follow.h"
#include "control/commit/command.h"
#include "control/pr/repo_jobs.h"
#include "store/deliveries.h"
#include "store/syncs.h"

enum {
    SYNC_REPORT_MAX = 1024 * 1024,       /* Of a job's report. */
    SYNC_FETCHED_MAX = 25,               /* Deliveries that one job fetches. */
    SYNC_PAYLOAD_MAX = 26 * 1024 * 1024, /* Of one delivery: 25 MB at GitHub. */
};

/* The timer, for due.c. */
MUST_USE enum rc sync_due(struct context *ctx, const struct id *repository_id);

/* A delivery of the repository has a receipt, new or not: what is known about its forge follows. */
MUST_USE enum rc sync_received(struct context *ctx, const struct repository_row *repository,
                               const struct delivery_row *receipt, const struct forge_event *event);

/* Of a job, for control/hooks.c. */
MUST_USE enum rc sync_completed(struct context *ctx, const struct repo_job_end *end);
MUST_USE enum rc sync_failed(struct context *ctx, const struct repo_job_end *end);

/* At the start of a server: every repository with such a forge is asked soon. */
struct cmd_sync_start {
    struct command base;
    int64_t followed; /* The answer. */
};
struct cmd_sync_start *cmd_sync_start_new(void);

/* Deletes receipts that are older than any forge lists its deliveries, some of them. */
MUST_USE enum rc sync_prune(struct context *ctx, bool *ret_more);
#endif
