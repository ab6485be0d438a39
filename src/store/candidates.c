#include "store/candidates.h"
#include "base/str.h"
#include "store/query.h"

#define CHECKS(condition)                                                           \
    "(SELECT count(*) FROM verifications v WHERE v.run_id = r.id AND v.patch_id = " \
    "r.patch_id" condition ")"
static const struct sql sql_of_task = {
    "candidates_of_task",
    "SELECT t.id, t.candidate_no, t.candidate, t.status, r.id, r.base_commit, r.prompt_sha256,"
    " r.prompt_version, r.plan_sha256, r.model, r.account, r.error_code, r.turns, r.cost_microusd,"
    " r.judge_score_milli, r.started_us, r.ended_us, r.paths, r.patch_id, p.sha256, p.tree_hash,"
    " p.summary, p.status, coalesce(p.files, 0), coalesce(p.lines_added, 0),"
    " coalesce(p.lines_deleted, 0), " CHECKS("") ", " CHECKS(
        " AND v.status <> 'passed'") " FROM tasks t JOIN runs r ON r.id = t.latest_run_id LEFT "
                                     "JOIN patches p ON p.id = r.patch_id"
                                     " WHERE t.parent_id = $1 AND t.candidate_no > 0 ORDER BY "
                                     "t.candidate_no",
    "t",
};

static enum rc candidate_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct candidate_row *row = to;
    row->task_id = read_id(reader);
    row->number = read_int(reader);
    row->name = read_text(reader);
    if (!task_status_parse(read_word(reader), &row->status))
        return row_corrupt("task", err);
    row->run_id = read_id(reader);
    row->base_commit = read_text(reader);
    row->prompt_sha256 = read_text(reader);
    row->prompt_version = read_text(reader);
    row->plan_sha256 = read_text(reader);
    row->model = read_text(reader);
    row->account = read_text(reader);
    row->error_code = read_text(reader);
    row->turns = read_int(reader);
    row->cost_microusd = read_int(reader);
    row->score_milli = read_int(reader);
    row->started_us = read_int(reader);
    row->ended_us = read_int(reader);
    row->paths = read_bytes(reader);
    row->patch_id = read_id(reader);
    row->patch_sha256 = read_text(reader);
    row->tree_hash = read_text(reader);
    row->summary = read_text(reader);
    row->patch_status = read_text(reader);
    row->files = read_int(reader);
    row->lines_added = read_int(reader);
    row->lines_deleted = read_int(reader);
    row->checks = read_int(reader);
    row->checks_failed = read_int(reader);
    return RC_OK;
}
static const struct shape candidate_shape = SHAPE_OF_RESULT("candidate", struct candidate_row,
                                                            candidate_decode);

enum rc candidates_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                           struct candidate_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_of_task, P_LIST(P_ID(task_id)), &candidate_shape, arena, ret_rows,
                     ret_count, err);
}
