#include "base/remote_clock.h"
#include <assert.h>

enum { DRIFT_PPM = 1000 }; /* Twice what NTP slews a clock by. */

void remote_clock_init(struct remote_clock *remote)
{
    *remote = (struct remote_clock){0};
    pthread_mutex_init(&remote->lock, NULL);
}

void remote_clock_release(struct remote_clock *remote)
{
    pthread_mutex_destroy(&remote->lock);
}

static int64_t drift_us(int64_t span_us)
{
    return span_us > 0 ? span_us / (1000000 / DRIFT_PPM) + 1 : 0;
}

static int64_t middle(const struct remote_clock *remote)
{
    return remote->low_us + (remote->high_us - remote->low_us) / 2;
}

/* Under the lock. */
static int64_t time_at(struct remote_clock *remote, int64_t boot_us)
{
    assert(remote->at_us != 0);
    int64_t now_us = boot_us + middle(remote);
    if (now_us > remote->last_us)
        remote->last_us = now_us;
    return remote->last_us;
}

/* Under the lock.  Takes the part that both allow; 0, or how far they are apart. */
static int64_t narrow(struct remote_clock *remote, int64_t low_us, int64_t high_us)
{
    if (low_us > remote->high_us || high_us < remote->low_us) {
        int64_t before_us = middle(remote);
        remote->low_us = low_us;
        remote->high_us = high_us;
        return middle(remote) - before_us;
    }
    if (low_us > remote->low_us)
        remote->low_us = low_us;
    if (high_us < remote->high_us)
        remote->high_us = high_us;
    return 0;
}

int64_t remote_clock_learn(struct remote_clock *remote, const struct remote_answer *answer)
{
    assert(answer->came_us >= answer->asked_us);
    int64_t low_us = answer->time_us - answer->came_us;
    int64_t high_us = answer->time_us - answer->asked_us;
    int64_t moved_us = 0;
    pthread_mutex_lock(&remote->lock);
    if (remote->at_us == 0) {
        remote->low_us = low_us;
        remote->high_us = high_us;
    } else {
        int64_t slack_us = drift_us(answer->came_us - remote->at_us);
        remote->low_us -= slack_us;
        remote->high_us += slack_us;
        moved_us = narrow(remote, low_us, high_us);
    }
    remote->at_us = answer->came_us;
    int64_t now_us = answer->came_us + middle(remote);
    if (remote->last_us - now_us > REMOTE_STEP_US)
        remote->last_us = now_us;
    pthread_mutex_unlock(&remote->lock);
    return moved_us;
}

int64_t remote_clock_at_us(struct remote_clock *remote, int64_t boot_us)
{
    pthread_mutex_lock(&remote->lock);
    int64_t now_us = time_at(remote, boot_us);
    pthread_mutex_unlock(&remote->lock);
    return now_us;
}

int64_t remote_clock_now_us(struct remote_clock *remote)
{
    return remote_clock_at_us(remote, clock_boot_us());
}

static int64_t now_of(void *ctx)
{
    return remote_clock_now_us(ctx);
}

struct clock remote_clock(struct remote_clock *remote)
{
    return (struct clock){.now_us = now_of, .ctx = remote};
}
