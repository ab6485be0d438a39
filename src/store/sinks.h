/*
 * sinks.h - how far each sink has come in the log, and the events that it has refused for good.
 *
 * Only the relay of a sink writes its rows (control/watch/sink_relay.h); on a shared store it holds
 * the lease "sink/NAME" and gives the proof.
 */
#ifndef STORE_SINKS_H
#define STORE_SINKS_H
#include "store/db.h"
#include "store/leases.h"

struct sink_row {
    const char *name;
    int64_t cursor_seq; /* Events up to here are published, refused or not wanted. */
    int64_t dead_letters;
    const char *last_error; /* NULL: the last batch was published. */
    int64_t created_us, updated_us;
};

struct sink_dead_letter {
    const char *sink;
    int64_t seq;
    struct id event_id;
    const char *event_type;
    const char *code, *message; /* Why it was refused. */
    int64_t created_us;
};

/* One that is there already stays as it is. */
MUST_USE enum rc sinks_make(struct db *db, const struct lease_proof *proof,
                            const struct sink_row *row, struct err *err);
MUST_USE enum rc sinks_get(struct db *db, const char *name, struct arena *arena,
                           struct sink_row *ret_row, struct err *err);

/*
 * Cursor, error and time of change; refused: the event at the cursor, or NULL.  The same may be
 * saved twice.  RC_CONFLICT (code CURSOR_BEHIND): the cursor is further already; it only moves
 * forward.
 */
MUST_USE enum rc sinks_save(struct db *db, const struct lease_proof *proof,
                            const struct sink_row *row, const struct sink_dead_letter *refused,
                            struct err *err);
/* RC_NOT_FOUND: it has none. */
MUST_USE enum rc sinks_last_dead_letter(struct db *db, const char *name, struct arena *arena,
                                        struct sink_dead_letter *ret_letter, struct err *err);
#endif
