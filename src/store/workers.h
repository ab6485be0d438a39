/*
 * workers.h - the workers, as they last reported.  A row informs, it decides nothing: leases do.
 *
 *     active     seen within three leases
 *     draining   the same, and it takes no more jobs
 *     lost       not seen for three leases
 */
#ifndef STORE_WORKERS_H
#define STORE_WORKERS_H
#include "store/db.h"

struct worker_row {
    const char *name;
    const char *host;
    const char *version;
    struct str queues; /* A JSON array of names. */
    int64_t pid;
    int64_t slots, busy;
    bool draining;
    int64_t lease_us;
    int64_t started_us, last_seen_us;
    int64_t unpublished_count, unpublished_bytes; /* Work that waits there for people. */
    int64_t disk_free;                            /* Bytes; -1: not known. */
    bool disk_low;                                /* It leases no steps that need space. */
    int64_t leased_ports, leased_databases;       /* By runs, on that worker. */
    const char *state;                            /* Read, never written. */
};

MUST_USE enum rc workers_put(struct db *db, const struct worker_row *row, struct err *err);
MUST_USE enum rc workers_get(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                             struct worker_row *ret_row, struct err *err);
MUST_USE enum rc workers_remove(struct db *db, const char *name, struct err *err);
/* Deletes those that were last seen before then. */
MUST_USE enum rc workers_prune(struct db *db, int64_t before_us, struct err *err);

struct worker_filter {
    const char *state; /* NULL: any */
    const char *after; /* Names behind this one; NULL: from the start. */
    int64_t now_us;
    int64_t limit;
};
MUST_USE enum rc workers_list(struct db *db, const struct worker_filter *filter,
                              struct arena *arena, struct worker_row **ret_rows, size_t *ret_count,
                              struct err *err);
/* Those with unpublished work, by name. */
MUST_USE enum rc workers_unpublished(struct db *db, const struct worker_filter *filter,
                                     struct arena *arena, struct worker_row **ret_rows,
                                     size_t *ret_count, struct err *err);
/* Those whose disk was low when they last reported, by name. */
MUST_USE enum rc workers_low(struct db *db, const struct worker_filter *filter, struct arena *arena,
                             struct worker_row **ret_rows, size_t *ret_count, struct err *err);
#endif
