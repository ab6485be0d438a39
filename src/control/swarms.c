/*
 * swarms.c - see swarms.h.
 */
#include "control/swarms.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/swarm.h"
#include <pthread.h>

struct swarms {
    pthread_mutex_t lock;
    struct swarm_book *book; /* Made when first needed: most servers never watch for swarms. */
};

struct swarms *swarms_new(void)
{
    struct swarms *swarms = mem_alloc(sizeof(*swarms));
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

/* One after the other, at the rate of the rules. */
static int64_t hold_back(struct swarm *swarm, const struct swarm_kind *kind)
{
    int64_t apart_us = US_PER_SECOND / kind->config->swarm.rate;
    int64_t from_us = swarm->out_us > kind->now_us ? swarm->out_us : kind->now_us;
    swarm->out_us = from_us + apart_us;
    return swarm->out_us - kind->now_us;
}

/* It has begun when nothing was said of it within the last window. */
static bool is_news(struct swarm *swarm, const struct swarm_kind *kind)
{
    int64_t window_us = kind->config->swarm.window_us;
    bool news = swarm->told_us == 0 || kind->now_us - swarm->told_us > window_us;
    swarm->told_us = kind->now_us;
    return news;
}

struct swarm_sight swarms_see(struct swarms *swarms, const struct swarm_kind *kind)
{
    pthread_mutex_lock(&swarms->lock);
    if (swarms->book == NULL)
        swarms->book = mem_alloc(sizeof(*swarms->book));
    struct swarm *swarm = swarm_of(swarms->book, kind->queue, kind->type, kind->now_us);
    struct swarm_sight sight = {
        .seen = swarm_add(swarm, kind->config->swarm.window_us, kind->now_us, 1)};
    sight.on = sight.seen > kind->config->swarm.count;
    if (sight.on) {
        sight.news = is_news(swarm, kind);
        if (kind->config->swarm.action == SWARM_BUFFER)
            sight.delay_us = hold_back(swarm, kind);
    }
    pthread_mutex_unlock(&swarms->lock);
    return sight;
}
