#include "control/admit/repo_follow.h"
#include "control/run/effective.h"
#include "control/run/run_clock.h"
#include "core/pr/forge_event.h"
#include "store/syncs.h"
#include "store/timers.h"

static enum rc begin(struct context *ctx, const struct repository_row *repository,
                     const struct repo_config *config, const char *full_name, int64_t delay_us)
{
    const struct sync_row row = {
        .repository_id = repository->id,
        .forge = config->forge,
        .full_name = full_name,
        .secret = config->webhook.secret,
        .old_secret = config->webhook.old_secret,
        .mode = SYNC_POLLING,
        .mode_since_us = ctx->now_us,
        .deliveries_since_us = ctx->now_us,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    enum rc rc = syncs_put(ctx->db, &row, ctx->err);
    return rc == RC_OK ? timer_start(ctx, TIMER_SYNC, &repository->id, ctx->now_us + delay_us) : rc;
}

static enum rc end(struct context *ctx, const struct id *repository_id)
{
    enum rc rc = syncs_remove(ctx->db, repository_id, ctx->err);
    return rc == RC_OK ? timers_clear(ctx->db, TIMER_SYNC, repository_id, ctx->err) : rc;
}

enum rc repo_follow(struct context *ctx, const struct repository_row *repository, int64_t delay_us)
{
    CLEANUP(config_book_putp) struct known_config *known = NULL;
    const char *full_name = NULL;
    if (!repository->removed) {
        known = effective_now(ctx, repository);
        if (known == NULL)
            return RC_OK; /* What is known about it stays until it can be read again. */
    }
    if (known != NULL && !text_same(known->config.forge, "local"))
        full_name = forge_name_of_url(known->config.url, ctx->arena);
    return full_name != NULL ? begin(ctx, repository, &known->config, full_name, delay_us)
                             : end(ctx, &repository->id);
}
