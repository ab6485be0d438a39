/*
 * engine_postgres_ahead.c - see engine_postgres_ahead.h.
 */
#include "store/engine_postgres_ahead.h"
#include "base/mem.h"
#include "store/pq_lib.h"
#include <assert.h>
#include <string.h>

enum { ID_LEN = ID_TEXT_BYTES - 1 };

/* FNV-1a: ids differ mostly in their tails, which it mixes well. */
static uint32_t slot_of(const char *id)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < ID_LEN; i++)
        hash = (hash ^ (unsigned char)id[i]) * 16777619U;
    return hash % PG_AHEAD_SLOTS;
}

static bool is_id(const char *text)
{
    return text != NULL && strnlen(text, ID_TEXT_BYTES) == ID_LEN;
}

static struct pg_ahead_entry *entry_at(struct pg_ahead *ahead, uint32_t link)
{
    return link == 0 ? NULL : &ahead->entries[link - 1];
}

struct pg_ahead_entry *pg_ahead_find(struct pg_ahead *ahead, const struct engine_stmt *stmt,
                                     const char *id)
{
    if (ahead->count == 0 || !is_id(id))
        return NULL;
    struct pg_ahead_entry *entry = entry_at(ahead, ahead->slots[slot_of(id)]);
    while (entry != NULL && (entry->stmt != stmt || strcmp(entry->id.text, id) != 0))
        entry = entry_at(ahead, entry->next);
    return entry;
}

uint32_t pg_ahead_add(struct pg_ahead *ahead, const struct engine_stmt *stmt, const char *id)
{
    assert(is_id(id));
    if (ahead->count == PG_AHEAD_MAX || pg_ahead_find(ahead, stmt, id) != NULL)
        return PG_AHEAD_MAX;
    if (ahead->entries == NULL)
        ahead->entries = mem_array(PG_AHEAD_MAX, sizeof *ahead->entries);
    uint32_t *slot = &ahead->slots[slot_of(id)];
    uint32_t place = ahead->count++;
    ahead->entries[place] = (struct pg_ahead_entry){.stmt = stmt, .next = *slot};
    memcpy(ahead->entries[place].id.text, id, ID_TEXT_BYTES);
    *slot = place + 1;
    return place;
}

void pg_ahead_put(struct pg_ahead *ahead, uint32_t place, PGresult *result)
{
    struct pg_ahead_entry *entry = &ahead->entries[place];
    if (entry->stmt == NULL)
        pq->clear(result); /* Dropped while it was on its way. */
    else
        entry->result = result;
}

PGresult *pg_ahead_take(struct pg_ahead_entry *entry)
{
    PGresult *result = entry->result;
    assert(result != NULL);
    entry->stmt = NULL;
    entry->result = NULL;
    return result;
}

void pg_ahead_drop(struct pg_ahead *ahead, const char *id)
{
    if (ahead->count == 0 || !is_id(id))
        return;
    struct pg_ahead_entry *entry = entry_at(ahead, ahead->slots[slot_of(id)]);
    for (; entry != NULL; entry = entry_at(ahead, entry->next)) {
        if (strcmp(entry->id.text, id) != 0)
            continue;
        pq->clear(entry->result);
        entry->result = NULL;
        entry->stmt = NULL;
    }
}

void pg_ahead_clear(struct pg_ahead *ahead)
{
    if (ahead->count == 0)
        return;
    for (uint32_t i = 0; i < ahead->count; i++)
        pq->clear(ahead->entries[i].result);
    ahead->count = 0;
    memset(ahead->slots, 0, sizeof ahead->slots);
}

void pg_ahead_free(struct pg_ahead *ahead)
{
    pg_ahead_clear(ahead);
    mem_free(ahead->entries);
}
