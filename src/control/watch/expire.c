/*
 * expire.c - see expire.h.
 *
 * Invariants
 * 1. A task is deleted with all of its rows but its events, or not at all; expired_tasks names it
 *    as long as events of it are there (store/expiry.h).
 * 2. Diagnostic events are deleted in the transaction that adds them to the sums of their run.
 * 3. A content is dropped only when no row uses it, and when it was not put a short while ago.
 */
#include "control/watch/expire.h"
#include "base/clock.h"
#include "control/commit/isolate.h"
#include "control/commit/read_ahead.h"
#include "control/watch/doctor_metrics.h"
#include "core/run/diagnostic_sums.h"
#include "core/run/run.h"
#include "store/artifact_uses.h"
#include "store/artifacts.h"
#include "store/expiry.h"
#include "store/expiry_rows.h"
#include "store/retention_sums.h"
#include "store/run_diagnostics.h"
#include "store/run_snapshots.h"
#include "store/runs.h"
#include "store/tasks.h"
#include <string.h>

enum { FAMILY_MAX = 2000, EVENTS_AT_ONCE = 200 };

struct work {
    struct context *ctx;
    struct cmd_expire *cmd;
    int64_t begun_us; /* By clock_mono_us. */
};

/* Has this command done enough? */
static bool is_over(const struct work *work)
{
    const struct cmd_expire *cmd = work->cmd;
    return (cmd->rows_max > 0 && cmd->rows >= cmd->rows_max) ||
           (cmd->budget_us > 0 && clock_mono_us() - work->begun_us >= cmd->budget_us);
}

static enum rc add_sum(struct work *work, const char *prefix, const char *name, int64_t more)
{
    struct context *ctx = work->ctx;
    return more == 0 ? RC_OK
                     : retention_sums_add(ctx->db, arena_printf(ctx->arena, "%s%s", prefix, name),
                                          more, ctx->err);
}

/* ---- tasks ---- */

struct family {
    struct work *work;
    const struct expire_item *root;
    struct expiry_counts counts;
};

