/*
 * model.c - see model.h.
 *
 * Held after every step:
 *   - a run's events are numbered 1, 2, 3 ... and its status changes follow the table
 *   - all of them correlate with the task and have a trace; those of steps name their attempt
 *   - the row of a run says what its events say
 *   - a run that is not finished has exactly one thing that moves it on
 *   - an epoch grows by one at every claim; no report of another epoch is ever taken
 *   - no job is completed twice, no run opens two pull requests
 *   - the limits on active runs hold
 *   - no run of a parked account starts, or begins an attempt, before the account's reset, but for
 *     one probe at a time; only a probe lifts the parking before the reset
 *   - an account with a home has one run at a time
 */
#include "tests/sim/model.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "control/watch/doctor.h"
#include "core/event_types.h"
#include "core/traceparent.h"
#include "store/accounts.h"
#include "store/approvals.h"
#include "store/events.h"
#include "store/questions.h"
#include "store/repositories.h"
#include "store/runs.h"
#include "tests/sim/map.h"
#include <stdio.h>
#include <string.h>

enum { TOUCHED_MAX = 4096, PAGE = 1000 };

struct run_fact {
    struct id id, repository_id;
    enum run_status status;
    int64_t seq;
    int pull_requests;
    bool knows_account;
    size_t account;
    bool began_parked; /* Entered its state while its account was parked. */
};
struct account_fact {
    int64_t until_us; /* 0: in use. */
    struct id probe;  /* The run that tries it, or none. */
};
struct job_fact {
    struct id id;
    int64_t epoch;
    bool completed;
};

struct model {
    struct world *world;
    struct map runs, jobs;
    int64_t seq;
    struct model_stats stats;
    struct id touched[TOUCHED_MAX];
    size_t touched_count;
    int64_t active; /* By the events. */
    struct account_fact accounts[SIM_ACCOUNTS];
};

/* ---- answers ---- */

static void check_leases(struct model *model, const struct cmd_lease *lease)
{
    for (size_t i = 0; i < lease->job_count; i++) {
        const struct job_row *row = &lease->jobs[i];
        struct job_fact *job = map_at(&model->jobs, &row->id);
        if (row->life.epoch != job->epoch + 1)
            world_broken(model->world, "job %s was leased with epoch %lld after %lld", row->id.text,
                         (long long)row->life.epoch, (long long)job->epoch);
        if (job->completed)
            world_broken(model->world, "job %s was leased after its end", row->id.text);
        job->epoch = row->life.epoch;
        model->stats.leases++;
    }
}

static void check_report(struct model *model, const struct job_ref *ref,
                         const struct job_answer *answer, bool complete)
{
    struct job_fact *job = map_at(&model->jobs, &ref->id);
    if (!answer->ok) {
        model->stats.stale++;
        return;
    }
    if (ref->epoch != job->epoch)
        world_broken(model->world, "a report with epoch %lld of job %s was taken; it is at %lld",
                     (long long)ref->epoch, ref->id.text, (long long)job->epoch);
    if (complete) {
        model->stats.completions += !job->completed;
        job->completed = true;
    }
}

static void model_answered(struct model *model, const struct command *command)
{
    if (command->rc != RC_OK)
        return;
    const char *name = command->ops->name;
    if (strcmp(name, "lease") == 0) {
        check_leases(model, (const struct cmd_lease *)command);
    } else if (strcmp(name, "complete") == 0) {
        const struct cmd_complete *cmd = (const struct cmd_complete *)command;
        for (size_t i = 0; i < cmd->count; i++)
            check_report(model, &cmd->jobs[i].ref, &cmd->answers[i], true);
    } else if (strcmp(name, "fail") == 0) {
        const struct cmd_fail *cmd = (const struct cmd_fail *)command;
        for (size_t i = 0; i < cmd->count; i++)
            check_report(model, &cmd->jobs[i].ref, &cmd->answers[i], false);
    }
}

/* ---- the log ---- */

static bool is_legal(enum run_status from, enum run_status to)
{
    for (int event = 0; event < RUN_EV_COUNT; event++) {
        enum run_status next;
        if (run_step(from, (enum run_event)event, &next) == RC_OK && next == to)
            return true;
    }
    return false;
}

/* ---- accounts ---- */

