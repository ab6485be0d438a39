#include "control/run/forecasts.h"
#include "core/config/profile.h"
#include "store/runs.h"

/* As read by one batch. */
struct past_list {
    struct id repository_id;
    const struct past_run *runs;
    size_t count;
    const struct past_list *next;
};

const char *forecasts_agent(const struct agent_config *agent, struct arena *arena)
{
    const char *program = agent->profile != NULL             ? agent->profile->name
                          : agent->compute == COMPUTE_REMOTE ? "remote"
                          : agent->compute == COMPUTE_PULL   ? agent->queue
                                                             : adapter_name(agent->adapter);
    if (agent->model == NULL)
        return program;
    return arena_printf(arena, "%s:%s", program, agent->model);
}

static enum rc find_past(struct context *ctx, const struct id *repository_id,
                         const struct past_list **ret_list)
{
    for (const struct past_list *at = ctx->round->past_runs; at != NULL; at = at->next) {
        if (id_same(&at->repository_id, repository_id)) {
            *ret_list = at;
            return RC_OK;
        }
    }
    struct past_list *list = arena_alloc(ctx->batch_arena, sizeof *list);
    struct past_run *runs;
    *list = (struct past_list){.repository_id = *repository_id, .next = ctx->round->past_runs};
    enum rc rc = runs_past(ctx->db, repository_id, FORECAST_RUNS_MAX, ctx->batch_arena, &runs,
                           &list->count, ctx->err);
    if (rc != RC_OK)
        return rc;
    list->runs = runs;
    ctx->round->past_runs = list;
    *ret_list = list;
    return RC_OK;
}

enum rc forecasts_make(struct context *ctx, const struct id *repository_id,
                       const struct past_run *wanted, struct forecast *ret_forecast)
{
    const struct past_list *past;
    enum rc rc = find_past(ctx, repository_id, &past);
    if (rc == RC_OK)
        *ret_forecast = forecast_make(past->runs, past->count, wanted);
    return rc;
}
