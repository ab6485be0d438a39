/*
 * dead_letters.c - dead letters over HTTP: list, show, group, replay, archive, purge.
 *
 * The fields of a filter have the same names in a URL and in a body:
 *   queue, type, reason, errorCode, pattern, since, until (of death), archived: true, false, all
 */
#include "control/queue/dead_letters.h"
#include "api/listing.h"
#include "api/routes.h"
#include "api/saga_shape.h"
#include "api/shapes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "core/text/error_pattern.h"

enum { NAME_MAX_BYTES = 100, REASON_MAX = 40, GROUPS_DEFAULT = 50, GROUPS_MAX = 200 };
#define OLDER_MS_MAX (INT64_C(3660) * 24 * 3600 * 1000)

/* ---- Filters ---- */

static bool archived_parse(const char *text, enum dead_archived *ret_archived)
{
    static const char *const names[] = {
        [DEAD_OPEN] = "false", [DEAD_ARCHIVED] = "true", [DEAD_BOTH] = "all"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_same(text, names[i])) {
            *ret_archived = (enum dead_archived)i;
            return true;
        }
    }
    return false;
}

static void params_filter(struct params *params, struct dead_filter *ret_filter)
{
    const char *archived = NULL;
    params_text(params, "queue", NAME_MAX_BYTES, &ret_filter->queue);
    params_text(params, "type", NAME_MAX_BYTES, &ret_filter->type);
    params_text(params, "reason", REASON_MAX, &ret_filter->reason);
    params_text(params, "errorCode", NAME_MAX_BYTES, &ret_filter->error_code);
    params_text(params, "pattern", ERROR_PATTERN_MAX, &ret_filter->pattern);
    params_time(params, "since", &ret_filter->since_us);
    params_time(params, "until", &ret_filter->until_us);
    params_text(params, "archived", REASON_MAX, &archived);
    if (ret_filter->reason != NULL && dead_reason_parse(ret_filter->reason) == DEAD_NONE)
        params_fail(params, "reason", "%.40s is not a reason of a dead letter", ret_filter->reason);
    if (archived != NULL && !archived_parse(archived, &ret_filter->archived))
        params_fail(params, "archived", "archived must be true, false or all");
}

static void fields_time(struct fields *fields, const char *key, int64_t *ret_us)
{
    const char *text = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = REASON_MAX},
                  &text);
    if (text != NULL && !time_parse(text, ret_us))
        fields_fail(fields, key, "%s must be a time like 2026-01-31T12:00:00Z", key);
}

/* A boolean, or "all". */
static void fields_archived(struct fields *fields, enum dead_archived *ret_archived)
{
    const struct js *value = NULL;
    fields_any(fields, "archived", FIELD_OPTIONAL, &value);
    if (js_type(value) == JS_BOOL)
        *ret_archived = js_bool(value, false) ? DEAD_ARCHIVED : DEAD_OPEN;
    else if (value != NULL && !archived_parse(js_str(value, NULL), ret_archived))
        fields_fail(fields, "archived", "archived must be true, false or \"all\"");
}

static enum rc read_filter(const struct js *object, struct dead_filter *ret_filter, struct err *err)
{
    const struct field_text name = {.min = 1, .max = NAME_MAX_BYTES};
    struct fields fields;
    fields_open(&fields, object, "filter", err);
    fields_string(&fields, "queue", FIELD_OPTIONAL, &name, &ret_filter->queue);
    fields_string(&fields, "type", FIELD_OPTIONAL, &name, &ret_filter->type);
    fields_string(&fields, "reason", FIELD_OPTIONAL, &name, &ret_filter->reason);
    fields_string(&fields, "errorCode", FIELD_OPTIONAL, &name, &ret_filter->error_code);
    fields_string(&fields, "pattern", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = ERROR_PATTERN_MAX}, &ret_filter->pattern);
    fields_time(&fields, "since", &ret_filter->since_us);
    fields_time(&fields, "until", &ret_filter->until_us);
    fields_archived(&fields, &ret_filter->archived);
    if (ret_filter->reason != NULL && dead_reason_parse(ret_filter->reason) == DEAD_NONE)
        fields_fail(&fields, "reason", "%.40s is not a reason of a dead letter",
                    ret_filter->reason);
    return fields_close(&fields);
}

