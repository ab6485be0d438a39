/*
 * breaker_book.c - see breaker_book.h.
 */
#include "control/queue/breaker_book.h"
#include "control/commit/cx.h"
#include <string.h>

static struct breaker_book *book_of(struct cx *cx)
{
    if (cx->round->breakers == NULL)
        cx->round->breakers = arena_alloc(cx->batch_arena, sizeof(struct breaker_book));
    return cx->round->breakers;
}

static struct breaker_entry *find(struct breaker_book *book, const char *name)
{
    for (size_t i = 0; i < book->count; i++)
        if (strcmp(book->entries[i].row.name, name) == 0)
            return &book->entries[i];
    return NULL;
}

/* When there is no room for another one, it replaces the last. */
static struct breaker_entry *add(struct breaker_book *book)
{
    if (book->count < BREAKER_BOOK_MAX)
        book->count++;
    return &book->entries[book->count - 1];
}

static enum rc decode(struct cx *cx, struct breaker_entry *entry)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct breaker_config config;
    enum rc rc = js_parse(entry->row.config.at, entry->row.config.len, &tree, cx->err);
    if (rc == RC_OK)
        rc = breaker_config_decode(tree, cx->batch_arena, &config, cx->err);
    if (rc != RC_OK)
        return err_wrap(cx->err, RC_CORRUPT, entry->row.name);
    entry->config = config;
    return RC_OK;
}

static enum rc load(struct cx *cx, const char *name, bool take, struct breaker_entry *entry)
{
    struct breaker_entry fresh = {.taken = take};
    enum rc rc = take
                     ? breakers_take(cx->db, name, cx->now_us, cx->batch_arena, &fresh.row, cx->err)
                     : breakers_get(cx->db, name, cx->batch_arena, &fresh.row, cx->err);
    if (rc == RC_NOT_FOUND) {
        fresh.row = (struct breaker_row){.name = arena_strdup(cx->batch_arena, name),
                                         .config = STR("{}")};
        rc = RC_OK;
    }
    if (rc == RC_OK)
        rc = decode(cx, &fresh);
    if (rc == RC_OK)
        *entry = fresh;
    return rc;
}

static enum rc open_entry(struct cx *cx, const char *name, bool take,
                          struct breaker_entry **ret_entry)
{
    struct breaker_book *book = book_of(cx);
    struct breaker_entry *entry = find(book, name);
    if (entry == NULL || (take && !entry->taken)) {
        struct breaker_entry loaded;
        enum rc rc = load(cx, name, take, &loaded);
        if (rc != RC_OK)
            return rc;
        if (entry == NULL)
            entry = add(book);
        *entry = loaded;
    }
    *ret_entry = entry;
    return RC_OK;
}

enum rc breaker_look(struct cx *cx, const char *name, struct breaker_entry **ret_entry)
{
    return open_entry(cx, name, false, ret_entry);
}

enum rc breaker_take(struct cx *cx, const char *name, struct breaker_entry **ret_entry)
{
    return open_entry(cx, name, true, ret_entry);
}
