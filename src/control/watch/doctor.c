/*
 * doctor.c - see doctor.h.
 *
 * Runs that are not finished are all examined; of the finished ones the newest DOCTOR_RUNS_MAX.
 */
#include "control/watch/doctor.h"
#include "control/commit/isolate.h"
#include "control/run/approval.h"
#include "control/run/flow.h"
#include "control/run/run_clock.h"
#include "control/watch/doctor_agents.h"
#include "control/watch/doctor_batches.h"
#include "control/watch/doctor_issues.h"
#include "control/watch/doctor_log.h"
#include "core/step_kind.h"
#include "store/approvals.h"
#include "store/audit.h"
#include "store/jobs.h"
#include "store/questions.h"
#include "store/runs.h"
#include "store/sagas.h"
#include "store/tasks.h"
#include "store/timers.h"
#include <string.h>

enum { DOCTOR_RUNS_MAX = 2000, DOCTOR_PAGE = 200, DOCTOR_AUDIT_ROWS = 1000 };

enum check {
    CHECK_READABLE,
    CHECK_MOVER,
    CHECK_PROJECTION,
    CHECK_SEQUENCE,
    CHECK_FOLD,
    CHECK_SNAPSHOTS,
    CHECK_LEFTOVERS,
    CHECK_HOLDS,
    CHECK_SLOTS,
    CHECK_SAGAS,
    CHECK_BUDGETS,
    CHECK_BATCHES,
    CHECK_ISSUES,
    CHECK_AUDIT,
    CHECK_AGENTS,
    CHECK_COUNT
};

static const struct doctor_check blank[CHECK_COUNT] = {
    [CHECK_BUDGETS] = {.name = "budgets",
                       .title = "Tasks and sub-tasks add up, and stop where a budget is passed"},
    [CHECK_AGENTS] = {.name = "agents",
                      .title = "Every launched agent has one job that runs its process"},
    [CHECK_READABLE] = {.name = "readable", .title = "Every run and saga can be read"},
    [CHECK_MOVER] = {.name = "mover",
                     .title = "Every unfinished run has exactly one thing that moves it on"},
    [CHECK_PROJECTION] = {.name = "projection",
                          .title = "Every task's status follows from its latest run"},
    [CHECK_SEQUENCE] = {.name = "sequence", .title = "Every run's events are numbered gaplessly"},
    [CHECK_FOLD] = {.name = "fold", .title = "The events of every run fold to its row"},
    [CHECK_SNAPSHOTS] = {.name = "snapshots",
                         .title = "The events of every run fold to its snapshots"},
    [CHECK_LEFTOVERS] = {.name = "leftovers",
                         .title = "Finished runs hold no timer, job or open question"},
    [CHECK_HOLDS] = {.name = "holds",
                     .title = "Clocks stand still exactly while a person is waited for"},
    [CHECK_SLOTS] = {.name = "slots", .title = "The active runs add up, counted two ways"},
    [CHECK_SAGAS] = {.name = "sagas", .title = "Every unfinished saga has a job that moves it on"},
    [CHECK_ISSUES] = {.name = "issues",
                      .title = "Issues on their way are what their events come to"},
    [CHECK_BATCHES] = {.name = "batches",
                       .title = "Every batch has one task for each member, and is moved on"},
    [CHECK_AUDIT] = {.name = "audit", .title = "The newest rows of the audit log are a chain"},
};

struct doctor {
    struct db *db;
    struct arena *arena;  /* The report's. */
    struct arena scratch; /* Per run. */
    struct doctor_check *checks;
    struct err *err;
    int64_t active;
};

static void looked(struct doctor *doctor, enum check check)
{
    doctor->checks[check].looked_at++;
}

static void found(struct doctor *doctor, enum check check, const struct run_row *run,
                  const char *what)
{
    struct doctor_check *entry = &doctor->checks[check];
    if (entry->bad++ == 0)
        entry->first = arena_printf(doctor->arena, "run %s (%s): %s", run->id.text,
                                    run_status_name(run->status), what);
}

