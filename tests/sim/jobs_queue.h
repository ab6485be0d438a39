/*
 * jobs_queue.h - one queue as the model knows it: its rules, who waits in it, and what may go out.
 *
 * The functions take what has happened and give NULL, or in plain words what should not have been.
 */
#ifndef TESTS_SIM_JOBS_QUEUE_H
#define TESTS_SIM_JOBS_QUEUE_H
#include "control/commit/principal.h"
#include "core/queue/queue_config.h"
#include "tests/sim/map.h"
#include "tests/sim/witness.h"

enum { SIM_DEDUP_KEYS = 48, SIM_TRACE = 24, SIM_ENDS = 4 };

/* How one lease of a job ended. */
struct job_end {
    int64_t epoch, tx;
    struct principal owner;
    const char *outcome; /* succeeded, failed, lost, released, cancelled */
    enum job_state state;
    enum dead_reason reason;
};
struct job_fact {
    struct id id;
    int64_t seq, rank, priority, created_us;
    size_t queue;
    struct line *line; /* Of its ordering key, or NULL. */
    struct job_life life;
    struct principal owner; /* Of the last lease. */
    int64_t handed;         /* The last epoch that a client was given. */
    bool replayed, deleted;
    int64_t gathered;    /* Batches: messages that were acknowledged into it. */
    int64_t attempts;    /* Rows of attempts, since it came. */
    const char *outcome; /* An attempt was written and the job not yet. */
    struct job_end ends[SIM_ENDS];
    int64_t end_count;
    struct moment {
        int64_t at_us, epoch, attempt;
        enum job_state from, to;
        const char *outcome;
    } trace[SIM_TRACE];
    int64_t moves;
};

struct queue_fact {
    const char *name;
    const struct map *jobs; /* The model's. */
    struct queue_config config, next_config;
    bool paused, next_paused;
    int64_t count[JOB_STATE_COUNT];
    int64_t came_back; /* Jobs that wait again since the transaction began. */
    int64_t tokens, filled_us;
    struct line *lines;
    struct ready { /* A heap: who may be claimed, some of them no longer. */
        int64_t rank, seq;
        struct id id;
    } * ready;
    size_t ready_count, ready_room;
    struct id dedup[SIM_DEDUP_KEYS];
};

void queue_fact_init(struct queue_fact *queue, const char *name, const struct map *jobs);
void queue_fact_release(struct queue_fact *queue);

int64_t queue_waiting(const struct queue_fact *queue);
/* A job came; its fact is filled in. */
const char *queue_came(struct queue_fact *queue, struct job_fact *job, const struct sighting *seen);
/* A job went from state `from` to that of the sighting, which its fact does not have yet. */
const char *queue_moved(struct queue_fact *queue, struct job_fact *job,
                        const struct sighting *seen);
void queue_gone(struct queue_fact *queue, const struct job_fact *job);
/* The rules hold from the next transaction on. */
void queue_ruled(struct queue_fact *queue, const struct sighting *seen);
/* The transaction is over. */
const char *queue_committed(struct queue_fact *queue);
#endif
