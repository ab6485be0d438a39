/*
 * api_artifacts.c - content by its hash.
 */
#include "base/hash.h"
#include "edge/api_routes.h"
#include "store/artifacts.h"

static enum rc check_sha256(const struct call *call, struct err *err)
{
    if (sha256_text_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_ID",
                   "%.100s is not a sha256 (64 lower-case hex digits)", call->vars[0]);
}

/* An agent wrote some of these: nothing is served as a type that a browser would run. */
static const char *media_type(const struct artifact_row *artifact)
{
    static const char *const text_kinds[] = {
        "prompt",   "plan",      "patch",      "redacted_patch", "diff",        "report",
        "feedback", "agent_log", "verify_log", "certificate",    "judge_report"};
    for (size_t i = 0; i < COUNT_OF(text_kinds); i++) {
        if (text_same(artifact->kind, text_kinds[i]))
            return "text/plain; charset=utf-8";
    }
    return "application/octet-stream";
}

enum rc api_artifact_get(struct call *call, struct db *db, struct err *err)
{
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_sha256(call, err);
    if (rc != RC_OK)
        return rc;
    struct http_answer *answer = &call->http.answer;
    struct artifact_row artifact = {0};
    rc = artifacts_by_sha256(db, call->vars[0], &call->http.arena, &artifact, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    err_clear(err);
    rc = artifact_open(call->api->store, call->vars[0], &answer->file_fd, &answer->file_bytes, err);
    if (rc != RC_OK)
        return rc;
    answer->content_type = media_type(&artifact);
    http_answer_header(&call->http, "X-Content-Type-Options", "nosniff");
    http_answer_header(&call->http, "Content-Security-Policy", "sandbox");
    return RC_OK;
}

enum rc api_artifact_put(struct call *call, struct db *db, struct err *err)
{
    (void)db;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_sha256(call, err);
    if (rc != RC_OK)
        return rc;
    struct str body = http_body(&call->http);
    char sha256[SHA256_TEXT_BYTES];
    sha256_hex(body.at, body.len, sha256);
    if (!text_same(sha256, call->vars[0]))
        return err_set(err, RC_INVALID, "HASH_MISMATCH",
                       "the content's sha256 is %s, not what the path says", sha256);
    rc = artifact_put(call->api->store, body, sha256, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 201);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sha256", sha256);
    jw_kint(&jw, "bytes", (int64_t)body.len);
    jw_end(&jw, '}');
    return RC_OK;
}
