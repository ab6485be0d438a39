#include "store/engine_postgres_read_ahead.h"
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
    return hash % PG_READ_AHEAD_SLOTS;
}

static bool is_id(const char *text)
{
    return text != NULL && strnlen(text, ID_TEXT_BYTES) == ID_LEN;
}

static struct pg_read_ahead_entry *entry_at(struct pg_read_ahead *read_ahead, uint32_t link)
{
    return link == 0 ? NULL : &read_ahead->entries[link - 1];
}

struct pg_read_ahead_entry *pg_read_ahead_find(struct pg_read_ahead *read_ahead,
                                               const struct engine_stmt *stmt, const char *id)
{
    if (read_ahead->count == 0 || !is_id(id))
        return NULL;
    struct pg_read_ahead_entry *entry = entry_at(read_ahead, read_ahead->slots[slot_of(id)]);
    while (entry != NULL && (entry->stmt != stmt || strcmp(entry->id.text, id) != 0))
        entry = entry_at(read_ahead, entry->next);
    return entry;
}

uint32_t pg_read_ahead_add(struct pg_read_ahead *read_ahead, const struct engine_stmt *stmt,
                           const char *id)
{
    assert(is_id(id));
    if (read_ahead->count == PG_READ_AHEAD_MAX || pg_read_ahead_find(read_ahead, stmt, id) != NULL)
        return PG_READ_AHEAD_MAX;
    if (read_ahead->entries == NULL)
        read_ahead->entries = mem_array(PG_READ_AHEAD_MAX, sizeof *read_ahead->entries);
    uint32_t *slot = &read_ahead->slots[slot_of(id)];
    uint32_t place = read_ahead->count++;
    read_ahead->entries[place] = (struct pg_read_ahead_entry){.stmt = stmt, .next = *slot};
    memcpy(read_ahead->entries[place].id.text, id, ID_TEXT_BYTES);
    *slot = place + 1;
    return place;
}

void pg_read_ahead_put(struct pg_read_ahead *read_ahead, uint32_t place, PGresult *result)
{
    struct pg_read_ahead_entry *entry = &read_ahead->entries[place];
    if (entry->stmt == NULL)
        pq->clear(result); /* Dropped while it was on its way. */
    else
        entry->result = result;
}

PGresult *pg_read_ahead_take(struct pg_read_ahead_entry *entry)
{
    PGresult *result = entry->result;
    assert(result != NULL);
    entry->stmt = NULL;
    entry->result = NULL;
    return result;
}

void pg_read_ahead_drop(struct pg_read_ahead *read_ahead, const char *id)
{
    if (read_ahead->count == 0 || !is_id(id))
        return;
    struct pg_read_ahead_entry *entry = entry_at(read_ahead, read_ahead->slots[slot_of(id)]);
    for (; entry != NULL; entry = entry_at(read_ahead, entry->next)) {
        if (strcmp(entry->id.text, id) != 0)
            continue;
        pq->clear(entry->result);
        entry->result = NULL;
        entry->stmt = NULL;
    }
}

void pg_read_ahead_clear(struct pg_read_ahead *read_ahead)
{
    if (read_ahead->count == 0)
        return;
    for (uint32_t i = 0; i < read_ahead->count; i++)
        pq->clear(read_ahead->entries[i].result);
    read_ahead->count = 0;
    memset(read_ahead->slots, 0, sizeof read_ahead->slots);
}

void pg_read_ahead_free(struct pg_read_ahead *read_ahead)
{
    pg_read_ahead_clear(read_ahead);
    mem_free(read_ahead->entries);
}