/* One that cannot be read is a finding, and the others are examined all the same. */
static enum rc note_read(struct doctor *doctor, enum rc rc, const char *what)
{
    struct doctor_check *entry = &doctor->checks[CHECK_READABLE];
    if (rc != RC_OK && is_engine_failure(rc, doctor->err))
        return rc;
    entry->looked_at++;
    if (rc != RC_OK && entry->bad++ == 0)
        entry->first = arena_printf(doctor->arena, "%s: %s", what, doctor->err->text);
    err_clear(doctor->err);
    return RC_OK;
}

/* ---- one run ---- */

static enum rc count_pending(struct doctor *doctor, const struct run_row *run, size_t *ret_count)
{
    struct waiting_filter filter = {.status = "pending", .run_id = run->id, .limit = 10};
    struct approval_row *rows;
    size_t count;
    enum rc rc = approvals_list(doctor->db, &filter, &doctor->scratch, &rows, &count, doctor->err);
    *ret_count = 0;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        *ret_count += approval_moves_run(rows[i].kind);
    return rc;
}

/* Open questions of its agent; *ret_own: those are the run's question_id, or none. */
static enum rc count_questions(struct doctor *doctor, const struct run_row *run, size_t *ret_count,
                               bool *ret_own)
{
    struct waiting_filter filter = {.status = "pending", .run_id = run->id, .limit = 10};
    struct question_row *rows;
    enum rc rc = questions_list(doctor->db, &filter, &doctor->scratch, &rows, ret_count,
                                doctor->err);
    size_t wanted = id_is_none(&run->question_id) ? 0 : 1;
    *ret_own = rc == RC_OK && *ret_count == wanted &&
               (wanted == 0 || id_same(&rows[0].id, &run->question_id));
    return rc;
}

/* Jobs of the run that are not settled, except the cleanup and those of a saga. */
static enum rc count_jobs(struct doctor *doctor, const struct run_row *run, size_t *ret_count,
                          bool *ret_mover)
{
    struct job_filter filter = {.run_id = run->id, .state = -1, .limit = DOCTOR_PAGE};
    struct job_row *rows;
    size_t count;
    enum rc rc = jobs_list(doctor->db, &filter, &doctor->scratch, &rows, &count, doctor->err);
    if (rc != RC_OK)
        return rc;
    *ret_count = 0;
    *ret_mover = false;
    for (size_t i = 0; i < count; i++) {
        const struct step_row *step = step_find(rows[i].type);
        bool apart = step != NULL && step->outlives_run;
        if (job_is_settled(rows[i].life.state) || apart || !id_is_none(&rows[i].saga_id))
            continue;
        ++*ret_count;
        *ret_mover |= id_same(&rows[i].id, &run->job_id);
    }
    return RC_OK;
}

/* Of a run that is not finished. */
static void examine_holds(struct doctor *doctor, const struct run_row *run,
                          const struct timer_row *timers, size_t timer_count)
{
    looked(doctor, CHECK_HOLDS);
    if ((run->still_us > 0) != run_is_held(run))
        found(doctor, CHECK_HOLDS, run, "its clocks go, or stand still, without a reason");
    for (size_t i = 0; i < timer_count; i++)
        if (run_clock_is(timers[i].kind) && timer_stands(&timers[i]) != (run->still_us > 0))
            found(doctor, CHECK_HOLDS, run,
                  arena_printf(doctor->arena, "its clock %s differs from the others",
                               timers[i].kind));
}

