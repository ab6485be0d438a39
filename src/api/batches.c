/*
 * batches.c - one piece of work over many repositories: submit, list, show, pause, resume, cancel.
 */
#include "store/batches.h"
#include "api/listing.h"
#include "api/routes.h"
#include "control/admit/batch_commands.h"
#include "control/admit/batch_flow.h"
#include "control/admit/submission.h"
#include "core/config/batch_document.h"
#include <math.h>

enum { ITEM_BYTES_MAX = 1024 * 1024 };

/* ---- Submit ---- */

/* The document was checked by its schema: what is there has its type and its range. */

static bool says_what(const struct js *task)
{
    return js_get_str(task, "description", NULL) != NULL || js_get_int(task, "issueNumber", 0) > 0;
}

/* What the schema does not know: names of branches and files, and what overrides may hold. */
static enum rc check_task(struct call *call, const struct js *task, const char *path,
                          struct err *err)
{
    struct submission unused = submission_new();
    struct faults faults = {0};
    const struct submission_reading how = {
        .arena = &call->http.arena, .path = path, .of_batch = true};
    enum rc rc = submission_read(task, &how, &unused, &faults, err);
    if (faults.count > 0)
        call_faults(call, &faults);
    return rc;
}

static bool is_of_member(const char *key)
{
    return text_same(key, "key") || text_same(key, "repository") || text_same(key, "dependsOn");
}

/* What an item says of its task, as text; empty: nothing. */
static enum rc read_own_task(const struct js *item, const char *path, struct arena *arena,
                             struct str *ret_text, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    size_t at = 0, count = 0;
    const char *key;
    const struct js *value;
    buf_init(&text, ITEM_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    while (js_next(item, &at, &key, &value)) {
        if (is_of_member(key))
            continue;
        jw_key(&jw, key);
        js_write(&jw, value);
        count++;
    }
    jw_end(&jw, '}');
    if (text.overflow)
        return err_field(err, RC_INVALID, "INVALID_FIELD", path, "%s must have at most %d bytes",
                         path, ITEM_BYTES_MAX);
    if (count > 0)
        *ret_text = (struct str){arena_strndup(arena, buf_text(&text), text.len), text.len};
    return RC_OK;
}

static enum rc read_item(struct call *call, struct cmd_batch_submit *cmd, const struct js *from,
                         struct batch_item *item, size_t at, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    CLEANUP(js_freep) struct js *task = NULL;
    const struct js *keys = js_get(from, "dependsOn");
    const char **words = arena_array(arena, js_count(keys) + 1, sizeof *words);
    for (size_t i = 0; i < js_count(keys); i++)
        words[i] = js_str(js_at(keys, i), "");
    *item = (struct batch_item){
        .key = js_get_str(from, "key", NULL),
        .repository = js_get_str(from, "repository", NULL),
        .says_what = says_what(from),
        .depends_on = words,
        .depends_count = js_count(keys),
    };
    const char *path = arena_printf(arena, "tasks[%zu]", at);
    enum rc rc = read_own_task(from, path, arena, &item->task, err);
    if (rc != RC_OK || item->task.len == 0)
        return rc;
    rc = js_parse(item->task.at, item->task.len, &task, err);
    return rc == RC_OK ? check_task(call, task, path, err) : rc;
}

static enum rc read_members(struct call *call, struct cmd_batch_submit *cmd, struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    const struct js *patterns = js_get(cmd->base.tree, "repositories");
    const struct js *tasks = js_get(cmd->base.tree, "tasks");
    const char **words = arena_array(arena, js_count(patterns) + 1, sizeof *words);
    struct batch_item *items = arena_array(arena, js_count(tasks) + 1, sizeof *items);
    for (size_t i = 0; i < js_count(patterns); i++)
        words[i] = js_str(js_at(patterns, i), "");
    cmd->patterns = words;
    cmd->pattern_count = js_count(patterns);
    cmd->items = items;
    cmd->item_count = js_count(tasks);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < cmd->item_count; i++)
        rc = read_item(call, cmd, js_at(tasks, i), &items[i], i, err);
    return rc;
}

