/*
 * forge_access.c - POST /v1/jobs/forge-access: a worker gets to the forge of the repository that it
 * works for.
 *
 * Only the holder of the lease of one of drover's own steps gets a token, for the repository of
 * that job, and one that can write only if its step writes there.  The keys stay here.
 */
#include "api/call.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "control/queue/queues.h"
#include "control/queue/token_scope.h"
#include "core/config/repo_config.h"
#include "core/step_kind.h"
#include "forge/token_source.h"
#include "store/jobs.h"

enum { FORGE_SECONDS_MAX = 25 };
#define EPOCH_MAX ((int64_t)1 << 53)

struct wish {
    struct id id;
    int64_t epoch;
    enum forge_access access;
    bool token;
};

static void read_job(struct fields *fields, struct wish *wish)
{
    const char *id = NULL;
    fields_string(fields, "id", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &id);
    if (id != NULL && !id_parse(id, &wish->id))
        fields_fail(fields, "id", "id must be a UUID");
    fields_int(fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, EPOCH_MAX}, &wish->epoch);
}

static enum rc read_wish(const struct js *tree, struct wish *wish, struct err *err)
{
    static const char *const names[] = {"read", "write", "review", NULL};
    struct fields fields;
    int access = ACCESS_READ;
    fields_open(&fields, tree, "", err);
    read_job(&fields, wish);
    fields_choice(&fields, "access", FIELD_OPTIONAL, names, &access);
    fields_bool(&fields, "token", FIELD_OPTIONAL, &wish->token);
    wish->access = (enum forge_access)access;
    return fields_close(&fields);
}

/* The job, when the caller holds its lease and its step may have this access. */
static enum rc check_lease(struct call *call, struct db *db, const struct wish *wish,
                           struct job_row *ret_job, struct err *err)
{
    enum rc rc = jobs_get(db, &wish->id, &call->http.arena, ret_job, err);
    if (rc == RC_OK)
        rc = queue_allowed(auth_bound_to(&call->who), ret_job->queue, err);
    if (rc != RC_OK)
        return rc;
    if (!job_leased_to(&ret_job->life, wish->epoch, call->who.principal.text))
        return err_set(err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    const struct step_row *step = step_find_queue(ret_job->queue);
    if (step == NULL)
        return err_set(err, RC_CONFLICT, "NOT_A_STEP", "this job is not a step of drover's own");
    if (wish->access != ACCESS_READ && !step->writes)
        return err_set(err, RC_DENIED, "READ_ONLY_STEP",
                       "the step %s does not write at its forge: it gets a token to read only",
                       step->name);
    return RC_OK;
}

static enum rc make_token(struct call *call, const struct wish *wish, const struct job_row *job,
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
    return token_source_get(config, wish->access, &how, ret_token, err);
}

enum rc api_job_forge_access(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(forge_token_wipe) struct forge_token token = {.expires_us = 0};
    struct wish wish = {.token = false};
    struct job_row job;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc == RC_OK)
        rc = read_wish(tree, &wish, err);
    if (rc == RC_OK)
        rc = check_lease(call, db, &wish, &job, err);
    if (rc == RC_OK && wish.token)
        rc = make_token(call, &wish, &job, &token, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    if (token.text[0] != '\0') {
        jw_kstr(&jw, "token", token.text);
        jw_ktime(&jw, "expiresAt", token.expires_us);
    }
    jw_end(&jw, '}');
    return RC_OK;
}