static enum rc examine_mover(struct doctor *doctor, const struct run_row *run)
{
    size_t jobs, approvals, questions, timer_count;
    bool mover, own;
    struct timer_row *timers;
    enum rc rc = count_jobs(doctor, run, &jobs, &mover);
    if (rc == RC_OK)
        rc = count_pending(doctor, run, &approvals);
    if (rc == RC_OK)
        rc = count_questions(doctor, run, &questions, &own);
    if (rc == RC_OK)
        rc = timers_of(doctor->db, &run->id, &doctor->scratch, &timers, &timer_count, doctor->err);
    if (rc != RC_OK)
        return rc;
    if (run_is_terminal(run->status)) {
        looked(doctor, CHECK_LEFTOVERS);
        if (jobs + approvals + questions + timer_count > 0)
            found(doctor, CHECK_LEFTOVERS, run, "still has a job, a question or a timer");
        else if (run->paused_us > 0 || run->still_us > 0 || !own)
            found(doctor, CHECK_LEFTOVERS, run, "is still paused, or waits for an answer");
        return RC_OK;
    }
    examine_holds(doctor, run, timers, timer_count);
    looked(doctor, CHECK_MOVER);
    bool asks = run->status == RUN_AWAITING_APPROVAL;
    bool waits = run->status == RUN_QUEUED;
    if (jobs != (asks || waits ? 0u : 1u) || (jobs == 1 && !mover))
        found(doctor, CHECK_MOVER, run, "the number of open jobs is wrong");
    else if (!own)
        found(doctor, CHECK_MOVER, run, "its open question is not the one that it knows of");
    else if (asks ? approvals + questions != 1u : approvals != 0u)
        found(doctor, CHECK_MOVER, run, "the number of open approvals and questions is wrong");
    return RC_OK;
}

static void note_log(struct doctor *doctor, enum check check, const struct run_row *run,
                     const char *what)
{
    looked(doctor, check);
    if (what != NULL)
        found(doctor, check, run, what);
}

static enum rc examine_log(struct doctor *doctor, const struct run_row *run)
{
    struct log_findings findings = {0};
    enum rc rc = doctor_log(doctor->db, run, &doctor->scratch, &findings, doctor->err);
    if (rc != RC_OK)
        return rc;
    note_log(doctor, CHECK_SEQUENCE, run, findings.sequence);
    note_log(doctor, CHECK_FOLD, run, findings.fold);
    note_log(doctor, CHECK_SNAPSHOTS, run, findings.snapshot);
    return RC_OK;
}

static enum rc examine_task(struct doctor *doctor, const struct run_row *run)
{
    struct task_row task;
    enum rc rc = tasks_get(doctor->db, &run->task_id, &doctor->scratch, &task, doctor->err);
    if (rc != RC_OK || !id_same(&task.latest_run_id, &run->id))
        return rc;
    looked(doctor, CHECK_PROJECTION);
    if (task.status != task_status_of(run->status, run->deferred_reason != NULL))
        found(doctor, CHECK_PROJECTION, run,
              arena_printf(doctor->arena, "its task is %s", task_status_name(task.status)));
    return RC_OK;
}

/* ---- a tree of tasks ---- */

/* Has it been passed on to due.c to stop them? */
static enum rc stops_soon(struct doctor *doctor, const struct id *task_id, bool *ret_soon)
{
    struct timer_row *timers;
    size_t count;
    enum rc rc = timers_of(doctor->db, task_id, &doctor->scratch, &timers, &count, doctor->err);
    *ret_soon = false;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        *ret_soon |= strcmp(timers[i].kind, TIMER_SUBTASKS_BUDGET) == 0;
    return rc;
}

/* A task that has candidates calls no model itself: candidates.h. */
static enum rc has_candidates(struct doctor *doctor, const struct id *task_id, bool *ret_has)
{
    struct task_row task;
    enum rc rc = tasks_get(doctor->db, task_id, &doctor->scratch, &task, doctor->err);
    *ret_has = rc == RC_OK && task.best_of > 0;
    return rc;
}

/* What is wrong with one run of a tree; NULL: nothing. */
static const char *fault_of(const struct budget_tree *tree, int at)
{
    const struct budget_node *node = &tree->nodes[at];
    struct budget_bound bound;
    if (node->parent == BUDGET_TREE_NONE)
        return NULL;
    const struct budget_node *parent = &tree->nodes[node->parent];
    for (int i = 0; i < MEASURE_COUNT; i++) {
        if (node->total[i] > parent->total[i])
            return "has used more than its parent, which it is a part of";
        if (parent->limit[i] > 0 && (node->limit[i] == 0 || node->limit[i] > parent->limit[i]))
            return "may use more than its parent";
    }
    return budget_tree_stops(tree, at, &bound) ? "goes on although a budget is passed" : NULL;
}

