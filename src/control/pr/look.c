#include "control/pr/look.h"
#include "control/pr/intake.h"
#include "control/pr/shepherd.h"
#include "control/pr/train.h"
#include "store/pull_requests.h"

static enum rc look_at_all(struct context *ctx, const struct pull_request_ids *found)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < found->count; i++)
        rc = shepherd_look(ctx, &found->ids[i]);
    return rc;
}

enum rc look_at_issue(struct context *ctx, const struct repository_row *repository, int64_t number)
{
    return intake_look(ctx, repository, number);
}

enum rc look_at_pr(struct context *ctx, const struct repository_row *repository, int64_t number)
{
    struct pull_request_ids found = {0};
    enum rc rc = pull_requests_numbered(ctx->db, &repository->id, number, ctx->arena, &found,
                                        ctx->err);
    return rc == RC_OK ? look_at_all(ctx, &found) : rc;
}

enum rc look_at_commit(struct context *ctx, const struct repository_row *repository,
                       const char *commit)
{
    struct pull_request_ids found = {0};
    enum rc rc = pull_requests_at_head(ctx->db, &repository->id, commit, ctx->arena, &found,
                                       ctx->err);
    return rc == RC_OK ? look_at_all(ctx, &found) : rc;
}

enum rc look_at_branch(struct context *ctx, const struct repository_row *repository,
                       const char *branch)
{
    struct pull_request_ids found = {0};
    enum rc rc = pull_requests_of_branch(ctx->db, &repository->id, branch, ctx->arena, &found,
                                         ctx->err);
    if (rc == RC_OK)
        rc = look_at_all(ctx, &found);
    return rc == RC_OK ? train_look(ctx, &repository->id, branch) : rc;
}