/* As people.c gave them out. */
static size_t account_of(struct model *model, struct run_fact *run)
{
    if (run->knows_account)
        return run->account;
    struct arena arena = {0};
    struct db *db = store_writer(model->world->store);
    struct run_row row;
    struct repository_row repository;
    size_t number;
    if (runs_get(db, &run->id, &arena, &row, NULL) != RC_OK ||
        repositories_get(db, &row.repository_id, &arena, &repository, NULL) != RC_OK ||
        sscanf(repository.name, SIM_REPOSITORY_NAME, &number) != 1)
        world_broken(model->world, "nobody knows the repository of run %s", run->id.text);
    if (number >= SIM_PLAIN)
        world_broken(model->world, "run %s starts without an account", run->id.text);
    run->account = number % SIM_PLAIN_ACCOUNTS;
    run->knows_account = true;
    arena_release(&arena);
    return run->account;
}

static bool is_of_agent(const struct run_fact *run)
{
    return run->status == RUN_RUNNING || run->status == RUN_PLANNING;
}

/* For this run.  The time of an event is that of its commit or later, so what is parked then was
   parked. */
static bool is_parked(struct model *model, struct run_fact *run, int64_t time_us)
{
    const struct account_fact *account = &model->accounts[account_of(model, run)];
    return account->until_us > time_us && !id_same(&account->probe, &run->id);
}

/* A run of a pool gets this account; its agent may have begun with another one just now. */
static void choose_account(struct model *model, struct run_fact *run, const struct event *event)
{
    CLEANUP(js_freep) struct js *data = NULL;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK ||
        sscanf(js_get_str(data, "account", ""), SIM_ACCOUNT_NAME, &run->account) != 1 ||
        run->account < SIM_PLAIN_ACCOUNTS || run->account >= SIM_ACCOUNTS)
        world_broken(model->world, "run %s got an account that cannot be read", run->id.text);
    run->knows_account = true;
    run->began_parked = is_of_agent(run) && is_parked(model, run, event->time_us);
    model->stats.chosen++;
}

/* Is a run at work that tries the account? */
static bool has_probe(struct model *model, const struct account_fact *account)
{
    if (id_is_none(&account->probe))
        return false;
    const struct run_fact *run = map_at(&model->runs, &account->probe);
    return run_is_active(run->status);
}

static void start_probe(struct model *model, struct account_fact *account, const char *run_id)
{
    if (has_probe(model, account))
        world_broken(model->world, "run %s tries an account that another run tries already",
                     run_id);
    if (!id_parse(run_id, &account->probe))
        world_broken(model->world, "a probe without a run");
    model->stats.probed++;
}

static void change_account(struct model *model, const struct event *event)
{
    CLEANUP(js_freep) struct js *data = NULL;
    bool parked = strcmp(event->type, EV_ACCOUNT_PARKED) == 0;
    bool probed = strcmp(event->type, EV_ACCOUNT_PROBED) == 0;
    int64_t until_us = 0;
    size_t number;
    if (!parked && !probed && strcmp(event->type, EV_ACCOUNT_RESUMED) != 0)
        return;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK ||
        sscanf(js_get_str(data, "account", ""), SIM_ACCOUNT_NAME, &number) != 1 ||
        number >= SIM_ACCOUNTS ||
        (parked && !time_parse(js_get_str(data, "parkedUntil", ""), &until_us)))
        world_broken(model->world, "an event of an account cannot be read");
    struct account_fact *account = &model->accounts[number];
    if (probed) {
        start_probe(model, account, js_get_str(data, "probeRunId", ""));
        return;
    }
    if (!parked && account->until_us > event->time_us && !has_probe(model, account))
        world_broken(model->world, "account %zu is in use again before its reset", number);
    account->until_us = until_us;
    if (!parked)
        account->probe = (struct id){0};
    model->stats.parked += parked;
}

/* Into a state of the agent with a parked account it may only pass through, back to the queue. */
static void check_start(struct model *model, struct run_fact *run, enum run_status from,
                        const struct event *event)
{
    bool starts = from == RUN_QUEUED && run->status == RUN_PREPARING;
    run->began_parked = is_of_agent(run) && is_parked(model, run, event->time_us);
    if (starts && is_parked(model, run, event->time_us))
        world_broken(model->world, "run %s starts while its account is parked", run->id.text);
    model->stats.deferred += run->status == RUN_QUEUED;
}

static void change_status(struct model *model, struct run_fact *run, const struct event *event)
{
    CLEANUP(js_freep) struct js *data = NULL;
    enum run_status from, to;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK ||
        !run_status_parse(js_get_str(data, "fromStatus", ""), &from) ||
        !run_status_parse(js_get_str(data, "toStatus", ""), &to))
        world_broken(model->world, "run %s has a status change that cannot be read", run->id.text);
    if (from != run->status || !is_legal(from, to))
        world_broken(model->world, "run %s went from %s to %s while it was %s", run->id.text,
                     run_status_name(from), run_status_name(to), run_status_name(run->status));
    model->active += run_is_active(to) - run_is_active(from);
    run->status = to;
    check_start(model, run, from, event);
    if (run_is_terminal(to)) {
        model->stats.ended++;
        model->stats.by_end[to - RUN_COMPLETED]++;
    }
}

