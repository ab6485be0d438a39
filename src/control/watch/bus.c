/*
 * bus.c - see bus.h.
 *
 * A subscription's channel has a lock of its own; the bus lock guards the list of subscriptions and
 * the counts.  Order of locks: bus, then subscription.  Nothing is logged under either: a log line
 * may have to wait.
 *
 * A sender that waits for room (BUS_BLOCK) leaves its envelope as `pending` at the subscription and
 * gives up the bus lock while it waits.  The subscriber that takes something moves it into the
 * channel; when the budget is over the sender does, at the cost of the oldest.
 */
#include "control/watch/bus.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>

#define LOG_EVERY_US (10 * US_PER_SECOND) /* Lines of one kind; those between are counted. */

struct subscription {
    struct subscription *next;
    struct bus *bus;
    enum bus_subscriber who;
    struct bus_filter filter;
    char *texts; /* Of the filter. */
    struct bus_policy policy;
    void (*wake)(void *ctx);
    void *ctx;

    pthread_mutex_t lock;
    struct channel channel;
    struct envelope *pending; /* A sender waits for room for it; or NULL. */
    int64_t pending_until_us;
    bool stalled; /* A sender has waited in vain since it took something. */
    int64_t lost; /* Since the last call that told. */
};

/* One line in LOG_EVERY_US. */
struct log_limit {
    int64_t until_us;
    int64_t held; /* Kept back since the last one. */
};

struct bus {
    const struct bus_rules *rules;
    struct bus_meters *meters;
    pthread_mutex_t lock;
    pthread_cond_t room; /* A pending envelope has found its place. */
    struct subscription *subscriptions;
    struct bus_stats stats;
    struct log_limit drop_limits[BUS_SUBSCRIBER_COUNT], slow_limit, poison_limit;
};

/* What is to be logged of one post, after the locks. */
struct loss_note {
    int64_t count;
    struct id id, run_id; /* Of the first one. */
    int64_t seq;
    char type[EVENT_TYPE_MAX + 1];
};
struct post {
    struct bus *bus;
    struct envelope *envelope;
    int64_t start_us;
    int64_t matched, waited, gave_up;
    enum bus_subscriber slowest;
    struct loss_note losses[BUS_SUBSCRIBER_COUNT];
};
/* Of one subscription, under its lock. */
struct loss_ctx {
    struct post *post;
    struct subscription *sub;
};

static const struct bus_rules no_rules;

/* ---- logging ---- */

/* True: write the line, *ret_held were kept back before it. */
static bool log_limit_allows(struct bus *bus, struct log_limit *limit, int64_t *ret_held)
{
    int64_t now_us = clock_mono_us();
    pthread_mutex_lock(&bus->lock);
    bool allows = now_us >= limit->until_us;
    *ret_held = limit->held;
    limit->held = allows ? 0 : limit->held + 1;
    if (allows)
        limit->until_us = now_us + LOG_EVERY_US;
    pthread_mutex_unlock(&bus->lock);
    return allows;
}

static void log_loss(struct bus *bus, enum bus_subscriber who, const struct loss_note *note)
{
    int64_t held;
    if (!log_limit_allows(bus, &bus->drop_limits[who], &held))
        return;
    LOG(LOG_WARN, "a subscriber of the bus is too slow: events were dropped from its channel",
        LOG_STR("subscriber", bus_default(who)->name), LOG_INT("dropped", note->count),
        LOG_STR("type", note->type), LOG_STR("eventId", note->id.text), LOG_INT("seq", note->seq),
        LOG_STR("runId", note->run_id.text), LOG_INT("postsBefore", held));
}

static void log_slow(const struct post *post, int64_t took_us)
{
    struct bus *bus = post->bus;
    int64_t held;
    if (!log_limit_allows(bus, &bus->slow_limit, &held))
        return;
    LOG(LOG_WARN, "posting an event took longer than the latency budget of the bus",
        LOG_STR("type", post->envelope->traits.type), LOG_INT("seq", post->envelope->seq),
        LOG_INT("tookMs", took_us / US_PER_MS),
        LOG_INT("budgetMs", bus_rules_latency_us(bus->rules) / US_PER_MS),
        LOG_INT("subscribers", post->matched), LOG_INT("waitedFor", post->waited),
        LOG_INT("gaveUp", post->gave_up),
        LOG_STR("slowest", post->waited > 0 ? bus_default(post->slowest)->name : ""),
        LOG_INT("postsBefore", held));
}

