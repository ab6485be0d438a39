#include "control/run/day_stop.h"
#include "control/commit/isolate.h"
#include "control/run/day_budget.h"
#include "control/run/stop.h"

enum { PAGE = 200, PAGES_MAX = 100 };
/* Runs that could not be stopped are tried again after this time. */
#define AGAIN_US US_PER_MINUTE

struct sweep {
    const struct id *run_id;
    const char *reason;
    bool failed;
};

static enum rc stop_one(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct sweep *sweep = subject;
    CLEANUP(flow_release) struct flow flow = {0};
    bool stopping;
    enum rc rc = flow_load(ctx, sweep->run_id, &flow);
    if (rc != RC_OK || flow.run.stop != RUN_STOP_NONE || !run_is_active(flow.run.status) ||
        !run_may_call_model(flow.run.status))
        return rc;
    struct stop_request request = {
        .kind = RUN_STOP_BUDGET, .by = DAY_BUDGET_LIMIT, .reason = sweep->reason};
    return stop_run(ctx, &flow, &request, &stopping);
}

static enum rc stop_later(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)why;
    ((struct sweep *)subject)->failed = true;
    return RC_OK;
}

static enum rc stop_state(struct context *ctx, struct sweep *sweep, enum run_status status)
{
    static isolate_try *const tries[] = {stop_one, stop_later, NULL};
    struct run_filter filter = {.status = (int)status, .limit = PAGE};
    size_t count = PAGE;
    enum rc rc = RC_OK;
    for (int page = 0; rc == RC_OK && count == PAGE && page < PAGES_MAX; page++) {
        struct run_row *rows;
        rc = runs_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            filter.before = rows[i].id;
            sweep->run_id = &rows[i].id;
            const struct isolated one = {"run", rows[i].id.text, sweep, tries};
            if (rows[i].stop == RUN_STOP_NONE)
                rc = isolate(ctx, &one);
        }
    }
    return rc;
}

enum rc day_stop(struct context *ctx, const struct id *workspace_id)
{
    struct sweep sweep = {0};
    enum rc rc = day_budget_passed(ctx, &sweep.reason);
    if (rc != RC_OK || sweep.reason == NULL)
        return rc; /* The day, or the limit, has changed. */
    for (int status = 0; rc == RC_OK && status < RUN_STATUS_COUNT; status++)
        if (run_is_active((enum run_status)status) && run_may_call_model((enum run_status)status))
            rc = stop_state(ctx, &sweep, (enum run_status)status);
    if (rc != RC_OK || !sweep.failed)
        return rc;
    return timer_start(ctx, TIMER_DAY_BUDGET, workspace_id, ctx->now_us + AGAIN_US);
}
