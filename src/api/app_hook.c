#include "api/app_hook.h"
#include "api/call.h"
#include "api/forge_access.h"
#include "api/forge_gate.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/js.h"
#include "base/jw.h"
#include "core/step_kind.h"
#include "forge/forges.h"
#include "store/artifacts.h"
#include "store/jobs.h"
#include <string.h>

enum {
    FORGE_SECONDS_MAX = 25,
    PAYLOAD_BYTES_MAX = 26 * 1024 * 1024,
    ANSWER_BYTES_MAX = 512 * 1024,
    HANDLE_BYTES_MAX = 200,
};
#define EPOCH_MAX ((int64_t)1 << 53)

/* ---- at the forge ---- */

/* Of what is asked about the App, only this repository's is wanted. */
static enum rc find_number(struct api *api, const struct app_hook_wish *wish,
                           const struct delivery_ops *ops, const struct git *how,
                           struct arena *arena, int64_t *ret_number, struct err *err)
{
    struct server_forge forge = {.count = 0};
    CLEANUP(forge_call_release) struct forge_call call = {.git = *how};
    const struct server_forge_wish access = {wish->config, wish->repository, ACCESS_READ};
    enum rc rc = server_forge_open(&forge, api, &access, arena, &call, err);
    if (rc == RC_OK)
        rc = ops->number(&call, wish->config->url, ret_number, err);
    server_forge_close(&forge);
    return rc;
}

static void write_list(struct buf *into, const struct forge_delivery *items, size_t count)
{
    struct jw jw = jw_to(into);
    jw_begin(&jw, '{');
    jw_key(&jw, "deliveries");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(&jw, '{');
        jw_kstr(&jw, "id", items[i].id);
        jw_kstr(&jw, "event", items[i].event);
        jw_kstr(&jw, "handle", items[i].handle);
        jw_kint(&jw, "sentUs", items[i].sent_us);
        jw_kbool(&jw, "answered", items[i].answered);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

static enum rc list(struct forge_call *call, const struct delivery_ops *ops,
                    const struct app_hook_wish *wish, struct arena *arena, struct buf *into,
                    struct err *err)
{
    struct forge_delivery *items = NULL;
    size_t count = 0;
    enum rc rc = ops->list(call, wish->config->url, wish->since_us, arena, &items, &count, err);
    if (rc == RC_OK)
        write_list(into, items, count);
    return rc;
}

static enum rc fetch(struct api *api, struct forge_call *call, const struct delivery_ops *ops,
                     const struct app_hook_wish *wish, struct buf *into, struct err *err)
{
    CLEANUP(buf_release) struct buf payload;
    char sha256[SHA256_TEXT_BYTES];
    const struct forge_delivery item = {.id = wish->handle, .handle = wish->handle};
    buf_init(&payload, PAYLOAD_BYTES_MAX);
    enum rc rc = ops->payload(call, wish->config->url, &item, &payload, err);
    if (rc == RC_OK)
        rc = artifact_put(api->store, buf_str(&payload), sha256, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(into);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sha256", sha256);
    jw_end(&jw, '}');
    return RC_OK;
}

enum rc app_hook_ask(struct api *api, const struct app_hook_wish *wish, struct arena *arena,
                     struct buf *into, struct err *err)
{
    const struct forge_ops *forge_ops = forge_find(wish->config->forge);
    const struct delivery_ops *ops = forge_ops != NULL ? forge_ops->deliveries : NULL;
    if (wish->config->app.id == NULL || ops == NULL || ops->number == NULL)
        return err_set(err, RC_NOT_FOUND, "NO_APP_HOOK", "the repository is served by no App");
    const struct git how = {.cancel = &api->stopping,
                            .deadline_us = clock_mono_us() + FORGE_SECONDS_MAX * US_PER_SECOND};
    struct server_forge forge = {.count = 0};
    CLEANUP(forge_call_release) struct forge_call call = {.git = how};
    enum rc rc = find_number(api, wish, ops, &how, arena, &call.repository, err);
    if (rc == RC_OK)
        rc = server_forge_open_app(&forge, api, wish->config, wish->repository, arena, &call, err);
    if (rc == RC_OK)
        rc = wish->handle != NULL ? fetch(api, &call, ops, wish, into, err)
                                  : list(&call, ops, wish, arena, into, err);
    server_forge_close(&forge);
    if (rc != RC_UNAUTHORIZED && rc != RC_DENIED)
        return rc;
    const struct err why = *err; /* Not the caller's own token. */
    return err_set(err, RC_CONFLICT, "APP_REFUSED", "the forge refuses what the App asks: %.400s",
                   why.text);
}

/* ---- POST /v1/jobs/app-deliveries ---- */

/* A path and no more than that: nothing in it may lead to another route of the forge. */
static bool names_delivery(const char *handle)
{
    static const char start[] = "/app/hook/deliveries/";
    if (!text_starts(handle, start))
        return false;
    const char *number = handle + strlen(start);
    return *number != 0 && number[strspn(number, "0123456789")] == 0;
}

static enum rc read_wish(const struct js *tree, struct job_ref *ref, struct app_hook_wish *wish,
                         struct err *err)
{
    const char *id = NULL;
    struct fields fields;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "id", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &id);
    if (id != NULL && !id_parse(id, &ref->id))
        fields_fail(&fields, "id", "id must be a UUID");
    fields_int(&fields, "epoch", FIELD_REQUIRED, &(struct field_range){0, EPOCH_MAX}, &ref->epoch);
    fields_int(&fields, "sinceUs", FIELD_OPTIONAL, &(struct field_range){0, INT64_MAX / 2},
               &wish->since_us);
    fields_string(&fields, "handle", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = HANDLE_BYTES_MAX}, &wish->handle);
    if (wish->handle != NULL && !names_delivery(wish->handle))
        fields_fail(&fields, "handle", "handle must be that of a delivery in the list");
    return fields_close(&fields);
}

static enum rc take_payload(const struct job_row *job, struct arena *arena, struct js **ret_payload,
                            struct app_hook_wish *wish, struct err *err)
{
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    enum rc rc = js_parse(job->payload.at, job->payload.len, ret_payload, err);
    if (rc == RC_OK)
        rc = repo_config_decode(js_get(*ret_payload, "config"), NULL, arena, config, err);
    if (rc != RC_OK)
        return err_wrap(err, RC_CORRUPT, "the payload of the job");
    wish->config = config;
    wish->repository = js_get_str(*ret_payload, "repository", "");
    return RC_OK;
}

enum rc api_job_app_deliveries(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(js_freep) struct js *payload = NULL;
    CLEANUP(buf_release) struct buf answer;
    struct arena *arena = &call->http.arena;
    struct app_hook_wish wish = {.handle = NULL};
    struct job_ref ref = {.epoch = 0};
    struct job_row job;
    buf_init(&answer, ANSWER_BYTES_MAX);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc == RC_OK)
        rc = read_wish(tree, &ref, &wish, err);
    if (rc == RC_OK)
        rc = forge_access_lease(call, db, &(struct forge_lease){ref, ACCESS_READ}, &job, err);
    if (rc == RC_OK && !text_same(job.type, step_row(STEP_SYNC)->name))
        rc = err_set(err, RC_DENIED, "NOT_A_SYNC", "only the step sync may ask for deliveries");
    if (rc == RC_OK)
        rc = take_payload(&job, arena, &payload, &wish, err);
    if (rc == RC_OK)
        rc = app_hook_ask(call->api, &wish, arena, &answer, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_raw(&jw, buf_str(&answer));
    return RC_OK;
}
