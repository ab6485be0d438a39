/*
 * caps.c - holders in a hash table, and their counters.
 */
#include "http/caps.h"
#include "base/mem.h"
#include "base/str.h"
#include <assert.h>

enum { CHAINS = 256, ADMIN_SHARE = 16 };

LIST_HEAD(chain, holder);

struct caps {
    struct caps_limits limits;
    struct holder_list holders;
    struct chain chains[CHAINS];
    int64_t streams;
};

struct caps *caps_new(const struct caps_limits *limits)
{
    struct caps *caps = mem_alloc(sizeof *caps);
    caps->limits = *limits;
    TAILQ_INIT(&caps->holders);
    for (size_t i = 0; i < CHAINS; i++)
        LIST_INIT(&caps->chains[i]);
    return caps;
}

void caps_free(struct caps *caps)
{
    if (caps == NULL)
        return;
    assert(TAILQ_EMPTY(&caps->holders));
    mem_free(caps);
}

/* FNV-1a. */
static struct chain *chain_of(struct caps *caps, const struct caps_key *key)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)key->kind;
    for (const char *at = key->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return &caps->chains[(hash >> 20) % CHAINS];
}

struct holder *caps_hold(struct caps *caps, const struct caps_key *key)
{
    struct chain *chain = chain_of(caps, key);
    struct holder *holder;
    LIST_FOREACH(holder, chain, chain)
    {
        if (holder->key.kind == key->kind && text_same(holder->key.name, key->name)) {
            holder->refs++;
            return holder;
        }
    }
    holder = mem_alloc(sizeof *holder);
    holder->caps = caps;
    holder->key = *key;
    holder->refs = 1;
    TAILQ_INIT(&holder->seats);
    TAILQ_INSERT_TAIL(&caps->holders, holder, all);
    LIST_INSERT_HEAD(chain, holder, chain);
    return holder;
}

void caps_ref(struct holder *holder)
{
    holder->refs++;
}

void caps_unref(struct holder *holder)
{
    if (holder == NULL || --holder->refs > 0)
        return;
    for (int use = 0; use < CAPS_USE_COUNT; use++)
        assert(holder->used[use] == 0);
    TAILQ_REMOVE(&holder->caps->holders, holder, all);
    LIST_REMOVE(holder, chain);
    mem_free(holder);
}

const struct holder_list *caps_holders(const struct caps *caps)
{
    return &caps->holders;
}

int64_t caps_max(const struct holder *holder, enum caps_use use)
{
    return holder->caps->limits.max[holder->key.kind][use];
}

static bool total_fits(const struct holder *holder, enum caps_use use, int64_t amount)
{
    const struct caps *caps = holder->caps;
    int64_t max = caps->limits.streams_max;
    if (use != CAPS_STREAMS || max == 0)
        return true;
    if (holder->key.kind != CAPS_ADMIN)
        max -= max / ADMIN_SHARE;
    return caps->streams + amount <= max;
}

bool caps_take(struct holder *holder, enum caps_use use, int64_t amount)
{
    int64_t max = caps_max(holder, use);
    bool first = use == CAPS_BYTES && holder->used[use] == 0;
    if (max > 0 && !first && holder->used[use] + amount > max)
        return false;
    if (!total_fits(holder, use, amount))
        return false;
    holder->used[use] += amount;
    if (use == CAPS_STREAMS)
        holder->caps->streams += amount;
    return true;
}

void caps_give(struct holder *holder, enum caps_use use, int64_t amount)
{
    assert(holder->used[use] >= amount);
    holder->used[use] -= amount;
    if (use == CAPS_STREAMS)
        holder->caps->streams -= amount;
}

bool seat_take(struct seat *seat, struct holder *holder)
{
    assert(seat->holder == NULL);
    if (!caps_take(holder, CAPS_CONNECTIONS, 1))
        return false;
    caps_ref(holder);
    seat->holder = holder;
    TAILQ_INSERT_TAIL(&holder->seats, seat, link);
    return true;
}

void seat_leave(struct seat *seat)
{
    struct holder *holder = seat->holder;
    if (holder == NULL)
        return;
    TAILQ_REMOVE(&holder->seats, seat, link);
    seat->holder = NULL;
    caps_give(holder, CAPS_CONNECTIONS, 1);
    caps_unref(holder);
}
