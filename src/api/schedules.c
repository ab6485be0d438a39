/*
 * schedules.c - schedules over HTTP.
 */
#include "control/messaging/schedules.h"
#include "api/job_fields.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "core/queue/cron.h"

static enum rc check_name(const struct call *call, struct err *err)
{
    if (queue_name_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME",
                   "a schedule's name has letters, digits, '.', '_' and '-', at most 100 bytes");
}

static void write_schedule(struct jw *jw, const struct schedule_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "cron", row->cron);
    jw_kraw(jw, "job", row->job);
    jw_kbool(jw, "enabled", row->enabled);
    jw_ktime(jw, "nextAt", row->next_us);
    jw_ktime(jw, "lastAt", row->last_us);
    jw_kstr(jw, "lastJobId", id_or_null(&row->last_job_id));
    jw_ktime(jw, "createdAt", row->created_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
}

/* Refuses a schedule that would never fire. */
static void check_cron(struct fields *fields, const char *text, int64_t now_us)
{
    struct cron cron;
    if (fields->rc != RC_OK)
        return;
    fields->rc = cron_parse(text, &cron, fields->err);
    if (fields->rc == RC_OK && cron_next(&cron, now_us) == 0)
        fields_fail(fields, "cron", "no day is like this: %s would never come", text);
}

static enum rc read_job(const struct js *tree, struct cmd_schedule_put *cmd, struct err *err)
{
    struct fields fields;
    struct job_spec spec = {0};
    fields_open(&fields, tree, "job", err);
    fields_job(&fields, &cmd->base.arena, &spec);
    if (spec.dedup_key != NULL)
        fields_fail(&fields, "dedupKey",
                    "a schedule gives each of its jobs a dedup key of its own");
    cmd->job = str_of(js_text(tree, &cmd->base.arena));
    return fields_close(&fields);
}

static enum rc read_schedule(struct call *call, struct cmd_schedule_put *cmd, struct err *err)
{
    struct clock clock = control_clock(call->api->control);
    const struct js *job = NULL;
    struct fields fields;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_string(&fields, "cron", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = CRON_TEXT_MAX}, &cmd->cron);
    fields_object(&fields, "job", FIELD_REQUIRED, &job);
    cmd->enabled = true;
    fields_bool(&fields, "enabled", FIELD_OPTIONAL, &cmd->enabled);
    check_cron(&fields, cmd->cron, clock_now_us(&clock));
    enum rc rc = fields_close(&fields);
    return rc == RC_OK ? read_job(job, cmd, err) : rc;
}

enum rc api_schedule_put(struct call *call, struct err *err)
{
    struct cmd_schedule_put *cmd = cmd_schedule_put_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_schedule(call, cmd, err) : rc;
}

void api_schedule_put_answer(struct call *call, struct command *command)
{
    const struct cmd_schedule_put *cmd = (const struct cmd_schedule_put *)command;
    struct jw jw = call_answer(call, cmd->created ? 201 : 200);
    write_schedule(&jw, &cmd->row);
}

enum rc api_schedule_remove(struct call *call, struct err *err)
{
    struct cmd_schedule_remove *cmd = cmd_schedule_remove_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

enum rc api_schedule_run(struct call *call, struct err *err)
{
    struct cmd_schedule_run *cmd = cmd_schedule_run_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    return rc == RC_OK ? call_no_fields(call, err) : rc;
}

void api_schedule_run_answer(struct call *call, struct command *command)
{
    const struct cmd_schedule_run *cmd = (const struct cmd_schedule_run *)command;
    struct jw jw = call_answer(call, 201);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "schedule", cmd->name);
    jw_kstr(&jw, "jobId", cmd->job_id.text);
    jw_end(&jw, '}');
}

enum rc api_schedule_get(struct call *call, struct db *db, struct err *err)
{
    struct schedule_row row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = schedules_get(db, call->vars[0], &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    write_schedule(&jw, &row);
    return RC_OK;
}

enum rc api_schedule_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct schedule_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = schedules_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_schedule(&list.jw, &rows[i]);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}
