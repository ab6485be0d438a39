#include "tests/unit/step_added.h"
#include "control/run/pipeline.h"
#include "control/run/results.h"
#include "core/report_shape.h"
#include "core/step_table.h"
#include "work/job/step.h"
#include <check.h>
#include <string.h>

#define STEP_LINT ((enum step_kind)STEP_KIND_COUNT)

static const struct report_field lint_fields[] = {
    {"warnings", KIND_COUNT, REQUIRED, .max = 1000},
};
static const struct report_shape lint_result = REPORT_SHAPE(lint_fields);

static const struct step_row lint_row = {
    .kind = STEP_LINT,
    .name = "lint",
    .queue = STEP_QUEUE_PREFIX "lint",
    .status = RUN_VERIFYING,
    .place = PLACE_OPTIONAL,
    .attempts = LINT_ATTEMPTS,
    .time = TIME_PREPARE,
    .time_ms = LINT_MS,
    .failure = "verify_failed_to_run",
    .dependency = DEPENDS_ON_FORGE,
    .result = &lint_result,
    .class = CLASS_CHECK,
    .preference = 95,
};

static enum rc result_of_lint(struct context *ctx, struct flow *flow, const struct js *result)
{
    flow_warn(flow, "lint",
              arena_printf(ctx->arena, "%d warnings", (int)js_get_int(result, "warnings", 0)));
    return pipeline_next(ctx, flow);
}

static enum rc facts_of_lint(const struct result_claims *claims)
{
    if (js_get_int(claims->result, "warnings", 0) <= LINT_WARNINGS_MAX)
        return RC_OK;
    return err_field(claims->ctx->err, RC_INVALID, "RESULT_REFUSED", "warnings",
                     "warnings is more than there can be");
}

static enum rc step_lint(struct step *step, struct err *err)
{
    (void)err;
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kint(&jw, "warnings", (int64_t)strlen(step->input.step));
    jw_end(&jw, '}');
    return RC_OK;
}

/* ---- the tables ---- */

const struct step_row *__real_step_table(size_t *ret_count);
const struct step_row *__wrap_step_table(size_t *ret_count);
const struct step_handlers *__real_step_handlers(enum step_kind kind);
const struct step_handlers *__wrap_step_handlers(enum step_kind kind);
step_run_fn *__real_step_function(enum step_kind kind);
step_run_fn *__wrap_step_function(enum step_kind kind);

static bool added;
static struct step_row rows[STEP_KIND_COUNT + 1];

void step_add(void)
{
    size_t count, at = 0;
    const struct step_row *real = __real_step_table(&count);
    for (size_t i = 0; i < count; i++) {
        rows[at++] = real[i];
        if (real[i].kind == STEP_VERIFY)
            rows[at++] = lint_row;
    }
    ck_assert_uint_eq(at, COUNT_OF(rows));
    added = true;
}

void step_remove(void)
{
    added = false;
}

const struct step_row *__wrap_step_table(size_t *ret_count)
{
    if (!added)
        return __real_step_table(ret_count);
    *ret_count = COUNT_OF(rows);
    return rows;
}

const struct step_handlers *__wrap_step_handlers(enum step_kind kind)
{
    static const struct step_handlers lint = {result_of_lint, facts_of_lint};
    return added && kind == STEP_LINT ? &lint : __real_step_handlers(kind);
}

step_run_fn *__wrap_step_function(enum step_kind kind)
{
    return added && kind == STEP_LINT ? step_lint : __real_step_function(kind);
}
