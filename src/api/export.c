/*
 * export.c - what is needed to run a run again, as one tar archive: GET /v1/runs/{id}/export.
 *
 *   task.json           the task as it was submitted, and its configuration without values of env
 *   run.json            the row of the run: base commit, branch, limits, sums
 *   replay.json         the run as its events tell it (core/run/run_fold.h)
 *   versions.json       of drover, the agent, its adapter, model and prompt
 *   events.ndjson       all events of the run and its task, one CloudEvent in a line
 *   tool_calls.ndjson   of these, the calls of tools: name, summary, hash of the arguments, outcome
 *   artifacts/KIND/...  prompts, plan, patches, reports of checks and judges, certificate, logs
 *   manifest.json       the last: name, bytes and sha256 of every member before it
 *
 * Artifacts had their secrets removed when they were stored, and events hold none.  The archive is
 * made in a file without a name and sent from there: memory does not grow with it.
 */
#include "api/routes.h"
#include "api/shapes.h"
#include "base/fd.h"
#include "base/ustar.h"
#include "control/watch/replay.h"
#include "core/event_types.h"
#include "store/artifacts.h"
#include "store/pull_requests.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    MEMBERS_MAX = 2000,
    DOCUMENT_BYTES_MAX = 16 * 1024 * 1024,
    FLUSH_BYTES = 256 * 1024,
    NAME_TAIL_MAX = 40,
};
#define EXPORT_BYTES_MAX (INT64_C(4) << 30)

struct export
{
    struct call *call;
    struct db *db;
    struct arena *arena;
    struct err *err;
    struct ustar tar;
    struct buf lines; /* Of a member that is written in pieces. */
    struct buf manifest;
    struct jw members;
    int member_count;
    const char *only; /* Lines of events of types that begin so; NULL: all. */
    enum rc rc;       /* Of a walk. */
    struct run_row run;
    struct task_row task;
    struct replay replay;
    const char *agent_version, *model_profile;
};

static void export_release(struct export *export)
{
    ustar_release(&export->tar);
    buf_release(&export->lines);
    buf_release(&export->manifest);
}

/* ---- members ---- */

struct origin { /* What the manifest says of a member beside its hash. */
    const char *kind, *artifact;
};