/* May the task go, as it is now? */
static enum rc is_over_for(struct work *work, const struct id *task_id, bool *ret_goes)
{
    struct context *ctx = work->ctx;
    struct expiry_task task = {0};
    struct task_row row;
    enum rc rc = db_is_shared(ctx->db) ? tasks_get(ctx->db, task_id, ctx->arena, &row, ctx->err)
                                       : RC_OK; /* Locks it. */
    if (rc == RC_OK)
        rc = expiry_facts(ctx->db, task_id, &task, ctx->err);
    *ret_goes = rc == RC_OK &&
                expiry_judge_task(work->cmd->rules, &task, ctx->now_us) == EXPIRY_GOES;
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc try_family(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct family *family = subject;
    struct id *ids;
    size_t count;
    bool goes;
    family->counts = (struct expiry_counts){0};
    enum rc rc = is_over_for(family->work, &family->root->id, &goes);
    if (rc != RC_OK || !goes)
        return rc;
    rc = expiry_family(ctx->db, &family->root->id, FAMILY_MAX, ctx->arena, &ids, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && goes && i < count; i++)
        rc = is_over_for(family->work, &ids[i], &goes);
    if (rc != RC_OK || !goes)
        return rc;
    for (size_t i = count; rc == RC_OK && i > 0; i--)
        rc = expiry_delete_task(ctx->db, &ids[i - 1], ctx->now_us, ctx->arena, &family->counts,
                                ctx->err);
    return rc == RC_OK ? expiry_delete_task(ctx->db, &family->root->id, ctx->now_us, ctx->arena,
                                            &family->counts, ctx->err)
                       : rc;
}

/* It stays until the next round; isolate() has logged why. */
static enum rc leave(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx, (void)why;
    ((struct family *)subject)->counts = (struct expiry_counts){0};
    return RC_OK;
}

static void add_counts(struct expiry_counts *sum, const struct expiry_counts *more)
{
    sum->tasks += more->tasks;
    sum->runs += more->runs;
    sum->jobs += more->jobs;
    for (size_t i = 0; i < RUN_STATUS_COUNT; i++)
        sum->runs_by_status[i] += more->runs_by_status[i];
}

static enum rc expire_tasks(struct work *work)
{
    static isolate_try *const tries[] = {try_family, leave, NULL};
    struct cmd_expire *cmd = work->cmd;
    struct expiry_counts sum = {0};
    enum rc rc = RC_OK;
    while (rc == RC_OK && cmd->handled < cmd->count && !is_over(work)) {
        struct family family = {.work = work, .root = &cmd->items[cmd->handled]};
        const struct isolated one = {"expired task", family.root->id.text, &family, tries};
        rc = isolate(work->ctx, &one);
        cmd->rows += family.counts.rows;
        cmd->handled++;
        add_counts(&sum, &family.counts);
    }
    if (rc == RC_OK && sum.tasks > 0)
        rc = retention_sums_raise(work->ctx->db, MARK_TASKS_US, cmd->before_us, work->ctx->err);
    if (rc == RC_OK)
        rc = add_sum(work, RETENTION_EXPIRED, "tasks", sum.tasks);
    if (rc == RC_OK)
        rc = add_sum(work, RETENTION_EXPIRED, "runs", sum.runs);
    if (rc == RC_OK)
        rc = add_sum(work, RETENTION_EXPIRED, "jobs", sum.jobs);
    for (size_t i = 0; rc == RC_OK && i < RUN_STATUS_COUNT; i++)
        rc = add_sum(work, RETENTION_RUNS, run_status_name((enum run_status)i),
                     sum.runs_by_status[i]);
    return rc;
}

/* ---- events ---- */

/* By type, of those that the doctor counts. */
struct log_counts {
    int64_t of[DOCTOR_COUNTED];
    int64_t all;
};

static void count_event(void *ctx, const char *type, bool own)
{
    struct log_counts *counts = ctx;
    int at = own ? doctor_counted(type) : -1;
    counts->all++;
    if (at >= 0)
        counts->of[at]++;
}

static enum rc save_counts(struct work *work, const struct log_counts *counts)
{
    enum rc rc = add_sum(work, RETENTION_EXPIRED, "events", counts->all);
    for (int i = 0; rc == RC_OK && i < DOCTOR_COUNTED; i++)
        rc = add_sum(work, RETENTION_LOG, doctor_counted_type(i), counts->of[i]);
    return rc;
}

static enum rc raise_floor(struct work *work)
{
    return retention_sums_raise(work->ctx->db, MARK_FLOOR_SEQ, work->cmd->through_seq,
                                work->ctx->err);
}

static enum rc expire_events(struct work *work)
{
    struct context *ctx = work->ctx;
    struct cmd_expire *cmd = work->cmd;
    struct log_counts counts = {0};
    const struct event_expiry expiry = {count_event, &counts, EVENTS_AT_ONCE};
    int64_t unread = 0;
    enum rc rc = raise_floor(work);
    while (rc == RC_OK && cmd->handled < cmd->count && !is_over(work)) {
        const struct expire_item *item = &cmd->items[cmd->handled];
        const struct expired_task task = {item->id, item->seq};
        int64_t deleted = 0;
        rc = expired_events_delete(ctx->db, &task, &expiry, &deleted, ctx->err);
        cmd->rows += deleted;
        unread += task.last_seq > cmd->unread_seq ? deleted : 0;
        if (rc != RC_OK || deleted == EVENTS_AT_ONCE)
            continue; /* There may be more of it. */
        rc = expired_tasks_remove(ctx->db, &task, ctx->err);
        cmd->handled++;
    }
    if (rc == RC_OK)
        rc = add_sum(work, MARK_UNREAD, "", unread);
    return rc == RC_OK ? save_counts(work, &counts) : rc;
}

static enum rc expire_log(struct work *work)
{
    struct context *ctx = work->ctx;
    struct cmd_expire *cmd = work->cmd;
    struct log_counts counts = {0};
    int64_t unread = 0, deleted;
    enum rc rc = raise_floor(work);
    for (; rc == RC_OK && cmd->handled < cmd->count; cmd->handled++) {
        const struct expire_item *item = &cmd->items[cmd->handled];
        rc = log_entry_delete(ctx->db, item->seq, &deleted, ctx->err);
        if (rc != RC_OK || deleted == 0)
            continue;
        count_event(&counts, item->type != NULL ? item->type : "", item->type != NULL);
        cmd->rows++;
        unread += item->seq > cmd->unread_seq;
    }
    if (rc == RC_OK)
        rc = save_counts(work, &counts);
    return rc == RC_OK ? add_sum(work, MARK_UNREAD, "", unread) : rc;
}

/* ---- diagnostics ---- */

struct diagnosing {
    struct work *work;
    struct run_row run;
    struct run_diagnostics_row row;
    struct diagnostic_sums sums;
    int64_t usage_seq; /* The event with its usage, which stays. */
};

static enum rc load_sums(struct diagnosing *it)
{
    struct context *ctx = it->work->ctx;
    CLEANUP(js_freep) struct js *tree = NULL;
    it->row = (struct run_diagnostics_row){.run_id = it->run.id};
    enum rc rc = run_diagnostics_usage(ctx->db, &it->run.id, &it->usage_seq, ctx->err);
    if (rc == RC_OK)
        rc = run_diagnostics_get(ctx->db, &it->run.id, ctx->arena, &it->row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return RC_OK;
    if (rc == RC_OK)
        rc = js_parse(it->row.sums.at, it->row.sums.len, &tree, ctx->err);
    if (rc == RC_OK)
        diagnostic_sums_read(tree, &it->sums);
    return rc;
}

static bool stays(const struct diagnosing *it, const struct diagnostic_event *row)
{
    int64_t place = row->event.run_seq;
    return place == it->usage_seq || place == it->run.event_seq ||
           !expiry_event_is_diagnostic(&row->event, row->about_issue);
}

/* *ret_more: the run has events behind these. */
static enum rc delete_some(struct diagnosing *it, bool *ret_more)
{
    struct context *ctx = it->work->ctx;
    struct cmd_expire *cmd = it->work->cmd;
    const struct diagnostic_page page = {it->run.id, it->row.through_seq, EVENTS_AT_ONCE};
    struct diagnostic_event *rows;
    size_t count;
    enum rc rc = run_diagnostics_events(ctx->db, &page, ctx->arena, &rows, &count, ctx->err);
    *ret_more = rc == RC_OK && count == EVENTS_AT_ONCE;
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        const struct event *event = &rows[i].event;
        if (event->time_us >= cmd->before_us || event->seq > cmd->through_seq) {
            *ret_more = false;
            break;
        }
        it->row.through_seq = event->run_seq;
        if (stays(it, &rows[i]))
            continue;
        rc = run_diagnostics_delete(ctx->db, event->seq, ctx->err);
        diagnostic_sums_add(&it->sums, event);
        it->row.removed++;
        cmd->rows++;
    }
    return rc;
}

static enum rc save_sums(struct diagnosing *it)
{
    struct context *ctx = it->work->ctx;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DIAGNOSTIC_SUMS_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    diagnostic_sums_write(&jw, &it->sums);
    jw_end(&jw, '}');
    if (text.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "TOO_LARGE", "sums of run %s are too large",
                       it->run.id.text);
    it->row.sums = (struct str){arena_strndup(ctx->arena, text.data, text.len), text.len};
    it->row.updated_us = ctx->now_us;
    return run_diagnostics_put(ctx->db, &it->row, ctx->err);
}

/* One run, as far as this command goes. */
static enum rc diagnose_run(struct work *work, const struct id *run_id, bool *ret_done)
{
    struct context *ctx = work->ctx;
    struct diagnosing *it = arena_alloc(ctx->arena, sizeof *it);
    *it = (struct diagnosing){.work = work};
    bool more = true;
    *ret_done = true;
    enum rc rc = runs_get(ctx->db, run_id, ctx->arena, &it->run, ctx->err);
    if (rc != RC_OK || !run_is_terminal(it->run.status))
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    rc = load_sums(it);
    int64_t removed = it->row.removed;
    while (rc == RC_OK && more && !is_over(work))
        rc = delete_some(it, &more);
    *ret_done = !more;
    if (rc != RC_OK || it->row.removed == removed)
        return rc;
    rc = save_sums(it);
    /* Snapshots of the run show what these events said. */
    if (rc == RC_OK)
        rc = run_snapshots_forget(ctx->db, run_id, ctx->err);
    return rc == RC_OK ? add_sum(work, RETENTION_EXPIRED, "diagnostics", it->row.removed - removed)
                       : rc;
}

static enum rc expire_diagnostics(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    enum rc rc = raise_floor(work);
    while (rc == RC_OK && cmd->handled < cmd->count && !is_over(work)) {
        bool done;
        rc = diagnose_run(work, &cmd->items[cmd->handled].id, &done);
        cmd->handled += done;
    }
    return rc;
}

/* ---- rows of no task ---- */

static enum rc expire_jobs(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    enum rc rc = RC_OK;
    for (; rc == RC_OK && cmd->handled < cmd->count && !is_over(work); cmd->handled++) {
        int64_t deleted = 0;
        rc = expiry_delete_job(work->ctx->db, &cmd->items[cmd->handled].id, cmd->before_us,
                               &deleted, work->ctx->err);
        cmd->rows += deleted;
    }
    return rc == RC_OK ? add_sum(work, RETENTION_EXPIRED, "jobs", cmd->rows) : rc;
}

static enum rc expire_sagas(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    int64_t jobs = 0, sagas = 0;
    enum rc rc = RC_OK;
    for (; rc == RC_OK && cmd->handled < cmd->count && !is_over(work); cmd->handled++) {
        int64_t deleted = 0;
        rc = expiry_delete_saga(work->ctx->db, &cmd->items[cmd->handled].id, &deleted,
                                work->ctx->err);
        jobs += deleted;
        sagas++;
        cmd->rows += deleted + 1;
    }
    if (rc == RC_OK)
        rc = add_sum(work, RETENTION_EXPIRED, "jobs", jobs);
    return rc == RC_OK ? add_sum(work, RETENTION_EXPIRED, "sagas", sagas) : rc;
}

static enum rc expire_batches(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    enum rc rc = RC_OK;
    for (; rc == RC_OK && cmd->handled < cmd->count && !is_over(work); cmd->handled++) {
        rc = expiry_delete_batch(work->ctx->db, &cmd->items[cmd->handled].id, work->ctx->now_us,
                                 work->ctx->err);
        cmd->rows++;
    }
    return rc == RC_OK ? add_sum(work, RETENTION_EXPIRED, "batches", cmd->rows) : rc;
}

static enum rc expire_letters(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    enum rc rc = expiry_delete_letters(work->ctx->db, cmd->before_us, cmd->rows_max, &cmd->rows,
                                       work->ctx->err);
    return rc == RC_OK ? add_sum(work, RETENTION_EXPIRED, "sink_dead_letters", cmd->rows) : rc;
}

/* ---- contents ---- */

static enum rc loosen(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    enum rc rc = RC_OK;
    for (; rc == RC_OK && cmd->handled < cmd->count; cmd->handled++)
        rc = loose_artifacts_add(work->ctx->db, cmd->items[cmd->handled].sha256, work->ctx->now_us,
                                 work->ctx->err);
    return rc;
}

static enum rc sweep_one(struct work *work, const char *sha256, int64_t *ret_dropped)
{
    struct context *ctx = work->ctx;
    const struct artifact_source source = {ctx->store, ctx->db};
    struct artifact_swept swept = {0};
    bool used = false;
    enum rc rc = artifact_is_used(ctx->db, sha256, &used, ctx->err);
    if (rc == RC_OK && !used)
        rc = artifact_sweep(&source, sha256, work->cmd->before_us, &swept, ctx->err);
    if (rc != RC_OK || swept.is_young)
        return rc;
    *ret_dropped += swept.bytes > 0;
    work->cmd->bytes += swept.bytes;
    work->cmd->rows++;
    return loose_artifacts_remove(ctx->db, sha256, ctx->err);
}

static enum rc expire_contents(struct work *work)
{
    struct cmd_expire *cmd = work->cmd;
    int64_t dropped = 0;
    enum rc rc = RC_OK;
    for (; rc == RC_OK && cmd->handled < cmd->count && !is_over(work); cmd->handled++)
        rc = sweep_one(work, cmd->items[cmd->handled].sha256, &dropped);
    if (rc == RC_OK)
        rc = add_sum(work, RETENTION_EXPIRED, "artifacts", dropped);
    return rc == RC_OK ? add_sum(work, MARK_GIVEN_BACK, "", cmd->bytes) : rc;
}

/* ---- space ---- */

static enum rc give_back(struct work *work)
{
    struct context *ctx = work->ctx;
    struct cmd_expire *cmd = work->cmd;
    struct db_space before = {0}, after = {0};
    enum rc rc = db_space(ctx->db, &before, ctx->err);
    if (rc == RC_OK)
        rc = db_give_back(ctx->db, cmd->rows_max, ctx->err);
    if (rc == RC_OK)
        rc = db_space(ctx->db, &after, ctx->err);
    if (rc != RC_OK)
        return rc;
    cmd->rows = before.pages - after.pages;
    cmd->bytes = cmd->rows * after.page_bytes;
    return add_sum(work, MARK_GIVEN_BACK, "", cmd->bytes);
}

/* ---- the command ---- */

static enum rc save_only(struct work *work)
{
    (void)work;
    return RC_OK;
}

static enum rc (*const acts[EXPIRE_WHAT_COUNT])(struct work *work) = {
    [EXPIRE_TASKS] = expire_tasks,     [EXPIRE_EVENTS] = expire_events,
    [EXPIRE_LOG] = expire_log,         [EXPIRE_DIAGNOSTICS] = expire_diagnostics,
    [EXPIRE_JOBS] = expire_jobs,       [EXPIRE_SAGAS] = expire_sagas,
    [EXPIRE_BATCHES] = expire_batches, [EXPIRE_LETTERS] = expire_letters,
    [EXPIRE_LOOSEN] = loosen,          [EXPIRE_CONTENTS] = expire_contents,
    [EXPIRE_SPACE] = give_back,        [EXPIRE_SUMS] = save_only,
};

static enum rc apply_expire(struct context *ctx, struct command *command)
{
    struct cmd_expire *cmd = (struct cmd_expire *)command;
    struct work work = {ctx, cmd, clock_mono_us()};
    struct lease_proof proof;
    cmd->handled = 0;
    cmd->rows = cmd->bytes = cmd->spent_us = 0;
    enum rc rc = leases_enter(ctx->db, &cmd->turn, &proof, ctx->err);
    if (rc == RC_OK)
        rc = acts[cmd->what](&work);
    for (size_t i = 0; rc == RC_OK && i < cmd->sum_count; i++)
        rc = retention_sums_set(ctx->db, &cmd->sums[i], ctx->err);
    cmd->spent_us = clock_mono_us() - work.begun_us;
    return rc;
}

static void name_rows(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_expire *cmd = (const struct cmd_expire *)command;
    bool owners = cmd->what == EXPIRE_TASKS || cmd->what == EXPIRE_DIAGNOSTICS;
    for (size_t i = 0; owners && i < cmd->count; i++)
        read_ahead_owner(read_ahead, &cmd->items[i].id);
}

static const struct command_ops expire_ops = {
    .name = "expire", .apply = apply_expire, .names = name_rows};

struct cmd_expire *cmd_expire_new(void)
{
    struct cmd_expire *cmd = command_new(&expire_ops, sizeof *cmd);
    cmd->base.actor = (struct actor){"system", "retention"};
    return cmd;
}