/* At its root: all that is below it. */
static enum rc examine_tree(struct doctor *doctor, const struct run_row *run)
{
    struct budget_tree tree;
    int64_t sum[MEASURE_COUNT] = {0};
    bool soon;
    enum rc rc = runs_tree(doctor->db, &run->id, 0, &doctor->scratch, &tree, doctor->err);
    if (rc == RC_OK)
        rc = stops_soon(doctor, &run->task_id, &soon);
    if (rc != RC_OK)
        return rc;
    looked(doctor, CHECK_BUDGETS);
    if (budget_tree_link(&tree, doctor->err) != RC_OK) {
        found(doctor, CHECK_BUDGETS, run, arena_strdup(doctor->arena, doctor->err->text));
        return RC_OK;
    }
    const char *fault = NULL;
    for (int i = 0; rc == RC_OK && i < tree.count; i++) {
        bool excused = soon;
        for (int m = 0; m < MEASURE_COUNT; m++)
            sum[m] += tree.nodes[i].used[m];
        const char *here = fault_of(&tree, i);
        if (here != NULL && !excused)
            rc = has_candidates(doctor, &tree.nodes[i].task_id, &excused);
        if (here != NULL && !excused && fault == NULL)
            fault = arena_printf(doctor->arena, "run %s of it %s", tree.nodes[i].run_id.text, here);
    }
    int root = budget_tree_find(&tree, &run->id);
    for (int m = 0; fault == NULL && m < MEASURE_COUNT; m++)
        if (root == BUDGET_TREE_NONE || tree.nodes[root].total[m] != sum[m])
            fault = "its sub-tasks do not add up";
    if (rc == RC_OK && fault != NULL)
        found(doctor, CHECK_BUDGETS, run, fault);
    return rc;
}

/* A run with a parent has a root, and is a run of a sub-task of the parent's task. */
static enum rc examine_place(struct doctor *doctor, const struct run_row *run)
{
    struct run_row parent;
    struct task_row task;
    if (id_same(&run->root_run_id, &run->id))
        return examine_tree(doctor, run);
    if (id_is_none(&run->parent_run_id))
        return RC_OK;
    enum rc rc = runs_get(doctor->db, &run->parent_run_id, &doctor->scratch, &parent, doctor->err);
    if (rc == RC_OK)
        rc = tasks_get(doctor->db, &run->task_id, &doctor->scratch, &task, doctor->err);
    if (rc != RC_OK)
        return rc;
    looked(doctor, CHECK_BUDGETS);
    if (!id_same(&task.parent_id, &parent.task_id) ||
        !id_same(&run->root_run_id, &parent.root_run_id))
        found(doctor, CHECK_BUDGETS, run, "its parent is another one than its task's");
    return RC_OK;
}

static enum rc examine_run(struct doctor *doctor, const struct run_row *run)
{
    enum rc rc = examine_mover(doctor, run);
    if (rc == RC_OK)
        rc = examine_log(doctor, run);
    if (rc == RC_OK)
        rc = examine_task(doctor, run);
    if (rc == RC_OK)
        rc = examine_place(doctor, run);
    doctor->active += run_is_active(run->status);
    return rc;
}

/* ---- all runs ---- */

static enum rc examine_status(struct doctor *doctor, enum run_status status, int64_t runs_max)
{
    struct run_filter filter = {.status = (int)status, .limit = DOCTOR_PAGE};
    for (int64_t seen = 0; seen < runs_max;) {
        struct arena page = {0};
        struct run_row *rows;
        size_t count = 0;
        enum rc rc = runs_list(doctor->db, &filter, &page, &rows, &count, doctor->err);
        if (rc != RC_OK) {
            const char *what = arena_printf(&page, "runs that are %s", run_status_name(status));
            rc = note_read(doctor, rc, what);
            arena_release(&page);
            return rc;
        }
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            const char *what = arena_printf(&page, "run %s", rows[i].id.text);
            rc = note_read(doctor, examine_run(doctor, &rows[i]), what);
            filter.before = rows[i].id;
            arena_reset(&doctor->scratch);
        }
        arena_release(&page);
        if (rc != RC_OK || count < DOCTOR_PAGE)
            return rc;
        seen += (int64_t)count;
    }
    return RC_OK;
}

