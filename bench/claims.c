/*
 * claims.c - see claims.h.
 *
 * Each node has a thread that drives its claimers: as soon as one has its jobs it asks again.
 * Nobody completes anything; all stop when as many jobs are claimed as were wanted.
 */
#include "bench/claims.h"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CLAIMERS_MAX = 16, ENQUEUE_EACH = 100 };

struct race {
    const struct claim_trial *trial;
    atomic_int_fast64_t claimed, leases, empty;
};

struct node {
    struct race *race;
    struct port *port;
    struct lane lanes[CLAIMERS_MAX];
    size_t lane_count;
    pthread_t thread;
};

static bool any_busy(const struct node *node)
{
    for (size_t i = 0; i < node->lane_count; i++)
        if (node->lanes[i].busy)
            return true;
    return false;
}

static void on_leased(struct lane *lane)
{
    struct race *race = lane->owner;
    atomic_fetch_add(&race->leases, 1);
    if (lane->job_count == 0)
        atomic_fetch_add(&race->empty, 1);
    int64_t claimed = atomic_fetch_add(&race->claimed, lane->job_count) + lane->job_count;
    if (claimed < race->trial->total)
        lane_lease(lane, race->trial->max, 0);
}

static void *node_main(void *arg)
{
    struct node *node = arg;
    for (size_t i = 0; i < node->lane_count; i++) {
        port_lane(node->port, &node->lanes[i], i);
        node->lanes[i].owner = node->race;
        node->lanes[i].answered = on_leased;
        lane_lease(&node->lanes[i], node->race->trial->max, 0);
    }
    while (any_busy(node))
        node->port->ops->poll(node->port);
    return NULL;
}

static void on_enqueued(struct lane *lane)
{
    (void)lane;
}

static void enqueue(struct port *port, int64_t jobs)
{
    struct lane lane;
    port_lane(port, &lane, 0);
    lane.answered = on_enqueued;
    for (int64_t i = 0; i < jobs; i += ENQUEUE_EACH) {
        lane_enqueue(&lane, ENQUEUE_EACH);
        while (lane.busy)
            port->ops->poll(port);
    }
}

static struct effort effort_of(const struct claim_trial *trial)
{
    struct effort all = {0};
    for (size_t i = 0; i < trial->node_count; i++) {
        struct effort effort;
        trial->nodes[i]->ops->effort(trial->nodes[i], &effort);
        all.commits += effort.commits;
    }
    return all;
}

void claims_run(const struct claim_trial *trial, struct claim_outcome *ret_outcome)
{
    assert(trial->node_count <= CLAIM_NODES_MAX && trial->claimers <= CLAIMERS_MAX);
    struct race race = {.trial = trial};
    struct node nodes[CLAIM_NODES_MAX] = {0};
    enqueue(trial->nodes[0], trial->total + trial->reserve);
    struct effort before = effort_of(trial);
    double begin = bench_seconds();
    for (size_t i = 0; i < trial->node_count; i++) {
        nodes[i] = (struct node){.race = &race,
                                 .port = trial->nodes[i],
                                 .lane_count = trial->claimers / trial->node_count};
        if (pthread_create(&nodes[i].thread, NULL, node_main, &nodes[i]) != 0)
            bench_die("cannot start a thread");
    }
    for (size_t i = 0; i < trial->node_count; i++)
        pthread_join(nodes[i].thread, NULL);
    double took = bench_seconds() - begin;
    struct effort after = effort_of(trial), spent = effort_since(&before, &after);
    *ret_outcome = (struct claim_outcome){
        .rate = (double)race.claimed / took,
        .empty = 100.0 * (double)race.empty / (double)race.leases,
        .batch = effort_batch(&spent, race.leases),
    };
}
