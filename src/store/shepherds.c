/*
 * shepherds.c - one row per pull request that is followed; one per fingerprint and repository.
 */
#include "store/shepherds.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(state_words, enum shepherd_state, shepherd_state_name, shepherd_state_parse);
WORDS(cause_words, enum ci_cause, ci_cause_name, ci_cause_parse);

enum { SHEPHERD_STATE = COLUMN_GROUP(0) }; /* shepherds_save */
#define SAVED(member) COLUMN(struct shepherd_row, member, COLUMN_NEW | SHEPHERD_STATE)
static const struct column shepherd_columns[] = {
    COLUMN(struct shepherd_row, pull_request_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct shepherd_row, repository_id, COLUMN_NEW),
    COLUMN_WORD(struct shepherd_row, state, "state", state_words, COLUMN_NEW | SHEPHERD_STATE),
    SAVED(reason),
    SAVED(head),
    SAVED(head_since_us),
    SAVED(certified_head),
    SAVED(certified),
    SAVED(certificate_sha256),
    SAVED(shown_head),
    SAVED(verifies),
    SAVED(reruns),
    SAVED(merges),
    SAVED(rerun_us),
    SAVED(repairs),
    SAVED(rebases),
    SAVED(repair_microusd),
    SAVED(budget_since_us),
    SAVED(work),
    SAVED(work_id),
    SAVED(work_head),
    SAVED(work_cause),
    SAVED(job_id),
    SAVED(again),
    SAVED(conflict_head),
    SAVED(stuck_head),
    SAVED(stuck_base),
    SAVED(empty_head),
    SAVED(submitted_head),
    SAVED(approval_id),
    SAVED(approval_head),
    SAVED(granted_head),
    SAVED(stopped),
    SAVED(reviewed_us),
    SAVED(reviewing_us),
    SAVED(threads),
    SAVED(unanswered),
    SAVED(failed_head),
    COLUMN_WORD(struct shepherd_row, cause, "cause", cause_words, COLUMN_NEW | SHEPHERD_STATE),
    SAVED(failures),
    SAVED(fault),
    SAVED(passed),
    SAVED(acts),
    SAVED(rounds),
    SAVED(looked_us),
    COLUMN(struct shepherd_row, created_us, COLUMN_NEW),
    SAVED(updated_us),
    SAVED(ended_us),
};
const struct shape shepherd_shape = SHAPE("shepherd", struct shepherd_row, shepherd_columns);

static const struct row_sql sql_insert = {
    "shepherd_insert",
    "INSERT INTO shepherds {values}",
    &shepherd_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "shepherd_get",
    "SELECT {columns} FROM shepherds WHERE pull_request_id = $1 {for_update}",
    "t",
};
static const struct sql sql_repair_run = {
    "shepherd_repair_run",
    "SELECT tasks.latest_run_id FROM shepherds JOIN tasks ON tasks.id = shepherds.work_id"
    " WHERE shepherds.pull_request_id = $1 AND shepherds.work = 'repair'",
    "t",
};
static const struct row_sql sql_save = {
    "shepherd_save",
    "UPDATE shepherds SET {set} WHERE {key}",
    &shepherd_shape,
    COLUMN_KEY | SHEPHERD_STATE,
};
static const struct sql sql_count = {
    "shepherd_count",
    "SELECT state, count(*) FROM shepherds GROUP BY state",
    "",
};

enum rc shepherds_insert(struct db *db, const struct shepherd_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc shepherds_get(struct db *db, const struct id *pull_request_id, struct arena *arena,
                      struct shepherd_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(pull_request_id)), &shepherd_shape, arena, ret_row,
                     err);
}

enum rc shepherds_repair_run(struct db *db, const struct id *pull_request_id, struct id *ret_run_id,
                             struct err *err)
{
    return query_id(db, &sql_repair_run, P_LIST(P_ID(pull_request_id)), ret_run_id, err);
}

enum rc shepherds_save(struct db *db, const struct shepherd_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

struct state_count {
    enum shepherd_state state;
    int64_t count;
};
static enum rc decode_count(struct row_reader *reader, void *to, struct err *err)
{
    struct state_count *line = to;
    if (!shepherd_state_parse(read_word(reader), &line->state))
        return row_corrupt("shepherd", err);
    line->count = read_int(reader);
    return RC_OK;
}

enum rc shepherds_count(struct db *db, struct shepherd_counts *ret_counts, struct err *err)
{
    static const struct shape shape = SHAPE_OF_RESULT("count", struct state_count, decode_count);
    CLEANUP(arena_release) struct arena arena = {0};
    struct state_count *lines;
    size_t count;
    enum rc rc = query_all(db, &sql_count, NULL, 0, &shape, &arena, &lines, &count, err);
    if (rc != RC_OK)
        return rc;
    *ret_counts = (struct shepherd_counts){0};
    for (size_t i = 0; i < count; i++)
        ret_counts->by_state[lines[i].state] = lines[i].count;
    return RC_OK;
}

/* ---- failures ---- */

static const struct column ci_failure_columns[] = {
    COLUMN(struct ci_failure_row, repository_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct ci_failure_row, fingerprint, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct ci_failure_row, check_name, COLUMN_NEW),
    COLUMN_WORD(struct ci_failure_row, cause, "cause", cause_words, COLUMN_NEW),
    COLUMN(struct ci_failure_row, line, COLUMN_NEW),
    COLUMN(struct ci_failure_row, cure, COLUMN_NEW),
    COLUMN(struct ci_failure_row, pull_request_id, COLUMN_NEW),
    COLUMN(struct ci_failure_row, paid, COLUMN_NEW),
    COLUMN(struct ci_failure_row, seen, COLUMN_NEW),
    COLUMN(struct ci_failure_row, first_us, COLUMN_NEW | COLUMN_ONCE),
    COLUMN(struct ci_failure_row, last_us, COLUMN_NEW),
};
const struct shape ci_failure_shape = SHAPE("failure", struct ci_failure_row, ci_failure_columns);

static const struct row_sql sql_failure_put = {
    "ci_failure_put",
    "INSERT INTO ci_failures {values}"
    " ON CONFLICT (repository_id, fingerprint) DO UPDATE SET {replaced}",
    &ci_failure_shape,
    COLUMN_NEW,
};
static const struct sql sql_failure_get = {
    "ci_failure_get",
    "SELECT {columns} FROM ci_failures WHERE repository_id = $1 AND fingerprint = $2",
    "tt",
};

enum rc ci_failures_put(struct db *db, const struct ci_failure_row *row, struct err *err)
{
    return row_exec(db, &sql_failure_put, row, NULL, err);
}

enum rc ci_failures_get(struct db *db, const struct id *repository_id, const char *fingerprint,
                        struct arena *arena, struct ci_failure_row *ret_row, struct err *err)
{
    return query_one(db, &sql_failure_get, P_LIST(P_ID(repository_id), P_TEXT(fingerprint)),
                     &ci_failure_shape, arena, ret_row, err);
}
