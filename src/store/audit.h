/*
 * audit.h - the audit log: append-only, chained by hashes (core/audit/audit.h), and its head.
 *
 * A transaction that appends locks the row of the head first (audit_lock), as its last lock: from
 * then to its commit no other transaction can append.  So numbers have no gaps, their order is that
 * of the commits, and each row can carry the hash of the one before it, across lanes and nodes.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H
#include "core/audit/audit_chain.h"
#include "store/db.h"
#include "store/scan.h"

/* The head, with the right to append until the end of the transaction. */
MUST_USE enum rc audit_lock(struct db *db, struct audit_mark *ret_head, struct err *err);
/* Fills in seq, prev_hash and hash, which are in the arena then, and moves the head that was
   locked. */
MUST_USE enum rc audit_append(struct db *db, struct audit_mark *head, struct audit_entry *entry,
                              struct arena *arena, struct err *err);
/* Once, after the last audit_append. */
MUST_USE enum rc audit_save_head(struct db *db, const struct audit_mark *head, struct err *err);

MUST_USE enum rc audit_head(struct db *db, struct audit_mark *ret_head, struct err *err);

struct audit_filter {
    int64_t after_seq, until_seq; /* after < seq <= until; until 0: open */
    const char *action;           /* "task.submit", or all that begin so: "task."; NULL: any */
    const char *actor, *outcome, *resource_type, *resource_id;
    int64_t since_us, until_us; /* since <= time < until; 0: open */
    int64_t limit;
    bool newest_first;
    struct scan *scan; /* scan.h, or NULL: to the end */
};
/* In the order of seq; the cursor of a scan is the number after which, or with newest_first before
   which, it continues. */
MUST_USE enum rc audit_list(struct db *db, const struct audit_filter *filter, struct arena *arena,
                            struct audit_entry **ret_rows, size_t *ret_count, struct err *err);

/* Reads all rows, page by page, into the chain, and ends it. */
MUST_USE enum rc audit_verify(struct db *db, struct audit_chain *chain, struct err *err);
/* The same for the last so many rows: a quick look. */
MUST_USE enum rc audit_verify_newest(struct db *db, int64_t rows, struct audit_chain *ret_chain,
                                     struct err *err);
#endif