static enum rc examine_slots(struct doctor *doctor)
{
    struct active_row *rows;
    size_t count;
    enum rc rc = runs_active(doctor->db, &doctor->scratch, &rows, &count, doctor->err);
    if (rc != RC_OK)
        return rc;
    int64_t grouped = 0;
    for (size_t i = 0; i < count; i++)
        grouped += rows[i].count;
    struct doctor_check *entry = &doctor->checks[CHECK_SLOTS];
    entry->looked_at = doctor->active;
    if (grouped != doctor->active) {
        entry->bad = 1;
        entry->first = arena_printf(doctor->arena, "%lld by groups, %lld by status",
                                    (long long)grouped, (long long)doctor->active);
    }
    return RC_OK;
}

/* ---- sagas ---- */

/* A stuck saga waits for a person, who may have replayed its dead letter, or deleted it. */
static enum rc examine_saga(struct doctor *doctor, const struct saga_row *saga)
{
    struct doctor_check *entry = &doctor->checks[CHECK_SAGAS];
    struct job_row job;
    enum rc rc = jobs_get(doctor->db, &saga->job_id, &doctor->scratch, &job, doctor->err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    entry->looked_at++;
    bool moves = rc == RC_OK && id_same(&job.saga_id, &saga->id) && !job_is_settled(job.life.state);
    bool rests = saga->life.status == SAGA_STUCK &&
                 (rc == RC_NOT_FOUND || job.life.state == JOB_DEAD_LETTER);
    if (!moves && !rests && entry->bad++ == 0)
        entry->first = arena_printf(doctor->arena, "saga %s (%s): its job does not wait",
                                    saga->id.text, saga_status_name(saga->life.status));
    return RC_OK;
}

static enum rc examine_sagas(struct doctor *doctor, enum saga_status status)
{
    struct saga_filter filter = {.status = (int)status, .limit = DOCTOR_PAGE};
    for (size_t count = DOCTOR_PAGE; count == DOCTOR_PAGE;) {
        struct arena page = {0};
        struct saga_row *rows;
        enum rc rc = sagas_list(doctor->db, &filter, &page, &rows, &count, doctor->err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            const char *what = arena_printf(&page, "saga %s", rows[i].id.text);
            rc = note_read(doctor, examine_saga(doctor, &rows[i]), what);
            filter.before = rows[i].id;
            arena_reset(&doctor->scratch);
        }
        arena_release(&page);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* ---- the audit log ---- */

static enum rc examine_audit(struct doctor *doctor)
{
    struct doctor_check *check = &doctor->checks[CHECK_AUDIT];
    struct audit_chain chain;
    enum rc rc = audit_verify_newest(doctor->db, DOCTOR_AUDIT_ROWS, &chain, doctor->err);
    if (rc != RC_OK && rc != RC_CORRUPT)
        return rc;
    if (rc == RC_CORRUPT || chain.damage != AUDIT_SOUND) {
        check->bad = 1;
        check->first = arena_strdup(doctor->arena,
                                    rc == RC_CORRUPT ? doctor->err->text : chain.text);
    }
    check->looked_at = rc == RC_OK ? chain.rows : 0;
    err_clear(doctor->err);
    return RC_OK;
}

static enum rc examine_issues(struct doctor *doctor, struct err *err)
{
    struct doctor_check *check = &doctor->checks[CHECK_ISSUES];
    struct issue_findings findings;
    enum rc rc = doctor_issues(doctor->db, doctor->arena, &findings, err);
    if (rc != RC_OK)
        return rc;
    check->looked_at = findings.looked_at;
    check->bad = findings.bad;
    check->first = findings.first;
    return RC_OK;
}

enum rc doctor_examine(struct db *db, struct arena *arena, struct doctor_report *ret_report,
                       struct err *err)
{
    struct doctor doctor = {.db = db, .arena = arena, .err = err};
    doctor.checks = arena_array(arena, CHECK_COUNT, sizeof(struct doctor_check));
    memcpy(doctor.checks, blank, sizeof blank);
    /* One snapshot for all checks: workers and lanes write meanwhile. */
    CLEANUP(tx_abort) struct tx tx = {0};
    enum rc rc = tx_begin(db, &tx, err);
    for (int status = 0; rc == RC_OK && status < RUN_STATUS_COUNT; status++) {
        bool finished = run_is_terminal((enum run_status)status);
        rc = examine_status(&doctor, (enum run_status)status,
                            finished ? DOCTOR_RUNS_MAX : INT64_MAX);
    }
    if (rc == RC_OK)
        rc = examine_slots(&doctor);
    for (int status = 0; rc == RC_OK && status < SAGA_STATUS_COUNT; status++)
        if (!saga_is_finished((enum saga_status)status))
            rc = examine_sagas(&doctor, (enum saga_status)status);
    if (rc == RC_OK)
        rc = doctor_batches(db, arena, &doctor.checks[CHECK_BATCHES], err);
    if (rc == RC_OK)
        rc = examine_issues(&doctor, err);
    if (rc == RC_OK)
        rc = examine_audit(&doctor);
    if (rc == RC_OK)
        rc = doctor_agents(db, arena, &doctor.checks[CHECK_AGENTS], err);
    struct worker_row *workers = NULL;
    size_t worker_count = 0;
    if (rc == RC_OK)
        rc = workers_unpublished(db, &(struct worker_filter){.limit = DOCTOR_WORKERS_MAX}, arena,
                                 &workers, &worker_count, err);
    struct worker_row *low = NULL;
    size_t low_count = 0;
    if (rc == RC_OK)
        rc = workers_low(db, &(struct worker_filter){.limit = DOCTOR_WORKERS_MAX}, arena, &low,
                         &low_count, err);
    arena_release(&doctor.scratch);
    if (rc != RC_OK)
        return rc;
    bool healthy = true;
    for (size_t i = 0; i < CHECK_COUNT; i++)
        healthy &= doctor.checks[i].bad == 0;
    *ret_report = (struct doctor_report){.checks = doctor.checks,
                                         .check_count = CHECK_COUNT,
                                         .healthy = healthy,
                                         .workers = workers,
                                         .worker_count = worker_count,
                                         .low = low,
                                         .low_count = low_count};
    return RC_OK;
}

static void write_unpublished(struct jw *jw, const struct doctor_report *report)
{
    jw_key(jw, "unpublished");
    jw_begin(jw, '[');
    for (size_t i = 0; i < report->worker_count; i++) {
        const struct worker_row *worker = &report->workers[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "worker", worker->name);
        jw_kstr(jw, "host", worker->host);
        jw_kint(jw, "count", worker->unpublished_count);
        jw_kint(jw, "bytes", worker->unpublished_bytes);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

static void write_low(struct jw *jw, const struct doctor_report *report)
{
    jw_key(jw, "diskLow");
    jw_begin(jw, '[');
    for (size_t i = 0; i < report->low_count; i++) {
        jw_begin(jw, '{');
        jw_kstr(jw, "worker", report->low[i].name);
        jw_kstr(jw, "host", report->low[i].host);
        jw_kint(jw, "diskFree", report->low[i].disk_free);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

void doctor_add(struct doctor_report *report, const struct doctor_check *check, struct arena *arena)
{
    struct doctor_check *all = arena_array(arena, report->check_count + 1, sizeof *all);
    memcpy(all, report->checks, report->check_count * sizeof *all);
    all[report->check_count++] = *check;
    report->checks = all;
    report->healthy &= check->bad == 0;
}

void doctor_write_open(struct jw *jw, const struct doctor_report *report)
{
    jw_begin(jw, '{');
    jw_kbool(jw, "healthy", report->healthy);
    jw_key(jw, "checks");
    jw_begin(jw, '[');
    for (size_t i = 0; i < report->check_count; i++) {
        const struct doctor_check *check = &report->checks[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "name", check->name);
        jw_kstr(jw, "title", check->title);
        jw_kbool(jw, "ok", check->bad == 0);
        jw_kint(jw, "lookedAt", check->looked_at);
        jw_kint(jw, "bad", check->bad);
        jw_kstr(jw, "first", check->first);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_key(jw, "keptTrees");
    jw_begin(jw, '{');
    jw_kint(jw, "count", report->kept_trees);
    jw_optstr(jw, "path", report->kept_path);
    jw_end(jw, '}');
    write_unpublished(jw, report);
    write_low(jw, report);
}
