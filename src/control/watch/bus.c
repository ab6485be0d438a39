/*
 * bus.c - see bus.h.
 *
 * A subscription's channel is a ring under its own lock; the bus lock guards only the list of
 * subscriptions.  Order of locks: bus, then subscription.
 */
#include "control/watch/bus.h"
#include "base/clock.h"
#include "base/mem.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>

struct subscription {
    struct subscription *next;
    struct subscription_options options;
    char *patterns[BUS_PATTERNS_MAX];
    pthread_mutex_t lock;
    struct envelope **ring;
    size_t first, count;
    size_t bytes;          /* Of the JSON of those in the ring. */
    int64_t dropped;       /* Since the last subscription_dropped(). */
    int64_t dropped_total; /* Under the bus lock as well as its own. */
};

struct bus {
    pthread_mutex_t lock;
    struct subscription *subscriptions;
    struct bus_stats stats;
};

/* ---- envelopes ---- */

struct envelope *envelope_new(const struct event *event)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, ENVELOPE_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    event_write(&jw, event);
    if (buf.overflow)
        return NULL;
    size_t type_len = strlen(event->type);
    /* One block: the struct, the JSON, the type. */
    struct envelope *envelope = mem_alloc(sizeof *envelope + buf.len + 1 + type_len + 1);
    char *json = (char *)(envelope + 1);
    char *type = json + buf.len + 1;
    memcpy(json, buf.data, buf.len);
    memcpy(type, event->type, type_len);
    envelope->seq = event->seq;
    envelope->type = type;
    envelope->task_id = event->task_id;
    envelope->run_id = event->run_id;
    envelope->severity = event_severity(event->type);
    envelope->json = (struct str){json, buf.len};
    envelope->refs = 1;
    return envelope;
}

static void envelope_ref(struct envelope *envelope)
{
    __atomic_add_fetch(&envelope->refs, 1, __ATOMIC_RELAXED);
}

void envelope_unref(struct envelope *envelope)
{
    if (envelope != NULL && __atomic_sub_fetch(&envelope->refs, 1, __ATOMIC_ACQ_REL) == 0)
        mem_free(envelope);
}

/* ---- filters ---- */

static bool match_type(const struct bus_filter *filter, const char *type)
{
    if (filter->types[0] == NULL)
        return true;
    for (size_t i = 0; filter->types[i] != NULL; i++)
        if (event_type_match(filter->types[i], type))
            return true;
    return false;
}

static bool match_ids(const struct bus_filter *filter, const struct envelope *envelope)
{
    bool same_task = id_same(&filter->task_id, &envelope->task_id);
    if (!id_is_none(&filter->run_id)) {
        if (id_same(&filter->run_id, &envelope->run_id))
            return true;
        return filter->with_task && same_task && id_is_none(&envelope->run_id);
    }
    return id_is_none(&filter->task_id) || same_task;
}

static bool bus_filter_match(const struct bus_filter *filter, const struct envelope *envelope)
{
    return envelope->seq > filter->after_seq && envelope->severity >= filter->min_severity &&
           match_ids(filter, envelope) && match_type(filter, envelope->type);
}

/* ---- channels ---- */

static struct envelope **slot_at(struct subscription *sub, size_t place)
{
    assert(sub->options.capacity > 0);
    return &sub->ring[(sub->first + place) % sub->options.capacity];
}

/* Replaces a waiting envelope of the same type and run; true when there was one. */
static bool coalesce(struct subscription *sub, struct envelope *envelope)
{
    for (size_t i = 0; i < sub->count; i++) {
        struct envelope **slot = slot_at(sub, i);
        if (strcmp((*slot)->type, envelope->type) == 0 &&
            id_same(&(*slot)->run_id, &envelope->run_id)) {
            sub->bytes += envelope->json.len - (*slot)->json.len;
            envelope_unref(*slot);
            *slot = envelope;
            return true;
        }
    }
    return false;
}

/* The oldest of the ring, with its reference.  Under the lock. */
static struct envelope *pop(struct subscription *sub)
{
    struct envelope *envelope = *slot_at(sub, 0);
    sub->first = (sub->first + 1) % sub->options.capacity;
    sub->count--;
    sub->bytes -= envelope->json.len;
    return envelope;
}

static bool is_full(const struct subscription *sub, const struct envelope *envelope)
{
    size_t max = sub->options.bytes_max;
    return sub->count == sub->options.capacity ||
           (max > 0 && sub->count > 0 && sub->bytes + envelope->json.len > max);
}

