/*
 * candidates.c - the candidates of a task side by side, the best one first.
 */
#include "control/run/candidates.h"
#include "api/call.h"
#include "api/routes.h"
#include "store/tasks.h"

static void write_result(struct jw *jw, const struct candidate_row *row)
{
    jw_kstr(jw, "errorCode", row->error_code);
    jw_kstr(jw, "model", row->model);
    jw_kstr(jw, "account", row->account);
    jw_kint(jw, "turns", row->turns);
    jw_kreal(jw, "costUsd", (double)row->cost_microusd / 1e6);
    jw_key(jw, "score");
    if (row->score_milli >= 0)
        jw_real(jw, (double)row->score_milli / 1000);
    else
        jw_null(jw);
    jw_kint(jw, "checks", row->checks);
    jw_kint(jw, "checksFailed", row->checks_failed);
    jw_ktime(jw, "startedAt", row->started_us);
    jw_ktime(jw, "endedAt", row->ended_us);
    jw_key(jw, "patch");
    if (id_is_none(&row->patch_id)) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "sha256", row->patch_sha256);
    jw_kstr(jw, "status", row->patch_status);
    jw_kint(jw, "files", row->files);
    jw_kint(jw, "linesAdded", row->lines_added);
    jw_kint(jw, "linesDeleted", row->lines_deleted);
    jw_kstr(jw, "summary", row->summary);
    jw_end(jw, '}');
}

static void write_candidate(struct jw *jw, const struct candidate_row *row, bool chosen)
{
    jw_kint(jw, "number", row->number);
    jw_kstr(jw, "candidate", row->name);
    jw_kstr(jw, "taskId", row->task_id.text);
    jw_kstr(jw, "runId", row->run_id.text);
    jw_kstr(jw, "status", task_status_name(row->status));
    jw_kbool(jw, "chosen", chosen);
    write_result(jw, row);
}

static void write_ranked(struct jw *jw, const struct task_row *task,
                         const struct candidate_row *rows, size_t count)
{
    struct candidate of[CANDIDATES_MAX];
    size_t order[CANDIDATES_MAX];
    for (size_t i = 0; i < count; i++)
        of[i] = candidate_of(&rows[i]);
    candidates_rank(of, count, order);
    for (size_t i = 0; i < count; i++) {
        const struct candidate_row *row = &rows[order[i]];
        jw_begin(jw, '{');
        jw_kint(jw, "rank", (int64_t)i + 1);
        write_candidate(jw, row, id_same(&row->task_id, &task->chosen_id));
        jw_kstr(jw, "behind", i > 0 ? candidate_advantage(&of[order[i - 1]], &of[order[i]]) : NULL);
        jw_end(jw, '}');
    }
}

enum rc api_task_candidates(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct task_row task;
    struct candidate_row *rows = NULL;
    size_t count = 0;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = tasks_get(db, &id, &call->http.arena, &task, err);
    if (rc == RC_OK)
        rc = candidates_of_task(db, &id, &call->http.arena, &rows, &count, err);
    if (rc == RC_OK && count > CANDIDATES_MAX)
        return err_set(err, RC_CORRUPT, "CORRUPT", "task %s has %zu candidates", id.text, count);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "taskId", task.id.text);
    jw_kstr(&jw, "status", task_status_name(task.status));
    jw_kint(&jw, "bestOf", task.best_of);
    jw_kstr(&jw, "chosenTaskId", id_is_none(&task.chosen_id) ? NULL : task.chosen_id.text);
    jw_key(&jw, "items");
    jw_begin(&jw, '[');
    write_ranked(&jw, &task, rows, count);
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    return RC_OK;
}
