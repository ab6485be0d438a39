/*
 * plant.h - the control plane in this process, with all its threads: what `drover serve` has
 * without HTTP.
 *
 * Commands are posted from one thread; those that are answered come back to it, in order.
 */
#ifndef BENCH_PLANT_H
#define BENCH_PLANT_H
#include "bench/bench.h"
#include "control/control.h"
#include <pthread.h>

struct plant;

/* Somebody who has one command on its way at a time; stands first in the caller's struct. */
struct plant_slot {
    struct plant *plant;
    struct command *command;
};

struct plant {
    struct store *store;
    struct control *control;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct command *first, **last; /* Answered. */
};

struct plant_setup {
    const char *url;                      /* Of the store. */
    const char *node;                     /* Its name; NULL: the store's own. */
    size_t lanes;                         /* Of the committer, on a shared store; 0: the default. */
    const struct expiry_rules *retention; /* NULL: nothing expires. */
};
void plant_open(struct plant *plant, const struct plant_setup *setup);
void plant_open_dir(struct plant *plant, const char *dir); /* dir/drover.db, made when missing. */
void plant_close(struct plant *plant);

void plant_post(struct plant *plant, struct plant_slot *slot, struct command *command);
/* Waits for the next slot whose command is answered; the command is the caller's to free. */
struct plant_slot *plant_take(struct plant *plant);
/* Posts, waits, and ends the process unless RC_OK: only while nothing else is on its way. */
void plant_call(struct plant *plant, struct command *command);
/* CPU time is that of all threads of this process but this one. */
void plant_effort(struct plant *plant, struct effort *ret_effort);
#endif
