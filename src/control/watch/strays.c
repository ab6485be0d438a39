#include "control/watch/strays.h"
#include "control/run/flow.h"
#include "control/run/saga_publish.h"
#include "core/step_kind.h"
#include "store/pull_requests.h"
#include "store/retention_sums.h"
#include "store/runs.h"
#include "store/sagas.h"
#include <inttypes.h>
#include <string.h>

enum { SAGAS_READ = 20 };

struct judging {
    struct db *db;
    const char *repository;
    struct arena *arena;  /* The report's. */
    struct arena scratch; /* Of one trace. */
    struct strays *strays;
    struct id expired; /* Runs and tasks with smaller ids may have been deleted after their time. */
    struct err *err;
};

/* Those that can be taken back have precedence over those that can only be reported.  NULL: there
   is no room. */
static struct stray *place_for(struct strays *strays, bool stale)
{
    if (strays->count < STRAYS_MAX)
        return &strays->items[strays->count++];
    for (size_t i = 0; stale && i < STRAYS_MAX; i++)
        if (!strays->items[i].stale)
            return &strays->items[i];
    return NULL;
}

static void found(struct judging *judging, const struct forge_trace *trace,
                  const struct run_row *run, bool stale, const char *what)
{
    struct strays *strays = judging->strays;
    strays->bad++;
    struct stray *stray = place_for(strays, stale);
    if (stray == NULL)
        return;
    *stray = (struct stray){.stale = stale};
    stray->repository = arena_strdup(judging->arena, judging->repository);
    stray->ref = arena_strdup(judging->arena, trace->ref);
    stray->head = arena_strdup(judging->arena, trace->head);
    stray->what = arena_strdup(judging->arena, what);
    if (run != NULL)
        stray->run_id = run->id;
}

/* By its name: drover/<task id>/<run no>-<slug>. */
static enum rc run_of_branch(struct judging *judging, const char *branch, struct run_row *ret_run)
{
    struct id task_id;
    struct run_row *runs = NULL;
    size_t count = 0;
    const char *at = strchr(branch, '/');
    const char *end = at != NULL ? strchr(at + 1, '/') : NULL;
    if (end == NULL ||
        !id_parse(arena_strndup(&judging->scratch, at + 1, (size_t)(end - at - 1)), &task_id))
        return RC_NOT_FOUND;
    enum rc rc = runs_of_task(judging->db, &task_id, &judging->scratch, &runs, &count,
                              judging->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        if (text_same(runs[i].branch, branch)) {
            *ret_run = runs[i];
            return RC_OK;
        }
    }
    return rc == RC_OK ? RC_NOT_FOUND : rc;
}

static enum rc run_of(struct judging *judging, const struct forge_trace *trace,
                      struct run_row *ret_run)
{
    struct id id;
    if (trace->branch != NULL)
        return run_of_branch(judging, trace->branch, ret_run);
    const char *text = trace->run_id != NULL ? trace->run_id : trace->named;
    if (!id_parse(text, &id))
        return RC_NOT_FOUND;
    return runs_get(judging->db, &id, &judging->scratch, ret_run, judging->err);
}

/* The saga that takes back what the run left: *ret_undoing, unless it waits for a person. */
static enum rc find_saga(struct db *db, const struct id *run_id, struct arena *arena,
                         bool *ret_undoing, bool *ret_stuck, struct err *err)
{
    struct saga_filter filter = {.status = -1, .run_id = *run_id, .limit = SAGAS_READ};
    struct saga_row *rows = NULL;
    size_t count = 0;
    *ret_undoing = *ret_stuck = false;
    enum rc rc = sagas_list(db, &filter, arena, &rows, &count, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        *ret_stuck |= rows[i].life.status == SAGA_STUCK;
        *ret_undoing |= !saga_is_finished(rows[i].life.status) && rows[i].life.status != SAGA_STUCK;
    }
    return rc;
}

static const char *describe(struct judging *judging, const struct run_row *run, bool stale,
                            bool stuck)
{
    const char *status = run_status_name(run->status);
    if (stuck)
        return arena_printf(&judging->scratch,
                            "run %s is %s, and taking this back has failed: replay its dead letter "
                            "(drover dlq)",
                            run->id.text, status);
    if (stale)
        return arena_printf(&judging->scratch,
                            "run %s is %s without a pull request: the server takes this back "
                            "within the hour, or when it starts",
                            run->id.text, status);
    return arena_printf(&judging->scratch,
                        "run %s is %s without a pull request, and the last commit is not its own: "
                        "keep it under another name, or delete it",
                        run->id.text, status);
}

