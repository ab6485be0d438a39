/*
 * forge_access.c - POST /v1/jobs/forge-access: a worker gets to the forge of the repository that it
 * works for; and GET /v1/forge-limits, what forges have left of their rate limits.
 *
 * Only the holder of the lease of one of drover's own steps gets a token, for the repository of
 * that job, and one that can write only if its step writes there.  The keys stay here.
 */
#include "api/forge_access.h"
#include "api/call.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/hash.h"
#include "control/pr/quota.h"
#include "control/queue/queues.h"
#include "control/queue/token_scope.h"
#include "core/config/repo_config.h"
#include "core/step_kind.h"
#include "store/forge_limits.h"
#include "store/jobs.h"

enum { FORGE_SECONDS_MAX = 25 };
#define EPOCH_MAX ((int64_t)1 << 53)
#define CALLS_MAX INT64_C(1000000000)

/* ---- the request ---- */

static enum rc read_seen(const struct js *object, struct quota_seen *seen, struct err *err)
{
    struct fields fields;
    const char *reset = NULL;
    int64_t retry_ms = 0;
    *seen = (struct quota_seen){.limit = -1, .remaining = -1};
    fields_open(&fields, object, "calls.seen", err);
    fields_int(&fields, "limit", FIELD_OPTIONAL, &(struct field_range){-1, CALLS_MAX},
               &seen->limit);
    fields_int(&fields, "remaining", FIELD_OPTIONAL, &(struct field_range){-1, CALLS_MAX},
               &seen->remaining);
    fields_string(&fields, "resetAt", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = TIME_TEXT_BYTES}, &reset);
    fields_int(&fields, "retryMs", FIELD_OPTIONAL, &(struct field_range){0, JOB_PUT_OFF_MS_MAX},
               &retry_ms);
    fields_bool(&fields, "secondary", FIELD_OPTIONAL, &seen->secondary);
    if (reset != NULL && !time_parse(reset, &seen->reset_us))
        fields_fail(&fields, "resetAt", "resetAt must be a time like 2030-01-31T00:00:00Z");
    seen->retry_us = retry_ms * US_PER_MS;
    return fields_close(&fields);
}

static enum rc read_calls(const struct js *object, struct cmd_quota *cmd, struct err *err)
{
    const struct field_text name = {.min = 1, .max = QUOTA_NAME_MAX};
    const struct field_range count = {0, CALLS_MAX};
    const struct js *seen = NULL;
    struct fields fields;
    fields_open(&fields, object, "calls", err);
    fields_string(&fields, "host", FIELD_REQUIRED, &name, &cmd->host);
    fields_string(&fields, "resource", FIELD_REQUIRED, &name, &cmd->resource);
    fields_int(&fields, "want", FIELD_OPTIONAL, &(struct field_range){0, QUOTA_BLOCK_MAX},
               &cmd->want);
    fields_int(&fields, "used", FIELD_OPTIONAL, &count, &cmd->told.used);
    fields_int(&fields, "back", FIELD_OPTIONAL, &count, &cmd->told.back);
    fields_object(&fields, "seen", FIELD_OPTIONAL, &seen);
    enum rc rc = fields_close(&fields);
    cmd->has_seen = seen != NULL;
    return rc == RC_OK && seen != NULL ? read_seen(seen, &cmd->seen, err) : rc;
}

struct wish {
    struct cmd_quota *cmd; /* Also its lease and its access. */
    bool token;
    const char *refused; /* The hash of a token that the forge has refused; or NULL. */
    bool calls;
};

static enum rc read_wish(const struct js *tree, struct wish *wish, struct err *err)
{
    static const char *const names[] = {"read", "write", "review", NULL};
    struct job_ref *ref = &wish->cmd->ref;
    const struct js *calls = NULL;
    const char *id = NULL;
    int access = ACCESS_READ;
    struct fields fields;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "id", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &id);
    if (id != NULL && !id_parse(id, &ref->id))
        fields_fail(&fields, "id", "id must be a UUID");
    fields_int(&fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, EPOCH_MAX}, &ref->epoch);
    fields_choice(&fields, "access", FIELD_OPTIONAL, names, &access);
    fields_bool(&fields, "token", FIELD_OPTIONAL, &wish->token);
    fields_string(&fields, "refused", FIELD_OPTIONAL, &(struct field_text){.max = 64},
                  &wish->refused);
    if (wish->refused != NULL && !sha256_text_valid(wish->refused))
        fields_fail(&fields, "refused", "refused must be the SHA-256 of a token, in hex");
    fields_object(&fields, "calls", FIELD_OPTIONAL, &calls);
    wish->cmd->access = (enum forge_access)access;
    wish->calls = calls != NULL;
    enum rc rc = fields_close(&fields);
    return rc == RC_OK && calls != NULL ? read_calls(calls, wish->cmd, err) : rc;
}