/* ---- Reading ---- */

/* Leaves the object open.  Of a job that never ran, firstAt is its enqueueing and lastAt its
   death. */
static void dead_open(struct jw *jw, const struct dead_row *row)
{
    const struct job_row *job = &row->job;
    jw_begin(jw, '{');
    jw_kstr(jw, "id", job->id.text);
    jw_kstr(jw, "queue", job->queue);
    jw_kstr(jw, "type", job->type);
    jw_kstr(jw, "reason", dead_reason_name(job->life.dead_reason));
    jw_kstr(jw, "errorCode", job->error_code);
    jw_kstr(jw, "errorMessage", job->error_message);
    jw_kstr(jw, "errorPattern", job->error_pattern);
    jw_kint(jw, "attemptCount", row->attempts);
    jw_ktime(jw, "firstAt", row->first_us > 0 ? row->first_us : job->created_us);
    jw_ktime(jw, "lastAt", row->last_us > 0 ? row->last_us : job->updated_us);
    jw_ktime(jw, "enqueuedAt", job->created_us);
    jw_ktime(jw, "diedAt", job->updated_us);
    jw_optstr(jw, "orderingKey", job->ordering_key);
    jw_optstr(jw, "dedupKey", job->dedup_key);
    if (job->archived_us > 0)
        jw_ktime(jw, "archivedAt", job->archived_us);
    jw_optstr(jw, "runId", id_or_null(&job->run_id));
    jw_optstr(jw, "sagaId", id_or_null(&job->saga_id));
}

enum rc api_dead_letter_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct dead_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct dead_filter filter = {.archived = DEAD_OPEN, .scan = &list.scan};
    params_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = dead_letters_list(db, &filter, &list.before, list.query_limit, list.arena, &rows,
                               &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        dead_open(&list.jw, &rows[i]);
        jw_end(&list.jw, '}');
        list.last = rows[i].job.id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_dead_letter_get(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct dead_row row;
    struct attempt_row *attempts = NULL;
    size_t count = 0;
    struct arena *arena = &call->http.arena;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = dead_letters_get(db, &id, arena, &row, err);
    if (rc == RC_OK)
        rc = attempts_list(db, &id, arena, &attempts, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    dead_open(&jw, &row);
    shape_payload(&jw, &row.job, call->who.role);
    if (row.job.headers.len > 0)
        jw_kraw(&jw, "headers", row.job.headers);
    shape_attempts(&jw, attempts, count);
    rc = shape_saga_of_job(&jw, db, &row.job, arena, err);
    jw_end(&jw, '}');
    return rc;
}

static void write_group(struct jw *jw, const struct dead_group *group)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "queue", group->queue);
    jw_kstr(jw, "type", group->type);
    jw_kstr(jw, "reason", group->reason);
    jw_kstr(jw, "errorPattern", group->pattern);
    jw_kint(jw, "count", group->count);
    jw_ktime(jw, "firstAt", group->first_us);
    jw_ktime(jw, "lastAt", group->last_us);
    jw_kstr(jw, "exampleId", group->example.text);
    jw_end(jw, '}');
}

enum rc api_dead_letter_analysis(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct dead_filter filter = {.archived = DEAD_OPEN};
    struct dead_group *groups = NULL;
    size_t count = 0;
    int64_t limit = GROUPS_DEFAULT, total = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "limit", &(struct param_range){1, GROUPS_MAX}, &limit);
    params_filter(&params, &filter);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = dead_letters_count(db, &filter, &total, err);
    if (rc == RC_OK)
        rc = dead_letters_analyse(db, &filter, limit, &call->http.arena, &groups, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kint(&jw, "total", total);
    jw_key(&jw, "groups");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < count; i++)
        write_group(&jw, &groups[i]);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    return RC_OK;
}

/* ---- Changing ---- */

static void read_ids(struct fields *fields, struct cmd_dead *cmd)
{
    const struct js *texts = NULL;
    fields_strings(fields, "ids", FIELD_OPTIONAL, DEAD_PER_CALL_MAX,
                   &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &texts);
    if (texts == NULL)
        return;
    if (js_count(texts) == 0)
        fields_fail(fields, "ids", "ids must not be empty");
    cmd->id_count = js_count(texts);
    struct id *ids = arena_array(&cmd->base.arena, cmd->id_count, sizeof *ids);
    for (size_t i = 0; i < cmd->id_count; i++) {
        if (!id_parse(js_str(js_at(texts, i), ""), &ids[i]))
            fields_fail(fields, "ids", "ids[%zu] must be a UUID", i);
    }
    cmd->ids = ids;
}

