#include "store/issue_states.h"
#include "base/js.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(issue_stage_words, enum issue_stage, issue_stage_name, issue_stage_parse);

enum { ISSUE_STATE = COLUMN_GROUP(0), MILESTONE_STATE = COLUMN_GROUP(1) };
#define LIFE(member, name) COLUMN_AS(struct issue_row, life.member, name, COLUMN_NEW | ISSUE_STATE)
static const struct column issue_columns[] = {
    COLUMN(struct issue_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct issue_row, workspace_id, COLUMN_NEW),
    COLUMN(struct issue_row, issue_id, COLUMN_NEW),
    COLUMN_WORD(struct issue_row, life.stage, "stage", issue_stage_words, COLUMN_NEW | ISSUE_STATE),
    LIFE(stage_us, "stage_us"),
    LIFE(life.status, "status"),
    LIFE(life.status_us, "status_us"),
    LIFE(life.assigned_to, "agent"),
    LIFE(life.assigned_us, "assigned_us"),
    LIFE(life.approved_us, "approved_us"),
    LIFE(life.done_us, "done_us"),
    LIFE(life.assignments, "assignments"),
    LIFE(life.unassignments, "unassignments"),
    LIFE(life.reassignments, "reassignments"),
    LIFE(branch, "branch"),
    LIFE(abandoned, "abandoned"),
    LIFE(pull_request, "pull_request"),
    LIFE(reviewed, "reviewed"),
    LIFE(merged, "merged"),
    LIFE(external, "external"),
    LIFE(smoke_failures, "smoke_failures"),
    LIFE(stuck_agents, "stuck_agents"),
    LIFE(gate_us, "gate_us"),
    LIFE(gate_period, "gate_period"),
    LIFE(sla_us, "sla_us"),
    LIFE(task_id, "task_id"),
    LIFE(fixing, "fixing"),
    LIFE(last_stuck, "last_stuck"),
    LIFE(title, "title"),
    LIFE(description, "description"),
    LIFE(repository, "repository"),
    LIFE(milestone, "milestone"),
    LIFE(persona, "persona"),
    LIFE(labels, "labels"),
    LIFE(depends_on, "depends_on"),
    LIFE(priority, "priority"),
    COLUMN(struct issue_row, last_event_id, COLUMN_NEW | ISSUE_STATE),
    COLUMN(struct issue_row, created_us, COLUMN_NEW),
    COLUMN(struct issue_row, updated_us, COLUMN_NEW | ISSUE_STATE),
};
const struct shape issue_shape = SHAPE("issue", struct issue_row, issue_columns);

/* The stages of issue_has_agent: walks of the index over agents. */
#define AT_WORK                                                                                  \
    "('assigned', 'working', 'in_ci', 'ci_failed', 'green', 'merged', 'staged', 'smoke_passed'," \
    " 'smoke_failed', 'in_production', 'verified')"

static const struct row_sql sql_insert = {
    "issue_insert",
    "INSERT INTO issue_states {values}",
    &issue_shape,
    COLUMN_NEW,
};
static const struct row_sql sql_save = {
    "issue_save",
    "UPDATE issue_states SET {set} WHERE {key}",
    &issue_shape,
    COLUMN_KEY | ISSUE_STATE,
};
static const struct sql sql_get = {
    "issue_get",
    "SELECT {columns} FROM issue_states WHERE id = $1 {for_update}",
    "t",
};
#define ISSUE_FIND "SELECT {columns} FROM issue_states WHERE workspace_id = $1 AND issue_id = $2"
static const struct sql sql_find = {"issue_find", ISSUE_FIND " {for_update}", "tt"};
static const struct sql sql_peek = {"issue_peek", ISSUE_FIND, "tt"};
static const struct sql sql_of_task = {
    "issue_of_task",
    "SELECT {columns} FROM issue_states WHERE task_id = $1 {for_update}",
    "t",
};

static const struct sql sql_has_task = {
    "issue_has_task",
    "SELECT count(*) FROM issue_states WHERE task_id = $1",
    "t",
};

