/*
 * audit_trail.h - the audit rows of one transaction, until its end.
 *
 * A command that carries a struct audit_call is recorded with the change it makes, in the same
 * transaction: no change without its row, and no row without its change.  Code below a command, and
 * the server's own commands, add rows by context_audit() (context.h).  All are noted in the round
 * and written at the end of the transaction, because the head of the log is the last row that a
 * transaction locks: it is held for the inserts and the commit only.
 *
 * Commands of the job path carry none: they pay one test of a pointer.
 */
#ifndef CONTROL_COMMIT_AUDIT_TRAIL_H
#define CONTROL_COMMIT_AUDIT_TRAIL_H
#include "base/arena.h"
#include "base/rc.h"
#include "core/audit/audit.h"

struct db;

/* What is known of a call before it is applied.  Lives in the arena of its command, or longer. */
struct audit_call {
    const char *action; /* "task.submit"; what stands before the last dot is the resource's type. */
    const char *resource_id; /* NULL: command->made, if it makes something. */
    const char *token_id, *role, *address, *request_id;
    const char *details; /* A JSON object, or NULL. */
};

/* Rows that wait for the end of the transaction, the newest first: so that a round can be put back
   to what it was (isolate.c). */
struct audit_pending {
    const struct audit_pending *before;
    struct audit_entry entry;
};

/* In front of what was noted before.  resource_id is copied; other texts must live as long as the
   arena, the batch's.  Missing: resource_type comes from the action, outcome is done, count 1. */
const struct audit_pending *audit_trail_add(const struct audit_pending *before,
                                            const struct audit_entry *entry, struct arena *arena);

/* Appends to the log, the oldest first; written() is called for each row, complete then. */
struct audit_trail {
    const struct audit_pending *newest;
    struct arena *arena;
    enum rc (*written)(void *ctx, const struct audit_entry *entry, struct err *err);
    void *ctx;
};
MUST_USE enum rc audit_trail_write(const struct audit_trail *trail, struct db *db, struct err *err);
#endif
