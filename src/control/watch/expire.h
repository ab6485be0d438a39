/*
 * expire.h - the command that deletes a few rows whose time is over.
 *
 * expiry_rounds.h finds them, on a connection of its own, and posts one of these at a time.  Each
 * checks again what it is about to delete: the world may have moved since.  It stops after rows_max
 * rows or budget_us, whichever is first, so that no other command waits long for it; what was not
 * handled is given to the next one.  The sums of what was deleted (store/retention_sums.h) are
 * written in the same transaction.
 */
#ifndef CONTROL_WATCH_EXPIRE_H
#define CONTROL_WATCH_EXPIRE_H
#include "base/hash.h"
#include "control/commit/command.h"
#include "core/run/expiry.h"
#include "store/leases.h"

enum expire_what {
    EXPIRE_TASKS,       /* By id: tasks without a parent, with their sub-tasks. */
    EXPIRE_EVENTS,      /* By id and seq: of tasks that are gone (struct expired_task). */
    EXPIRE_LOG,         /* By seq: events of no task. */
    EXPIRE_DIAGNOSTICS, /* By id: of runs. */
    EXPIRE_JOBS,        /* By id. */
    EXPIRE_SAGAS,       /* By id. */
    EXPIRE_BATCHES,     /* By id. */
    EXPIRE_LETTERS,     /* Of sinks; without items. */
    EXPIRE_LOOSEN,      /* By sha256: contents that may be used by nothing. */
    EXPIRE_CONTENTS,    /* By sha256: those of loose_artifacts. */
    EXPIRE_SPACE,       /* Free pages, at most rows_max; without items. */
    EXPIRE_SUMS,        /* Writes `sums` and nothing else. */
    EXPIRE_WHAT_COUNT
};

struct expire_item {
    struct id id;
    int64_t seq;
    const char *type; /* EXPIRE_LOG: of the event; NULL: a client's. */
    char sha256[SHA256_TEXT_BYTES];
};

struct cmd_expire {
    struct command base;
    enum expire_what what;
    struct lease_fence turn; /* Of the node that posts it; none where the store is not shared. */
    const struct expiry_rules *rules;
    const struct expire_item *items;
    size_t count;
    int64_t before_us;                /* Only what ended, or was put, earlier. */
    int64_t through_seq;              /* Only events up to here. */
    int64_t unread_seq;               /* Events behind it were not read by all; they are counted. */
    const struct retention_sum *sums; /* To be set, with the rest. */
    size_t sum_count;
    int64_t rows_max, budget_us; /* 0: as long as it takes. */
    /* The answer. */
    size_t handled; /* Items that need no further command; the first of them. */
    int64_t rows;   /* That were deleted. */
    int64_t bytes;  /* That were given back. */
    int64_t spent_us;
};
struct cmd_expire *cmd_expire_new(void);
#endif
