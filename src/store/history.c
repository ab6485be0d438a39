#include "store/history.h"
#include "store/query.h"

/* agent.run.acquired is one of the first events of a run: the index over (run_id, run_seq) finds it
   without reading the others. */
static const struct sql sql_runs = {
    "history_runs",
    "SELECT r.id, r.repository_id, r.requested_by, r.task_type, r.run_no, r.rank, r.status,"
    " r.error_code, r.queued_us,"
    " coalesce((SELECT min(e.time_us) FROM event_log e WHERE e.run_id = r.id AND e.run_seq <= 6"
    "  AND e.type = 'agent.run.acquired'), 0),"
    " r.started_us, r.ended_us, r.updated_us, r.work_us, r.work_since_us,"
    " r.cost_microusd, r.turns, r.tokens_in + r.tokens_out,"
    " r.max_turns, r.budget_microusd, r.max_tokens,"
    " t.max_turns, t.max_budget_microusd, t.max_tokens,"
    " r.used_agent, r.used_tool, r.used_verifier, r.used_pr, r.overridden,"
    " CASE WHEN r.pull_request_id IS NULL THEN 0 ELSE 1 END,"
    " CASE WHEN $3 = 1 THEN r.paths ELSE NULL END, t.mode, t.risk"
    " FROM runs r JOIN tasks t ON t.id = r.task_id"
    " WHERE r.id > $1 AND r.queued_us >= $2 ORDER BY r.id LIMIT $4",
    "tiii",
};

static struct task_limits read_limits(struct row_reader *reader)
{
    struct task_limits limits;
    limits.turns = read_int(reader);
    limits.cost_microusd = read_int(reader);
    limits.tokens = read_int(reader);
    return limits;
}

static enum rc history_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct history_row *row = to;
    row->run_id = read_id(reader);
    row->repository_id = read_id(reader);
    row->requested_by = read_text(reader);
    row->task_type = read_text(reader);
    row->run_no = read_int(reader);
    row->rank = read_int(reader);
    if (!run_status_parse(read_word(reader), &row->status))
        return row_corrupt("run", err);
    row->error_code = read_text(reader);
    row->queued_us = read_int(reader);
    row->admitted_us = read_int(reader);
    row->started_us = read_int(reader);
    row->ended_us = read_int(reader);
    row->updated_us = read_int(reader);
    row->work_us = read_int(reader);
    row->work_since_us = read_int(reader);
    row->cost_microusd = read_int(reader);
    row->turns = read_int(reader);
    row->tokens = read_int(reader);
    row->limits = read_limits(reader);
    row->own = read_limits(reader);
    for (int i = 0; i < BUDGET_KIND_COUNT; i++)
        row->used[i] = read_int(reader);
    row->overridden = read_text(reader);
    row->has_pull_request = read_int(reader) != 0;
    row->paths = read_bytes(reader);
    if (!mode_parse(read_word(reader), &row->mode) || !risk_parse(read_word(reader), &row->risk))
        return row_corrupt("task", err);
    return RC_OK;
}
static const struct shape history_shape = SHAPE_OF_RESULT("run", struct history_row,
                                                          history_decode);

enum rc history_runs(struct db *db, const struct history_query *query, struct arena *arena,
                     struct history_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *after = id_is_none(&query->after) ? "" : query->after.text;
    return query_all(db, &sql_runs,
                     P_LIST(P_TEXT(after), P_INT(query->since_us), P_INT(query->with_paths ? 1 : 0),
                            P_LIMIT(query->limit)),
                     &history_shape, arena, ret_rows, ret_count, err);
}
