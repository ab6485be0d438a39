#include "tests/unit/lab.h"
#include "base/fd.h"
#include "control/admit/repositories.h"
#include "control/admit/submit.h"
#include "control/hooks.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "control/queue/queues.h"
#include "control/run/progress.h"
#include "control/run/stop.h"
#include "control/watch/doctor.h"
#include "control/watch/due.h"
#include "store/audit.h"
#include "tests/store/fixture.h"
#include "tests/store/schema_stock.h"
#include "tests/store/stock.h"
#include "tests/unit/honest.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t lab_now(void *ctx)
{
    const struct lab *lab = ctx;
    return lab->now_us;
}

int lab_engines(void)
{
    return postgres_url() == NULL ? LAB_POSTGRES : LAB_POSTGRES + 1;
}

static const char *store_url(struct lab *lab, int engine)
{
    if (engine == LAB_SQLITE)
        return "sqlite::memory:";
    lab->schema = schema_take(&lab->arena);
    return postgres_url_in(&lab->arena, postgres_url(), lab->schema);
}

static void let_subtasks(struct committer_limits *limits)
{
    const struct subtask_limits subtasks = subtask_limits_default();
    limits->subtask_depth = subtasks.depth;
    limits->subtasks_per_task = subtasks.per_task;
    limits->subtasks_per_tree = subtasks.per_tree;
}

static void open_store(struct lab *lab, const struct lab_options *options)
{
    const char *dir;
    if (options->store == NULL && options->engine == LAB_SQLITE)
        lab->own = stock_take(&dir);
    if (lab->own != NULL) {
        lab->store = lab->own;
        text_copy(lab->dir, sizeof lab->dir, dir);
        return;
    }
    const char *tmp = getenv("TMPDIR"); /* tools/test removes it, also after a test that failed. */
    snprintf(lab->dir, sizeof lab->dir, "%s/drover-lab-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(lab->dir));
    struct err err = {0};
    struct store_options store = {.artifact_dir = lab->dir};
    if (options->store == NULL) {
        store.url = store_url(lab, options->engine);
        ck_assert_msg(store_open(&store, &lab->own, &err) == RC_OK, "%s", err.text);
    }
    if (lab->schema != NULL)
        schema_filled(lab->schema);
    lab->store = options->store != NULL ? options->store : lab->own;
}

void lab_open(struct lab *lab, const struct lab_options *options)
{
    static const struct lab_options none = {0};
    if (options == NULL)
        options = &none;
    *lab = (struct lab){.now_us = INT64_C(1800000000) * US_PER_SECOND};
    open_store(lab, options);
    lab->db = store_writer(lab->store);
    struct err err = {0};
    struct random random = random_seeded(7);
    struct committer_options committer = {
        .retention = expiry_rules_default(),
        .hooks = &control_hooks,
        .store = lab->store,
        .clock = {lab_now, lab},
        .random = random,
        .queue_max = options->queue_max > 0 ? options->queue_max : 1000,
        .batch_max = options->batch_max > 0 ? options->batch_max : 256,
        .lanes = 1,
        .limits = options->limits,
        .defaults = options->defaults,
        .accounts = options->accounts,
    };
    if (options->limits.subtask_depth == 0)
        let_subtasks(&committer.limits);
    ck_assert_msg(committer_new(&committer, &lab->committer, &err) == RC_OK, "%s", err.text);
}

void lab_close(struct lab *lab)
{
    committer_stop(lab->committer);
    committer_free(lab->committer);
    store_close(lab->own);
    if (lab->schema != NULL)
        schema_return(lab->schema);
    arena_release(&lab->arena);
    ck_assert_int_eq(dir_remove(lab->dir, NULL), RC_OK);
}

static void count_answer(struct command *command)
{
    struct lab *lab = command->owner;
    lab->answered++;
}

void lab_post(struct lab *lab, struct command *command)
{
    if (command->principal == NULL)
        command->principal = LAB_PRINCIPAL;
    command->done = count_answer;
    command->owner = lab;
    ck_assert_int_eq(committer_post(lab->committer, command), RC_OK);
}

void lab_rounds(struct lab *lab)
{
    for (int i = 0; i < 1000; i++)
        if (!committer_round(lab->committer))
            return;
    ck_abort_msg("the committer never comes to rest");
}

enum rc lab_call(struct lab *lab, struct command *command)
{
    int before = lab->answered;
    lab_post(lab, command);
    lab_rounds(lab);
    ck_assert_int_gt(lab->answered, before);
    return command->rc;
}

void lab_pass_ms(struct lab *lab, int64_t ms)
{
    lab->now_us += ms * US_PER_MS;
    struct cmd_due *due = cmd_due_new();
    enum rc rc = lab_call(lab, &due->base);
    ck_assert_msg(rc == RC_OK, "%s", due->base.err.text);
    command_free(&due->base);
    committer_want_admission(lab->committer);
    lab_rounds(lab);
}

static void put_repository(struct lab *lab, const char *name, const char *agent,
                           const char *more_json)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    bool checked = more_json != NULL && strstr(more_json, "\"verify\"") != NULL;
    put->name = name;
    put->config = str_of(arena_printf(&lab->arena,
                                      "{\"url\":\"/srv/git/x.git\",\"agent\":%s%s%s%s}", agent,
                                      checked ? "" : LAB_VERIFY, more_json != NULL ? "," : "",
                                      more_json != NULL ? more_json : ""));
    ck_assert_msg(lab_call(lab, &put->base) == RC_OK, "%s", put->base.err.text);
    command_free(&put->base);
}

