#include "control/run/usage.h"
#include "base/js_peek.h"
#include "core/text/prose.h"
#include <math.h>
#include <string.h>

enum { MODEL_BYTES_MAX = 200 };

static const int64_t count_max = INT64_C(1000000000000);
static const double usd_max = 1e6;

void usage_write(struct jw *jw, const struct run_row *run)
{
    jw_key(jw, "used");
    jw_begin(jw, '{');
    jw_kint(jw, "turns", run->turns);
    jw_kint(jw, "inputTokens", run->tokens_in);
    jw_kint(jw, "outputTokens", run->tokens_out);
    jw_kint(jw, "costMicrousd", run->cost_microusd);
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

enum rc usage_take_back(struct context *ctx, struct run_row *run, struct str payload)
{
    CLEANUP(js_freep) struct js *used = NULL;
    enum rc rc = read_used(ctx, payload, &used);
    if (rc != RC_OK)
        return rc;
    run->turns = js_get_int(used, "turns", 0);
    run->tokens_in = js_get_int(used, "inputTokens", 0);
    run->tokens_out = js_get_int(used, "outputTokens", 0);
    run->cost_microusd = js_get_int(used, "costMicrousd", 0);
    return RC_OK;
}
