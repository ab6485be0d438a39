/*
 * consumers.h - commands of durable consumers, and the places that a seek may name.
 */
#ifndef CONTROL_MESSAGING_CONSUMERS_H
#define CONTROL_MESSAGING_CONSUMERS_H
#include "control/commit/context.h"
#include "store/consumers.h"

/* Ids that handlers have processed are kept so long. */
enum { PROCESSED_DAYS = 30, PROCESSED_IDS_MAX = 500, PROCESSED_ID_BYTES_MAX = 512 };

/* ---- places ---- */

enum consumer_to { CONSUMER_TO_START, CONSUMER_TO_END, CONSUMER_TO_SEQ, CONSUMER_TO_TIME };
struct consumer_place {
    enum consumer_to to;
    int64_t seq;     /* Of the first event to come. */
    int64_t time_us; /* The first event to come is not older. */
};
/* On a connection for reading: the cursor behind which the place begins.  It never lies behind an
   event that is not committed yet.  RC_INVALID: a sequence that the log does not have yet.
   RC_BUSY: open transactions hide the end of the log; try again. */
MUST_USE enum rc consumer_place_find(struct db *db, const struct consumer_place *place,
                                     struct arena *arena, int64_t *ret_cursor_seq, struct err *err);

/* ---- commands ---- */

struct cmd_consumer_put { /* Makes it, or gives it another filter.  RC_CONFLICT: CONSUMERS_MAX. */
    struct command base;
    const char *name;
    bool retype;             /* One that is there gets the types; else it stays as it is. */
    struct str types;        /* JSON array of patterns; empty: every event. */
    int64_t cursor_seq;      /* Where a new one begins. */
    struct consumer_row row; /* The answer. */
    bool created;
};
struct cmd_consumer_put *cmd_consumer_put_new(void);

/* RC_CONFLICT, CURSOR_STALE: the cursor was given before a seek, or a later one is acknowledged. */
struct cmd_consumer_ack {
    struct command base;
    const char *name;
    int64_t epoch, seq; /* Of the cursor. */
    struct consumer_row row;
};
struct cmd_consumer_ack *cmd_consumer_ack_new(void);

struct cmd_consumer_seek { /* Makes a consumer that is not there. */
    struct command base;
    const char *name;
    int64_t cursor_seq;
    struct consumer_row row;
};
struct cmd_consumer_seek *cmd_consumer_seek_new(void);

struct cmd_consumer_remove {
    struct command base;
    const char *name;
};
struct cmd_consumer_remove *cmd_consumer_remove_new(void);

struct cmd_consumer_processed {
    struct command base;
    const char *name;
    const char **ids; /* Of events; no two are the same. */
    size_t count;
    bool *first; /* The answer, in the order of ids: was it new? */
};
struct cmd_consumer_processed *cmd_consumer_processed_new(void);

/* Deletes ids that are older than PROCESSED_DAYS, some at a time. */
MUST_USE enum rc consumers_prune(struct context *ctx, bool *ret_more);
#endif