/* Of a run that has ended. */
static enum rc judge_ended(struct judging *judging, const struct forge_trace *trace,
                           const struct run_row *run)
{
    struct pull_request_row pr;
    enum rc rc = pull_requests_of_run(judging->db, &run->id, &judging->scratch, &pr, judging->err);
    if (rc == RC_OK && (trace->branch != NULL || pr.number == trace->number))
        return RC_OK;
    if (rc == RC_OK) {
        found(judging, trace, run, false,
              arena_printf(&judging->scratch,
                           "run %s has pull request %" PRId64 ", not this one: delete the ref",
                           run->id.text, pr.number));
        return RC_OK;
    }
    bool undoing = false, stuck = false;
    bool own = trace->run_id != NULL || text_same(trace->named, run->id.text);
    if (rc == RC_NOT_FOUND)
        rc = find_saga(judging->db, &run->id, &judging->scratch, &undoing, &stuck, judging->err);
    if (rc != RC_OK || undoing || (!own && trace->branch != NULL))
        return rc; /* A branch that an agent or a person pushed is theirs. */
    bool stale = own && !stuck && (trace->branch != NULL || trace->run_id != NULL);
    found(judging, trace, run, stale, describe(judging, run, stale, stuck));
    return RC_OK;
}

/* Does it name a run, or a task, that may have been deleted after its time? */
static bool may_have_expired(const struct judging *judging, const struct forge_trace *trace)
{
    struct id id;
    const char *text = trace->run_id != NULL ? trace->run_id : trace->named;
    if (trace->branch != NULL) {
        const char *at = strchr(trace->branch, '/');
        char task[ID_TEXT_BYTES];
        text_copy(task, sizeof task, at != NULL ? at + 1 : "");
        return id_parse(task, &id) && strcmp(id.text, judging->expired.text) < 0;
    }
    return id_parse(text, &id) && strcmp(id.text, judging->expired.text) < 0;
}

static enum rc judge(struct judging *judging, const struct forge_trace *trace)
{
    struct run_row run;
    if (trace->branch == NULL && trace->run_id == NULL && trace->named == NULL)
        return RC_OK;
    judging->strays->looked_at++;
    enum rc rc = run_of(judging, trace, &run);
    if (rc == RC_NOT_FOUND && may_have_expired(judging, trace))
        return RC_OK;
    if (rc == RC_NOT_FOUND) {
        found(judging, trace, NULL, false,
              "no run of this database: of another server, or from after the backup that this one "
              "was restored from; delete it if it is not needed");
        return RC_OK;
    }
    return rc == RC_OK && run_is_terminal(run.status) ? judge_ended(judging, trace, &run) : rc;
}

enum rc strays_judge(struct db *db, const char *repository, const struct forge_traces *traces,
                     struct arena *arena, struct strays *strays, struct err *err)
{
    struct judging judging = {
        .db = db, .repository = repository, .arena = arena, .strays = strays, .err = err};
    int64_t expired_us = 0;
    enum rc rc = retention_sums_get(db, MARK_TASKS_US, &expired_us, err);
    if (expired_us > 0)
        judging.expired = id_first_at(expired_us);
    for (size_t i = 0; rc == RC_OK && i < traces->count; i++) {
        rc = judge(&judging, &traces->items[i]);
        arena_reset(&judging.scratch);
    }
    arena_release(&judging.scratch);
    return rc;
}

/* ---- taking back ---- */

static enum rc find_publish(struct context *ctx, const struct id *run_id, struct id *ret_job_id)
{
    struct job_filter filter = {
        .type = step_row(STEP_PUBLISH)->name, .state = -1, .run_id = *run_id, .limit = 1};
    struct job_row *rows = NULL;
    size_t count = 0;
    enum rc rc = jobs_list(ctx->db, &filter, ctx->arena, &rows, &count, ctx->err);
    if (rc == RC_OK && count == 0)
        return err_set(ctx->err, RC_NOT_FOUND, "NOT_FOUND", "run %s has no publish job",
                       run_id->text);
    if (rc == RC_OK)
        *ret_job_id = rows[0].id;
    return rc;
}

static enum rc apply_take_back(struct context *ctx, struct command *command)
{
    struct cmd_take_back *cmd = (struct cmd_take_back *)command;
    CLEANUP(flow_release) struct flow flow = {0};
    bool undoing = false, stuck = false;
    struct id job_id;
    cmd->begun = false;
    enum rc rc = flow_load(ctx, &cmd->run_id, &flow);
    if (rc != RC_OK || !run_is_terminal(flow.run.status) || !id_is_none(&flow.run.pull_request_id))
        return rc;
    rc = find_saga(ctx->db, &cmd->run_id, ctx->arena, &undoing, &stuck, ctx->err);
    if (rc != RC_OK || undoing || stuck)
        return rc;
    rc = find_publish(ctx, &cmd->run_id, &job_id);
    if (rc == RC_OK)
        rc = saga_undo_publish(ctx, &flow, &job_id);
    if (rc == RC_OK)
        rc = flow_save(ctx, &flow);
    cmd->begun = rc == RC_OK;
    return rc;
}

static const struct command_ops take_back_ops = {.name = "take_back", .apply = apply_take_back};

struct cmd_take_back *cmd_take_back_new(void)
{
    return command_new(&take_back_ops, sizeof(struct cmd_take_back));
}
