#include "store/trains.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(car_state_words, enum car_state, car_state_name, car_state_parse);

enum {
    TRAIN_STATE = COLUMN_GROUP(0), /* trains_save */
    CAR_COLUMNS = COLUMN_GROUP(1), /* train_cars_save */
};
#define REPOSITORY_NAME "(SELECT name FROM repositories r WHERE r.id = trains.repository_id)"
static const struct column train_columns[] = {
    COLUMN(struct train_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct train_row, workspace_id, COLUMN_NEW),
    COLUMN(struct train_row, repository_id, COLUMN_NEW),
    COLUMN_AS(struct train_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct train_row, target_branch, COLUMN_NEW),
    COLUMN(struct train_row, base_commit, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, rounds, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, verifications, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, landed, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, rejected, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, failures, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, retry_us, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, error_code, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, error_message, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, land_job_id, COLUMN_NEW | TRAIN_STATE),
    COLUMN(struct train_row, created_us, COLUMN_NEW),
    COLUMN(struct train_row, updated_us, COLUMN_NEW | TRAIN_STATE),
};
const struct shape train_shape = SHAPE("train", struct train_row, train_columns);

#define PR_STATUS "(SELECT status FROM pull_requests p WHERE p.id = train_cars.pull_request_id)"
static const struct column train_car_columns[] = {
    COLUMN(struct train_car_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct train_car_row, train_id, COLUMN_NEW),
    COLUMN(struct train_car_row, pull_request_id, COLUMN_NEW),
    COLUMN_AS(struct train_car_row, pr_status, PR_STATUS, COLUMN_COMPUTED),
    COLUMN(struct train_car_row, run_id, COLUMN_NEW),
    COLUMN(struct train_car_row, task_id, COLUMN_NEW),
    COLUMN(struct train_car_row, number, COLUMN_NEW),
    COLUMN(struct train_car_row, branch, COLUMN_NEW),
    COLUMN(struct train_car_row, title, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, head_commit, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, urgent, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, clash, COLUMN_NEW | CAR_COLUMNS),
    COLUMN_WORD(struct train_car_row, state, "state", car_state_words, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, job_id, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, commit_hash, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, tree_hash, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, detail, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, told, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, entered_us, COLUMN_NEW),
    COLUMN(struct train_car_row, updated_us, COLUMN_NEW | CAR_COLUMNS),
    COLUMN(struct train_car_row, ended_us, COLUMN_NEW | CAR_COLUMNS),
};
const struct shape train_car_shape = SHAPE("car of a train", struct train_car_row,
                                           train_car_columns);

static const struct row_sql sql_insert = {
    "train_insert",
    "INSERT INTO trains {values} ON CONFLICT DO NOTHING",
    &train_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "train_get",
    "SELECT {columns} FROM trains WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_of = {
    "train_of",
    "SELECT {columns} FROM trains WHERE repository_id = $1 AND target_branch = $2 {for_update}",
    "tt",
};
static const struct row_sql sql_save = {
    "train_save",
    "UPDATE trains SET {set} WHERE {key}",
    &train_shape,
    COLUMN_KEY | TRAIN_STATE,
};
static const struct sql sql_list = {
    "train_list",
    "SELECT {columns} FROM trains WHERE"
    " ($1 IS NULL OR repository_id = (SELECT min(id) FROM repositories WHERE name = $1))"
    " AND id < $2 ORDER BY id DESC LIMIT $3",
    "tti",
};
static const struct sql sql_totals = {
    "train_totals",
    "SELECT (SELECT count(*) FROM train_cars WHERE ended_us = 0), coalesce(sum(rounds), 0),"
    " coalesce(sum(verifications), 0), coalesce(sum(landed), 0), coalesce(sum(rejected), 0)"
    " FROM trains",
    "",
};

