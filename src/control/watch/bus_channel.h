/*
 * bus_channel.h - the envelopes that wait for one subscriber: a ring with a limit of number and of
 * bytes, and what becomes of what does not fit.
 *
 * Holds a reference of each.  Its owner has the lock.
 */
#ifndef CONTROL_WATCH_BUS_CHANNEL_H
#define CONTROL_WATCH_BUS_CHANNEL_H
#include "control/watch/bus_rules.h"
#include "control/watch/envelope.h"

/* Of the JSON of envelopes, beside the newest.  They are shared: what all channels hold together is
   less than their sum, mostly. */
struct channel_bytes {
    size_t max;       /* 0: no limit */
    size_t fair;      /* This much only, */
    size_t alive_max; /* while all envelopes that there are have more than that; 0: always max. */
};

struct channel {
    struct envelope **ring;
    size_t room;     /* Of the ring: grows up to the capacity. */
    size_t capacity; /* At least 1. */
    size_t first, count;
    size_t bytes; /* Of the JSON of those in the ring. */
    struct channel_bytes limits;
};

void channel_init(struct channel *channel, size_t capacity, const struct channel_bytes *limits);
void channel_release(struct channel *channel);

enum offer {
    OFFER_TAKEN,
    OFFER_KNOWN, /* Not needed: one waits already (BUS_SIGNAL). */
    OFFER_FULL,  /* Not taken: the sender has to wait (BUS_BLOCK). */
};
/* Called for each envelope that is lost to make room, or replaced. */
struct channel_loss {
    void (*lost)(void *ctx, const struct envelope *envelope, bool coalesced);
    void *ctx;
};
/* Takes a reference of its own.  BUS_DROP_OLDEST and BUS_COALESCE always take it. */
enum offer channel_offer(struct channel *channel, struct envelope *envelope,
                         const struct bus_type_policy *rule, const struct channel_loss *loss);
/* The oldest with its reference, or NULL. */
struct envelope *channel_take(struct channel *channel);
/* How full, by number or bytes, whichever is more. */
int64_t channel_percent(const struct channel *channel);
#endif