/* ---- the answer ---- */

enum rc forge_access_lease(struct call *call, struct db *db, const struct forge_lease *lease,
                           struct job_row *ret_job, struct err *err)
{
    enum rc rc = jobs_get(db, &lease->ref.id, &call->http.arena, ret_job, err);
    if (rc == RC_OK)
        rc = queue_allowed(auth_bound_to(&call->who), ret_job->queue, err);
    if (rc != RC_OK)
        return rc;
    if (!job_leased_to(&ret_job->life, lease->ref.epoch, call->who.principal.text))
        return err_set(err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    const struct step_row *step = step_find_queue(ret_job->queue);
    if (step == NULL)
        return err_set(err, RC_CONFLICT, "NOT_A_STEP", "this job is not a step of drover's own");
    if (lease->access != ACCESS_READ && !step->writes)
        return err_set(err, RC_DENIED, "READ_ONLY_STEP",
                       "the step %s does not write at its forge: it gets a token to read only",
                       step->name);
    return RC_OK;
}

static enum rc make_token(struct call *call, enum forge_access access, const struct job_row *job,
                          struct forge_token *ret_token, struct err *err)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    struct arena *arena = &call->http.arena;
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    const struct git how = {.cancel = &call->api->stopping,
                            .deadline_us = clock_mono_us() + FORGE_SECONDS_MAX * US_PER_SECOND};
    enum rc rc = js_parse(job->payload.at, job->payload.len, &payload, err);
    if (rc == RC_OK)
        rc = repo_config_decode(js_get(payload, "config"), NULL, arena, config, err);
    if (rc != RC_OK)
        return err_wrap(err, RC_CORRUPT, "the payload of the job");
    rc = token_source_get(config, access, &how, ret_token, err);
    return token_source_unavailable(rc, err);
}

static void write_answer(struct call *call, const struct wish *wish,
                         const struct forge_token *token)
{
    const struct cmd_quota *cmd = wish->cmd;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    if (token->text[0] != '\0') {
        jw_kstr(&jw, "token", token->text);
        jw_ktime(&jw, "expiresAt", token->expires_us);
    }
    if (wish->calls) {
        jw_kint(&jw, "calls", cmd->verdict.calls);
        jw_kint(&jw, "retryAfterMs", cmd->verdict.wait_us / US_PER_MS);
        jw_optstr(&jw, "why", cmd->why);
    }
    jw_end(&jw, '}');
}

enum rc api_job_forge_access(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(forge_token_wipe) struct forge_token token = {.expires_us = 0};
    struct cmd_quota *cmd = cmd_quota_new();
    struct wish wish = {.cmd = cmd};
    struct job_row job;
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = read_wish(cmd->base.tree, &wish, err);
    if (rc == RC_OK)
        rc = forge_access_lease(call, db, &(struct forge_lease){cmd->ref, cmd->access}, &job, err);
    if (rc == RC_OK && wish.calls)
        rc = call_commit(call, err);
    if (rc == RC_OK && wish.refused != NULL)
        token_source_refused(wish.refused);
    if (rc == RC_OK && wish.token)
        rc = make_token(call, cmd->access, &job, &token, err);
    if (rc == RC_OK)
        write_answer(call, &wish, &token);
    return rc;
}

/* ---- GET /v1/forge-limits ---- */

static void write_limit(struct jw *jw, const struct forge_limit_row *row)
{
    const struct quota *quota = &row->quota;
    jw_begin(jw, '{');
    jw_kstr(jw, "host", row->host);
    jw_kstr(jw, "credential", row->credential[0] ? row->credential : NULL);
    jw_kstr(jw, "resource", row->resource);
    if (quota->limit >= 0) {
        jw_kint(jw, "limit", quota->limit);
        jw_kint(jw, "remaining", quota->remaining);
        jw_kint(jw, "reserve", quota_reserve(quota));
    }
    jw_kint(jw, "granted", quota->granted);
    jw_ktime(jw, "resetAt", quota->reset_us);
    jw_ktime(jw, "blockedUntil", quota->blocked_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

void forge_limits_write(struct jw *jw, const struct forge_limit_row *rows, size_t count)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < count; i++)
        write_limit(jw, &rows[i]);
    jw_end(jw, ']');
}

enum rc api_forge_limit_list(struct call *call, struct db *db, struct err *err)
{
    struct forge_limit_row *rows = NULL;
    size_t count = 0;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = forge_limits_list(db, &call->http.arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "limits");
    forge_limits_write(&jw, rows, count);
    jw_end(&jw, '}');
    return RC_OK;
}
