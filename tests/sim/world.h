/*
 * world.h - a whole fleet in one thread: virtual time, a network that loses, repeats and delays,
 * a server that crashes, and the production control plane and store in the middle.
 *
 * Everything follows from one seed: the same seed gives the same history, event by event.
 *
 *   actor --send--> [lost?] --latency--> committer round --done--> [lost?] --latency--> on_answer
 *
 * Two clocks: `mono_us` orders what happens; the server's own clock is mono_us + skew_us, and the
 * skew jumps.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H
#include "base/arena.h"
#include "base/random.h"
#include "control/commit/command.h"
#include "control/commit/committer.h"
#include "store/leases.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NODE "node-1"
enum { SIM_SYSTEM_MAX = 12 }; /* Runs active at once. */

struct world;
struct database;
struct trouble;

/* Whoever holds the world against what must be true. */
struct watch {
    void (*answered)(void *who, const struct command *command); /* After its commit. */
    void (*look)(void *who);                                    /* After every round. */
    void (*lose_commits)(bool lose); /* Or NULL: from now on no commit, or all, go through. */
    void *who;
};

/* Parts in a thousand. */
struct faults {
    unsigned lose_request, lose_answer, slow; /* Per message. */
    unsigned crash_server, jump_clock;        /* Per virtual second. */
    unsigned worker_dies, worker_deaf;        /* Per job. */
    unsigned trouble;                         /* Per virtual second; see trouble.h. */
    unsigned hang_up;                         /* Per command that may wait. */
};

typedef void happening(struct world *world, void *who, int64_t what);

/* Two accounts of the configuration, of which each has one run at a time; model.h has their
   names. */
extern const struct account_configs sim_accounts;

struct world {
    uint64_t seed;
    struct random random;
    struct faults faults;
    int64_t mono_us, skew_us;
    struct store *store;
    char dir[256];             /* Of artifacts, in $TMPDIR. */
    struct database *database; /* Where the store is. */
    struct committer *committer;
    struct watch watch;
    int64_t crashes, jumps, steps, lost, troubles, hung_up;
    const struct trouble *trouble; /* The one that there is, or NULL. */
    int64_t quiet_us;              /* Monotonic: the last trouble, crash or jump of the clock. */
    bool draining;                 /* Waits end at once. */
    bool admits;                   /* There are runs to admit. */
    int64_t ticks;
    struct lease_fence turn; /* To run the timers, on a shared store. */
    bool crashing;           /* Answers of this moment go nowhere. */
    bool round_pending;
    /* The agenda: a heap by (time, order of arrival). */
    struct appointment *agenda;
    size_t agenda_count, agenda_room;
    int64_t agenda_seq;
    void (*on_crash)(struct world *world); /* Tells the workers that lived in the server. */
};

/* The seed also says which of the faults there are.  Nobody watches yet.  postgres: the URL of a
   database to work in; NULL: SQLite, in memory. */
void world_open(struct world *world, uint64_t seed, const char *postgres);
void world_close(struct world *world);

int64_t world_server_now(const struct world *world);
bool world_chance(struct world *world, unsigned per_thousand);
int64_t world_between(struct world *world, int64_t low, int64_t high);

/* who gets happening(what) after delay_us. */
void world_after(struct world *world, int64_t delay_us, happening *happen, void *who, int64_t what);
/* Does the next thing on the agenda; false when there is none. */
bool world_step(struct world *world);

/* Sends a command; on_answer gets it back unless a message is lost, and it is freed behind that.
   what comes back as given. */
typedef void answered(struct world *world, void *who, int64_t what, struct command *command);
void world_send(struct world *world, struct command *command, answered *on_answer, void *who,
                int64_t what);
void world_crash(struct world *world);

/* Stops with the seed and the step, so that the history can be had again. */
_Noreturn void world_broken(const struct world *world, const char *fmt, ...) PRINTF_LIKE(2, 3);
#endif