static const struct row_sql sql_car_insert = {
    "train_car_insert",
    "INSERT INTO train_cars {values} ON CONFLICT DO NOTHING",
    &train_car_shape,
    COLUMN_NEW,
};
static const struct sql sql_car_peek = {
    "train_car_peek",
    "SELECT {columns} FROM train_cars WHERE id = $1",
    "t",
};
static const struct sql sql_car_of_pr = {
    "train_car_of_pr",
    "SELECT {columns} FROM train_cars WHERE pull_request_id = $1 AND ended_us = 0",
    "t",
};
static const struct row_sql sql_car_save = {
    "train_car_save",
    "UPDATE train_cars SET {set} WHERE {key}",
    &train_car_shape,
    COLUMN_KEY | CAR_COLUMNS,
};
static const struct sql sql_cars_live = {
    "train_cars_live",
    "SELECT {columns} FROM train_cars WHERE train_id = $1 AND ended_us = 0 ORDER BY id LIMIT $2",
    "ti",
};
static const struct sql sql_cars_prune = {
    "train_cars_prune",
    "DELETE FROM train_cars WHERE id IN (SELECT id FROM train_cars"
    " WHERE ended_us > 0 AND ended_us < $1 AND told = 1 ORDER BY ended_us LIMIT $2)",
    "ii",
};
static const struct sql sql_cars_ended = {
    "train_cars_ended",
    "SELECT {columns} FROM train_cars WHERE train_id = $1 AND ended_us > 0"
    " ORDER BY ended_us DESC, id DESC LIMIT $2",
    "ti",
};

enum rc trains_insert(struct db *db, const struct train_row *row, struct err *err)
{
    int64_t changed;
    enum rc rc = row_exec(db, &sql_insert, row, &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_CONFLICT, "TRAIN_EXISTS", "the branch has a train already");
    return rc;
}

enum rc trains_get(struct db *db, const struct id *id, struct arena *arena,
                   struct train_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &train_shape, arena, ret_row, err);
}

enum rc trains_of(struct db *db, const struct id *repository_id, const char *target_branch,
                  struct arena *arena, struct train_row *ret_row, struct err *err)
{
    return query_one(db, &sql_of, P_LIST(P_ID(repository_id), P_TEXT(target_branch)), &train_shape,
                     arena, ret_row, err);
}

enum rc trains_save(struct db *db, const struct train_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc trains_list(struct db *db, const struct train_filter *filter, struct arena *arena,
                    struct train_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(filter->repository), P_TEXT(cursor_or_end(&filter->before)),
                            P_LIMIT(filter->limit)),
                     &train_shape, arena, ret_rows, ret_count, err);
}

enum rc train_cars_prune(struct db *db, const struct car_prune *prune, int64_t *ret_count,
                         struct err *err)
{
    return db_exec(db, &sql_cars_prune, P_LIST(P_INT(prune->before_us), P_LIMIT(prune->limit)),
                   ret_count, err);
}

enum rc trains_count(struct db *db, struct train_counts *ret_counts, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_totals, NULL, 0, &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_counts = (struct train_counts){.cars = row_int(&rows, 0),
                                            .rounds = row_int(&rows, 1),
                                            .verifications = row_int(&rows, 2),
                                            .landed = row_int(&rows, 3),
                                            .rejected = row_int(&rows, 4)};
    return rc;
}

enum rc train_cars_insert(struct db *db, const struct train_car_row *row, struct err *err)
{
    int64_t changed;
    enum rc rc = row_exec(db, &sql_car_insert, row, &changed, err);
    if (rc == RC_OK && changed == 0)
        return err_set(err, RC_CONFLICT, "IN_TRAIN", "the pull request is in a train already");
    return rc;
}

enum rc train_cars_peek(struct db *db, const struct id *id, struct arena *arena,
                        struct train_car_row *ret_row, struct err *err)
{
    return query_one(db, &sql_car_peek, P_LIST(P_ID(id)), &train_car_shape, arena, ret_row, err);
}

enum rc train_cars_of_pr(struct db *db, const struct id *pull_request_id, struct arena *arena,
                         struct train_car_row *ret_row, struct err *err)
{
    return query_one(db, &sql_car_of_pr, P_LIST(P_ID(pull_request_id)), &train_car_shape, arena,
                     ret_row, err);
}

enum rc train_cars_save(struct db *db, const struct train_car_row *row, struct err *err)
{
    return row_exec_one(db, &sql_car_save, row, err);
}

bool train_car_changed(const struct train_car_row *now, const struct train_car_row *stored)
{
    return columns_changed(&train_car_shape, CAR_COLUMNS, now, stored);
}

enum rc train_cars_live(struct db *db, const struct id *train_id, struct arena *arena,
                        struct train_car_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_cars_live, P_LIST(P_ID(train_id), P_LIMIT(TRAIN_CARS_MAX)),
                     &train_car_shape, arena, ret_rows, ret_count, err);
}

enum rc train_cars_ended(struct db *db, const struct id *train_id, int64_t limit,
                         struct arena *arena, struct train_car_row **ret_rows, size_t *ret_count,
                         struct err *err)
{
    return query_all(db, &sql_cars_ended, P_LIST(P_ID(train_id), P_LIMIT(limit)), &train_car_shape,
                     arena, ret_rows, ret_count, err);
}
