#include "control/queue/token_scope.h"

static enum rc check_one(struct context *ctx, const struct command *command,
                         const struct job_ref *ref)
{
    struct job_row job;
    enum rc rc = jobs_get(ctx->db, &ref->id, ctx->arena, &job, ctx->err);
    if (rc == RC_NOT_FOUND) { /* The command itself answers with that. */
        err_clear(ctx->err);
        return RC_OK;
    }
    return rc == RC_OK ? queue_allowed(command->bound_to, job.queue, ctx->err) : rc;
}

enum rc token_scope_check(struct context *ctx, const struct command *command,
                          const struct token_scope_refs *refs)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; command->bound_to != NULL && rc == RC_OK && i < refs->count; i++) {
        const char *at = (const char *)refs->refs + i * refs->stride;
        rc = check_one(ctx, command, (const struct job_ref *)at);
    }
    return rc;
}

enum rc token_scope_check_specs(struct context *ctx, const struct command *command,
                                const struct job_spec *specs, size_t count)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = queue_allowed(command->bound_to, specs[i].queue, ctx->err);
    return rc;
}
