#include "control/watch/bus_channel.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum { ROOM_FIRST = 8 };

void channel_init(struct channel *channel, size_t capacity, const struct channel_bytes *limits)
{
    assert(capacity > 0);
    *channel = (struct channel){.capacity = capacity, .limits = *limits};
}

static struct envelope **slot_at(const struct channel *channel, size_t place)
{
    assert(place < channel->room);
    return &channel->ring[(channel->first + place) % channel->room];
}

/* The envelope at this place, with its reference. */
static struct envelope *take_at(struct channel *channel, size_t place)
{
    struct envelope *envelope = *slot_at(channel, place);
    for (size_t i = place; i > 0; i--)
        *slot_at(channel, i) = *slot_at(channel, i - 1);
    channel->first = (channel->first + 1) % channel->room;
    channel->count--;
    channel->bytes -= envelope->json.len;
    return envelope;
}

struct envelope *channel_take(struct channel *channel)
{
    return channel->count > 0 ? take_at(channel, 0) : NULL;
}

void channel_release(struct channel *channel)
{
    while (channel->count > 0)
        envelope_unref(take_at(channel, 0));
    mem_free(channel->ring);
    *channel = (struct channel){0};
}

static void grow(struct channel *channel)
{
    size_t room = channel->room == 0 ? ROOM_FIRST : 2 * channel->room;
    room = room < channel->capacity ? room : channel->capacity;
    struct envelope **ring = mem_array(room, sizeof(struct envelope *));
    for (size_t i = 0; i < channel->count; i++)
        ring[i] = *slot_at(channel, i);
    mem_free(channel->ring);
    channel->ring = ring;
    channel->room = room;
    channel->first = 0;
}

static void push(struct channel *channel, struct envelope *envelope)
{
    assert(channel->count < channel->capacity);
    if (channel->count == channel->room)
        grow(channel);
    channel->count++;
    channel->bytes += envelope->json.len;
    *slot_at(channel, channel->count - 1) = envelope_ref(envelope);
}

static void lose_at(struct channel *channel, size_t place, const struct channel_loss *loss)
{
    struct envelope *envelope = take_at(channel, place);
    loss->lost(loss->ctx, envelope, false);
    envelope_unref(envelope);
}

static bool is_full(const struct channel *channel, const struct envelope *envelope)
{
    const struct channel_bytes *limits = &channel->limits;
    bool scarce = limits->alive_max > 0 && envelope_bytes_alive() > limits->alive_max;
    size_t max = scarce ? limits->fair : limits->max;
    return channel->count == channel->capacity ||
           (max > 0 && channel->count > 0 && channel->bytes + envelope->json.len > max);
}

static bool same_kind(const struct envelope *a, const struct envelope *b)
{
    return strcmp(a->traits.type, b->traits.type) == 0 && id_same(&a->run_id, &b->run_id);
}

/* Replaces a waiting envelope of the same type and run; false: there is none. */
static bool coalesce(struct channel *channel, struct envelope *envelope,
                     const struct channel_loss *loss)
{
    for (size_t i = 0; i < channel->count; i++) {
        struct envelope **slot = slot_at(channel, i);
        if (!same_kind(*slot, envelope))
            continue;
        channel->bytes += envelope->json.len - (*slot)->json.len;
        loss->lost(loss->ctx, *slot, true);
        envelope_unref(*slot);
        *slot = envelope_ref(envelope);
        return true;
    }
    return false;
}

/* How many of the types that share a capacity wait; *ret_oldest: the place of the first. */
static size_t count_shared(const struct channel *channel, const struct bus_type_policy *rule,
                           size_t *ret_oldest)
{
    size_t count = 0;
    for (size_t i = 0; i < channel->count; i++) {
        if (!event_type_match(rule->pattern, (*slot_at(channel, i))->traits.type))
            continue;
        if (count++ == 0)
            *ret_oldest = i;
    }
    return count;
}

enum offer channel_offer(struct channel *channel, struct envelope *envelope,
                         const struct bus_type_policy *rule, const struct channel_loss *loss)
{
    size_t oldest = 0;
    if (rule->overflow == BUS_SIGNAL && channel->count > 0)
        return OFFER_KNOWN;
    if (rule->overflow == BUS_COALESCE && coalesce(channel, envelope, loss))
        return OFFER_TAKEN;
    bool shared_full = rule->pattern != NULL &&
                       count_shared(channel, rule, &oldest) >= rule->capacity;
    if (rule->overflow == BUS_BLOCK && (shared_full || is_full(channel, envelope)))
        return OFFER_FULL;
    while (shared_full) {
        lose_at(channel, oldest, loss);
        shared_full = count_shared(channel, rule, &oldest) >= rule->capacity;
    }
    while (is_full(channel, envelope))
        lose_at(channel, 0, loss);
    push(channel, envelope);
    return OFFER_TAKEN;
}

int64_t channel_percent(const struct channel *channel)
{
    size_t number = channel->count * 100 / channel->capacity;
    size_t bytes = channel->limits.max > 0 ? channel->bytes * 100 / channel->limits.max : 0;
    size_t percent = number > bytes ? number : bytes;
    return percent < 100 ? (int64_t)percent : 100;
}