static enum rc read_document(struct call *call, struct cmd_batch_submit *cmd, struct err *err)
{
    const struct js *tree = cmd->base.tree, *task = js_get(tree, "task");
    const struct js *stop = js_get(tree, "stop");
    bool has_task = js_type(task) == JS_OBJECT;
    cmd->name = js_get_str(tree, "name", NULL);
    cmd->task = has_task ? str_of(js_text(task, &cmd->base.arena)) : STR("{}");
    cmd->says_what = says_what(task);
    cmd->stop_cancels = text_same(js_get_str(tree, "onStop", NULL), "cancel");
    cmd->limits = (struct batch_limits){
        .max_active = js_get_int(tree, "maxActive", 0),
        .budget_microusd = llround(js_num(js_get(tree, "maxBudgetUsd"), 0) * 1e6),
        .stop_failures = js_get_int(stop, "failures", 0),
        .stop_percent = js_get_int(stop, "failedPercent", 0),
        .stop_after = js_get_int(stop, "after", BATCH_STOP_AFTER_DEFAULT),
    };
    enum rc rc = has_task ? check_task(call, task, "task", err) : RC_OK;
    return rc == RC_OK ? read_members(call, cmd, err) : rc;
}

/* By the header, or by `key` of the document, which a file can hold. */
static enum rc read_key(struct call *call, struct cmd_batch_submit *cmd, struct err *err)
{
    const char *own = js_get_str(cmd->base.tree, "key", NULL);
    struct call_key key = {0};
    enum rc rc = call_key(call, &cmd->base.arena, &key, err);
    if (rc == RC_OK && key.text != NULL && own != NULL && !text_same(key.text, own))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "key",
                         "key and the header Idempotency-Key differ: give one of them");
    cmd->idempotency_key = key.text != NULL ? key.text : own;
    cmd->body_sha256 = key.body_sha256;
    if (rc == RC_OK && key.text == NULL && own != NULL)
        cmd->body_sha256 = call_body_hash(call, &cmd->base.arena);
    return rc;
}

static enum rc read_params(struct call *call, struct cmd_batch_submit *cmd, struct err *err)
{
    static const char *const words[] = {"true", "false", NULL};
    const char *dry_run = "false";
    struct params params;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_choice(&params, "dryRun", words, &dry_run);
    cmd->dry_run = text_same(dry_run, "true");
    if (cmd->dry_run)
        cmd->base.audit = NULL;
    return params_end(&params);
}

