/*
 * requests.h - requests that were published to a topic, and the one reply to each.
 */
#ifndef STORE_REQUESTS_H
#define STORE_REQUESTS_H
#include "store/db.h"

#define REQUEST_WAITING "waiting"
#define REQUEST_REPLIED "replied"
#define REQUEST_EXPIRED "expired"

struct request_row {
    struct id id;
    const char *topic;
    const char *state;
    int64_t deadline_us;
    struct str reply;       /* replied: {"payload": ...} or {"error": {...}}; else empty */
    const char *replied_by; /* or NULL */
    int64_t created_us, updated_us;
};
/* RC_CONFLICT when the id is there already. */
MUST_USE enum rc requests_insert(struct db *db, const struct request_row *row, struct err *err);
/* Locks it. */
MUST_USE enum rc requests_get(struct db *db, const struct id *id, struct arena *arena,
                              struct request_row *ret_row, struct err *err);
/* state, reply, replied_by, updated_us. */
MUST_USE enum rc requests_save(struct db *db, const struct request_row *row, struct err *err);
/* Those whose deadline was before that. */
MUST_USE enum rc requests_prune(struct db *db, int64_t before_us, struct err *err);
#endif
