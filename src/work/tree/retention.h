/*
 * retention.h - what runs have left on this machine for people: listed, counted, deleted.
 *
 *     work_dir/held/<run id>-<n>.diff   patches that were held back for their secrets (collect.h)
 *     work_dir/kept/<run id>[.<n>]      trees that could not be saved (rescue.h)
 *     refs/drover/snapshots/<run id>/   in the snapshot repositories (snapshot.h)
 *     refs/drover/published/<run id>/   in the same: the origin has these (publication.h)
 *     work_dir/aside/<run id>           the repository of a run with held patches or kept trees
 *     work_dir/worker                   the name of the worker
 *
 * Invariants:
 *   1. What is not published is deleted by `drover prune` only (retention_remove).
 *   2. What is published expires by itself (retention_clear), keepDays after it was put there.
 *   3. A run with a directory in work_dir/runs may still be at work: nothing of it is listed
 *      or removed.  The sweep removes a directory that was not used for a day (housekeeping.c).
 *
 * Removing snapshots removes their refs.  Their objects go within two days (repack.h).
 */
#ifndef WORK_TREE_RETENTION_H
#define WORK_TREE_RETENTION_H
#include "base/arena.h"
#include "base/id.h"
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct retention {
    const char *work_dir;
    const atomic_int *cancel; /* Non-zero stops it; may be NULL. */
};

enum retention_kind { RETENTION_HELD, RETENTION_KEPT, RETENTION_SNAPSHOTS };
const char *retention_kind_name(enum retention_kind kind); /* held_patch, kept_tree, snapshots */

struct retention_item {
    struct retention_item *next;
    enum retention_kind kind;
    struct id run_id;
    const char *path;       /* Of the snapshot repository for snapshots. */
    const char *repository; /* NULL: not known. */
    int64_t put_us;         /* Wall clock; of snapshots the last one. */
    int64_t bytes;          /* On disk; of snapshots what the mirror's refs do not have. */
    int64_t count;          /* Of snapshots; else 1. */
    bool published;
    const char *orders; /* Of snapshots: git update-ref --stdin. */
};

/* All of it, in no order; in the arena.  What cannot be read is logged and left out.
   *ret_withheld, which may be NULL: how many are left out since their run has a directory. */
struct retention_item *retention_list(const struct retention *retention, struct arena *arena,
                                      int64_t *ret_withheld);
/* RC_CONFLICT: its run has a directory by now. */
MUST_USE enum rc retention_remove(const struct retention *retention,
                                  const struct retention_item *item, struct err *err);

/* Removes what is published and was put there before this time.  Logs what it removes. */
void retention_clear(const struct retention *retention, int64_t before_us);

/* What is not published. */
struct retention_total {
    int64_t count, bytes;
};
struct retention_total retention_total(const struct retention *retention);
/* Another number when what is there may have changed; costs a few calls of stat. */
uint64_t retention_signature(const struct retention *retention);

/* For lists: which repository a run with something put aside belongs to; NULL is not noted.  A note
   that cannot be written costs a name in a list, so it is only logged. */
void retention_note(const char *work_dir, const struct id *run_id, const char *repository);
/* The name of the worker; the same. */
void retention_note_worker(const char *work_dir, const char *name);
const char *retention_worker(const struct retention *retention,
                             struct arena *arena); /* "-": not known */
#endif
