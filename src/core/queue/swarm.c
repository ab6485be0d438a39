#include "core/queue/swarm.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

/* Makes the slice of now the newest; those in between had nothing.  A clock that stepped back
   counts into the newest slice, unless it is further back than the window reaches. */
static void swarm_move(struct swarm *swarm, int64_t slice)
{
    if (slice <= swarm->slice && slice > swarm->slice - SWARM_SLICES)
        return;
    if (slice < swarm->slice || slice - swarm->slice >= SWARM_SLICES)
        memset(swarm->counts, 0, sizeof swarm->counts);
    else
        for (int64_t i = swarm->slice + 1; i <= slice; i++)
            swarm->counts[i % SWARM_SLICES] = 0;
    swarm->slice = slice;
}

int64_t swarm_add(struct swarm *swarm, int64_t window_us, int64_t now_us, int64_t n)
{
    assert(window_us > 0 && now_us >= 0 && n >= 0);
    int64_t slice_us = (window_us - 1) / SWARM_SLICES + 1;
    if (swarm->slice_us != slice_us)
        *swarm = (struct swarm){.slice_us = slice_us};
    swarm_move(swarm, now_us / slice_us);
    int64_t *newest = &swarm->counts[swarm->slice % SWARM_SLICES];
    *newest = *newest < INT64_MAX / SWARM_SLICES - n ? *newest + n : INT64_MAX / SWARM_SLICES;
    int64_t sum = 0;
    for (size_t i = 0; i < SWARM_SLICES; i++)
        sum += swarm->counts[i];
    return sum;
}

static bool entry_is(const struct swarm_entry *entry, const char *queue, const char *type)
{
    return strcmp(entry->type, type) == 0 && strcmp(entry->queue, queue) == 0;
}

const struct swarm *swarm_find(const struct swarm_book *book, const char *queue, const char *type)
{
    for (size_t i = 0; i < book->count; i++)
        if (entry_is(&book->entries[i], queue, type))
            return &book->entries[i].swarm;
    return NULL;
}

struct swarm *swarm_of(struct swarm_book *book, const char *queue, const char *type, int64_t now_us)
{
    assert(strlen(queue) <= SWARM_QUEUE_MAX && strlen(type) <= SWARM_TYPE_MAX);
    struct swarm_entry *entry = NULL, *stalest = &book->entries[0];
    for (size_t i = 0; entry == NULL && i < book->count; i++) {
        if (entry_is(&book->entries[i], queue, type))
            entry = &book->entries[i];
        else if (book->entries[i].used_us < stalest->used_us)
            stalest = &book->entries[i];
    }
    if (entry == NULL) {
        entry = book->count < SWARM_BOOK_MAX ? &book->entries[book->count++] : stalest;
        entry->swarm = (struct swarm){0};
        text_copy(entry->queue, sizeof entry->queue, queue);
        text_copy(entry->type, sizeof entry->type, type);
    }
    entry->used_us = now_us;
    return &entry->swarm;
}
