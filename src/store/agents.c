#include "store/agents.h"
#include "store/query.h"
#include "store/shapes.h"

WORDS(instance_words, enum instance_state, instance_state_name, instance_state_parse);
WORDS(restart_words, enum restart_policy, restart_policy_name, restart_policy_parse);
WORDS(kill_words, enum kill_policy, kill_policy_name, kill_policy_parse);

enum { AGENT_LIFE = COLUMN_GROUP(0) }; /* agents_save */
static const struct column agent_columns[] = {
    COLUMN(struct agent_row, id, COLUMN_KEY | COLUMN_NEW),
    COLUMN(struct agent_row, workspace_id, COLUMN_NEW),
    COLUMN(struct agent_row, name, COLUMN_NEW),
    COLUMN(struct agent_row, persona, COLUMN_NEW),
    COLUMN(struct agent_row, capacity, COLUMN_NEW),
    COLUMN(struct agent_row, queue, COLUMN_NEW),
    COLUMN(struct agent_row, general, COLUMN_NEW),
    COLUMN(struct agent_row, repositories, COLUMN_NEW),
    COLUMN(struct agent_row, labels, COLUMN_NEW),
    COLUMN(struct agent_row, profile, COLUMN_NEW),
    COLUMN(struct agent_row, config, COLUMN_NEW),
    COLUMN(struct agent_row, prompt, COLUMN_NEW),
    COLUMN(struct agent_row, account, COLUMN_NEW),
    COLUMN(struct agent_row, heartbeat_ms, COLUMN_NEW),
    COLUMN(struct agent_row, restart_max, COLUMN_NEW),
    COLUMN(struct agent_row, backoff_ms, COLUMN_NEW),
    COLUMN_WORD(struct agent_row, restart, "restart_policy", restart_words, COLUMN_NEW),
    COLUMN_WORD(struct agent_row, state, "state", instance_words, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, failures, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, restarts, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, seen_us, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, begun_us, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, worker, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, job_id, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, token_id, COLUMN_NEW | AGENT_LIFE),
    COLUMN_WORD(struct agent_row, policy, "kill_policy", kill_words, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, reason, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, last_error, COLUMN_NEW | AGENT_LIFE),
    COLUMN(struct agent_row, created_by, COLUMN_NEW),
    COLUMN(struct agent_row, created_us, COLUMN_NEW),
    COLUMN(struct agent_row, updated_us, COLUMN_NEW | AGENT_LIFE),
};
const struct shape agent_shape = SHAPE("agent", struct agent_row, agent_columns);

static const struct row_sql sql_insert = {
    "agent_insert",
    "INSERT INTO agents {values} ON CONFLICT (workspace_id, name) DO NOTHING",
    &agent_shape,
    COLUMN_NEW,
};
static const struct sql sql_get = {
    "agent_get",
    "SELECT {columns} FROM agents WHERE id = $1 {for_update}",
    "t",
};
static const struct sql sql_by_name = {
    "agent_by_name",
    "SELECT {columns} FROM agents WHERE workspace_id = $1 AND name = $2 {for_update}",
    "tt",
};
/* There is one workspace. */
static const struct sql sql_named = {
    "agent_named",
    "SELECT {columns} FROM agents WHERE name = $1 {for_update}",
    "t",
};
static const struct row_sql sql_save = {
    "agent_save",
    "UPDATE agents SET {set} WHERE {key}",
    &agent_shape,
    COLUMN_KEY | AGENT_LIFE,
};
static const struct sql sql_seen = {
    "agent_seen",
    "UPDATE agents SET seen_us = $2 WHERE id = $1 AND seen_us < $2",
    "ti",
};
static const struct sql sql_remove = {
    "agent_remove",
    "DELETE FROM agents WHERE id = $1",
    "t",
};
/* There are some thousands of them at most. */
static const struct sql sql_list = {
    "agent_list",
    "SELECT {columns} FROM agents WHERE ($1 IS NULL OR persona = $1) AND ($2 IS NULL OR name = $2)"
    " AND ($3 IS NULL OR state = $3) AND id < $4 ORDER BY id DESC LIMIT $5",
    "tttti",
};
static const struct sql sql_count = {
    "agent_count",
    "SELECT count(*) FROM agents",
    "",
};
static const struct sql sql_killed = {
    "agent_killed",
    "SELECT name FROM agents WHERE state = 'killed' AND updated_us >= $1"
    " ORDER BY updated_us DESC LIMIT $2",
    "ii",
};

