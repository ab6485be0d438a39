/*
 * witness.h - every write of a job, as the database itself saw it, in the order of writing.
 *
 * Triggers note every row that changes: SQLite calls a function of ours, PostgreSQL writes to a
 * table of its own in the same transaction.  What a transaction wrote is kept when it commits and
 * forgotten when it rolls back.  So nothing that any code of the store does to a job, now or later,
 * goes by unseen.
 */
#ifndef TESTS_SIM_WITNESS_H
#define TESTS_SIM_WITNESS_H
#include "base/id.h"
#include "core/queue/job.h"
#include "store/db.h"
#include <stddef.h>
#include <stdint.h>

enum sighting_kind { SEEN_INSERT, SEEN_UPDATE, SEEN_DELETE, SEEN_ATTEMPT, SEEN_RULES };

struct sighting {
    enum sighting_kind kind;
    struct id id;            /* of the job */
    const char *queue;       /* jobs, rules */
    const char *key, *dedup; /* jobs; or NULL */
    const char *owner;       /* jobs: of the last lease, or NULL */
    const char *word;        /* attempts: the outcome.  rules: the document. */
    int64_t seq, priority, rank;
    struct job_life life; /* attempts: epoch and attempt only */
    int64_t created_us, updated_us;
    bool paused; /* rules */
};

/* Before a store is opened, once: connections that open from now on have the function. */
void witness_install(void);
/* On the connection that opened last. */
void witness_watch(struct db *db);
/* What was committed since the last witness_forget; good until that. */
const struct sighting *witness_seen(size_t *ret_count);
void witness_forget(void);
/* So many commits from now on are refused, and what they wrote is undone.  Linked in front of
   tx_commit (ld --wrap). */
void witness_refuse(int64_t commits);
#endif