/* An issue that was never approved is not done. */
static const struct sql sql_blocked = {
    "issue_blocked",
    "SELECT count(*) FROM issue_needs n WHERE n.id = $1 AND NOT EXISTS (SELECT 1"
    " FROM issue_states d WHERE d.workspace_id = n.workspace_id AND d.issue_id = n.needs"
    " AND d.stage = 'done')",
    "t",
};
#define READY(where)                                                                          \
    "SELECT {columns} FROM issue_states i WHERE i.stage = 'waiting'" where                    \
    " AND NOT EXISTS (SELECT 1 FROM issue_needs n WHERE n.id = i.id AND NOT EXISTS (SELECT 1" \
    "  FROM issue_states d WHERE d.workspace_id = n.workspace_id AND d.issue_id = n.needs"    \
    "  AND d.stage = 'done')) ORDER BY i.priority, i.id LIMIT $1 OFFSET $2"
static const struct sql sql_ready = {"issue_ready", READY(""), "ii"};
static const struct sql sql_ready_of = {
    "issue_ready_of",
    READY(" AND coalesce(i.persona, '') = $3"),
    "iit",
};
static const struct sql sql_forget_needs = {
    "issue_forget_needs",
    "DELETE FROM issue_needs WHERE id = $1",
    "t",
};
static const struct sql sql_add_need = {
    "issue_add_need",
    "INSERT INTO issue_needs (id, workspace_id, needs) VALUES ($1, $2, $3)"
    " ON CONFLICT (id, needs) DO NOTHING",
    "ttt",
};
static const struct sql sql_list = {
    "issue_list",
    "SELECT {columns} FROM issue_states WHERE id < $1 AND ($2 IS NULL OR agent = $2)"
    " AND ($3 IS NULL OR milestone = $3) AND ($4 IS NULL OR repository = $4)"
    " AND ($5 IS NULL OR stage = $5) AND ($6 = 0 OR stage IN " AT_WORK
    ") ORDER BY id DESC LIMIT $7",
    "tttttii",
};
static const struct sql sql_count = {
    "issue_count",
    "SELECT stage, count(*) FROM issue_states GROUP BY stage",
    "",
};

static enum rc add_needs(struct db *db, const struct issue_row *row, struct err *err)
{
    CLEANUP(js_freep) struct js *needs = NULL;
    const struct str list = row->life.depends_on;
    enum rc rc = list.len > 0 ? js_parse(list.at, list.len, &needs, err) : RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(needs); i++)
        rc = db_exec(
            db, &sql_add_need,
            P_LIST(P_ID(&row->id), P_ID(&row->workspace_id), P_TEXT(js_str(js_at(needs, i), ""))),
            NULL, err);
    return rc;
}

enum rc issue_states_insert(struct db *db, const struct issue_row *row, struct err *err)
{
    enum rc rc = row_exec(db, &sql_insert, row, NULL, err);
    return rc == RC_OK ? add_needs(db, row, err) : rc;
}

enum rc issue_states_save(struct db *db, const struct issue_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc issue_states_save_needs(struct db *db, const struct issue_row *row, struct err *err)
{
    enum rc rc = db_exec(db, &sql_forget_needs, P_LIST(P_ID(&row->id)), NULL, err);
    return rc == RC_OK ? add_needs(db, row, err) : rc;
}

enum rc issue_states_get(struct db *db, const struct id *id, struct arena *arena,
                         struct issue_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &issue_shape, arena, ret_row, err);
}

static enum rc by_ref(struct db *db, const struct sql *sql, const struct issue_ref *ref,
                      struct arena *arena, struct issue_row *ret_row, struct err *err)
{
    enum rc rc = query_one(db, sql, P_LIST(P_ID(&ref->workspace_id), P_TEXT(ref->issue_id)),
                           &issue_shape, arena, ret_row, err);
    return rc == RC_NOT_FOUND
               ? err_set(err, rc, "ISSUE_UNKNOWN", "the issue %s was not approved", ref->issue_id)
               : rc;
}

enum rc issue_states_find(struct db *db, const struct issue_ref *ref, struct arena *arena,
                          struct issue_row *ret_row, struct err *err)
{
    return by_ref(db, &sql_find, ref, arena, ret_row, err);
}

enum rc issue_states_peek(struct db *db, const struct issue_ref *ref, struct arena *arena,
                          struct issue_row *ret_row, struct err *err)
{
    return by_ref(db, &sql_peek, ref, arena, ret_row, err);
}

enum rc issue_states_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                             struct issue_row *ret_row, struct err *err)
{
    return query_one(db, &sql_of_task, P_LIST(P_ID(task_id)), &issue_shape, arena, ret_row, err);
}

