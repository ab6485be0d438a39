/*
 * verifications.h - the result of each check of each patch.
 */
#ifndef STORE_VERIFICATIONS_H
#define STORE_VERIFICATIONS_H
#include "core/run/feedback.h"
#include "store/db.h"

struct verification_row {
    struct id id;
    struct id run_id;
    struct id patch_id;
    const char *name;
    const char *command;
    enum verify_status status;
    int64_t exit_code;
    const char *category;
    const char *summary;
    const char *report_sha256;
    int64_t duration_ms;
    int64_t created_us;
};
MUST_USE enum rc verifications_insert(struct db *db, const struct verification_row *row,
                                      struct err *err);
MUST_USE enum rc verifications_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                                      struct verification_row **ret_rows, size_t *ret_count,
                                      struct err *err);
#endif
