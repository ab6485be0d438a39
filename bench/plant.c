#include "bench/plant.h"
#include <assert.h>
#include <time.h>

void plant_open(struct plant *plant, const struct plant_setup *setup)
{
    *plant = (struct plant){0};
    plant->last = &plant->first;
    pthread_mutex_init(&plant->lock, NULL);
    pthread_cond_init(&plant->arrived, NULL);
    struct err err = {0};
    char artifacts[BENCH_URL_BYTES];
    struct store_options store = {.url = setup->url};
    if (bench_artifact_dir(setup->url, artifacts))
        store.artifact_dir = artifacts;
    bench_must(store_open(&store, &plant->store, &err), &err, setup->url);
    struct control_options options = {.store = plant->store,
                                      .clock = clock_real(),
                                      .random = random_from_os(),
                                      .node = setup->node,
                                      .lanes = setup->lanes};
    if (setup->retention != NULL)
        options.retention = *setup->retention;
    bench_must(control_start(&options, &plant->control, &err), &err, "control");
}

void plant_open_dir(struct plant *plant, const char *dir)
{
    char url[BENCH_URL_BYTES];
    bench_sqlite_url(dir, url);
    plant_open(plant, &(struct plant_setup){.url = url});
}

void plant_close(struct plant *plant)
{
    assert(plant->first == NULL);
    control_stop(plant->control);
    store_close(plant->store);
    pthread_cond_destroy(&plant->arrived);
    pthread_mutex_destroy(&plant->lock);
}

/* On the committer's thread. */
static void on_done(struct command *command)
{
    const struct plant_slot *slot = command->owner;
    struct plant *plant = slot->plant;
    pthread_mutex_lock(&plant->lock);
    command->next = NULL;
    bool first = plant->first == NULL;
    *plant->last = command;
    plant->last = &command->next;
    if (first)
        pthread_cond_signal(&plant->arrived);
    pthread_mutex_unlock(&plant->lock);
}

void plant_post(struct plant *plant, struct plant_slot *slot, struct command *command)
{
    *slot = (struct plant_slot){plant, command};
    command->owner = slot;
    command->done = on_done;
    if (committer_post(control_committer(plant->control), command) != RC_OK)
        bench_die("the committer's queue is full");
}

struct plant_slot *plant_take(struct plant *plant)
{
    pthread_mutex_lock(&plant->lock);
    while (plant->first == NULL)
        pthread_cond_wait(&plant->arrived, &plant->lock);
    struct command *command = plant->first;
    plant->first = command->next;
    if (plant->first == NULL)
        plant->last = &plant->first;
    pthread_mutex_unlock(&plant->lock);
    if (command->rc != RC_OK)
        bench_die("%s: %s", command->ops->name, command->err.text);
    return command->owner;
}

void plant_call(struct plant *plant, struct command *command)
{
    struct plant_slot slot;
    plant_post(plant, &slot, command);
    const struct plant_slot *back = plant_take(plant);
    assert(back == &slot);
}

static double cpu_us(clockid_t clock)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

void plant_effort(struct plant *plant, struct effort *ret_effort)
{
    struct committer_stats stats;
    committer_stats(control_committer(plant->control), &stats);
    *ret_effort = (struct effort){
        .commits = stats.batches,
        .retried = stats.retried,
        .flushes = flushes_count(),
        .cpu_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us(CLOCK_THREAD_CPUTIME_ID),
    };
}
