/*
 * audit_anchor.h - anchors the audit log outside of the database: signed notes of its head.
 *
 *     audit:
 *       anchor: {key: /etc/drover/audit.pem, file: /mnt/worm/notes.ndjson, every: 1h}
 *
 * A note says which row was the last at a time, and its hash (core/audit/audit_note.h).  With the
 * newest one a log whose end was cut off, or that was written anew, no longer verifies, however
 * consistently that was done in the database.  A note is made at the start and then every so often,
 * if rows were added.  Of several servers on one database the one that runs the timers makes them.
 */
#ifndef SERVER_AUDIT_ANCHOR_H
#define SERVER_AUDIT_ANCHOR_H
#include "api/api.h"

struct audit_anchor; /* Owned by its starter. */

/* By api->audit_anchor, which gets its public key; without a key *ret_anchor is NULL.  RC_INVALID:
   it is no key. */
MUST_USE enum rc audit_anchor_start(struct api *api, struct arena *arena,
                                    struct audit_anchor **ret_anchor, struct err *err);
void audit_anchor_free(struct audit_anchor *anchor); /* NULL is fine. */
#endif
