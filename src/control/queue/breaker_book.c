#include "control/queue/breaker_book.h"
#include "control/commit/context.h"
#include <string.h>

static struct breaker_entry *find(struct breaker_book *book, const char *name)
{
    for (size_t i = 0; i < book->count; i++)
        if (strcmp(book->entries[i].row.name, name) == 0)
            return &book->entries[i];
    return NULL;
}

static enum rc decode(struct context *ctx, struct breaker_entry *entry)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct breaker_config config;
    enum rc rc = js_parse(entry->row.config.at, entry->row.config.len, &tree, ctx->err);
    if (rc == RC_OK)
        rc = breaker_config_decode(tree, ctx->batch_arena, &config, ctx->err);
    if (rc != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, entry->row.name);
    entry->config = config;
    return RC_OK;
}

static enum rc load(struct context *ctx, const char *name, bool take, struct breaker_entry *entry)
{
    struct breaker_entry fresh = {.taken = take};
    enum rc rc = take ? breakers_take(ctx->db, name, ctx->now_us, ctx->batch_arena, &fresh.row,
                                      ctx->err)
                      : breakers_get(ctx->db, name, ctx->batch_arena, &fresh.row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        fresh.row = (struct breaker_row){.name = arena_strdup(ctx->batch_arena, name),
                                         .config = STR("{}")};
        rc = RC_OK;
    }
    if (rc == RC_OK)
        rc = decode(ctx, &fresh);
    if (rc == RC_OK)
        *entry = fresh;
    return rc;
}

static enum rc open_entry(struct context *ctx, const char *name, bool take,
                          struct breaker_entry **ret_entry)
{
    if (ctx->round->breakers == NULL)
        ctx->round->breakers = arena_alloc(ctx->batch_arena, sizeof(struct breaker_book));
    struct breaker_book *book = ctx->round->breakers;
    struct breaker_entry *entry = find(book, name);
    if (entry == NULL || (take && !entry->taken)) {
        struct breaker_entry loaded;
        enum rc rc = load(ctx, name, take, &loaded);
        if (rc != RC_OK)
            return rc;
        if (entry == NULL) { /* When there is no room for another one, it replaces the last. */
            if (book->count < BREAKER_BOOK_MAX)
                book->count++;
            entry = &book->entries[book->count - 1];
        }
        *entry = loaded;
    }
    *ret_entry = entry;
    return RC_OK;
}

enum rc breaker_look(struct context *ctx, const char *name, struct breaker_entry **ret_entry)
{
    return open_entry(ctx, name, false, ret_entry);
}

enum rc breaker_take(struct context *ctx, const char *name, struct breaker_entry **ret_entry)
{
    return open_entry(ctx, name, true, ret_entry);
}