/* Word for word the condition of the index jobs_pulled. */
#define CLAIMED "worker = $1 AND state = 'leased' AND type = 'pull'"
static const struct sql sql_claims = {
    "agent_claims",
    "SELECT id FROM jobs WHERE " CLAIMED " ORDER BY id",
    "t",
};
static const struct sql sql_count_claims = {
    "agent_count_claims",
    "SELECT count(*) FROM jobs WHERE " CLAIMED,
    "t",
};

enum rc agents_insert(struct db *db, const struct agent_row *row, struct err *err)
{
    int64_t inserted = 0;
    enum rc rc = row_exec(db, &sql_insert, row, &inserted, err);
    if (rc == RC_OK && inserted == 0)
        return err_field(err, RC_CONFLICT, "AGENT_EXISTS", "name",
                         "there is an agent %s already: choose another name, or delete that one",
                         row->name);
    return rc;
}

enum rc agents_get(struct db *db, const struct id *id, struct arena *arena,
                   struct agent_row *ret_row, struct err *err)
{
    return query_one(db, &sql_get, P_LIST(P_ID(id)), &agent_shape, arena, ret_row, err);
}

enum rc agents_by_name(struct db *db, const struct id *workspace_id, const char *name,
                       struct arena *arena, struct agent_row *ret_row, struct err *err)
{
    return query_one(db, &sql_by_name, P_LIST(P_ID(workspace_id), P_TEXT(name)), &agent_shape,
                     arena, ret_row, err);
}

enum rc agents_find(struct db *db, const struct agent_ref *ref, struct arena *arena,
                    struct agent_row *ret_row, struct err *err)
{
    const char *key = ref->name != NULL ? ref->name : ref->id.text;
    enum rc rc = ref->name != NULL ? query_one(db, &sql_named, P_LIST(P_TEXT(ref->name)),
                                               &agent_shape, arena, ret_row, err)
                                   : agents_get(db, &ref->id, arena, ret_row, err);
    return rc == RC_NOT_FOUND ? err_set(err, rc, "NOT_FOUND", "there is no agent %.100s", key) : rc;
}

enum rc agents_save(struct db *db, const struct agent_row *row, struct err *err)
{
    return row_exec_one(db, &sql_save, row, err);
}

enum rc agents_seen(struct db *db, const struct id *id, int64_t now_us, struct err *err)
{
    return db_exec(db, &sql_seen, P_LIST(P_ID(id), P_INT(now_us)), NULL, err);
}

enum rc agents_remove(struct db *db, const struct id *id, struct err *err)
{
    return exec_one(db, &sql_remove, P_LIST(P_ID(id)), agent_shape.noun, err);
}

enum rc agents_list(struct db *db, const struct agent_filter *filter, struct arena *arena,
                    struct agent_row **ret_rows, size_t *ret_count, struct err *err)
{
    const char *state = filter->state < 0 ? NULL
                                          : instance_state_name((enum instance_state)filter->state);
    return query_all(db, &sql_list,
                     P_LIST(P_TEXT(filter->persona), P_TEXT(filter->name), P_TEXT(state),
                            P_TEXT(cursor_or_end(&filter->before)), P_LIMIT(filter->limit)),
                     &agent_shape, arena, ret_rows, ret_count, err);
}

enum rc agents_count(struct db *db, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count, NULL, 0, ret_count, err);
}

static enum rc name_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(const char **)to = read_text(reader);
    return RC_OK;
}
static const struct shape name_shape = SHAPE_OF_RESULT("agent", const char *, name_decode);

enum rc agents_killed_since(struct db *db, int64_t since_us, int64_t limit, struct arena *arena,
                            const char ***ret_names, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_killed, P_LIST(P_INT(since_us), P_LIMIT(limit)), &name_shape, arena,
                     ret_names, ret_count, err);
}

static enum rc id_decode(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("job", struct id, id_decode);

enum rc agents_claims(struct db *db, const char *name, struct arena *arena, struct id **ret_job_ids,
                      size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_claims, P_LIST(P_TEXT(name)), &id_shape, arena, ret_job_ids,
                     ret_count, err);
}

enum rc agents_count_claims(struct db *db, const char *name, int64_t *ret_count, struct err *err)
{
    return query_int(db, &sql_count_claims, P_LIST(P_TEXT(name)), ret_count, err);
}
