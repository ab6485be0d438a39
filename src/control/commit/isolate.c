#include "control/commit/isolate.h"
#include "base/log.h"
#include "store/db.h"

bool is_engine_failure(enum rc rc, const struct err *err)
{
    static const char *const codes[] = {"STORE_FULL", "STORE_IO", "STORE_TIMEOUT", "STORE_CORRUPT"};
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (text_same(err->code, codes[i]))
            return true;
    return rc == RC_BUSY || rc == RC_UNREACHABLE;
}

const char *failure_text(struct context *ctx, const struct failure *why)
{
    return arena_printf(ctx->arena, "%s: %s", why->err.code, why->err.text);
}

/* Some functions return an error without a text. */
static void fill_err(struct err *err, enum rc rc)
{
    if (err->code[0] == '\0')
        err_set(err, rc, "CONTROL_ERROR", "it ended with the outcome %s", rc_name(rc));
}

/* Rows that were read or noted for the batch since then may be rolled back. */
static void restore_round(struct round *round, const struct round *before)
{
    *round = *before;
    round->supply = (struct supply){0};
    round->breakers = NULL;
    round->notes = NULL;
    round->accounts = NULL;
}

static void log_failure(const struct isolated *one, const struct failure *why, bool again)
{
    LOG(LOG_ERROR,
        again ? "what follows from a failure failed, too"
              : "one of many failed, the others continue",
        LOG_STR("kind", one->kind), LOG_STR("id", one->id), LOG_STR("code", why->err.code),
        LOG_STR("error", why->err.text));
}

/* RC_OK with *ret_failed: it was undone, and the transaction is as it was before. */
static enum rc try_undoing(struct context *ctx, isolate_try *attempt, void *subject,
                           struct failure *why, bool *ret_failed)
{
    struct round before = *ctx->round;
    struct savepoint savepoint;
    *ret_failed = false;
    enum rc rc = savepoint_set(ctx->db, &savepoint, ctx->err);
    if (rc != RC_OK)
        return rc;
    err_clear(ctx->err);
    rc = attempt(ctx, subject, why->rc != RC_OK ? why : NULL);
    if (rc == RC_OK)
        rc = savepoint_keep(&savepoint, ctx->err);
    if (rc == RC_OK || is_engine_failure(rc, ctx->err))
        return rc;
    fill_err(ctx->err, rc);
    *why = (struct failure){rc, *ctx->err};
    *ret_failed = true;
    restore_round(ctx->round, &before);
    return savepoint_undo(&savepoint, ctx->err);
}

enum rc isolate(struct context *ctx, const struct isolated *one)
{
    if (!ctx->careful) {
        enum rc rc = one->tries[0](ctx, one->subject, NULL);
        if (rc == RC_OK || is_engine_failure(rc, ctx->err))
            return rc;
        fill_err(ctx->err, rc);
        return RC_IO; /* The transaction is to be run again, carefully. */
    }
    struct failure why = {0};
    bool failed = true;
    for (size_t i = 0; failed && one->tries[i] != NULL; i++) {
        enum rc rc = try_undoing(ctx, one->tries[i], one->subject, &why, &failed);
        if (rc != RC_OK)
            return rc;
        if (failed)
            log_failure(one, &why, i > 0);
    }
    if (failed)
        *ctx->err = why.err;
    return failed ? why.rc : RC_OK;
}
