#include "control/commit/queue_book.h"
#include "base/clock.h"
#include "base/str.h"
#include "core/step_table.h"
#include <stdlib.h>
#include <string.h>

/* How long other nodes' changes may go unnoticed. */
#define SHARED_AGE_US US_PER_SECOND

void queue_book_init(struct queue_book *book)
{
    *book = (struct queue_book){.plain = {.config = queue_config_default("")}};
    size_t count;
    const struct step_row *rows = step_table(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].queue != NULL)
            book->steps[rows[i].kind].config = queue_config_default(rows[i].queue);
}

void queue_book_release(struct queue_book *book)
{
    arena_release(&book->arena);
}

struct queue_rules queue_rules_of(const struct queue_row *row)
{
    struct queue_rules rules = {
        .name = row->name, .paused = row->paused, .config = queue_config_default(row->name)};
    struct err err = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = js_parse(row->config.at, row->config.len, &tree, &err);
    if (rc == RC_OK)
        rc = queue_config_decode(row->name, tree, &rules.config, &err);
    if (rc != RC_OK)
        rules.config = queue_config_default(row->name);
    return rules;
}

static enum rc read_all(struct queue_book *book, struct db *db, struct err *err)
{
    struct arena arena = {0};
    struct queue_row *rows;
    size_t count;
    enum rc rc = queues_list_rules(db, &arena, &rows, &count, err);
    if (rc != RC_OK) {
        arena_release(&arena);
        return rc;
    }
    struct queue_rules *rules = arena_array(&arena, count, sizeof *rules);
    book->versions = 0;
    for (size_t i = 0; i < count; i++) {
        rules[i] = queue_rules_of(&rows[i]);
        book->versions += rows[i].version;
    }
    arena_release(&book->arena);
    book->arena = arena;
    book->rules = rules;
    book->count = count;
    return RC_OK;
}

enum rc queue_book_refresh(struct queue_book *book, struct db *db,
                           const struct queue_book_state *state, bool *ret_changed, struct err *err)
{
    bool old = state->shared &&
               (state->now_us >= book->read_us + SHARED_AGE_US || state->now_us < book->read_us);
    *ret_changed = false;
    if (book->known && book->news == state->news && !old)
        return RC_OK;
    int64_t before = book->versions;
    enum rc rc = read_all(book, db, err);
    if (rc != RC_OK)
        return rc;
    *ret_changed = book->known && book->versions != before;
    book->known = true;
    book->news = state->news;
    book->read_us = state->now_us;
    return RC_OK;
}

static int by_name(const void *key, const void *member)
{
    return strcmp(key, ((const struct queue_rules *)member)->name);
}

const struct queue_rules *queue_book_find(const struct queue_book *book, const char *queue)
{
    const struct queue_rules *found = NULL;
    if (book->count > 0)
        found = bsearch(queue, book->rules, book->count, sizeof *book->rules, by_name);
    if (found != NULL)
        return found;
    const struct step_row *step = NULL;
    if (text_starts(queue, STEP_QUEUE_PREFIX))
        step = step_find_queue(queue);
    return step != NULL ? &book->steps[step->kind] : &book->plain;
}