static enum rc end_member(struct export *export, const char *name, const struct origin *origin)
{
    struct ustar_member member;
    enum rc rc = ustar_end(&export->tar, &member, export->err);
    if (rc != RC_OK)
        return rc;
    struct jw *jw = &export->members;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", name);
    jw_kint(jw, "bytes", member.bytes);
    jw_kstr(jw, "sha256", member.sha256);
    if (origin != NULL) {
        jw_kstr(jw, "kind", origin->kind);
        jw_kstr(jw, "artifactName", origin->artifact);
    }
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc add_bytes(struct export *export, const char *name, struct str bytes)
{
    enum rc rc = ustar_begin(&export->tar, name, export->err);
    if (rc == RC_OK)
        rc = ustar_add(&export->tar, bytes, export->err);
    return rc == RC_OK ? end_member(export, name, NULL) : rc;
}

/* ---- documents ---- */

/* "NAME=value" of env: only the name.  Trees are JS_DEPTH_MAX deep at most.
   NOLINTNEXTLINE(misc-no-recursion) */
static void write_config(struct jw *jw, const struct js *value, bool env)
{
    size_t at = 0;
    const char *key;
    const struct js *member;
    const char *text = js_str(value, "");
    switch (js_type(value)) {
    case JS_OBJECT:
        jw_begin(jw, '{');
        while (js_next(value, &at, &key, &member)) {
            jw_key(jw, key);
            write_config(jw, member, strcmp(key, "env") == 0);
        }
        jw_end(jw, '}');
        break;
    case JS_ARRAY:
        jw_begin(jw, '[');
        for (; at < js_count(value); at++)
            write_config(jw, js_at(value, at), env);
        jw_end(jw, ']');
        break;
    case JS_STRING:
        jw_strn(jw, text, env ? strcspn(text, "=") : strlen(text));
        break;
    default:
        js_write(jw, value);
    }
}

static enum rc write_task(struct export *export, struct jw *jw)
{
    CLEANUP(js_freep) struct js *config = NULL;
    const struct task_extras extras = {.runs = &export->run, .run_count = 1};
    enum rc rc = js_parse(export->task.config.at, export->task.config.len, &config, export->err);
    if (rc != RC_OK)
        return rc;
    jw_begin(jw, '{');
    jw_key(jw, "task");
    shape_task(jw, &export->task, &extras);
    jw_key(jw, "config");
    write_config(jw, config, false);
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc write_run(struct export *export, struct jw *jw)
{
    struct pull_request_row pull_request;
    struct run_extras extras = {.repository = export->task.repository};
    if (!id_is_none(&export->run.pull_request_id)) {
        enum rc rc = pull_requests_get(export->db, &export->run.pull_request_id, export->arena,
                                       &pull_request, export->err);
        if (rc != RC_OK)
            return rc;
        extras.pull_request = &pull_request;
    }
    shape_run_open(jw, &export->run, &extras);
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc write_replay(struct export *export, struct jw *jw)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "runId", export->run.id.text);
    run_fold_write(jw, &export->replay.fold);
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc write_versions(struct export *export, struct jw *jw)
{
    const struct run_row *run = &export->run;
    CLEANUP(js_freep) struct js *config = NULL;
    enum rc rc = js_parse(export->task.config.at, export->task.config.len, &config, export->err);
    if (rc != RC_OK)
        return rc;
    const struct js *agent = js_get(config, "agent");
    jw_begin(jw, '{');
    jw_kstr(jw, "drover", DROVER_VERSION);
    jw_kint(jw, "schemaVersion", store_schema_version());
    jw_kint(jw, "foldVersion", RUN_FOLD_VERSION);
    jw_kstr(jw, "agent", run->agent);
    jw_kstr(jw, "agentVersion", export->agent_version);
    jw_kstr(jw, "modelProfile", export->model_profile);
    jw_kstr(jw, "model", run->model);
    jw_kstr(jw, "adapter", js_get_str(agent, "adapter", NULL));
    jw_kstr(jw, "compute", js_get_str(agent, "compute", NULL));
    jw_kstr(jw, "profile", js_get_str(agent, "use", NULL));
    jw_kstr(jw, "promptVersion", run->prompt_version);
    jw_kstr(jw, "baseCommit", run->base_commit);
    jw_end(jw, '}');
    return RC_OK;
}

static enum rc add_document(struct export *export, const char *name,
                            enum rc (*write)(struct export *export, struct jw *jw))
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    enum rc rc = write(export, &jw);
    if (rc != RC_OK)
        return rc;
    buf_addc(&text, '\n');
    if (text.overflow)
        return err_set(export->err, RC_TOO_LARGE, "ARCHIVE_TOO_LARGE", "%s is too large", name);
    return add_bytes(export, name, buf_str(&text));
}

/* ---- events ---- */

static void note_versions(struct export *export, const struct event *event)
{
    CLEANUP(js_freep) struct js *data = NULL;
    if (strcmp(event->type, EV_RUN_STARTED) != 0 ||
        js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK)
        return;
    export->agent_version = arena_strdup(export->arena, js_get_str(data, "agentVersion", NULL));
    export->model_profile = arena_strdup(export->arena, js_get_str(data, "modelProfile", NULL));
}

static bool add_event(void *ctx, const struct event *event)
{
    struct export *export = ctx;
    note_versions(export, event);
    if (export->only != NULL && !text_starts(event->type, export->only))
        return true;
    struct jw jw = jw_to(&export->lines);
    event_write(&jw, event);
    buf_addc(&export->lines, '\n');
    if (export->lines.len < FLUSH_BYTES)
        return true;
    export->rc = ustar_add(&export->tar, buf_str(&export->lines), export->err);
    buf_clear(&export->lines);
    return export->rc == RC_OK;
}

static enum rc add_events(struct export *export, const char *name, const char *only)
{
    const struct replay_walk walk = {.run_id = export->run.id, .see = add_event, .ctx = export};
    export->only = only;
    export->rc = RC_OK;
    enum rc rc = ustar_begin(&export->tar, name, export->err);
    if (rc == RC_OK)
        rc = replay_walk(export->db, &walk, export->err);
    if (rc == RC_OK)
        rc = export->rc;
    if (rc == RC_OK)
        rc = ustar_add(&export->tar, buf_str(&export->lines), export->err);
    buf_clear(&export->lines);
    return rc == RC_OK ? end_member(export, name, NULL) : rc;
}

/* ---- artifacts ---- */

/* A name that no program that unpacks the archive can take for a path: an agent chose some. */
static const char *member_name(struct export *export, const struct artifact_row *artifact)
{
    char tail[NAME_TAIL_MAX + 1];
    size_t len = 0;
    for (const char *at = artifact->name; *at != '\0' && len < NAME_TAIL_MAX; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || *at == '-' || *at == '_' ||
                     (*at == '.' && len > 0);
        tail[len++] = plain ? *at : '_';
    }
    tail[len] = '\0';
    return arena_printf(export->arena, "artifacts/%.20s/%.16s-%s", artifact->kind, artifact->sha256,
                        tail);
}

static enum rc add_artifact(struct export *export, const struct artifact_row *artifact)
{
    CLEANUP(fd_closep) int fd = -1;
    int64_t bytes;
    const char *name = member_name(export, artifact);
    const struct origin origin = {artifact->kind, artifact->name};
    if (++export->member_count > MEMBERS_MAX)
        return err_set(export->err, RC_TOO_LARGE, "ARCHIVE_TOO_LARGE",
                       "the run has more than %d artifacts", MEMBERS_MAX);
    enum rc rc = artifact_open(export->call->api->store, artifact->sha256, &fd, &bytes,
                               export->err);
    if (rc == RC_NOT_FOUND) { /* Removed by retention: the manifest has a place for it. */
        err_clear(export->err);
        jw_begin(&export->members, '{');
        jw_kstr(&export->members, "name", name);
        jw_kstr(&export->members, "missing", artifact->sha256);
        jw_kstr(&export->members, "kind", artifact->kind);
        jw_kstr(&export->members, "artifactName", artifact->name);
        jw_end(&export->members, '}');
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = ustar_begin(&export->tar, name, export->err);
    if (rc == RC_OK)
        rc = ustar_add_file(&export->tar, fd, export->err);
    return rc == RC_OK ? end_member(export, name, &origin) : rc;
}

static enum rc add_artifacts(struct export *export)
{
    struct artifact_row *rows;
    size_t count;
    enum rc rc = artifacts_of_run(export->db, &export->run.id, export->arena, &rows, &count,
                                  export->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = add_artifact(export, &rows[i]);
    return rc;
}

/* ---- the archive ---- */

static enum rc add_manifest(struct export *export)
{
    struct ustar_member ignored;
    jw_end(&export->members, ']');
    jw_end(&export->members, '}');
    buf_addc(&export->manifest, '\n');
    if (export->manifest.overflow)
        return err_set(export->err, RC_TOO_LARGE, "ARCHIVE_TOO_LARGE", "the manifest is too large");
    enum rc rc = ustar_begin(&export->tar, "manifest.json", export->err);
    if (rc == RC_OK)
        rc = ustar_add(&export->tar, buf_str(&export->manifest), export->err);
    if (rc == RC_OK)
        rc = ustar_end(&export->tar, &ignored, export->err);
    return rc == RC_OK ? ustar_finish(&export->tar, export->err) : rc;
}

static enum rc write_archive(struct export *export)
{
    export->members = jw_to(&export->manifest);
    jw_begin(&export->members, '{');
    jw_kstr(&export->members, "format", "drover-run-1");
    jw_kstr(&export->members, "runId", export->run.id.text);
    jw_kstr(&export->members, "taskId", export->task.id.text);
    jw_kint(&export->members, "events", export->replay.fold.events);
    jw_key(&export->members, "members");
    jw_begin(&export->members, '[');
    enum rc rc = add_document(export, "task.json", write_task);
    if (rc == RC_OK)
        rc = add_document(export, "run.json", write_run);
    if (rc == RC_OK)
        rc = add_document(export, "replay.json", write_replay);
    if (rc == RC_OK)
        rc = add_events(export, "events.ndjson", NULL);
    if (rc == RC_OK)
        rc = add_events(export, "tool_calls.ndjson", "agent.tool.call.");
    if (rc == RC_OK)
        rc = add_document(export, "versions.json", write_versions);
    if (rc == RC_OK)
        rc = add_artifacts(export);
    return rc == RC_OK ? add_manifest(export) : rc;
}

static enum rc load(struct export *export, const struct id *id)
{
    enum rc rc = runs_get(export->db, id, export->arena, &export->run, export->err);
    if (rc == RC_OK)
        rc = tasks_get(export->db, &export->run.task_id, export->arena, &export->task, export->err);
    return rc == RC_OK ? replay_run(export->db, id, &(struct replay_options){0}, export->arena,
                                    &export->replay, export->err)
                       : rc;
}

enum rc api_run_export(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct export *export = arena_alloc(&call->http.arena, sizeof *export);
    *export = (struct export){.call = call, .db = db, .arena = &call->http.arena, .err = err};
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(fd_closep) int fd = open(call->api->data_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make a file in %s: %s", call->api->data_dir,
                       strerror(errno));
    CLEANUP(tx_abort) struct tx tx = {0};
    rc = tx_begin(db, &tx, err); /* All members of one moment. */
    if (rc == RC_OK)
        rc = load(export, &id);
    if (rc != RC_OK)
        return rc;
    ustar_open(&export->tar, fd, export->run.updated_us / US_PER_SECOND, EXPORT_BYTES_MAX);
    buf_init(&export->lines, DOCUMENT_BYTES_MAX);
    buf_init(&export->manifest, DOCUMENT_BYTES_MAX);
    rc = write_archive(export);
    export_release(export);
    if (rc != RC_OK)
        return rc;
    call->http.answer.content_type = "application/x-tar";
    call->http.answer.file_bytes = export->tar.bytes;
    call->http.answer.file_fd = fd_take(&fd);
    http_answer_header(&call->http, "Content-Disposition",
                       arena_printf(export->arena, "attachment; filename=\"run-%s.tar\"", id.text));
    return RC_OK;
}
