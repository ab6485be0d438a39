#include "server/autoscale.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/watch/workers.h"
#include "store/queue_levels.h"
#include <stdatomic.h>

enum { TICK_MS_MIN = 50, TICK_MS_MAX = 1000 };

struct autoscale {
    struct api *api;
    struct scale_rule rule;
    struct scale scale; /* Of the pool thread that has the work, one at a time. */
    struct event *tick;
    struct pool_work work;
    atomic_bool asked;
};

static bool load_of(struct api *api, struct class_load *ret_load)
{
    pthread_mutex_lock(&api->worker_lock);
    bool there = api->worker != NULL;
    if (there)
        *ret_load = worker_load(api->worker).of[CLASS_AGENT];
    pthread_mutex_unlock(&api->worker_lock);
    return there;
}

static enum rc resize(struct api *api, int64_t slots, struct err *err)
{
    pthread_mutex_lock(&api->worker_lock);
    enum rc rc = api->worker != NULL ? worker_resize(api->worker, (int)slots, err) : RC_OK;
    pthread_mutex_unlock(&api->worker_lock);
    return rc;
}

static void log_change(struct autoscale *autoscale, int64_t from, int64_t to)
{
    const char *reason = to > from ? "backlog" : "idle";
    LOG(LOG_INFO,
        to > from ? "more slots for agents: some wait" : "fewer slots for agents: they were idle",
        LOG_INT("from", from), LOG_INT("to", to));
    struct cmd_workers_scaled *cmd = cmd_workers_scaled_new();
    cmd->worker = control_node(autoscale->api->control);
    cmd->from = from;
    cmd->to = to;
    cmd->reason = reason;
    enum rc rc = committer_call(control_committer(autoscale->api->control), &cmd->base);
    if (rc != RC_OK && rc != RC_BUSY)
        LOG(LOG_WARN, "cannot report the change of slots", LOG_STR("code", cmd->base.err.code),
            LOG_STR("error", cmd->base.err.text));
    command_free(&cmd->base);
}

static void decide(struct autoscale *autoscale, struct db *db)
{
    struct err err = {0};
    struct class_load slots;
    struct scale next = autoscale->scale;
    if (!load_of(autoscale->api, &slots))
        return;
    struct scale_load load = {.busy = slots.busy};
    enum rc rc = RC_OK;
    if (slots.busy >= next.desired) /* While a slot is free nothing waits for one. */
        rc = queue_levels_agents(db, autoscale->rule.up_step, &load.waiting, &err);
    if (rc != RC_OK)
        return; /* Other code logs that the store is unreachable; the next tick retries. */
    bool changed = scale_step(&autoscale->rule, &load, clock_mono_us(), &next);
    if (changed)
        rc = resize(autoscale->api, next.desired, &err);
    int64_t before = autoscale->scale.desired;
    autoscale->scale = next;
    if (rc != RC_OK)
        LOG(LOG_WARN, "cannot start another slot", LOG_STR("error", err.text));
    if (changed)
        log_change(autoscale, before, next.desired);
}

/* On a pool thread. */
static void run_decide(struct pool_work *work, struct db *db)
{
    struct autoscale *autoscale = (struct autoscale *)((char *)work -
                                                       offsetof(struct autoscale, work));
    decide(autoscale, db);
    atomic_store(&autoscale->asked, false);
}

static void on_tick(void *arg)
{
    struct autoscale *autoscale = arg;
    struct class_load load;
    if (!load_of(autoscale->api, &load))
        return;
    bool idle = load.busy < load.slots && load.slots <= autoscale->rule.min;
    if (idle || atomic_exchange(&autoscale->asked, true))
        return;
    autoscale->work = (struct pool_work){.run = run_decide};
    if (pool_post(autoscale->api->pool, &autoscale->work) != RC_OK)
        atomic_store(&autoscale->asked, false);
}

static int tick_ms(const struct scale_rule *rule)
{
    int64_t least_us = rule->up_us < rule->down_us ? rule->up_us : rule->down_us;
    int64_t ms = least_us / US_PER_MS / 2;
    if (ms < TICK_MS_MIN)
        return TICK_MS_MIN;
    return ms > TICK_MS_MAX ? TICK_MS_MAX : (int)ms;
}

struct autoscale *autoscale_start(const struct autoscale_options *options)
{
    struct autoscale *autoscale = mem_alloc(sizeof *autoscale);
    autoscale->api = options->api;
    autoscale->rule = options->rule;
    autoscale->scale.desired = options->rule.min;
    autoscale->tick = loop_every(options->api->loop, tick_ms(&options->rule), on_tick, autoscale);
    return autoscale;
}

void autoscale_free(struct autoscale *autoscale)
{
    if (autoscale == NULL)
        return;
    loop_event_free(autoscale->tick);
    mem_free(autoscale);
}
