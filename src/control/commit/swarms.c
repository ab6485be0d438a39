#include "control/commit/swarms.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/queue/swarm.h"
#include <pthread.h>
#include <string.h>

struct swarms {
    pthread_mutex_t lock;
    struct swarm_book *book; /* Made when first needed: most servers never watch for swarms. */
};

struct swarms *swarms_new(void)
{
    struct swarms *swarms = mem_alloc(sizeof *swarms);
    pthread_mutex_init(&swarms->lock, NULL);
    return swarms;
}

void swarms_free(struct swarms *swarms)
{
    if (swarms == NULL)
        return;
    pthread_mutex_destroy(&swarms->lock);
    mem_free(swarms->book);
    mem_free(swarms);
}

struct swarm_note {
    const char *queue, *type;
    int64_t window_us, now_us;
    int64_t came;
    int64_t reported_us, out_us; /* As in struct swarm; 0: as it was. */
    struct swarm_note *next;
};

static struct swarm_note *note_of(struct swarm_notes *notes, const struct swarm_kind *kind,
                                  struct arena *arena)
{
    struct swarm_note *note = notes->first;
    while (note != NULL &&
           (strcmp(note->queue, kind->queue) != 0 || strcmp(note->type, kind->type) != 0))
        note = note->next;
    if (note == NULL) {
        note = arena_alloc(arena, sizeof *note);
        note->queue = arena_strdup(arena, kind->queue);
        note->type = arena_strdup(arena, kind->type);
        note->next = notes->first;
        notes->first = note;
    }
    note->window_us = kind->config->swarm.window_us;
    note->now_us = kind->now_us;
    return note;
}

/* Adds what was noted. */
static int64_t count(struct swarm *swarm, const struct swarm_note *note)
{
    int64_t seen = swarm_add(swarm, note->window_us, note->now_us, note->came);
    if (note->reported_us > 0)
        swarm->reported_us = note->reported_us;
    if (note->out_us > swarm->out_us)
        swarm->out_us = note->out_us;
    return seen;
}

/* As it is counted so far. */
static struct swarm look_up(struct swarms *swarms, const struct swarm_kind *kind)
{
    struct swarm swarm = {0};
    pthread_mutex_lock(&swarms->lock);
    const struct swarm *known = swarms->book == NULL
                                    ? NULL
                                    : swarm_find(swarms->book, kind->queue, kind->type);
    if (known != NULL)
        swarm = *known;
    pthread_mutex_unlock(&swarms->lock);
    return swarm;
}

struct swarm_sight swarms_see(struct swarms *swarms, const struct swarm_kind *kind,
                              struct swarm_notes *notes, struct arena *arena)
{
    struct swarm swarm = look_up(swarms, kind);
    struct swarm_note *note = note_of(notes, kind, arena);
    note->came++;
    const struct queue_config *config = kind->config;
    struct swarm_sight sight = {.seen = count(&swarm, note)};
    sight.on = sight.seen > config->swarm.count;
    if (sight.on) { /* News when no event was appended for it within the last window. */
        sight.news = swarm.reported_us == 0 ||
                     kind->now_us - swarm.reported_us > config->swarm.window_us;
        note->reported_us = kind->now_us;
    }
    if (sight.on && config->swarm.action == SWARM_BUFFER) { /* One after the other, at the rate. */
        int64_t from_us = swarm.out_us > kind->now_us ? swarm.out_us : kind->now_us;
        note->out_us = from_us + US_PER_SECOND / config->swarm.rate;
        sight.delay_us = note->out_us - kind->now_us;
    }
    return sight;
}

void swarms_count(struct swarms *swarms, const struct swarm_notes *notes)
{
    if (notes->first == NULL)
        return;
    pthread_mutex_lock(&swarms->lock);
    if (swarms->book == NULL)
        swarms->book = mem_alloc(sizeof *swarms->book);
    for (const struct swarm_note *note = notes->first; note != NULL; note = note->next)
        (void)count(swarm_of(swarms->book, note->queue, note->type, note->now_us), note);
    pthread_mutex_unlock(&swarms->lock);
}