enum rc api_batch_submit(struct call *call, struct err *err)
{
    struct cmd_batch_submit *cmd = cmd_batch_submit_new();
    struct faults faults = {0};
    call_own(call, &cmd->base);
    enum rc rc = read_params(call, cmd, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = batch_document_check(cmd->base.tree, &call->http.arena, &faults, err);
    if (faults.count > 0)
        call_faults(call, &faults);
    if (rc == RC_OK)
        rc = read_key(call, cmd, err);
    return rc == RC_OK ? read_document(call, cmd, err) : rc;
}

static void write_plan(struct jw *jw, const struct cmd_batch_submit *cmd)
{
    jw_key(jw, "members");
    jw_begin(jw, '[');
    for (size_t i = 0; i < cmd->part_count; i++) {
        const struct batch_part *part = &cmd->parts[i];
        jw_begin(jw, '{');
        jw_kint(jw, "no", (int64_t)i + 1);
        jw_kstr(jw, "key", part->key);
        jw_kstr(jw, "repository", part->repository);
        jw_key(jw, "dependsOn");
        jw_begin(jw, '[');
        for (size_t j = 0; j < part->depends_count; j++)
            jw_str(jw, cmd->parts[part->depends_on[j]].key);
        jw_end(jw, ']');
        jw_kraw(jw, "task",
                part->item != NULL && part->item->task.len > 0 ? part->item->task : STR("{}"));
        jw_kstr(jw, "problem", part->problem);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

void api_batch_submit_answer(struct call *call, struct command *command)
{
    const struct cmd_batch_submit *cmd = (const struct cmd_batch_submit *)command;
    if (cmd->repeated)
        http_answer_header(&call->http, "Idempotent-Replay", "true");
    struct jw jw = call_answer(call, cmd->dry_run ? 200 : 202);
    jw_begin(&jw, '{');
    if (cmd->dry_run) {
        jw_kbool(&jw, "dryRun", true);
        jw_kraw(&jw, "task", cmd->task);
        write_plan(&jw, cmd);
    } else {
        jw_kstr(&jw, "id", cmd->batch_id.text);
        jw_kstr(&jw, "status", batch_status_name(BATCH_RUNNING));
        if (!cmd->repeated)
            jw_kint(&jw, "members", (int64_t)cmd->part_count);
    }
    jw_end(&jw, '}');
}

/* ---- Pause, resume, cancel ---- */

static enum rc build_move(struct call *call, enum batch_event event, struct err *err)
{
    struct cmd_batch_move *cmd = cmd_batch_move_new(event);
    call_own(call, &cmd->base);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->batch_id, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_batch_pause(struct call *call, struct err *err)
{
    return build_move(call, BATCH_EV_PAUSE, err);
}

enum rc api_batch_resume(struct call *call, struct err *err)
{
    return build_move(call, BATCH_EV_RESUME, err);
}

enum rc api_batch_cancel(struct call *call, struct err *err)
{
    return build_move(call, BATCH_EV_CANCEL, err);
}

void api_batch_answer(struct call *call, struct command *command)
{
    const struct cmd_batch_move *cmd = (const struct cmd_batch_move *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->batch_id.text);
    jw_kstr(&jw, "status", batch_status_name(cmd->status));
    jw_end(&jw, '}');
}

/* ---- Queries ---- */

static void int_or_null(struct jw *jw, const char *key, int64_t value)
{
    if (value > 0)
        jw_kint(jw, key, value);
    else
        jw_kstr(jw, key, NULL);
}

static void usd_or_null(struct jw *jw, const char *key, int64_t microusd)
{
    if (microusd > 0)
        jw_kreal(jw, key, (double)microusd / 1e6);
    else
        jw_kstr(jw, key, NULL);
}

static void write_rules(struct jw *jw, const struct batch_row *row)
{
    int_or_null(jw, "maxActive", row->max_active);
    usd_or_null(jw, "maxBudgetUsd", row->budget_microusd);
    jw_key(jw, "stop");
    jw_begin(jw, '{');
    int_or_null(jw, "failures", row->stop_failures);
    int_or_null(jw, "failedPercent", row->stop_percent);
    int_or_null(jw, "after", row->stop_after);
    jw_end(jw, '}');
    jw_kstr(jw, "onStop", row->stop_cancels ? "cancel" : "finish");
}

/* Without the end of the object. */
static enum rc write_batch(struct jw *jw, struct db *db, const struct batch_row *row,
                           struct err *err)
{
    struct batch_counts counts;
    int64_t cost = 0;
    enum rc rc = batches_counts(db, &row->id, &counts, err);
    if (rc == RC_OK)
        rc = batches_cost(db, &row->id, &cost, err);
    if (rc != RC_OK)
        return rc;
    jw_begin(jw, '{');
    jw_kstr(jw, "id", row->id.text);
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "status", batch_status_name(row->status));
    jw_kstr(jw, "reasonCode", row->reason_code);
    jw_kstr(jw, "reason", row->reason);
    jw_kstr(jw, "stoppedBy", row->stopped_by);
    jw_kstr(jw, "waitingFor", row->held);
    batch_write_counts(jw, &counts, cost);
    write_rules(jw, row);
    jw_kstr(jw, "requestedBy", row->requested_by);
    jw_ktime(jw, "createdAt", row->created_us);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_ktime(jw, "endedAt", row->ended_us);
    return RC_OK;
}

static void read_filter(struct params *params, struct batch_filter *filter)
{
    const char *status = NULL;
    enum batch_status parsed = BATCH_RUNNING;
    params_text(params, "name", BATCH_NAME_MAX, &filter->name);
    params_text(params, "requestedBy", 200, &filter->requested_by);
    params_text(params, "status", 40, &status);
    if (status != NULL && !batch_status_parse(status, &parsed))
        params_fail(params, "status", "%.40s is not a status of a batch", status);
    if (status != NULL)
        filter->status = (int)parsed;
}

enum rc api_batch_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct batch_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct batch_filter filter = {
        .status = -1, .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    read_filter(&list.params, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = batches_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = write_batch(&list.jw, db, &rows[i], err);
        jw_end(&list.jw, '}');
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

static void write_pull_request(struct jw *jw, const struct batch_member_view *view)
{
    jw_key(jw, "pullRequest");
    if (id_is_none(&view->pull_request_id)) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "id", view->pull_request_id.text);
    jw_kint(jw, "number", view->pr_number);
    jw_kstr(jw, "url", view->pr_url);
    jw_kstr(jw, "status", view->pr_status);
    jw_end(jw, '}');
}

/* A task that was retried and goes on has the error of its last run no more. */
static void write_member(struct jw *jw, const struct batch_member_view *view)
{
    const struct batch_member_row *row = &view->row;
    bool submitted = row->state == MEMBER_SUBMITTED;
    jw_begin(jw, '{');
    jw_kint(jw, "no", row->no);
    jw_kstr(jw, "key", row->key);
    jw_kstr(jw, "repository", row->repository);
    jw_kstr(jw, "status",
            submitted ? task_status_name(view->status) : member_state_name(row->state));
    jw_kstr(jw, "phase", member_phase_name(member_phase(row->state, view->status)));
    jw_kraw(jw, "dependsOn", row->depends_on.len > 0 ? row->depends_on : STR("[]"));
    jw_kstr(jw, "taskId", id_or_null(&row->task_id));
    jw_kstr(jw, "runId", id_or_null(&view->run_id));
    jw_kint(jw, "runs", view->run_count);
    jw_kreal(jw, "costUsd", (double)view->cost_microusd / 1e6);
    write_pull_request(jw, view);
    jw_kstr(jw, "errorCode", submitted ? view->task_error_code : row->error_code);
    jw_kstr(jw, "errorMessage", submitted ? view->task_error_message : row->error_message);
    jw_end(jw, '}');
}

static void read_phase(struct params *params, struct batch_page *page)
{
    const char *phase = NULL;
    params_text(params, "phase", 40, &phase);
    for (int i = 0; phase != NULL && page->phase < 0 && i < PHASE_COUNT; i++)
        if (text_same(member_phase_name((enum member_phase)i), phase))
            page->phase = i;
    if (phase != NULL && page->phase < 0)
        params_fail(params, "phase", "%.40s is not a phase of a member", phase);
}

/* The batch, and a page of its members in it. */
enum rc api_batch_get(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct batch_row row;
    struct batch_page page = {.phase = -1};
    struct batch_member_view *views = NULL;
    listing_open(&list, call, CURSOR_SEQ, err);
    read_phase(&list.params, &page);
    page.after_no = list.after_seq;
    page.limit = list.query_limit;
    enum rc rc = params_end(&list.params);
    if (rc == RC_OK)
        rc = call_id(call, 0, &page.batch_id, err);
    if (rc == RC_OK)
        rc = batches_peek(db, &page.batch_id, list.arena, &row, err);
    if (rc == RC_OK)
        rc = batch_members_page(db, &page, list.arena, &views, &list.count, err);
    if (rc != RC_OK)
        return rc;
    list.jw = call_answer(call, 200);
    rc = write_batch(&list.jw, db, &row, err);
    jw_kraw(&list.jw, "task", row.task);
    jw_key(&list.jw, "members");
    jw_begin(&list.jw, '[');
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_member(&list.jw, &views[i]);
        list.last_number = views[i].row.no;
    }
    return listing_end(&list, rc);
}
