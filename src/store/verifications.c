/*
 * verifications.c - the result of each check of each patch.
 */
#include "store/verifications.h"
#include "store/query.h"

#define VERIFICATION_COLUMNS                                                                    \
    "id, run_id, patch_id, name, command, status, exit_code, category, summary, report_sha256," \
    " duration_ms, created_us"

static const struct sql sql_insert = {
    "verification_insert",
    "INSERT INTO verifications (" VERIFICATION_COLUMNS ")"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    "ttttttitttii",
};
static const struct sql sql_of_run = {
    "verification_of_run",
    "SELECT " VERIFICATION_COLUMNS " FROM verifications WHERE run_id = $1 ORDER BY id",
    "t",
};

static enum rc verification_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct verification_row *row = to;
    row->id = read_id(reader);
    row->run_id = read_id(reader);
    row->patch_id = read_id(reader);
    row->name = read_text(reader);
    row->command = read_text(reader);
    if (!verify_status_parse(read_word(reader), &row->status))
        return row_corrupt("verification", err);
    row->exit_code = read_int(reader);
    row->category = read_text(reader);
    row->summary = read_text(reader);
    row->report_sha256 = read_text(reader);
    row->duration_ms = read_int(reader);
    row->created_us = read_int(reader);
    return RC_OK;
}
static const struct shape verification_shape = {"verification", sizeof(struct verification_row),
                                                verification_decode};

enum rc verifications_insert(struct db *db, const struct verification_row *row, struct err *err)
{
    return db_exec(db, &sql_insert,
                   P_LIST(P_ID(&row->id), P_ID(&row->run_id), P_ID(&row->patch_id),
                          P_TEXT(row->name), P_TEXT(row->command),
                          P_TEXT(verify_status_name(row->status)), P_INT(row->exit_code),
                          P_TEXT(row->category), P_TEXT(row->summary), P_TEXT(row->report_sha256),
                          P_INT(row->duration_ms), P_INT(row->created_us)),
                   NULL, err);
}

enum rc verifications_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                             struct verification_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of_run, P_LIST(P_ID(run_id)), &verification_shape, arena, ret_rows,
                     ret_count, err);
}
