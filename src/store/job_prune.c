#include "store/job_prune.h"
#include "store/query.h"

static const struct sql sql_old = {
    "job_prune_old",
    "SELECT id FROM jobs WHERE queue = $1 AND state = 'succeeded' AND updated_us < $2 LIMIT $3",
    "tii",
};
static const struct sql sql_delete_attempts = {
    "job_prune_attempts",
    "DELETE FROM job_attempts WHERE job_id = $1",
    "t",
};
static const struct sql sql_delete = {
    "job_prune",
    "DELETE FROM jobs WHERE id = $1 AND state = 'succeeded'",
    "t",
};

static enum rc decode_id(struct row_reader *reader, void *to, struct err *err)
{
    (void)err;
    *(struct id *)to = read_id(reader);
    return RC_OK;
}
static const struct shape id_shape = SHAPE_OF_RESULT("job", struct id, decode_id);

enum rc jobs_prune(struct db *db, const struct job_prune *prune, struct arena *arena,
                   int64_t *ret_count, struct err *err)
{
    struct id *ids;
    size_t count;
    enum rc rc = query_all(
        db, &sql_old, P_LIST(P_TEXT(prune->queue), P_INT(prune->before_us), P_LIMIT(prune->limit)),
        &id_shape, arena, &ids, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        rc = db_exec(db, &sql_delete_attempts, P_LIST(P_ID(&ids[i])), NULL, err);
        if (rc == RC_OK)
            rc = db_exec(db, &sql_delete, P_LIST(P_ID(&ids[i])), NULL, err);
    }
    if (rc == RC_OK)
        *ret_count = (int64_t)count;
    return rc;
}