enum rc issue_states_has_task(struct db *db, const struct id *task_id, bool *ret_has,
                              struct err *err)
{
    int64_t count;
    enum rc rc = query_int(db, &sql_has_task, P_LIST(P_ID(task_id)), &count, err);
    if (rc == RC_OK)
        *ret_has = count > 0;
    return rc;
}

enum rc issue_states_blocked(struct db *db, const struct id *id, int64_t *ret_count,
                             struct err *err)
{
    return query_int(db, &sql_blocked, P_LIST(P_ID(id)), ret_count, err);
}

enum rc issue_states_list(struct db *db, const struct issue_filter *filter, struct arena *arena,
                          struct issue_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *stage = filter->stage < 0 ? NULL
                                          : issue_stage_name((enum issue_stage)filter->stage);
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(cursor_or_end(&filter->before)), P_TEXT(filter->agent),
                            P_TEXT(filter->milestone), P_TEXT(filter->repository), P_TEXT(stage),
                            P_INT(filter->at_work), P_LIMIT(filter->limit)),
                     &issue_shape, arena, ret_rows, ret_count, err);
}

enum rc issue_states_ready(struct db *db, const struct issue_ready_ask *ask, struct arena *arena,
                           struct issue_row **ret_rows, size_t *ret_count, struct err *err)
{
    const struct param params[] = {P_LIMIT(ask->limit), P_LIMIT(ask->skip), P_TEXT(ask->persona)};
    return ask->persona != NULL ? query_all(db, &sql_ready_of, params, 3, &issue_shape, arena,
                                            ret_rows, ret_count, err)
                                : query_all(db, &sql_ready, params, 2, &issue_shape, arena,
                                            ret_rows, ret_count, err);
}

enum rc issue_states_count(struct db *db, int64_t ret_counts[STAGE_COUNT], struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    int64_t counts[STAGE_COUNT] = {0};
    enum issue_stage stage;
    enum rc rc = db_query(db, &sql_count, NULL, 0, &rows, err);
    while (rc == RC_OK && (rc = rows_next(&rows, err)) == RC_OK)
        if (issue_stage_parse(row_text(&rows, 0), &stage))
            counts[stage] = row_int(&rows, 1);
    if (rc != RC_NOT_FOUND)
        return rc;
    for (size_t i = 0; i < STAGE_COUNT; i++)
        ret_counts[i] = counts[i];
    err_clear(err);
    return RC_OK;
}

/* ---- heartbeats ---- */

static const struct sql sql_beat = {
    "issue_beat",
    "INSERT INTO issue_beats (id, agent, seen_us) VALUES ($1, $2, $3)"
    " ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, seen_us = excluded.seen_us"
    " WHERE issue_beats.seen_us < excluded.seen_us",
    "tti",
};
static const struct sql sql_seen = {
    "issue_beat_seen",
    "SELECT seen_us FROM issue_beats WHERE id = $1 AND agent = $2",
    "tt",
};
static const struct sql sql_beat_prune = {
    "issue_beat_prune",
    "DELETE FROM issue_beats WHERE id IN"
    " (SELECT id FROM issue_beats WHERE seen_us < $1 ORDER BY seen_us LIMIT $2)",
    "ii",
};

enum rc issue_beats_put(struct db *db, const struct issue_beat *beat, struct err *err)
{
    return db_exec(db, &sql_beat,
                   P_LIST(P_ID(&beat->id), P_TEXT(beat->agent), P_INT(beat->seen_us)), NULL, err);
}

