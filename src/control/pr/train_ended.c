/*
 * train_ended.c - what the end of a car means where no shepherd follows the pull request: one that
 * landed is recorded as merged.
 */
#include "control/pr/shepherd.h"
#include "control/run/flow.h"
#include "core/event_types.h"

static enum rc record_merge(struct context *ctx, struct flow *flow, struct pull_request_row *pr,
                            const char *commit)
{
    CLEANUP(event_body_release) struct event_body body;
    pr->status = "merged";
    pr->draft = false;
    pr->merge_commit = commit;
    pr->merged_us = pr->updated_us = ctx->now_us;
    enum rc rc = pull_requests_save(ctx->db, pr, ctx->err);
    if (rc != RC_OK)
        return rc;
    ctx->round->admit = true; /* A cap on open pull requests may have held others back. */
    event_body_open(&body);
    jw_kstr(&body.jw, "pullRequestId", pr->id.text);
    jw_kint(&body.jw, "number", pr->number);
    jw_kstr(&body.jw, "mergeCommit", commit);
    rc = flow_emit(ctx, flow, EV_PR_MERGED, &body);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

enum rc shepherd_train_ended(struct context *ctx, const struct id *pull_request_id,
                             const struct train_outcome *outcome)
{
    CLEANUP(flow_release) struct flow flow = {0};
    struct pull_request_row pr;
    struct id run_id;
    if (outcome->end != TRAIN_LANDED)
        return RC_OK;
    enum rc rc = pull_requests_run_of(ctx->db, pull_request_id, &run_id, ctx->err);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, &flow);
    if (rc == RC_OK)
        rc = pull_requests_get(ctx->db, pull_request_id, ctx->arena, &pr, ctx->err);
    if (rc != RC_OK || !text_same(pr.status, "open"))
        return rc;
    return record_merge(ctx, &flow, &pr, outcome->commit);
}
