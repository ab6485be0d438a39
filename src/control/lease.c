/*
 * lease.c - workers take jobs, keep them, and tell what goes on.
 */
#include "control/accounts.h"
#include "control/ahead.h"
#include "control/bound.h"
#include "control/breakers.h"
#include "control/cx.h"
#include "control/isolate.h"
#include "control/jobs.h"
#include "control/pipeline.h"
#include "control/principal.h"
#include "control/pull_limits.h"
#include "control/queue_gate.h"
#include "control/result_facts.h"
#include "control/settle.h"
#include "control/stop.h"
#include "control/usage.h"
#include "core/event_types.h"
#include "core/worker_report.h"
#include <assert.h>
#include <string.h>

/* A job that cannot be handed out now may be then. */
#define HOLD_FAILED_US US_PER_MINUTE

/* ---- lease ------------------------------------------------------------------------------ */

struct claiming {
    struct cmd_lease *cmd;
    const struct job_row *job;
    struct {
        size_t job_count, held;
    } before;
};

/* A job whose run another transaction has in hand is passed over: that one may end it. */
static enum rc try_claim(struct cx *cx, void *subject, const struct failure *why)
{
    (void)why;
    struct cmd_lease *cmd = ((struct claiming *)subject)->cmd;
    const struct job_row *job = ((struct claiming *)subject)->job;
    bool allowed;
    enum rc rc = breaker_gate(cx, job, &allowed);
    if (rc != RC_OK || !allowed) {
        cmd->held++;
        return rc;
    }
    CLEANUP(flow_release) struct flow flow = {0};
    bool of_run = !id_is_none(&job->run_id);
    rc = of_run ? flow_load_free(cx, &job->run_id, &flow) : RC_OK;
    if (rc == RC_NOT_FOUND) {
        supply_pass(&cx->round->supply, job->queue);
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    if (cmd->job_count == 0) /* Only now: leases that wait by the thousand should be small. */
        cmd->jobs = arena_array(cx->arena, (size_t)cmd->max, sizeof(*cmd->jobs));
    struct job_row *mine = &cmd->jobs[cmd->job_count++];
    *mine = job_row_copy(job, cx->arena);
    int64_t lease_us = cmd->lease_us > 0 ? cmd->lease_us
                                         : cx_queue(cx, job->queue)->config.lease_us;
    struct claim claim = {.worker = cmd->worker,
                          .owner = cmd->base.principal,
                          .now_us = cx->now_us,
                          .until_us = cx->now_us + lease_us};
    cx_due(cx, claim.until_us);
    rc = jobs_claim(cx->db, &claim, mine, cx->err);
    if (rc == RC_OK && of_run)
        rc = pipeline_started(cx, mine, &flow);
    return rc == RC_OK ? pull_begun(cx, mine) : rc;
}

static void forget_claim(struct claiming *claiming)
{
    claiming->cmd->job_count = claiming->before.job_count;
    claiming->cmd->held = claiming->before.held;
}

/* A job that cannot be handed out would stand at the head of its queue for ever. */
static enum rc fail_claim(struct cx *cx, void *subject, const struct failure *why)
{
    struct claiming *claiming = subject;
    forget_claim(claiming);
    struct job_row job = {0};
    enum rc rc = RC_OK;
    if (!id_is_none(&claiming->job->run_id))
        rc = stop_failed(cx, &claiming->job->run_id, why);
    if (rc == RC_OK)
        rc = jobs_get(cx->db, &claiming->job->id, cx->arena, &job, cx->err);
    if (rc != RC_OK || job_is_settled(job.life.state))
        return rc;
    return err_set(cx->err, why->rc, why->err.code, "%s", why->err.text); /* It moves no run. */
}

static enum rc hold_claim(struct cx *cx, void *subject, const struct failure *why)
{
    (void)why;
    struct claiming *claiming = subject;
    struct job_row job = *claiming->job;
    forget_claim(claiming);
    return settle_hold(cx, &job, cx->now_us + HOLD_FAILED_US);
}

static enum rc claim_one(struct cx *cx, struct cmd_lease *cmd, const struct job_row *job)
{
    static isolate_try *const tries[] = {try_claim, fail_claim, hold_claim, NULL};
    struct claiming claiming = {cmd, job, {cmd->job_count, cmd->held}};
    const struct isolated one = {"job", job->id.text, &claiming, tries};
    return isolate(cx, &one);
}

/* Other leases of the batch may want the queue's jobs as well, those that became ready are surely
   wanted. */
static int64_t wanted_by_others(const struct round *round, const char *queue)
{
    int64_t ahead = round->leases;
    for (size_t i = 0; i < round->ready_count; i++)
        if (round->ready[i].jobs > ahead && strcmp(round->ready[i].queue, queue) == 0)
            ahead = round->ready[i].jobs;
    return ahead;
}

static enum rc claim_some(struct cx *cx, struct cmd_lease *cmd, const char *queue, int64_t jobs)
{
    struct supply_wish wish = {
        .queue = queue, .now_us = cx->now_us, .ahead = wanted_by_others(cx->round, queue)};
    int64_t until = (int64_t)cmd->job_count + jobs;
    enum rc rc = RC_OK;
    while (rc == RC_OK && (int64_t)cmd->job_count < until && cmd->held < LEASE_HELD_MAX) {
        wish.jobs = until - (int64_t)cmd->job_count;
        const struct job_row *job;
        rc = supply_next(&cx->round->supply, cx->db, &wish, cx->batch_arena, &job, cx->err);
        if (rc != RC_OK || job == NULL)
            return rc;
        rc = claim_one(cx, cmd, job);
    }
    return rc;
}

static void look_again_at(struct cmd_lease *cmd, int64_t look_us)
{
    int64_t *at = &cmd->base.look_us;
    if (look_us > 0 && (*at == 0 || look_us < *at))
        *at = look_us;
}

static enum rc claim_from(struct cx *cx, struct cmd_lease *cmd, const char *queue)
{
    struct gate gate;
    size_t before = cmd->job_count;
    enum rc rc = gate_open(cx, queue, cmd->max - (int64_t)before, &gate);
    if (rc == RC_OK && gate.granted > 0)
        rc = claim_some(cx, cmd, queue, gate.granted);
    if (rc != RC_OK)
        return rc;
    look_again_at(cmd, gate.look_us);
    return gate_close(cx, &gate, (int64_t)(cmd->job_count - before));
}

static enum rc apply_lease(struct cx *cx, struct command *command)
{
    struct cmd_lease *cmd = (struct cmd_lease *)command;
    assert(!text_empty(command->principal)); /* A lease without an owner would be anyone's. */
    if (command->wait_until_us == 0) {
        command->wait_until_us = cx->now_us + cmd->wait_us;
        command->waiter = cmd->worker;
    }
    cmd->job_count = cmd->held = 0;
    command->look_us = 0;
    if (command->abandoned)
        return RC_OK; /* Nobody would hear of the jobs. */
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && cmd->queues[i] != NULL; i++)
        if ((int64_t)cmd->job_count < cmd->max)
            rc = claim_from(cx, cmd, cmd->queues[i]);
    return rc;
}

