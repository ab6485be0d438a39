#include "control/run/usage.h"
#include "base/js_peek.h"
#include "core/text/prose.h"
#include <math.h>
#include <string.h>

enum { MODEL_BYTES_MAX = 200 };

static const int64_t count_max = INT64_C(1000000000000);
static const double usd_max = 1e6;

struct used usage_before(const struct flow *flow)
{
    const struct run_row *run = &flow->run;
    if (flow->used != NULL)
        return *flow->used;
    return (struct used){run->turns, run->tokens_in, run->tokens_out, run->cost_microusd};
}

void usage_write(struct jw *jw, const struct flow *flow)
{
    struct used used = usage_before(flow);
    jw_key(jw, "used");
    jw_begin(jw, '{');
    jw_kint(jw, "turns", used.turns);
    jw_kint(jw, "inputTokens", used.tokens_in);
    jw_kint(jw, "outputTokens", used.tokens_out);
    jw_kint(jw, "costMicrousd", used.cost_microusd);
    jw_end(jw, '}');
}

void usage_write_run(struct jw *jw, const struct run_row *run)
{
    jw_key(jw, "runUsage");
    jw_begin(jw, '{');
    jw_kint(jw, "turns", run->turns);
    jw_kint(jw, "inputTokens", run->tokens_in);
    jw_kint(jw, "outputTokens", run->tokens_out);
    jw_kreal(jw, "costUsd", (double)run->cost_microusd / 1e6);
    jw_optstr(jw, "model", run->model);
    jw_end(jw, '}');
}

/* Sums of one attempt only grow. */
static void raise(int64_t *column, int64_t before, int64_t sum)
{
    if (sum > 0 && sum <= count_max && before + sum > *column)
        *column = before + sum;
}

/* What the run had used when the assignment was made.  Only this member is parsed: workers report
   their sums often, and the rest of an assignment is long. */
static enum rc read_used(struct context *ctx, struct str payload, struct js **ret_used)
{
    struct str used = js_peek(payload, "used");
    if (used.len > 0 && js_parse(used.at, used.len, ret_used, ctx->err) != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "what the assignment says of earlier use");
    return RC_OK;
}

enum rc usage_take(struct context *ctx, struct run_row *run, struct str payload,
                   const struct js *sums)
{
    CLEANUP(js_freep) struct js *used = NULL;
    enum rc rc = read_used(ctx, payload, &used);
    if (rc != RC_OK)
        return rc;
    raise(&run->turns, js_get_int(used, "turns", 0), js_get_int(sums, "turns", 0));
    raise(&run->tokens_in, js_get_int(used, "inputTokens", 0), js_get_int(sums, "inputTokens", 0));
    raise(&run->tokens_out, js_get_int(used, "outputTokens", 0),
          js_get_int(sums, "outputTokens", 0));
    double usd = js_num(js_get(sums, "costUsd"), 0);
    if (usd > 0 && usd < usd_max)
        raise(&run->cost_microusd, js_get_int(used, "costMicrousd", 0),
              (int64_t)llround(usd * 1e6));
    const char *model = js_get_str(sums, "model", NULL);
    if (!text_empty(model) && !text_same(model, run->model))
        run->model = arena_strndup(ctx->arena, model,
                                   prose_fit(model, strlen(model), MODEL_BYTES_MAX));
    return RC_OK;
}

/* A request that the provider refused may count as a turn, but it has no output. */
bool usage_shows_work(const struct js *sums)
{
    return js_get_int(sums, "turns", 0) > 0 && js_get_int(sums, "outputTokens", 0) > 0;
}

enum rc usage_continue(struct context *ctx, struct flow *flow, struct str payload)
{
    CLEANUP(js_freep) struct js *before = NULL;
    enum rc rc = read_used(ctx, payload, &before);
    if (rc != RC_OK)
        return rc;
    struct used *used = arena_alloc(ctx->arena, sizeof *used);
    *used = (struct used){.turns = js_get_int(before, "turns", 0),
                          .tokens_in = js_get_int(before, "inputTokens", 0),
                          .tokens_out = js_get_int(before, "outputTokens", 0),
                          .cost_microusd = js_get_int(before, "costMicrousd", 0)};
    flow->used = used;
    return RC_OK;
}