/* ---- losses ---- */

static void on_lost(void *ctx, const struct envelope *envelope, bool coalesced)
{
    const struct loss_ctx *of = ctx;
    struct subscription *sub = of->sub;
    struct bus *bus = of->post->bus;
    sub->lost++;
    bus_meters_count(bus->meters, (struct bus_point){sub->who, envelope->type_index},
                     coalesced ? BUS_COALESCED : BUS_DROPPED);
    if (coalesced) {
        bus->stats.coalesced++;
        return;
    }
    bus->stats.dropped++;
    struct loss_note *note = &of->post->losses[sub->who];
    if (note->count++ > 0)
        return;
    note->id = envelope->id;
    note->run_id = envelope->run_id;
    note->seq = envelope->seq;
    text_copy(note->type, sizeof note->type, envelope->traits.type);
}

/* ---- posting ---- */

/* Under the lock of the bus. */
static void offer(struct post *post, struct subscription *sub)
{
    struct loss_ctx of = {post, sub};
    const struct channel_loss loss = {on_lost, &of};
    struct bus_type_policy rule = bus_policy_of_type(&sub->policy, post->envelope->traits.type);
    pthread_mutex_lock(&sub->lock);
    bool was_empty = sub->channel.count == 0;
    if (rule.overflow == BUS_BLOCK && (sub->stalled || sub->pending != NULL))
        rule.overflow = BUS_DROP_OLDEST;
    enum offer outcome = channel_offer(&sub->channel, post->envelope, &rule, &loss);
    if (outcome == OFFER_FULL) {
        sub->pending = envelope_ref(post->envelope);
        sub->pending_until_us = post->start_us + sub->policy.latency_us;
        post->waited++;
        post->slowest = sub->who;
    }
    pthread_mutex_unlock(&sub->lock);
    if (outcome == OFFER_KNOWN)
        return;
    post->bus->stats.delivered++;
    if (was_empty && sub->wake != NULL)
        sub->wake(sub->ctx);
}

/* Gives a pending envelope its place at the cost of the oldest. */
static void give_up(struct post *post, struct subscription *sub)
{
    struct loss_ctx of = {post, sub};
    const struct channel_loss loss = {on_lost, &of};
    struct bus_type_policy rule = bus_policy_of_type(&sub->policy, sub->pending->traits.type);
    rule.overflow = BUS_DROP_OLDEST;
    (void)channel_offer(&sub->channel, sub->pending, &rule, &loss);
    envelope_unref(sub->pending);
    sub->pending = NULL;
    sub->stalled = true;
    post->gave_up++;
    post->slowest = sub->who;
}

/* When the next budget is over; 0: none of this post is pending.  Gives up those that are. */
static int64_t settle_pending(struct post *post, int64_t now_us)
{
    int64_t next_us = 0;
    for (struct subscription *sub = post->bus->subscriptions; sub != NULL; sub = sub->next) {
        pthread_mutex_lock(&sub->lock);
        bool pending = sub->pending == post->envelope;
        if (pending && now_us >= sub->pending_until_us)
            give_up(post, sub);
        else if (pending && (next_us == 0 || sub->pending_until_us < next_us))
            next_us = sub->pending_until_us;
        pthread_mutex_unlock(&sub->lock);
    }
    return next_us;
}

/* Under the lock of the bus, which is given up while it waits. */
static void wait_for_room(struct post *post)
{
    struct bus *bus = post->bus;
    int64_t now_us = clock_mono_us(), next_us;
    bus->stats.waited++;
    while ((next_us = settle_pending(post, now_us)) != 0) {
        struct timespec until = clock_mono_after(next_us - now_us);
        (void)pthread_cond_timedwait(&bus->room, &bus->lock, &until);
        now_us = clock_mono_us();
    }
    bus->stats.gave_up += post->gave_up;
}