static bool lease_may_wait(const struct command *command)
{
    const struct cmd_lease *cmd = (const struct cmd_lease *)command;
    return cmd->job_count == 0 && cmd->wait_us > 0 && cmd->held < LEASE_HELD_MAX;
}

static bool lease_wants(const struct command *command, const char *queue)
{
    const struct cmd_lease *cmd = (const struct cmd_lease *)command;
    for (size_t i = 0; cmd->queues[i] != NULL; i++)
        if (strcmp(cmd->queues[i], queue) == 0)
            return true;
    return false;
}

static int64_t lease_appetite(const struct command *command)
{
    return ((const struct cmd_lease *)command)->max;
}

static const struct command_ops lease_ops = {
    .name = "lease",
    .apply = apply_lease,
    .may_wait = lease_may_wait,
    .wants = lease_wants,
    .appetite = lease_appetite,
};

struct cmd_lease *cmd_lease_new(void)
{
    return command_new(&lease_ops, sizeof(struct cmd_lease));
}

/* ---- heartbeat and progress ------------------------------------------------------------- */

/* The job, when this lease still holds it and is the caller's; else the answer says why not. */
static enum rc load_leased(struct cx *cx, const struct command *command, const struct job_ref *ref,
                           struct job_row *ret_job, struct job_answer *ret_answer)
{
    *ret_answer = (struct job_answer){.ok = false};
    enum rc rc = jobs_get(cx->db, &ref->id, cx->arena, ret_job, cx->err);
    if (rc == RC_NOT_FOUND) {
        ret_answer->code = "NOT_FOUND";
        return RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    ret_answer->state = ret_job->life.state;
    ret_answer->ok = job_leased_to(&ret_job->life, ref->epoch, command->principal);
    if (!ret_answer->ok)
        ret_answer->code = "LEASE_LOST";
    return RC_OK;
}

struct beat {
    const struct cmd_heartbeat *cmd;
    size_t i;
};

static enum rc try_beat(struct cx *cx, void *subject, const struct failure *why)
{
    (void)why;
    const struct cmd_heartbeat *cmd = ((struct beat *)subject)->cmd;
    size_t i = ((struct beat *)subject)->i;
    struct job_answer *answer = &cmd->answers[i];
    struct job_row job;
    enum rc rc = load_leased(cx, &cmd->base, &cmd->leases[i], &job, answer);
    if (rc == RC_OK && answer->ok && !worker_may_renew(cmd->worker, job.worker))
        *answer = (struct job_answer){.code = "LEASE_LOST", .state = job.life.state};
    if (rc != RC_OK || !answer->ok)
        return rc;
    if (!id_is_none(&job.run_id)) {
        struct run_row run;
        rc = runs_get(cx->db, &job.run_id, cx->arena, &run, cx->err);
        if (rc != RC_OK)
            return rc;
        answer->cancel = stop_reaches_step(&run, job.type);
    }
    struct job_input input = {.event = JOB_EV_RENEW,
                              .now_us = cx->now_us,
                              .epoch = cmd->leases[i].epoch,
                              .owner = cmd->base.principal,
                              .lease_us = cmd->extend_us};
    rc = job_step(&job.life, &input, &job.life);
    return rc == RC_OK ? jobs_save(cx->db, &job, cx->err) : rc;
}

/* Not renewed; the worker's other leases are. */
static enum rc refuse_beat(struct cx *cx, void *subject, const struct failure *why)
{
    const struct beat *beat = subject;
    beat->cmd->answers[beat->i] = (struct job_answer){.code = "CONTROL_ERROR",
                                                      .message = failure_text(cx, why)};
    return RC_OK;
}

static enum rc beat_one(struct cx *cx, const struct cmd_heartbeat *cmd, size_t i)
{
    static isolate_try *const tries[] = {try_beat, refuse_beat, NULL};
    struct beat beat = {cmd, i};
    const struct isolated one = {"job", cmd->leases[i].id.text, &beat, tries};
    return isolate(cx, &one);
}

static enum rc apply_heartbeat(struct cx *cx, struct command *command)
{
    struct cmd_heartbeat *cmd = (struct cmd_heartbeat *)command;
    struct bound_refs refs = {cmd->leases, sizeof *cmd->leases, cmd->count};
    cmd->answers = arena_array(cx->arena, cmd->count, sizeof(*cmd->answers));
    enum rc rc = bound_check(cx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = beat_one(cx, cmd, i);
    return rc;
}

static void heartbeat_names(const struct command *command, struct ahead *ahead)
{
    const struct cmd_heartbeat *cmd = (const struct cmd_heartbeat *)command;
    for (size_t i = 0; i < cmd->count; i++)
        ahead_job(ahead, &cmd->leases[i].id);
}

static const struct command_ops heartbeat_ops = {
    .name = "heartbeat", .apply = apply_heartbeat, .names = heartbeat_names};

struct cmd_heartbeat *cmd_heartbeat_new(void)
{
    return command_new(&heartbeat_ops, sizeof(struct cmd_heartbeat));
}

enum { PROGRESS_EVENTS_MAX = 200, PROGRESS_DATA_MAX = 16 * 1024 };

/* ret_data: the data of each as text. */
static enum rc check_progress(struct cx *cx, const struct js *events, struct str **ret_data)
{
    size_t count = js_count(events);
    if (js_type(events) != JS_ARRAY || count > PROGRESS_EVENTS_MAX)
        return err_field(cx->err, RC_INVALID, "INVALID_FIELD", "events",
                         "events must be an array of at most %d", PROGRESS_EVENTS_MAX);
    struct str *data = arena_array(cx->arena, count, sizeof *data);
    for (size_t i = 0; i < count; i++) {
        const struct js *event = js_at(events, i);
        const char *type = report_event_type(js_get_str(event, "type", ""));
        if (type == NULL)
            return err_field(cx->err, RC_INVALID, "INVALID_FIELD", "events",
                             "events[%zu].type is not one that a worker may send", i);
        if (js_type(js_get(event, "data")) != JS_OBJECT)
            return err_field(cx->err, RC_INVALID, "INVALID_FIELD", "events",
                             "events[%zu].data must be an object", i);
        enum rc rc = report_check_event(type, js_get(event, "data"), cx->err);
        if (rc != RC_OK)
            return rc;
        data[i] = str_of(js_text(js_get(event, "data"), cx->arena));
        if (data[i].len > PROGRESS_DATA_MAX)
            return err_field(cx->err, RC_TOO_LARGE, "EVENT_TOO_LARGE", "events",
                             "events[%zu].data passes %d bytes", i, PROGRESS_DATA_MAX);
    }
    *ret_data = data;
    return RC_OK;
}

static enum rc check_events(struct cx *cx, const struct job_row *job, const struct js *events)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        rc = event_check_facts(job, js_get_str(event, "type", ""), js_get(event, "data"), cx->err);
    }
    return rc;
}

