/*
 * sagas.c - sagas over HTTP: start, list, show, cancel.
 */
#include "control/messaging/sagas.h"
#include "api/listing.h"
#include "api/routes.h"
#include "api/saga_shape.h"
#include "base/fields.h"
#include "core/queue/queue_config.h"
#include "core/step_kind.h"

enum { DEDUP_KEY_MAX = 200, STATUS_MAX = 40 };

/* ---- Start ---- */

/* Queues of drover's own steps are not open to clients. */
static enum rc check_queues(const struct saga_plan *plan, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct saga_plan_step *step = &plan->steps[i];
        bool own = text_starts(step->call.queue, STEP_QUEUE_PREFIX);
        bool back = step->compensable && text_starts(step->compensation.queue, STEP_QUEUE_PREFIX);
        if (own || back)
            return err_field(
                err, RC_INVALID, "INVALID_FIELD",
                arena_printf(arena, "steps[%zu].%squeue", i, own ? "" : "compensation."),
                "queues named %s* are drover's own", STEP_QUEUE_PREFIX);
    }
    return RC_OK;
}

static enum rc read_start(const struct js *tree, struct cmd_saga_start *cmd, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    struct fields fields;
    const struct js *steps = NULL;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "name", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = SAGA_NAME_MAX}, &cmd->name);
    fields_string(&fields, "dedupKey", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = DEDUP_KEY_MAX}, &cmd->dedup_key);
    fields_array(&fields, "steps", FIELD_REQUIRED, SAGA_STEPS_MAX, &steps);
    enum rc rc = fields_close(&fields);
    struct saga_plan plan;
    if (rc == RC_OK)
        rc = saga_plan_decode(steps, arena, &plan, err);
    if (rc == RC_OK)
        rc = check_queues(&plan, arena, err);
    if (rc != RC_OK)
        return rc;
    cmd->steps = str_of(js_text(steps, arena));
    if (cmd->steps.len > SAGA_PLAN_BYTES_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "steps",
                         "steps must have at most %d bytes", SAGA_PLAN_BYTES_MAX);
    return RC_OK;
}

enum rc api_saga_start(struct call *call, struct err *err)
{
    struct cmd_saga_start *cmd = cmd_saga_start_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    return rc == RC_OK ? read_start(cmd->base.tree, cmd, err) : rc;
}

void api_saga_start_answer(struct call *call, struct command *command)
{
    const struct cmd_saga_start *cmd = (const struct cmd_saga_start *)command;
    struct jw jw = call_answer(call, cmd->duplicate ? 200 : 201);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->saga_id.text);
    jw_kstr(&jw, "status", saga_status_name(cmd->status));
    jw_kbool(&jw, "duplicate", cmd->duplicate);
    jw_end(&jw, '}');
}

/* ---- Cancel ---- */

enum rc api_saga_cancel(struct call *call, struct err *err)
{
    struct cmd_saga_cancel *cmd = cmd_saga_cancel_new();
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->saga_id, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

void api_saga_cancel_answer(struct call *call, struct command *command)
{
    const struct cmd_saga_cancel *cmd = (const struct cmd_saga_cancel *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->saga_id.text);
    jw_kstr(&jw, "status", saga_status_name(cmd->status));
    jw_end(&jw, '}');
}

/* ---- Queries ---- */

static void read_filter(struct params *params, struct saga_filter *filter)
{
    const char *status = NULL;
    enum saga_status parsed = SAGA_RUNNING;
    params_text(params, "name", SAGA_NAME_MAX, &filter->name);
    params_id(params, "runId", &filter->run_id);
    params_text(params, "status", STATUS_MAX, &status);
    if (status != NULL && !saga_status_parse(status, &parsed))
        params_fail(params, "status", "%.40s is not a status of a saga", status);
    if (status != NULL)
        filter->status = (int)parsed;
}

enum rc api_saga_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct saga_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct saga_filter filter = {
        .status = -1, .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = sagas_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        shape_saga_open(&list.jw, &rows[i]);
        jw_end(&list.jw, '}');
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

enum rc api_saga_get(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct saga_row saga;
    struct saga_step_row *steps = NULL;
    size_t count = 0;
    struct arena *arena = &call->http.arena;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = sagas_peek(db, &id, arena, &saga, err);
    if (rc == RC_OK)
        rc = saga_steps_list(db, &id, arena, &steps, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_saga_open(&jw, &saga);
    jw_kraw(&jw, "steps", saga.definition);
    shape_saga_history(&jw, steps, count);
    jw_end(&jw, '}');
    return RC_OK;
}
