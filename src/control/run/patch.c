#include "control/run/patch.h"
#include "core/event_types.h"

static enum rc supersede(struct context *ctx, struct flow *flow)
{
    enum rc rc = patches_set_status(ctx->db, &flow->run.patch_id, "superseded", ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", flow->run.patch_id.text);
    return flow_emit(ctx, flow, EV_PATCH_SUPERSEDED, &body);
}

static enum rc emit_created(struct context *ctx, struct flow *flow, const struct patch_row *patch,
                            const struct js *result)
{
    const struct js *told = js_get(result, "patch");
    const struct js *unscanned = js_get(told, "unscanned");
    const struct js *nested = js_get(result, "nestedRepositories");
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", patch->id.text);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kint(&body.jw, "attemptNo", patch->attempt_no);
    jw_kint(&body.jw, "filesChanged", patch->files);
    jw_kint(&body.jw, "linesAdded", patch->lines_added);
    jw_kint(&body.jw, "linesDeleted", patch->lines_deleted);
    jw_kstr(&body.jw, "diffArtifactId", patch->sha256);
    jw_kstr(&body.jw, "treeHash", patch->tree_hash);
    jw_kstr(&body.jw, "summary", patch->summary);
    if (unscanned != NULL) {
        jw_kint(&body.jw, "unscannedFiles", js_get_int(told, "unscannedFiles", 0));
        jw_kraw(&body.jw, "unscanned", str_of(js_text(unscanned, ctx->arena)));
    }
    if (nested != NULL) {
        jw_kint(&body.jw, "nestedRepositoryCount", js_get_int(result, "nestedRepositoryCount", 0));
        jw_kraw(&body.jw, "nestedRepositories", str_of(js_text(nested, ctx->arena)));
    }
    return flow_emit(ctx, flow, EV_PATCH_CREATED, &body);
}

/* The run has another patch than before: one event for those that follow the run's patch, whichever
   row it is in. */
static enum rc emit_updated(struct context *ctx, struct flow *flow, const struct patch_row *patch,
                            const struct id *previous)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", patch->id.text);
    jw_kstr(&body.jw, "previousPatchId", previous->text);
    jw_kstr(&body.jw, "runId", flow->run.id.text);
    jw_kint(&body.jw, "attemptNo", patch->attempt_no);
    jw_kint(&body.jw, "filesChanged", patch->files);
    jw_kint(&body.jw, "linesAdded", patch->lines_added);
    jw_kint(&body.jw, "linesDeleted", patch->lines_deleted);
    jw_kstr(&body.jw, "diffArtifactId", patch->sha256);
    return flow_emit(ctx, flow, EV_PATCH_UPDATED, &body);
}

enum rc patch_adopt(struct context *ctx, struct flow *flow, const struct patch_row *patch,
                    struct str paths, const struct js *result)
{
    const struct id previous = flow->run.patch_id;
    bool first = id_is_none(&previous);
    enum rc rc = first ? RC_OK : supersede(ctx, flow);
    if (rc == RC_OK)
        rc = patches_insert(ctx->db, patch, ctx->err);
    if (rc != RC_OK)
        return rc;
    flow->run.patch_id = patch->id;
    flow->run.patch_sha256 = patch->sha256;
    flow->run.paths = paths;
    rc = emit_created(ctx, flow, patch, result);
    return rc == RC_OK && !first ? emit_updated(ctx, flow, patch, &previous) : rc;
}

enum rc patch_published(struct context *ctx, struct flow *flow)
{
    const struct run_row *run = &flow->run;
    enum rc rc = patches_set_status(ctx->db, &run->patch_id, "published", ctx->err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "patchId", run->patch_id.text);
    jw_kstr(&body.jw, "runId", run->id.text);
    jw_kint(&body.jw, "attemptNo", run->attempt);
    jw_kstr(&body.jw, "pullRequestId", run->pull_request_id.text);
    jw_kstr(&body.jw, "diffArtifactId", run->patch_sha256);
    return flow_emit(ctx, flow, EV_PATCH_PUBLISHED, &body);
}