/* Takes over one reference.  Returns whether the subscriber must be woken. */
static bool deliver(struct subscription *sub, struct envelope *envelope)
{
    pthread_mutex_lock(&sub->lock);
    int64_t dropped_before = sub->dropped;
    bool was_empty = sub->count == 0;
    if (sub->options.overflow == BUS_COALESCE && coalesce(sub, envelope)) {
        sub->dropped++;
    } else if (is_full(sub, envelope) && sub->options.overflow == BUS_DROP_NEW) {
        sub->dropped++;
        envelope_unref(envelope);
    } else {
        while (is_full(sub, envelope)) {
            sub->dropped++;
            envelope_unref(pop(sub));
        }
        sub->count++;
        sub->bytes += envelope->json.len;
        *slot_at(sub, sub->count - 1) = envelope;
    }
    sub->dropped_total += sub->dropped - dropped_before;
    pthread_mutex_unlock(&sub->lock);
    return was_empty;
}

struct envelope *subscription_take(struct subscription *sub)
{
    pthread_mutex_lock(&sub->lock);
    struct envelope *envelope = NULL;
    if (sub->count > 0)
        envelope = pop(sub);
    pthread_mutex_unlock(&sub->lock);
    return envelope;
}

int64_t subscription_dropped(struct subscription *sub)
{
    pthread_mutex_lock(&sub->lock);
    int64_t dropped = sub->dropped;
    sub->dropped = 0;
    pthread_mutex_unlock(&sub->lock);
    return dropped;
}

/* ---- the bus ---- */

struct bus *bus_new(void)
{
    struct bus *bus = mem_alloc(sizeof *bus);
    pthread_mutex_init(&bus->lock, NULL);
    return bus;
}

void bus_free(struct bus *bus)
{
    if (bus == NULL)
        return;
    assert(bus->subscriptions == NULL);
    pthread_mutex_destroy(&bus->lock);
    mem_free(bus);
}

bool bus_is_idle(struct bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    bool idle = bus->subscriptions == NULL;
    pthread_mutex_unlock(&bus->lock);
    return idle;
}

bool bus_wants(struct bus *bus, const struct event *event)
{
    struct envelope outline = {
        .seq = event->seq,
        .type = event->type,
        .task_id = event->task_id,
        .run_id = event->run_id,
        .severity = event_severity(event->type),
    };
    bool wanted = false;
    pthread_mutex_lock(&bus->lock);
    for (struct subscription *sub = bus->subscriptions; sub != NULL && !wanted; sub = sub->next)
        wanted = bus_filter_match(&sub->options.filter, &outline);
    pthread_mutex_unlock(&bus->lock);
    return wanted;
}

void bus_post(struct bus *bus, struct envelope *envelope)
{
    pthread_mutex_lock(&bus->lock);
    bus->stats.posted++;
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next) {
        if (!bus_filter_match(&sub->options.filter, envelope))
            continue;
        envelope_ref(envelope);
        bus->stats.delivered++;
        if (deliver(sub, envelope) && sub->options.wake != NULL)
            sub->options.wake(sub->options.ctx);
    }
    pthread_mutex_unlock(&bus->lock);
}

struct subscription *bus_subscribe(struct bus *bus, const struct subscription_options *options)
{
    assert(options->capacity > 0);
    struct subscription *sub = mem_alloc(sizeof *sub);
    sub->options = *options;
    assert(options->filter.types[BUS_PATTERNS_MAX] == NULL); /* The list has its end. */
    for (size_t i = 0; i < BUS_PATTERNS_MAX && options->filter.types[i] != NULL; i++) {
        sub->patterns[i] = mem_strdup(options->filter.types[i]);
        sub->options.filter.types[i] = sub->patterns[i];
    }
    sub->ring = mem_array(options->capacity, sizeof *sub->ring);
    pthread_mutex_init(&sub->lock, NULL);
    pthread_mutex_lock(&bus->lock);
    sub->next = bus->subscriptions;
    bus->subscriptions = sub;
    bus->stats.subscribers++;
    pthread_mutex_unlock(&bus->lock);
    return sub;
}

void bus_unsubscribe(struct bus *bus, struct subscription *sub)
{
    if (sub == NULL)
        return;
    pthread_mutex_lock(&bus->lock);
    struct subscription **link = &bus->subscriptions;
    while (*link != sub)
        link = &(*link)->next;
    *link = sub->next;
    bus->stats.subscribers--;
    bus->stats.dropped += sub->dropped_total;
    pthread_mutex_unlock(&bus->lock);
    struct envelope *envelope;
    while ((envelope = subscription_take(sub)) != NULL)
        envelope_unref(envelope);
    for (size_t i = 0; i < BUS_PATTERNS_MAX; i++)
        mem_free(sub->patterns[i]);
    pthread_mutex_destroy(&sub->lock);
    mem_free(sub->ring);
    mem_free(sub);
}

void bus_close(struct bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next) {
        if (sub->options.wake != NULL)
            sub->options.wake(sub->options.ctx);
    }
    pthread_mutex_unlock(&bus->lock);
}

void bus_stats(struct bus *bus, struct bus_stats *ret_stats)
{
    pthread_mutex_lock(&bus->lock);
    *ret_stats = bus->stats;
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next)
        ret_stats->dropped += sub->dropped_total;
    pthread_mutex_unlock(&bus->lock);
}