/* What a route reads beside ids, filter and dryRun. */
enum extra { EXTRA_NONE, EXTRA_PATCH, EXTRA_AGE };

static void read_age(struct fields *fields, struct cmd_dead *cmd, bool *ret_given)
{
    int64_t older_ms = -1;
    struct clock clock = clock_real();
    fields_int(fields, "olderThanMs", FIELD_OPTIONAL, &(struct field_range){0, OLDER_MS_MAX},
               &older_ms);
    *ret_given = older_ms >= 0;
    if (*ret_given && cmd->ids != NULL)
        fields_fail(fields, "olderThanMs", "give ids or olderThanMs, not both");
    if (*ret_given)
        cmd->filter.until_us = clock_now_us(&clock) - older_ms * US_PER_MS;
}

static enum rc read_choice(struct cmd_dead *cmd, enum extra extra, struct err *err)
{
    const struct js *filter = NULL;
    bool aged = false;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    read_ids(&fields, cmd);
    fields_object(&fields, "filter", FIELD_OPTIONAL, &filter);
    fields_bool(&fields, "dryRun", FIELD_OPTIONAL, &cmd->dry_run);
    if (extra == EXTRA_PATCH)
        fields_any(&fields, "patch", FIELD_OPTIONAL, &cmd->patch);
    if (extra == EXTRA_AGE)
        read_age(&fields, cmd, &aged);
    if (cmd->ids != NULL && filter != NULL)
        fields_fail(&fields, "filter", "give ids or filter, not both");
    if (cmd->ids == NULL && filter == NULL && !aged)
        fields_fail(&fields, "ids",
                    extra == EXTRA_AGE ? "give ids, filter or olderThanMs; the filter {} means all"
                                       : "give ids or filter; the filter {} means all");
    enum rc rc = fields_close(&fields);
    int64_t aged_us = cmd->filter.until_us;
    if (rc == RC_OK && filter != NULL)
        rc = read_filter(filter, &cmd->filter, err);
    if (aged_us > 0 && aged_us < cmd->filter.until_us)
        cmd->filter.until_us = aged_us;
    return rc;
}

static enum rc build(struct call *call, struct cmd_dead *cmd, enum extra extra, struct err *err)
{
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_choice(cmd, extra, err) : rc;
}

static void answer(struct call *call, const struct command *command, const char *done)
{
    const struct cmd_dead *cmd = (const struct cmd_dead *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kint(&jw, "matched", cmd->matched);
    jw_kint(&jw, done, cmd->done);
    jw_kint(&jw, "remaining", cmd->remaining);
    jw_kbool(&jw, "dryRun", cmd->dry_run);
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < cmd->answer_count; i++) {
        const struct dead_answer *each = &cmd->answers[i];
        jw_begin(&jw, '{');
        jw_kstr(&jw, "id", each->id.text);
        jw_kbool(&jw, "ok", each->code == NULL);
        jw_optstr(&jw, "code", each->code);
        jw_optstr(&jw, "message", each->message);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

enum rc api_dead_letter_replay(struct call *call, struct err *err)
{
    return build(call, cmd_replay_new(), EXTRA_PATCH, err);
}

void api_dead_letter_replay_answer(struct call *call, struct command *command)
{
    answer(call, command, "replayed");
}

enum rc api_dead_letter_archive(struct call *call, struct err *err)
{
    return build(call, cmd_archive_new(), EXTRA_NONE, err);
}

void api_dead_letter_archive_answer(struct call *call, struct command *command)
{
    answer(call, command, "archived");
}

enum rc api_dead_letter_purge(struct call *call, struct err *err)
{
    struct cmd_dead *cmd = cmd_purge_new();
    cmd->filter.archived = DEAD_BOTH;
    return build(call, cmd, EXTRA_AGE, err);
}

void api_dead_letter_purge_answer(struct call *call, struct command *command)
{
    answer(call, command, "purged");
}