/* Stored once in the life of a run: from here on diagnostic events are dropped. */
static enum rc tell_truncated(struct cx *cx, struct flow *flow)
{
    CLEANUP(note_release) struct note note;
    note_open(&note);
    jw_kstr(&note.jw, "runId", flow->run.id.text);
    jw_kint(&note.jw, "events", flow->run.event_seq);
    return flow_tell(cx, flow, EV_EVENTS_TRUNCATED, &note);
}

/* *ret_dropped: some did not fit into the run's budget of events. */
static enum rc tell_progress(struct cx *cx, struct flow *flow, const struct job_progress *progress,
                             const struct str *data, bool *ret_dropped)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(progress->events); i++) {
        const struct js *event = js_at(progress->events, i);
        const char *type = report_event_type(js_get_str(event, "type", ""));
        struct event_verdict verdict = event_budget_take(
            &flow->run.events_left, report_event_kind(type), (int64_t)data[i].len);
        *ret_dropped |= !verdict.store;
        if (verdict.notice)
            rc = tell_truncated(cx, flow);
        if (rc == RC_OK && verdict.store)
            rc = flow_tell_data(cx, flow, type, data[i]);
    }
    return rc;
}

/* Sums grow, so the last ones hold; NULL: there are none. */
static const struct js *last_sums(const struct js *events)
{
    const struct js *sums = NULL;
    for (size_t i = 0; i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        if (strcmp(report_event_type(js_get_str(event, "type", "")), EV_MODEL_TURN_COMPLETED) == 0)
            sums = js_get(event, "data");
    }
    return sums;
}