void lab_repository(struct lab *lab, const char *name, const char *more_json)
{
    put_repository(lab, name, "{\"command\":[\"./agent\"]}", more_json);
}

void lab_far_repository(struct lab *lab, const char *name, const char *more_json)
{
    put_repository(lab, name, "{\"compute\":\"pull\",\"queue\":\"far\"}", more_json);
}

void lab_queue(struct lab *lab, const char *name, const char *rules_json)
{
    struct err err = {0};
    struct cmd_queue *cmd = cmd_queue_new();
    ck_assert_int_eq(js_parse(rules_json, strlen(rules_json), &cmd->base.tree, &err), RC_OK);
    cmd->name = name;
    cmd->change = QUEUE_CONFIGURE;
    cmd->document = cmd->base.tree;
    cmd->version = -1;
    ck_assert_msg(lab_call(lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    command_free(&cmd->base);
}

struct id lab_submit(struct lab *lab, const char *repository)
{
    struct cmd_submit *submit = cmd_submit_new();
    submit->task.repository = repository;
    submit->task.description = "Fix the clock";
    submit->base.actor = (struct actor){"user", "ada"};
    ck_assert_msg(lab_call(lab, &submit->base) == RC_OK, "%s", submit->base.err.text);
    struct id run_id = submit->answer.run_id;
    command_free(&submit->base);
    return run_id;
}

size_t lab_lease(struct lab *lab, const char *queue, const char *worker, struct job_row **ret_jobs)
{
    struct cmd_lease *lease = cmd_lease_new();
    const char **queues = arena_array(&lease->base.arena, 2, sizeof *queues);
    queues[0] = queue;
    lease->queues = queues;
    lease->worker = worker;
    lease->max = 10;
    lease->lease_us = 15 * US_PER_SECOND;
    ck_assert_msg(lab_call(lab, &lease->base) == RC_OK, "%s", lease->base.err.text);
    size_t count = lease->job_count;
    *ret_jobs = arena_array(&lab->arena, count + 1, sizeof(struct job_row));
    for (size_t i = 0; i < count; i++) {
        (*ret_jobs)[i] = lease->jobs[i];
        (*ret_jobs)[i].type = arena_strdup(&lab->arena, lease->jobs[i].type);
        (*ret_jobs)[i].queue = arena_strdup(&lab->arena, lease->jobs[i].queue);
        (*ret_jobs)[i].dependency = arena_strdup(&lab->arena, lease->jobs[i].dependency);
        (*ret_jobs)[i].payload = str_of(str_dup(&lab->arena, lease->jobs[i].payload));
        (*ret_jobs)[i].headers = str_of(str_dup(&lab->arena, lease->jobs[i].headers));
    }
    command_free(&lease->base);
    return count;
}

struct job_row lab_take(struct lab *lab, const char *step)
{
    struct job_row *jobs;
    const char *queue = arena_printf(&lab->arena, "drover.%s", step);
    size_t count = lab_lease(lab, queue, "node-1/0", &jobs);
    ck_assert_msg(count == 1, "%zu jobs wait for %s, not 1", count, step);
    return jobs[0];
}

struct job_answer lab_complete(struct lab *lab, const struct job_row *job, const char *sketch)
{
    return lab_claim(lab, job, honest_result(lab->store, job, sketch, &lab->arena));
}

struct job_answer lab_claim(struct lab *lab, const struct job_row *job, const char *result)
{
    struct cmd_complete *complete = cmd_complete_new();
    struct job_done done = {.ref = {job->id, job->life.epoch}, .result = str_of(result)};
    complete->jobs = &done;
    complete->count = 1;
    ck_assert_msg(lab_call(lab, &complete->base) == RC_OK, "%s", complete->base.err.text);
    struct job_answer answer = complete->answers[0];
    answer.field = arena_strdup(&lab->arena, answer.field);
    answer.message = arena_strdup(&lab->arena, answer.message);
    command_free(&complete->base);
    return answer;
}

void lab_finish(struct lab *lab, const struct job_row *job, const char *result)
{
    struct job_answer answer = lab_complete(lab, job, result);
    ck_assert_msg(answer.ok, "%s: %s %s", job->type, answer.code,
                  answer.message != NULL ? answer.message : "");
}

void lab_step(struct lab *lab, const char *step, const char *sketch)
{
    struct job_row job = lab_take(lab, step);
    lab_finish(lab, &job, sketch);
}

void lab_cancel(struct lab *lab, const struct id *run_id)
{
    struct cmd_cancel *cmd = cmd_cancel_new();
    cmd->task_id = lab_run(lab, run_id).task_id;
    ck_assert_int_eq(lab_call(lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

struct job_answer lab_progress(struct lab *lab, const struct job_row *job, const char *events)
{
    struct cmd_progress *cmd = cmd_progress_new();
    ck_assert_int_eq(js_parse(events, strlen(events), &cmd->base.tree, NULL), RC_OK);
    struct job_progress progress = {.ref = {job->id, job->life.epoch}, .events = cmd->base.tree};
    cmd->jobs = &progress;
    cmd->count = 1;
    ck_assert_msg(lab_call(lab, &cmd->base) == RC_OK, "%s", cmd->base.err.text);
    struct job_answer answer = cmd->answers[0];
    command_free(&cmd->base);
    ck_assert(answer.ok);
    return answer;
}

struct job_answer lab_fail(struct lab *lab, const struct job_row *job, const char *code,
                           bool retryable)
{
    struct cmd_fail *fail = cmd_fail_new();
    struct job_failed failed = {.ref = {job->id, job->life.epoch},
                                .code = code,
                                .message = "it broke",
                                .retryable = retryable};
    fail->jobs = &failed;
    fail->count = 1;
    ck_assert_msg(lab_call(lab, &fail->base) == RC_OK, "%s", fail->base.err.text);
    struct job_answer answer = fail->answers[0];
    command_free(&fail->base);
    return answer;
}

struct run_row lab_run(struct lab *lab, const struct id *run_id)
{
    struct run_row run;
    ck_assert_int_eq(runs_get(lab->db, run_id, &lab->arena, &run, NULL), RC_OK);
    return run;
}

struct task_row lab_task(struct lab *lab, const struct id *run_id)
{
    struct run_row run = lab_run(lab, run_id);
    struct task_row task;
    ck_assert_int_eq(tasks_get(lab->db, &run.task_id, &lab->arena, &task, NULL), RC_OK);
    return task;
}

int lab_count_events(struct lab *lab, const struct id *run_id, const char *type)
{
    struct run_row run = lab_run(lab, run_id);
    struct event_filter filter = {
        .run_id = *run_id, .task_id = run.task_id, .with_task = true, .limit = 1000};
    struct event *events;
    size_t count;
    ck_assert_int_eq(events_list(lab->db, &filter, &lab->arena, &events, &count, NULL), RC_OK);
    int matching = 0;
    for (size_t i = 0; i < count; i++)
        matching += strcmp(events[i].type, type) == 0;
    return matching;
}

int lab_count_audit(struct lab *lab, const char *action, const char *resource_id)
{
    struct audit_filter filter = {.action = action, .resource_id = resource_id, .limit = 1000};
    struct audit_entry *rows;
    size_t count;
    ck_assert_int_eq(audit_list(lab->db, &filter, &lab->arena, &rows, &count, NULL), RC_OK);
    return (int)count;
}

void lab_check(struct lab *lab)
{
    struct doctor_report report;
    struct err err = {0};
    enum rc rc = doctor_examine(lab->db, &lab->arena, &report, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    for (size_t i = 0; i < report.check_count; i++)
        ck_assert_msg(report.checks[i].bad == 0, "%s: %s", report.checks[i].name,
                      report.checks[i].first);
}
