#include "control/run/overloads.h"
#include "control/run/accounts.h"
#include "control/run/ending.h"
#include "control/run/usage.h"
#include "core/run/overload.h"

const char *overloads_detail(const struct context *ctx, const struct run_row *run)
{
    char until[TIME_TEXT_BYTES];
    if (run->overloaded_until_us <= ctx->now_us)
        return NULL;
    return arena_printf(
        ctx->arena,
        "the provider of its agent is overloaded (%lld times in a row); it is tried "
        "again at %s",
        (long long)run->overloads, time_format(until, run->overloaded_until_us));
}

static enum rc give_up(struct context *ctx, struct flow *flow, const struct js *result)
{
    const char *said = js_get_str(result, "error", "");
    struct ending ending = {
        .event = RUN_EV_FAIL,
        .code = "provider_overloaded",
        .message = arena_printf(
            ctx->arena,
            "The provider was overloaded %lld times in a row, first %lld minutes ago%s%s",
            (long long)flow->run.overloads,
            (long long)((ctx->now_us - flow->run.overloaded_us) / US_PER_MINUTE),
            *said != '\0' ? ": " : "", said),
    };
    flow->run.partial = !id_is_none(&flow->run.patch_id);
    return flow_end(ctx, flow, &ending);
}

enum rc overloads_defer(struct context *ctx, struct flow *flow, const struct js *result)
{
    struct run_row *run = &flow->run;
    const struct repo_config *config;
    enum rc rc = flow_config(ctx, flow, &config);
    if (rc != RC_OK)
        return rc;
    struct overload overload = {run->overloads, run->overloaded_us};
    const struct overload_limits limits = {config->overloads, config->timeouts.run_ms * US_PER_MS};
    bool again = overload_again(&overload, &limits, usage_shows_work(result), ctx->now_us);
    run->overloads = overload.count;
    run->overloaded_us = overload.first_us;
    if (!again)
        return give_up(ctx, flow, result);
    run->overloaded_until_us = ctx->now_us + overload_wait_us(&overload, random_next(ctx->random));
    rc = timer_start(ctx, TIMER_RUN_OVERLOADED, &run->id, run->overloaded_until_us);
    struct account_wait wait = {CHECK_OVERLOADED, overloads_detail(ctx, run), run->account};
    return rc == RC_OK ? accounts_queue_again(ctx, flow, &wait) : rc;
}

enum rc overloads_over(struct context *ctx, const struct id *run_id)
{
    (void)run_id; /* Admission checks its overloaded_until_us. */
    ctx->round->admit = true;
    return RC_OK;
}
