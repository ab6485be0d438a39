#include "control/run/account_view.h"
#include <string.h>

enum { ACCOUNTS_READ_MAX = 1000, EMPTY_POOLS_MAX = 256 };

struct account_view {
    struct seen_account *accounts;
    size_t count;
    struct account_load_row *loads;
    size_t load_count;
    bool has_loads;
    const char *empty[EMPTY_POOLS_MAX];
    size_t empty_count;
};

static enum rc load(struct context *ctx)
{
    if (ctx->round->accounts != NULL)
        return RC_OK;
    struct account_view *view = arena_alloc(ctx->batch_arena, sizeof *view);
    struct account_row *rows;
    *view = (struct account_view){0};
    enum rc rc = accounts_state_list(ctx->db, ctx->now_us, ACCOUNTS_READ_MAX, ctx->batch_arena,
                                     &rows, &view->count, ctx->err);
    if (rc != RC_OK)
        return rc;
    view->accounts = arena_array(ctx->batch_arena, view->count, sizeof *view->accounts);
    for (size_t i = 0; rc == RC_OK && i < view->count; i++) {
        view->accounts[i].row = rows[i];
        rc = account_windows_parse(rows[i].windows, ctx->batch_arena, &view->accounts[i].windows,
                                   ctx->err);
    }
    if (rc == RC_OK)
        ctx->round->accounts = view;
    return rc;
}

static struct seen_account *find(const struct context *ctx, const char *name)
{
    const struct account_view *view = ctx->round->accounts;
    for (size_t i = 0; view != NULL && i < view->count; i++)
        if (id_same(&view->accounts[i].row.workspace_id, &ctx->workspace_id) &&
            strcmp(view->accounts[i].row.name, name) == 0)
            return &view->accounts[i];
    return NULL;
}

enum rc account_view_find(struct context *ctx, const char *name,
                          const struct seen_account **ret_account)
{
    enum rc rc = load(ctx);
    if (rc == RC_OK)
        *ret_account = find(ctx, name);
    return rc;
}

enum rc account_view_runs(struct context *ctx, const char *name, int64_t *ret_runs)
{
    enum rc rc = load(ctx);
    struct account_view *view = ctx->round->accounts;
    if (rc == RC_OK && !view->has_loads)
        rc = accounts_load(ctx->db, ctx->batch_arena, &view->loads, &view->load_count, ctx->err);
    if (rc != RC_OK)
        return rc;
    view->has_loads = true;
    *ret_runs = 0;
    for (size_t i = 0; i < view->load_count; i++)
        if (text_same(view->loads[i].name, name))
            *ret_runs = view->loads[i].runs;
    return RC_OK;
}

void account_view_forget(struct context *ctx)
{
    ctx->round->accounts = NULL;
}

void account_view_note(struct context *ctx, const struct account_row *row)
{
    struct account_view *view = ctx->round->accounts;
    struct seen_account *seen = find(ctx, row->name);
    if (seen == NULL) { /* Its first run: the next question finds its row. */
        account_view_forget(ctx);
        return;
    }
    seen->row.used_us = row->used_us;
    seen->row.used_run_id = row->used_run_id;
    view->has_loads = false; /* They are counted again when the run is saved. */
}

void account_view_note_empty(struct context *ctx, const char *pool)
{
    struct account_view *view = ctx->round->accounts;
    if (view != NULL && view->empty_count < EMPTY_POOLS_MAX && !account_view_is_empty(ctx, pool))
        view->empty[view->empty_count++] = arena_strdup(ctx->batch_arena, pool);
}

bool account_view_is_empty(const struct context *ctx, const char *pool)
{
    const struct account_view *view = ctx->round->accounts;
    for (size_t i = 0; view != NULL && i < view->empty_count; i++)
        if (strcmp(view->empty[i], pool) == 0)
            return true;
    return false;
}