/* The far side works, and that need not wait for the end of a session that may take hours. */
static enum rc session_begun(struct cx *cx, struct run_row *run, const struct job_row *job)
{
    run->session_begun_us = cx->now_us;
    enum rc rc = runs_save_begun(cx->db, run, cx->err);
    struct breaker_report report = {.ok = true, .since_us = job->leased_us};
    if (rc == RC_OK && job->dependency != NULL)
        rc = breaker_report(cx, job->dependency, &report);
    return rc;
}

/* A remote session that is known to have begun is never started again. */
static enum rc note_session(struct cx *cx, struct flow *flow, const struct job_row *job,
                            const struct js *events)
{
    struct run_row *run = &flow->run;
    for (size_t i = 0; run->session_id != NULL && i < js_count(events); i++) {
        const struct js *event = js_at(events, i);
        const char *id = js_get_str(js_get(event, "data"), "sessionId", "");
        if (strcmp(js_get_str(event, "type", ""), EV_SESSION_STARTED) != 0 ||
            strcmp(id, run->session_id) != 0 || run->session_begun_us > 0)
            continue;
        return session_begun(cx, run, job);
    }
    return RC_OK;
}

static enum rc progress_one(struct cx *cx, const struct cmd_progress *cmd, size_t i,
                            const struct str *data)
{
    const struct job_progress *progress = &cmd->jobs[i];
    struct job_answer *answer = &cmd->answers[i];
    struct job_row job;
    enum rc rc = load_leased(cx, &cmd->base, &progress->ref, &job, answer);
    if (rc != RC_OK || !answer->ok || id_is_none(&job.run_id))
        return rc;
    CLEANUP(flow_release) struct flow flow = {0};
    rc = flow_load_run(cx, &job.run_id, &flow);
    if (rc != RC_OK)
        return rc;
    answer->cancel = stop_reaches_step(&flow.run, job.type);
    rc = check_events(cx, &job, progress->events);
    bool dropped = false;
    if (rc == RC_OK)
        rc = tell_progress(cx, &flow, progress, data, &dropped);
    if (dropped)
        answer->code = "EVENT_BUDGET";
    const struct js *sums = last_sums(progress->events);
    if (rc == RC_OK && sums != NULL)
        rc = usage_take(cx, &flow.run, job.payload, sums);
    if (rc == RC_OK && usage_shows_work(sums))
        rc = accounts_proved(cx, &flow.run);
    if (rc == RC_OK)
        rc = note_session(cx, &flow, &job, progress->events);
    if (rc == RC_OK)
        rc = sums != NULL ? flow_save_used(cx, &flow) : flow_save_told(cx, &flow);
    if (rc != RC_OK || answer->cancel)
        return rc;
    return pull_heard(cx, &job, sums, &answer->cancel);
}

static enum rc apply_progress(struct cx *cx, struct command *command)
{
    struct cmd_progress *cmd = (struct cmd_progress *)command;
    struct bound_refs refs = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->count};
    cmd->answers = arena_array(cx->arena, cmd->count, sizeof(*cmd->answers));
    struct str **data = arena_array(cx->arena, cmd->count, sizeof *data);
    enum rc rc = bound_check(cx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = check_progress(cx, cmd->jobs[i].events, &data[i]);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = progress_one(cx, cmd, i, data[i]);
    return rc;
}

static void progress_names(const struct command *command, struct ahead *ahead)
{
    const struct cmd_progress *cmd = (const struct cmd_progress *)command;
    for (size_t i = 0; i < cmd->count; i++)
        ahead_job(ahead, &cmd->jobs[i].ref.id);
}

static const struct command_ops progress_ops = {
    .name = "progress", .apply = apply_progress, .names = progress_names};

struct cmd_progress *cmd_progress_new(void)
{
    return command_new(&progress_ops, sizeof(struct cmd_progress));
}
