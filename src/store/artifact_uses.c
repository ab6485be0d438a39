#include "store/artifact_uses.h"
#include "store/query.h"
#include <string.h>

enum { SHA_LEN = SHA256_TEXT_BYTES - 1 };

static const struct sql sql_add = {
    "artifact_use_add",
    "INSERT INTO artifact_uses (sha256, owner) VALUES ($1, $2)"
    " ON CONFLICT (sha256, owner) DO NOTHING",
    "tt",
};
/* Where contents are rows; files belong to one server, whose commands do not overlap. */
static const struct sql sql_hold = {
    "artifact_use_hold",
    "UPDATE artifact_contents SET put_us = $2 WHERE sha256 = $1 AND put_us < $2",
    "ti",
};
static const struct sql sql_loosen = {
    "artifact_use_loosen",
    "INSERT INTO loose_artifacts (sha256, since_us)"
    " SELECT sha256, $2 FROM artifact_uses WHERE owner = $1"
    " ON CONFLICT (sha256) DO NOTHING",
    "ti",
};
static const struct sql sql_end = {
    "artifact_use_end",
    "DELETE FROM artifact_uses WHERE owner = $1",
    "t",
};
static const struct sql sql_loosen_run = {
    "artifact_use_loosen_run",
    "INSERT INTO loose_artifacts (sha256, since_us)"
    " SELECT DISTINCT sha256, $2 FROM run_artifacts WHERE run_id = $1"
    " ON CONFLICT (sha256) DO NOTHING",
    "ti",
};
static const struct sql sql_end_run = {
    "artifact_use_end_run",
    "DELETE FROM run_artifacts WHERE run_id = $1",
    "t",
};
/* One row for each table: a chain of OR would read all of them where the first says yes. */
static const struct sql sql_used = {
    "artifact_used",
    "SELECT 1 FROM run_artifacts WHERE sha256 = $1"
    " UNION ALL SELECT 1 FROM artifact_uses WHERE sha256 = $1"
    " UNION ALL SELECT 1 FROM external_event_receipts WHERE payload_sha256 = $1"
    " UNION ALL SELECT 1 FROM intake WHERE view_sha256 = $1"
    " UNION ALL SELECT 1 FROM shepherds WHERE certificate_sha256 = $1 LIMIT 1",
    "t",
};
static const struct sql sql_loose = {
    "artifact_loose",
    "SELECT sha256 FROM loose_artifacts WHERE sha256 > $1 ORDER BY sha256 LIMIT $2",
    "ti",
};
static const struct sql sql_loose_add = {
    "artifact_loose_add",
    "INSERT INTO loose_artifacts (sha256, since_us) VALUES ($1, $2)"
    " ON CONFLICT (sha256) DO NOTHING",
    "ti",
};
static const struct sql sql_loose_remove = {
    "artifact_loose_remove",
    "DELETE FROM loose_artifacts WHERE sha256 = $1",
    "t",
};

enum rc artifact_use_add(struct db *db, const struct id *owner, const char *sha256, int64_t now_us,
                         struct err *err)
{
    int64_t changed; /* Asked for, so that the text need not outlive this call. */
    enum rc rc = db_is_shared(db)
                     ? db_exec(db, &sql_hold, P_LIST(P_TEXT(sha256), P_INT(now_us)), &changed, err)
                     : RC_OK;
    return rc == RC_OK ? db_exec(db, &sql_add, P_LIST(P_TEXT(sha256), P_ID(owner)), &changed, err)
                       : rc;
}

enum rc artifact_uses_add(struct db *db, const struct id *owner, struct str json, int64_t now_us,
                          struct err *err)
{
    enum rc rc = RC_OK;
    const char *end = json.at + json.len;
    const char *quote = json.len > 0 ? memchr(json.at, '"', json.len) : NULL;
    while (rc == RC_OK && quote != NULL && end - quote > SHA_LEN + 1) {
        char sha256[SHA256_TEXT_BYTES] = "";
        memcpy(sha256, quote + 1, SHA_LEN);
        if (quote[1 + SHA_LEN] == '"' && sha256_text_valid(sha256))
            rc = artifact_use_add(db, owner, sha256, now_us, err);
        quote = memchr(quote + 1, '"', (size_t)(end - quote - 1));
    }
    return rc;
}

enum rc artifact_uses_end(struct db *db, const struct id *owner, int64_t now_us, struct err *err)
{
    enum rc rc = db_exec(db, &sql_loosen, P_LIST(P_ID(owner), P_INT(now_us)), NULL, err);
    return rc == RC_OK ? db_exec(db, &sql_end, P_LIST(P_ID(owner)), NULL, err) : rc;
}

enum rc artifact_uses_end_run(struct db *db, const struct id *run_id, int64_t now_us,
                              struct err *err)
{
    enum rc rc = db_exec(db, &sql_loosen_run, P_LIST(P_ID(run_id), P_INT(now_us)), NULL, err);
    if (rc == RC_OK)
        rc = db_exec(db, &sql_end_run, P_LIST(P_ID(run_id)), NULL, err);
    return rc == RC_OK ? artifact_uses_end(db, run_id, now_us, err) : rc;
}

enum rc artifact_is_used(struct db *db, const char *sha256, bool *ret_used, struct err *err)
{
    int64_t one;
    enum rc rc = query_int(db, &sql_used, P_LIST(P_TEXT(sha256)), &one, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_used = rc == RC_OK;
    return RC_OK;
}

static enum rc loose_decode(struct row_reader *reader, void *to, struct err *err)
{
    struct loose_artifact *loose = to;
    const char *sha256 = read_word(reader);
    if (!sha256_text_valid(sha256))
        return row_corrupt("loose artifact", err);
    text_copy(loose->sha256, sizeof loose->sha256, sha256);
    return RC_OK;
}
static const struct shape loose_shape = SHAPE_OF_RESULT("loose artifact", struct loose_artifact,
                                                        loose_decode);

enum rc loose_artifacts_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                             struct loose_artifact **ret_rows, size_t *ret_count, struct err *err)
{
    return query_all(db, &sql_loose, P_LIST(P_TEXT(after != NULL ? after : ""), P_LIMIT(limit)),
                     &loose_shape, arena, ret_rows, ret_count, err);
}

enum rc loose_artifacts_add(struct db *db, const char *sha256, int64_t now_us, struct err *err)
{
    return db_exec(db, &sql_loose_add, P_LIST(P_TEXT(sha256), P_INT(now_us)), NULL, err);
}

enum rc loose_artifacts_remove(struct db *db, const char *sha256, struct err *err)
{
    return db_exec(db, &sql_loose_remove, P_LIST(P_TEXT(sha256)), NULL, err);
}
