/*
 * approvals.h - decisions that a person has to make.
 */
#ifndef STORE_APPROVALS_H
#define STORE_APPROVALS_H
#include "store/waiting.h"

struct approval_row {
    struct id id;
    struct id task_id;
    struct id run_id;
    const char *kind;   /* plan, patch, override */
    const char *status; /* pending, approved, rejected, expired, cancelled */
    const char *decided_by;
    const char *reason;
    int64_t requested_us, expires_us, decided_us;
    const char *question;        /* Why approval is needed. */
    const char *summary;         /* What is to be approved, or NULL. */
    struct str detail;           /* A JSON object, or empty. */
    const char *artifact_sha256; /* The plan, or the patch; or NULL. */
    int64_t reminded;            /* How many times. */
};
MUST_USE enum rc approvals_insert(struct db *db, const struct approval_row *row, struct err *err);
MUST_USE enum rc approvals_get(struct db *db, const struct id *id, struct arena *arena,
                               struct approval_row *ret_row, struct err *err);
/* Without a lock: the run is locked before its questions. */
MUST_USE enum rc approvals_run_of(struct db *db, const struct id *id, struct id *ret_run_id,
                                  struct err *err);
MUST_USE enum rc approvals_save(struct db *db, const struct approval_row *row, struct err *err);
MUST_USE enum rc approvals_list(struct db *db, const struct waiting_filter *filter,
                                struct arena *arena, struct approval_row **ret_rows,
                                size_t *ret_count, struct err *err);
#endif
