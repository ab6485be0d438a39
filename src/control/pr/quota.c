#include "control/pr/quota.h"
#include "base/js_peek.h"
#include "control/commit/config_book.h"
#include "control/commit/context.h"
#include "control/commit/read_ahead.h"
#include "control/queue/lease.h"
#include "control/queue/token_scope.h"
#include "store/forge_limits.h"

/* Whose calls they are. */
struct caller {
    struct forge_limit_key key;
    const char *repository;
    bool person;
};

struct quota_seen quota_seen_of(const struct forge_limit_seen *seen)
{
    return (struct quota_seen){
        .limit = seen->limit,
        .remaining = seen->remaining,
        .reset_us = seen->reset_us > 0 ? seen->reset_us : 0,
        .retry_us = seen->retry_ms > 0 ? seen->retry_ms * US_PER_MS : 0,
        .secondary = seen->secondary,
    };
}

/* The payload of every step of drover's own names repository and configuration. */
static enum rc read_payload(struct context *ctx, const struct cmd_quota *cmd,
                            const struct job_row *job, struct caller *caller)
{
    const struct repo_layers layers = {.repository = js_peek(job->payload, "config")};
    CLEANUP(config_book_putp) struct known_config *known = NULL;
    CLEANUP(js_freep) struct js *name = NULL;
    struct str text = js_peek(job->payload, "repository");
    if (text.len == 0 || js_parse(text.at, text.len, &name, NULL) != RC_OK)
        return err_set(ctx->err, RC_CORRUPT, "PAYLOAD_INVALID", "job %s names no repository",
                       job->id.text);
    enum rc rc = config_book_take(ctx->configs, &layers, &known, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the configuration of a job");
    const char *credential = token_source_name(&known->config, cmd->access, ctx->arena);
    caller->key.credential = credential != NULL ? credential : "";
    caller->repository = arena_strdup(ctx->arena, js_str(name, ""));
    return RC_OK;
}

static enum rc find_caller(struct context *ctx, const struct cmd_quota *cmd, struct caller *caller)
{
    *caller = (struct caller){.key = {.host = cmd->host, .resource = cmd->resource}};
    if (id_is_none(&cmd->ref.id)) {
        caller->person = true;
        caller->repository = cmd->repository;
        caller->key.credential = cmd->credential != NULL ? cmd->credential : "";
        return RC_OK;
    }
    struct job_row job;
    struct job_answer answer;
    struct token_scope_refs refs = {&cmd->ref, sizeof cmd->ref, 1};
    enum rc rc = token_scope_check(ctx, &cmd->base, &refs);
    if (rc == RC_OK)
        rc = lease_load(ctx, &cmd->base, &cmd->ref, &job, &answer);
    if (rc != RC_OK)
        return rc;
    if (!answer.ok)
        return err_set(ctx->err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    return read_payload(ctx, cmd, &job, caller);
}

/* What this repository has used, and what others are still owed. */
static enum rc read_shares(struct context *ctx, const struct caller *caller,
                           const struct quota *quota, struct quota_wish *wish)
{
    struct forge_share_row *rows = NULL;
    size_t count = 0;
    enum rc rc = forge_shares_list(ctx->db, &caller->key, quota->reset_us, ctx->arena, &rows,
                                   &count, ctx->err);
    bool known = false;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        known |= text_same(rows[i].repository, caller->repository);
    wish->repositories = (int64_t)count + (known ? 0 : 1);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        if (text_same(rows[i].repository, caller->repository))
            wish->used = rows[i].used;
        else
            wish->owed += quota_owed(quota, rows[i].used, wish->repositories);
    }
    return rc;
}

static const char *explain(struct context *ctx, const struct cmd_quota *cmd,
                           const struct quota *quota)
{
    static const char *const whys[] = {
        [QUOTA_GRANTED] = "",
        [QUOTA_SPENT] = "the calls of this window are used up",
        [QUOTA_RESERVED] = "what is left is kept for people",
        [QUOTA_SHARED] = "what is left is the share of other repositories",
        [QUOTA_BLOCKED] = "it asks for a pause",
    };
    return arena_printf(ctx->arena,
                        "The rate limit of %s (%s): %s. %lld of %lld calls are left; the next in "
                        "%lld s.",
                        cmd->host, cmd->resource, whys[cmd->verdict.why],
                        (long long)quota->remaining, (long long)quota->limit,
                        (long long)(cmd->verdict.wait_us / US_PER_SECOND));
}

static enum rc tell(struct context *ctx, const struct cmd_quota *cmd, const struct caller *caller,
                    struct quota *quota)
{
    quota_tell(quota, cmd->has_seen ? &cmd->seen : NULL, &cmd->told, ctx->now_us);
    if (cmd->told.used == 0 || caller->repository == NULL)
        return RC_OK;
    const struct forge_share_row share = {
        .host = caller->key.host,
        .credential = caller->key.credential,
        .resource = caller->key.resource,
        .repository = caller->repository,
        .window_us = quota->reset_us,
        .used = cmd->told.used,
    };
    return forge_shares_add(ctx->db, &share, ctx->err);
}

static enum rc apply_quota(struct context *ctx, struct command *command)
{
    struct cmd_quota *cmd = (struct cmd_quota *)command;
    struct caller caller;
    struct forge_limit_row row;
    enum rc rc = find_caller(ctx, cmd, &caller);
    if (rc == RC_OK)
        rc = forge_limits_take(ctx->db, &caller.key, ctx->now_us, ctx->arena, &row, ctx->err);
    if (rc == RC_OK)
        rc = tell(ctx, cmd, &caller, &row.quota);
    if (rc != RC_OK)
        return rc;
    cmd->verdict = (struct quota_verdict){.why = QUOTA_GRANTED};
    if (cmd->want > 0) {
        struct quota_wish wish = {.want = cmd->want, .person = caller.person};
        quota_renew(&row.quota, ctx->now_us);
        rc = read_shares(ctx, &caller, &row.quota, &wish);
        if (rc != RC_OK)
            return rc;
        cmd->verdict = quota_ask(&row.quota, &wish, ctx->now_us);
        cmd->why = cmd->verdict.calls == 0 ? explain(ctx, cmd, &row.quota) : NULL;
    }
    row.updated_us = ctx->now_us;
    return forge_limits_save(ctx->db, &row, ctx->err);
}

static void quota_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_quota *cmd = (const struct cmd_quota *)command;
    if (!id_is_none(&cmd->ref.id))
        read_ahead_job(read_ahead, &cmd->ref.id);
}

static const struct command_ops quota_ops = {
    .name = "forge_quota", .apply = apply_quota, .names = quota_names};

struct cmd_quota *cmd_quota_new(void)
{
    return command_new(&quota_ops, sizeof(struct cmd_quota));
}