static void touch(struct model *model, const struct id *run_id)
{
    for (size_t i = 0; i < model->touched_count; i++)
        if (id_same(&model->touched[i], run_id))
            return;
    if (model->touched_count < TOUCHED_MAX)
        model->touched[model->touched_count++] = *run_id;
}

static void check_envelope(struct model *model, const struct event *event)
{
    bool of_step = text_starts(event->type, "agent.step.");
    if (!id_same(&event->correlation_id, &event->task_id) ||
        !traceparent_valid(event->traceparent) || (of_step && id_is_none(&event->attempt_id)))
        world_broken(model->world, "%s of run %s lacks its correlation, trace or attempt",
                     event->type, event->run_id.text);
}

static void take_event(struct model *model, const struct event *event)
{
    model->seq = event->seq;
    model->stats.events++;
    if (id_is_none(&event->run_id)) {
        change_account(model, event);
        return;
    }
    struct run_fact *run = map_at(&model->runs, &event->run_id);
    if (event->run_seq != run->seq + 1)
        world_broken(model->world, "run %s has event %lld after %lld", run->id.text,
                     (long long)event->run_seq, (long long)run->seq);
    run->seq = event->run_seq;
    check_envelope(model, event);
    touch(model, &run->id);
    if (strcmp(event->type, EV_RUN_QUEUED) == 0)
        model->stats.runs++;
    else if (strcmp(event->type, EV_RUN_STATUS_CHANGED) == 0)
        change_status(model, run, event);
    else if (strcmp(event->type, EV_ACCOUNT_CHOSEN) == 0)
        choose_account(model, run, event);
    else if (strcmp(event->type, EV_PR_CREATED) == 0 && ++run->pull_requests > 1)
        world_broken(model->world, "run %s opened two pull requests", run->id.text);
    model->stats.pull_requests += strcmp(event->type, EV_PR_CREATED) == 0;
    model->stats.pauses += strcmp(event->type, EV_RUN_PAUSED) == 0;
    model->stats.questions += strcmp(event->type, EV_QUESTION_ASKED) == 0;
    model->stats.told += strcmp(event->type, EV_MESSAGE_DELIVERED) == 0;
}

/* ---- the rows ---- */

static size_t count_movers(struct model *model, const struct run_row *row, struct arena *arena,
                           bool *ret_named)
{
    struct db *db = store_writer(model->world->store);
    struct job_filter of_run = {.run_id = row->id, .state = -1, .limit = 200};
    struct waiting_filter open = {.run_id = row->id, .status = "pending", .limit = 10};
    struct waiting_filter asked = {.run_id = row->id, .status = "pending", .limit = 10};
    struct job_row *jobs;
    struct approval_row *approvals;
    struct question_row *questions;
    size_t job_count, approval_count, question_count;
    if (jobs_list(db, &of_run, arena, &jobs, &job_count, NULL) != RC_OK ||
        approvals_list(db, &open, arena, &approvals, &approval_count, NULL) != RC_OK ||
        questions_list(db, &asked, arena, &questions, &question_count, NULL) != RC_OK)
        world_broken(model->world, "the store does not answer");
    if (question_count > 1 || (question_count == 1) == id_is_none(&row->question_id))
        world_broken(model->world, "run %s does not know its open question", row->id.text);
    /* A question moves only a run that waits for its answer; else the agent may still work. */
    size_t movers = approval_count;
    if (row->status == RUN_AWAITING_APPROVAL)
        movers += question_count;
    *ret_named = movers > 0;
    for (size_t i = 0; i < job_count; i++) {
        if (job_is_settled(jobs[i].life.state) || strcmp(jobs[i].type, "clean") == 0 ||
            !id_is_none(&jobs[i].saga_id))
            continue;
        movers++;
        *ret_named |= id_same(&jobs[i].id, &row->job_id);
    }
    return movers;
}

static void check_run(struct model *model, const struct id *run_id, struct arena *arena)
{
    const struct run_fact *fact = map_at(&model->runs, run_id);
    struct run_row row;
    struct err err = {0};
    if (runs_get(store_writer(model->world->store), run_id, arena, &row, &err) != RC_OK)
        world_broken(model->world, "run %s cannot be read: %s", run_id->text, err.text);
    if (row.status != fact->status || row.event_seq != fact->seq)
        world_broken(model->world, "run %s is %s at %lld; its events say %s at %lld", run_id->text,
                     run_status_name(row.status), (long long)row.event_seq,
                     run_status_name(fact->status), (long long)fact->seq);
    if (fact->began_parked)
        world_broken(model->world, "run %s is %s with an account that was parked before",
                     run_id->text, run_status_name(fact->status));
    bool named;
    size_t movers = count_movers(model, &row, arena, &named);
    size_t want = run_is_active(row.status) ? 1 : 0;
    if (movers != want || (want == 1 && !named))
        world_broken(model->world, "run %s is %s and has %zu things that move it", run_id->text,
                     run_status_name(row.status), movers);
}