enum rc issue_beats_seen(struct db *db, const struct issue_beat *who, int64_t *ret_seen_us,
                         struct err *err)
{
    int64_t seen_us = 0;
    enum rc rc = query_int(db, &sql_seen, P_LIST(P_ID(&who->id), P_TEXT(who->agent)), &seen_us,
                           err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    err_clear(err);
    *ret_seen_us = seen_us;
    return RC_OK;
}

enum rc issue_beats_prune(struct db *db, const struct issue_beat_prune *prune, int64_t *ret_count,
                          struct err *err)
{
    return db_exec(db, &sql_beat_prune, P_LIST(P_INT(prune->before_us), P_LIMIT(prune->limit)),
                   ret_count, err);
}

/* ---- results of agents ---- */

static const struct sql sql_result_add = {
    "agent_result_add",
    "INSERT INTO agent_results (agent, done, work_us, stuck) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (agent) DO UPDATE SET done = agent_results.done + excluded.done,"
    " work_us = agent_results.work_us + excluded.work_us,"
    " stuck = agent_results.stuck + excluded.stuck",
    "tiii",
};
static const struct sql sql_standings = {
    "agent_standings",
    "SELECT agent, CAST(sum(done) AS bigint), CAST(sum(work_us) AS bigint),"
    " CAST(sum(stuck) AS bigint), CAST(sum(busy) AS bigint) FROM ("
    " SELECT agent, done, work_us, stuck, 0 AS busy FROM agent_results UNION ALL"
    " SELECT agent, 0, 0, 0, count(*) FROM issue_states WHERE agent IS NOT NULL"
    "  AND stage IN " AT_WORK " GROUP BY agent) AS parts GROUP BY agent ORDER BY agent LIMIT $1",
    "i",
};

static enum rc decode_standing(struct row_reader *reader, void *to, struct err *err)
{
    struct agent_standing *standing = to;
    (void)err;
    standing->result.agent = read_text(reader);
    standing->result.done = read_int(reader);
    standing->result.work_us = read_int(reader);
    standing->result.stuck = read_int(reader);
    standing->load = read_int(reader);
    return RC_OK;
}
static const struct shape standing_shape = SHAPE_OF_RESULT("agent", struct agent_standing,
                                                           decode_standing);

enum rc agent_results_add(struct db *db, const struct agent_result *more, struct err *err)
{
    return db_exec(
        db, &sql_result_add,
        P_LIST(P_TEXT(more->agent), P_INT(more->done), P_INT(more->work_us), P_INT(more->stuck)),
        NULL, err);
}

enum rc agent_standings(struct db *db, int64_t limit, struct arena *arena,
                        struct agent_standing **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_standings, P_LIST(P_LIMIT(limit)), &standing_shape, arena, ret_rows,
                     ret_count, err);
}

/* ---- milestones ---- */

static const struct column milestone_columns[] = {
    COLUMN(struct milestone_row, workspace_id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct milestone_row, name, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct milestone_row, id, COLUMN_NEW),
    COLUMN(struct milestone_row, completed_us, COLUMN_NEW | MILESTONE_STATE),
};
const struct shape milestone_shape = SHAPE("milestone", struct milestone_row, milestone_columns);

static const struct row_sql sql_milestone_make = {
    "milestone_make",
    "INSERT INTO milestones {values} ON CONFLICT (workspace_id, name) DO NOTHING",
    &milestone_shape,
    COLUMN_NEW,
};
static const struct sql sql_milestone_get = {
    "milestone_get",
    "SELECT {columns} FROM milestones WHERE workspace_id = $1 AND name = $2 {for_update}",
    "tt",
};
static const struct row_sql sql_milestone_save = {
    "milestone_save",
    "UPDATE milestones SET {set} WHERE {key}",
    &milestone_shape,
    COLUMN_KEY | MILESTONE_STATE,
};
static const struct sql sql_milestone_count = {
    "milestone_count",
    "SELECT count(*),"
    " CAST(coalesce(sum(CASE WHEN stage = 'done' THEN 1 ELSE 0 END), 0) AS bigint)"
    " FROM issue_states WHERE milestone = $2 AND workspace_id = $1",
    "tt",
};

enum rc milestones_enter(struct db *db, const struct milestone_row *row, struct arena *arena,
                         struct milestone_row *ret_row, struct err *err)
{
    enum rc rc = row_exec(db, &sql_milestone_make, row, NULL, err);
    return rc == RC_OK ? query_one(db, &sql_milestone_get,
                                   P_LIST(P_ID(&row->workspace_id), P_TEXT(row->name)),
                                   &milestone_shape, arena, ret_row, err)
                       : rc;
}

enum rc milestones_save(struct db *db, const struct milestone_row *row, struct err *err)
{
    return row_exec_one(db, &sql_milestone_save, row, err);
}

enum rc milestones_count(struct db *db, const struct milestone_row *row,
                         struct milestone_counts *ret_counts, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc = db_query(db, &sql_milestone_count,
                          P_LIST(P_ID(&row->workspace_id), P_TEXT(row->name)), &rows, err);
    if (rc == RC_OK)
        rc = rows_next(&rows, err);
    if (rc == RC_OK)
        *ret_counts = (struct milestone_counts){row_int(&rows, 0), row_int(&rows, 1)};
    return rc;
}
