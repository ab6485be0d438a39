/*
 * intake.c - issues that were looked at.
 */
#include "store/intake.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(issue_state_words, enum issue_state, issue_state_name, issue_state_parse);

#define REPOSITORY_NAME "(SELECT name FROM repositories r WHERE r.id = intake.repository_id)"
enum { INTAKE_STATE = COLUMN_GROUP(0) }; /* intake_save */
#define STATE(member) COLUMN(struct intake_row, member, COLUMN_NEW | INTAKE_STATE)
static const struct column intake_columns[] = {
    COLUMN(struct intake_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct intake_row, workspace_id, COLUMN_NEW),
    COLUMN(struct intake_row, repository_id, COLUMN_NEW),
    COLUMN_AS(struct intake_row, repository, REPOSITORY_NAME, COLUMN_COMPUTED),
    COLUMN(struct intake_row, issue_number, COLUMN_NEW),
    COLUMN_WORD(struct intake_row, state, "state", issue_state_words, COLUMN_NEW | INTAKE_STATE),
    STATE(reason),
    STATE(task_id),
    STATE(asked_by),
    STATE(started_by),
    STATE(last_comment_id),
    STATE(act_us),
    STATE(text_sha256),
    STATE(text_us),
    STATE(view_sha256),
    STATE(prompt_sha256),
    STATE(changed),
    STATE(wanted),
    STATE(told),
    STATE(closes),
    STATE(merged),
    COLUMN(struct intake_row, created_us, COLUMN_NEW),
    STATE(looked_us),
    STATE(updated_us),
};
const struct shape intake_shape = SHAPE("issue", struct intake_row, intake_columns);

static const struct row_sql sql_insert = {
    "intake_insert",
    "INSERT INTO intake {values}",
    &intake_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_save = {
    "intake_save",
    "UPDATE intake SET {set} WHERE {key}",
    &intake_shape,
    COLUMN_KEY | INTAKE_STATE,
};
static const struct sql sql_of_issue = {
    "intake_of_issue",
    "SELECT {columns} FROM intake WHERE repository_id = $1 AND issue_number = $2 {for_update}",
    "ti",
};
static const struct sql sql_of_task = {
    "intake_of_task",
    "SELECT {columns} FROM intake WHERE task_id = $1 ORDER BY id LIMIT 1 {for_update}",
    "t",
};
static const struct sql sql_list = {
    "intake_list",
    "SELECT {columns} FROM intake WHERE"
    " ($1 IS NULL OR repository_id = (SELECT min(id) FROM repositories WHERE name = $1))"
    " AND ($2 IS NULL OR state = $2) AND id < $3 ORDER BY id DESC LIMIT $4",
    "ttti",
};

enum rc intake_insert(struct db *db, const struct intake_row *row, struct err *err)
{
    return row_exec(db, &sql_insert, row, NULL, err);
}

enum rc intake_save(struct db *db, const struct intake_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc intake_of_issue(struct db *db, const struct id *repository_id, int64_t number,
                        struct arena *arena, struct intake_row *ret_row, struct err *err)
{
    return query_one(db, &sql_of_issue, P_LIST(P_ID(repository_id), P_INT(number)), &intake_shape,
                     arena, ret_row, err);
}

enum rc intake_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                       struct intake_row *ret_row, struct err *err)
{
    return query_one(db, &sql_of_task, P_LIST(P_ID(task_id)), &intake_shape, arena, ret_row, err);
}

enum rc intake_list(struct db *db, const struct intake_filter *filter, struct arena *arena,
                    struct intake_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(filter->repository), P_TEXT(filter->state),
                            P_TEXT(cursor_or_end(&filter->before)), P_LIMIT(filter->limit)),
                     &intake_shape, arena, ret_rows, ret_count, err);
}
