#include "store/capacity.h"
#include "base/str.h"
#include "store/query.h"

/* The cost of a run is reported by its agent: no more is charged than the run was admitted for.
   ended_us is 0 while a run is under way.  Both sums are read from the index runs_spent alone. */
#define CHARGED                                                                              \
    "CASE WHEN budget_microusd > 0 AND cost_microusd > budget_microusd THEN budget_microusd" \
    " WHEN budget_microusd = 0 AND cost_microusd > $3 THEN $3 ELSE cost_microusd END"
#define SPENT(when)                                                                             \
    "coalesce((SELECT sum(" CHARGED ") FROM runs WHERE cost_microusd > 0 AND workspace_id = $1" \
    " AND ended_us " when "), 0)"
static const struct sql sql_spent = {
    "capacity_spent",
    "SELECT CAST(" SPENT("= 0") " + " SPENT(">= $2") " AS bigint)",
    "tii",
};
/* The active ones are few, those of a repository may be many: the index is that of the status. */
static const struct sql sql_working = {
    "capacity_working",
    "SELECT r.id, r.root_run_id, r.status, t.mode, t.risk, t.scope, r.paths, r.pull_request_id"
    " FROM runs r JOIN tasks t ON t.id = r.task_id WHERE r.repository_id || '' = $1 AND r.status IN"
    " ('preparing', 'context_loading', 'planning', 'running', 'verifying', 'judging',"
    " 'awaiting_approval', 'creating_pr') ORDER BY r.id",
    "t",
};
static const struct sql sql_open_pull_requests = {
    "capacity_open_pull_requests",
    "SELECT count(*) FROM pull_requests WHERE repository_id = $1 AND status = 'open'",
    "t",
};
static const struct sql sql_read_ahead = {
    "capacity_ahead",
    "SELECT count(*) FROM runs WHERE status = 'queued' AND workspace_id = $1"
    " AND (rank, id) < ($2, $3)",
    "tit",
};

enum rc capacity_spent(struct db *db, const struct spent_query *query, int64_t *ret_microusd,
                       struct err *err)
{
    return query_int(
        db, &sql_spent,
        P_LIST(P_ID(&query->workspace_id), P_INT(query->since_us), P_INT(query->run_max_microusd)),
        ret_microusd, err);
}

static enum rc working_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct working_row *row = to;
    row->run_id = read_id(reader);
    row->root_run_id = read_id(reader);
    if (!run_status_parse(read_word(reader), &row->status) ||
        !mode_parse(read_word(reader), &row->mode) || !risk_parse(read_word(reader), &row->risk))
        return row_corrupt("run", err);
    row->scope = read_bytes(reader);
    row->paths = read_bytes(reader);
    row->has_pull_request = !text_empty(read_text(reader));
    return RC_OK;
}
static const struct shape working_shape = SHAPE_OF_RESULT("run", struct working_row,
                                                          working_decode);

enum rc capacity_working(struct db *db, const struct id *repository_id, struct arena *arena,
                         struct working_row **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_working, P_LIST(P_ID(repository_id)), &working_shape, arena, ret_rows,
                     ret_count, err);
}

enum rc capacity_open_pull_requests(struct db *db, const struct id *repository_id,
                                    int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_open_pull_requests, P_LIST(P_ID(repository_id)), ret_count, err);
}

enum rc capacity_read_ahead(struct db *db, const struct queue_place *place, int64_t *ret_count,
                            struct err *err)
{
    return query_int(db, &sql_read_ahead,
                     P_LIST(P_ID(&place->workspace_id), P_INT(place->rank), P_ID(&place->run_id)),
                     ret_count, err);
}
