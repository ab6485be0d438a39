/*
 * verifications.c - the result of each check of each patch.
 */
#include "store/verifications.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(verify_status_words, enum verify_status, verify_status_name, verify_status_parse);

static const struct column verification_columns[] = {
    COLUMN(struct verification_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct verification_row, run_id, COLUMN_NEW),
    COLUMN(struct verification_row, patch_id, COLUMN_NEW),
    COLUMN(struct verification_row, name, COLUMN_NEW),
    COLUMN(struct verification_row, command, COLUMN_NEW),
    COLUMN_WORD(struct verification_row, status, "status", verify_status_words, COLUMN_NEW),
    COLUMN(struct verification_row, exit_code, COLUMN_NEW),
    COLUMN(struct verification_row, category, COLUMN_NEW),
    COLUMN(struct verification_row, summary, COLUMN_NEW),
    COLUMN(struct verification_row, report_sha256, COLUMN_NEW),
    COLUMN(struct verification_row, duration_ms, COLUMN_NEW),
    COLUMN(struct verification_row, created_us, COLUMN_NEW),
};
const struct shape verification_shape = SHAPE("verification", struct verification_row,
                                              verification_columns);

static const struct row_sql sql_insert = {
    "verification_insert",
    "INSERT INTO verifications {values}",
    &verification_shape,
    COLUMN_NEW,
};
static const struct sql sql_of_run = {
    "verification_of_run",
    "SELECT {columns} FROM verifications WHERE run_id = $1 ORDER BY id",
    "t",
};

enum rc verifications_insert(struct db *db, const struct verification_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc verifications_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                             struct verification_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of_run, P_LIST(P_ID(run_id)), &verification_shape, arena, ret_rows,
                     ret_count, err);
}