void bus_post(struct bus *bus, struct envelope *envelope)
{
    struct post post = {.bus = bus, .envelope = envelope, .start_us = clock_mono_us()};
    envelope->posted_us = post.start_us;
    pthread_mutex_lock(&bus->lock);
    bus->stats.posted++;
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next) {
        if (!bus_filter_match(&sub->filter, envelope))
            continue;
        post.matched++;
        offer(&post, sub);
    }
    if (post.waited > 0)
        wait_for_room(&post);
    int64_t took_us = clock_mono_us() - post.start_us;
    bool slow = took_us > bus_rules_latency_us(bus->rules);
    bus->stats.slow += slow;
    pthread_mutex_unlock(&bus->lock);
    if (slow)
        log_slow(&post, took_us);
    for (int who = 0; who < BUS_SUBSCRIBER_COUNT; who++)
        if (post.losses[who].count > 0)
            log_loss(bus, (enum bus_subscriber)who, &post.losses[who]);
}

static struct envelope outline_of(const struct event *event)
{
    return (struct envelope){
        .seq = event->seq,
        .task_id = event->task_id,
        .run_id = event->run_id,
        .traits = {event->type, event->tags, event_severity_of(event)},
    };
}

bool bus_wants(struct bus *bus, const struct event *event)
{
    struct envelope outline = outline_of(event);
    bool wanted = false;
    pthread_mutex_lock(&bus->lock);
    for (struct subscription *sub = bus->subscriptions; sub != NULL && !wanted; sub = sub->next)
        wanted = bus_filter_match(&sub->filter, &outline);
    pthread_mutex_unlock(&bus->lock);
    return wanted;
}

void bus_published(struct bus *bus, const struct event *event)
{
    const struct event_type *entry = event_type_find(event->type);
    bus_meters_publish(bus->meters, entry != NULL ? event_type_index(entry) : EVENT_TYPE_COUNT,
                       event->actor.type);
}

void bus_pass_over(struct bus *bus, const struct event *event, const char *why)
{
    struct envelope outline = outline_of(event);
    int64_t held;
    pthread_mutex_lock(&bus->lock);
    bus->stats.passed_over++;
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next) {
        if (!bus_filter_match(&sub->filter, &outline))
            continue;
        pthread_mutex_lock(&sub->lock);
        sub->lost++;
        pthread_mutex_unlock(&sub->lock);
        if (sub->wake != NULL)
            sub->wake(sub->ctx);
    }
    pthread_mutex_unlock(&bus->lock);
    if (log_limit_allows(bus, &bus->poison_limit, &held))
        LOG(LOG_ERROR, "an event cannot be sent and is passed over; the log has it",
            LOG_STR("reason", why), LOG_STR("type", event->type),
            LOG_STR("eventId", event->id.text), LOG_INT("seq", event->seq),
            LOG_STR("runId", event->run_id.text), LOG_INT("othersBefore", held));
}

/* ---- taking ---- */

/* One envelope, or NULL; *ret_moved: a pending one has found its place.  Under the lock. */
static struct envelope *take_one(struct subscription *sub, bool *ret_moved)
{
    struct envelope *envelope = channel_take(&sub->channel);
    if (envelope == NULL)
        return NULL;
    sub->stalled = false;
    if (sub->pending != NULL) {
        struct bus_type_policy rule = bus_policy_of_type(&sub->policy, sub->pending->traits.type);
        rule.overflow = BUS_BLOCK;
        if (channel_offer(&sub->channel, sub->pending, &rule, NULL) == OFFER_TAKEN) {
            envelope_unref(sub->pending);
            sub->pending = NULL;
            *ret_moved = true;
        }
    }
    return envelope;
}

static void tell_senders(struct bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    pthread_cond_broadcast(&bus->room);
    pthread_mutex_unlock(&bus->lock);
}