static void check_limits(struct model *model, struct arena *arena)
{
    struct active_row *rows;
    size_t count;
    if (runs_active(store_writer(model->world->store), arena, &rows, &count, NULL) != RC_OK)
        world_broken(model->world, "the store does not answer");
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t here = 0;
        for (size_t k = 0; k < count; k++)
            if (id_same(&rows[i].repository_id, &rows[k].repository_id))
                here += rows[k].count;
        if (here > SIM_REPOSITORY_MAX)
            world_broken(model->world, "%lld runs are active in one repository", (long long)here);
        total += rows[i].count;
    }
    if (total > SIM_SYSTEM_MAX || total != model->active)
        world_broken(model->world, "%lld runs are active, by the events %lld", (long long)total,
                     (long long)model->active);
}

static void check_homes(struct model *model, struct arena *arena)
{
    struct account_load_row *rows;
    size_t count;
    if (accounts_load(store_writer(model->world->store), arena, &rows, &count, NULL) != RC_OK)
        world_broken(model->world, "the store does not answer");
    for (size_t i = 0; i < count; i++)
        if (rows[i].runs > 1 && account_configs_find(&sim_accounts, rows[i].name) != NULL)
            world_broken(model->world, "%lld runs are in the home of %s", (long long)rows[i].runs,
                         rows[i].name);
}

void model_look(struct model *model)
{
    struct arena arena = {0};
    struct db *db = store_writer(model->world->store);
    size_t count;
    do {
        struct event_filter filter = {.after_seq = model->seq, .limit = PAGE};
        struct event *events;
        if (events_list(db, &filter, &arena, &events, &count, NULL) != RC_OK)
            world_broken(model->world, "the log cannot be read");
        for (size_t i = 0; i < count; i++)
            take_event(model, &events[i]);
    } while (count == PAGE);
    for (size_t i = 0; i < model->touched_count; i++)
        check_run(model, &model->touched[i], &arena);
    if (model->touched_count > 0) {
        check_limits(model, &arena);
        check_homes(model, &arena);
    }
    model->touched_count = 0;
    arena_release(&arena);
}

void model_look_at_the_end(struct model *model)
{
    struct world *world = model->world;
    struct arena arena = {0};
    struct db *db = store_writer(world->store);
    struct doctor_report report;
    struct err err = {0};
    if (model_open_runs(model) != 0)
        world_broken(world, "%lld runs were stranded", (long long)model_open_runs(model));
    if (doctor_examine(db, &arena, &report, &err) != RC_OK)
        world_broken(world, "the doctor cannot look: %s", err.text);
    for (size_t i = 0; i < report.check_count; i++)
        if (report.checks[i].bad > 0)
            world_broken(world, "%s: %s", report.checks[i].name, report.checks[i].first);
    struct queue_counts *queues;
    size_t count;
    if (jobs_count(db, &arena, &queues, &count, &err) != RC_OK)
        world_broken(world, "the store does not answer: %s", err.text);
    for (size_t i = 0; i < count; i++)
        for (int state = 0; state < JOB_STATE_COUNT; state++)
            if (!job_is_settled((enum job_state)state) && queues[i].by_state[state] > 0)
                world_broken(world, "%lld jobs of %s are still %s",
                             (long long)queues[i].by_state[state], queues[i].queue,
                             job_state_name((enum job_state)state));
    arena_release(&arena);
}

int64_t model_open_runs(const struct model *model)
{
    return model->stats.runs - model->stats.ended;
}

void model_stats(const struct model *model, struct model_stats *ret_stats)
{
    *ret_stats = model->stats;
}

static void on_answered(void *who, const struct command *command)
{
    model_answered(who, command);
}

static void on_commit(void *who)
{
    model_look(who);
}

struct model *model_new(struct world *world)
{
    struct model *model = mem_alloc(sizeof *model);
    model->world = world;
    model->runs.each = sizeof(struct run_fact);
    model->jobs.each = sizeof(struct job_fact);
    world->watch = (struct watch){.answered = on_answered, .look = on_commit, .who = model};
    return model;
}

void model_free(struct model *model)
{
    map_release(&model->runs);
    map_release(&model->jobs);
    mem_free(model);
}
