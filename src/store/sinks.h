/*
 * sinks.h - how far each sink has come in the log, the configuration of those that the API has
 * made, and the events that a sink has refused for good.
 *
 * Two writers share a row.  The relay of the sink (control/watch/sink_relay.h) writes its progress;
 * on a shared store it holds the lease "sink/NAME" and gives the proof.  Commands of the API write
 * the rest: configuration, pauses, marks on dead letters.  Each of them raises the revision, which
 * the relay compares before each batch.
 */
#ifndef STORE_SINKS_H
#define STORE_SINKS_H
#include "store/db.h"
#include "store/leases.h"

enum { SINK_ROWS_MAX = 256 }; /* That are listed. */

struct sink_row {
    const char *name;
    int64_t cursor_seq; /* Events up to here are published, refused or not wanted. */
    int64_t dead_letters;
    const char *last_error; /* NULL: the last batch was published. */
    bool breaker_open;      /* So many batches have failed that it only probes. */
    int64_t delivered, refused, retries;
    struct str config; /* JSON, as it was put; empty: the server's configuration has it. */
    bool paused;
    int64_t revision;   /* Grows with each change by the API. */
    int64_t created_us; /* With the name: which sink it is.  One that is made anew has another. */
    int64_t updated_us;
};

struct sink_dead_letter {
    const char *sink;
    int64_t seq;
    struct id event_id;
    const char *event_type;
    const char *code, *message; /* Why it was refused. */
    bool replay;                /* To be delivered once more. */
    int64_t created_us;
};

/* ---- for all ---- */

MUST_USE enum rc sinks_get(struct db *db, const char *name, struct arena *arena,
                           struct sink_row *ret_row, struct err *err);
/* By name, at most SINK_ROWS_MAX. */
MUST_USE enum rc sinks_list(struct db *db, struct arena *arena, struct sink_row **ret_rows,
                            size_t *ret_count, struct err *err);
/* Of the sink with this name and created_us.  RC_NOT_FOUND: it is gone. */
MUST_USE enum rc sinks_revision(struct db *db, const char *name, int64_t created_us,
                                int64_t *ret_revision, struct err *err);
/* RC_NOT_FOUND: it has none. */
MUST_USE enum rc sinks_last_dead_letter(struct db *db, const char *name, struct arena *arena,
                                        struct sink_dead_letter *ret_letter, struct err *err);
struct sink_letter_filter {
    const char *sink;
    int64_t after_seq;
    bool replay_only;
    int64_t limit;
};
/* In order of seq. */
MUST_USE enum rc sink_letters_list(struct db *db, const struct sink_letter_filter *filter,
                                   struct arena *arena, struct sink_dead_letter **ret_letters,
                                   size_t *ret_count, struct err *err);

/* ---- the relay's ---- */

/* One that is there already stays as it is. */
MUST_USE enum rc sinks_make(struct db *db, const struct lease_proof *proof,
                            const struct sink_row *row, struct err *err);
/*
 * Cursor, error, counts and time of change; refused: the event at the cursor, or NULL.  The same
 * may be saved twice.  RC_CONFLICT (code CURSOR_BEHIND): the sink is gone or was made anew, or the
 * cursor is further already; it only moves forward.
 */
MUST_USE enum rc sinks_save(struct db *db, const struct lease_proof *proof,
                            const struct sink_row *row, const struct sink_dead_letter *refused,
                            struct err *err);
/* A letter that was delivered after all is removed; one that was refused again gets the reason, and
   is not replayed any more.  Without such a letter nothing happens. */
MUST_USE enum rc sink_letters_remove(struct db *db, const struct lease_proof *proof,
                                     const struct sink_dead_letter *letter, struct err *err);
MUST_USE enum rc sink_letters_keep(struct db *db, const struct lease_proof *proof,
                                   const struct sink_dead_letter *letter, struct err *err);

/* ---- the API's ---- */

MUST_USE enum rc sinks_insert(struct db *db, const struct sink_row *row, struct err *err);
/* Configuration, pause and revision. */
MUST_USE enum rc sinks_configure(struct db *db, const struct sink_row *row, struct err *err);
/* With its dead letters.  RC_NOT_FOUND. */
MUST_USE enum rc sinks_remove(struct db *db, const char *name, struct err *err);
/* Of those that have a configuration. */
MUST_USE enum rc sinks_count_made(struct db *db, int64_t *ret_count, struct err *err);
/* seq 0: all letters of the sink.  *ret_count: how many there were. */
struct sink_letter_key {
    const char *sink;
    int64_t seq;
};
MUST_USE enum rc sink_letters_replay(struct db *db, const struct sink_letter_key *key,
                                     int64_t *ret_count, struct err *err);
MUST_USE enum rc sink_letters_discard(struct db *db, const struct sink_letter_key *key,
                                      int64_t *ret_count, struct err *err);
#endif