size_t subscription_take_batch(struct subscription *sub, const struct subscription_batch *batch,
                               int64_t *ret_lost)
{
    struct bus *bus = sub->bus;
    size_t count = 0, bytes = 0;
    bool moved = false;
    pthread_mutex_lock(&sub->lock);
    while (count < batch->max && (count == 0 || bytes < batch->bytes_max)) {
        struct envelope *envelope = take_one(sub, &moved);
        if (envelope == NULL)
            break;
        batch->items[count++] = envelope;
        bytes += envelope->json.len;
    }
    if (ret_lost != NULL) {
        *ret_lost = sub->lost;
        sub->lost = 0;
    }
    pthread_mutex_unlock(&sub->lock);
    if (count == 0)
        return 0;
    int64_t now_us = clock_mono_us();
    for (size_t i = 0; i < count; i++)
        bus_meters_latency(bus->meters, (struct bus_point){sub->who, batch->items[i]->type_index},
                           now_us - batch->items[i]->posted_us);
    if (moved)
        tell_senders(bus);
    return count;
}

struct envelope *subscription_take(struct subscription *sub)
{
    struct envelope *envelope = NULL;
    const struct subscription_batch one = {.items = &envelope, .max = 1};
    (void)subscription_take_batch(sub, &one, NULL);
    return envelope;
}

int64_t subscription_lost(struct subscription *sub)
{
    pthread_mutex_lock(&sub->lock);
    int64_t lost = sub->lost;
    sub->lost = 0;
    pthread_mutex_unlock(&sub->lock);
    return lost;
}

/* ---- the bus ---- */

struct bus *bus_new(const struct bus_rules *rules)
{
    struct bus *bus = mem_alloc(sizeof *bus);
    bus->rules = rules != NULL ? rules : &no_rules;
    bus->meters = bus_meters_new();
    pthread_mutex_init(&bus->lock, NULL);
    thread_cond_init(&bus->room);
    return bus;
}

void bus_free(struct bus *bus)
{
    if (bus == NULL)
        return;
    assert(bus->subscriptions == NULL);
    bus_meters_free(bus->meters);
    pthread_cond_destroy(&bus->room);
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

struct subscription *bus_subscribe(struct bus *bus, const struct subscription_options *options)
{
    const struct event_selector *selector = &options->filter.selector;
    struct subscription *sub = mem_alloc(sizeof *sub);
    assert(selector->types[SELECTOR_TYPES_MAX] == NULL &&
           selector->tags[SELECTOR_TAGS_MAX] == NULL);
    sub->bus = bus;
    sub->who = options->who;
    sub->wake = options->wake;
    sub->ctx = options->ctx;
    sub->policy = bus_rules_policy(bus->rules, options->who);
    sub->filter = options->filter;
    sub->texts = mem_alloc(event_selector_bytes(selector) + 1);
    event_selector_pack(&sub->filter.selector, selector, sub->texts);
    channel_init(&sub->channel, sub->policy.capacity, &options->bytes);
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
    pthread_cond_broadcast(&bus->room); /* A sender may wait for it. */
    pthread_mutex_unlock(&bus->lock);
    envelope_unref(sub->pending);
    channel_release(&sub->channel);
    pthread_mutex_destroy(&sub->lock);
    mem_free(sub->texts);
    mem_free(sub);
}

void bus_close(struct bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next) {
        if (sub->wake != NULL)
            sub->wake(sub->ctx);
    }
    pthread_mutex_unlock(&bus->lock);
}

void bus_stats(struct bus *bus, struct bus_stats *ret_stats)
{
    pthread_mutex_lock(&bus->lock);
    *ret_stats = bus->stats;
    for (struct subscription *sub = bus->subscriptions; sub != NULL; sub = sub->next) {
        pthread_mutex_lock(&sub->lock);
        int64_t percent = channel_percent(&sub->channel);
        pthread_mutex_unlock(&sub->lock);
        if (percent > ret_stats->percent[sub->who])
            ret_stats->percent[sub->who] = percent;
    }
    pthread_mutex_unlock(&bus->lock);
}

const struct bus_meters *bus_meters(const struct bus *bus)
{
    return bus->meters;
}
