/*
 * lease.c - workers take jobs and keep them.
 */
#include "control/queue/lease.h"
#include "control/commit/context.h"
#include "control/commit/isolate.h"
#include "control/commit/principal.h"
#include "control/commit/read_ahead.h"
#include "control/queue/breakers.h"
#include "control/queue/job_hooks.h"
#include "control/queue/queue_gate.h"
#include "control/queue/settle.h"
#include "control/queue/token_scope.h"
#include <assert.h>
#include <string.h>

/* A job that cannot be handed out is retried after this time. */
#define HOLD_FAILED_US US_PER_MINUTE

/* ---- lease ---- */

struct claiming {
    struct cmd_lease *cmd;
    const struct job_row *job;
    struct {
        size_t job_count, held;
    } before;
};

/* run: of the hooks; NULL: the job belongs to none. */
static enum rc claim(struct context *ctx, struct cmd_lease *cmd, const struct job_row *job,
                     void *run)
{
    if (cmd->job_count == 0) /* Only now: leases that wait by the thousand should be small. */
        cmd->jobs = arena_array(ctx->arena, (size_t)cmd->max, sizeof *cmd->jobs);
    struct job_row *mine = &cmd->jobs[cmd->job_count++];
    *mine = job_row_copy(job, ctx->arena);
    int64_t lease_us = cmd->lease_us > 0 ? cmd->lease_us
                                         : context_queue(ctx, job->queue)->config.lease_us;
    struct claim claim = {.worker = cmd->worker,
                          .owner = cmd->base.principal,
                          .now_us = ctx->now_us,
                          .until_us = ctx->now_us + lease_us};
    context_due(ctx, claim.until_us);
    enum rc rc = jobs_claim(ctx->db, &claim, mine, ctx->err);
    return rc == RC_OK && run != NULL ? ctx->hooks->jobs->claimed(ctx, mine, run) : rc;
}

static enum rc claim_if_allowed(struct context *ctx, struct cmd_lease *cmd,
                                const struct job_row *job, void *run)
{
    bool allowed;
    enum rc rc = breaker_gate(ctx, job, &allowed);
    if (rc == RC_OK && allowed)
        return claim(ctx, cmd, job, run);
    cmd->held++;
    return rc;
}

/* Its run is paused.  Out of the way of others until that ends: there may be many of them. */
static enum rc hold(struct context *ctx, struct cmd_lease *cmd, const struct job_row *job)
{
    struct job_row mine = job_row_copy(job, ctx->arena);
    cmd->held++;
    return settle_hold(ctx, &mine, JOB_HELD_US);
}

/* A job whose run another transaction has locked is skipped: that one may end it. */
static enum rc try_claim(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct cmd_lease *cmd = ((struct claiming *)subject)->cmd;
    const struct job_row *job = ((struct claiming *)subject)->job;
    if (id_is_none(&job->run_id))
        return claim_if_allowed(ctx, cmd, job, NULL);
    void *run = NULL;
    bool held = false;
    enum rc rc = ctx->hooks->jobs->claim(ctx, job, &run, &held);
    if (rc == RC_OK) {
        rc = held ? hold(ctx, cmd, job) : claim_if_allowed(ctx, cmd, job, run);
    } else if (rc == RC_NOT_FOUND) {
        supply_pass(&ctx->round->supply, job->queue);
        rc = RC_OK;
    }
    ctx->hooks->jobs->left(run);
    return rc;
}

static void forget_claim(struct claiming *claiming)
{
    claiming->cmd->job_count = claiming->before.job_count;
    claiming->cmd->held = claiming->before.held;
}

/* A job that cannot be handed out would block the head of its queue for ever. */
static enum rc fail_claim(struct context *ctx, void *subject, const struct failure *why)
{
    struct claiming *claiming = subject;
    forget_claim(claiming);
    struct job_row job = {0};
    enum rc rc = RC_OK;
    if (!id_is_none(&claiming->job->run_id))
        rc = ctx->hooks->jobs->broken(ctx, &claiming->job->run_id, why);
    if (rc == RC_OK)
        rc = jobs_get(ctx->db, &claiming->job->id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || job_is_settled(job.life.state))
        return rc;
    return err_set(ctx->err, why->rc, why->err.code, "%s", why->err.text); /* It moves no run. */
}

static enum rc hold_claim(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    struct claiming *claiming = subject;
    struct job_row job = *claiming->job;
    forget_claim(claiming);
    return settle_hold(ctx, &job, ctx->now_us + HOLD_FAILED_US);
}

static enum rc claim_one(struct context *ctx, struct cmd_lease *cmd, const struct job_row *job)
{
    static isolate_try *const tries[] = {try_claim, fail_claim, hold_claim, NULL};
    const struct job_row copy = *job; /* supply_forget moves the rows that it points into. */
    struct claiming claiming = {cmd, &copy, {cmd->job_count, cmd->held}};
    const struct isolated one = {"job", copy.id.text, &claiming, tries};
    enum rc rc = isolate(ctx, &one);
    context_taken(ctx, &copy);
    if (ctx->round->supply.celled)
        supply_forget(&ctx->round->supply, &copy);
    return rc;
}

/* Other leases of the batch may take the queue's jobs as well; those that became ready are needed
   for certain. */
static int64_t wanted_by_others(const struct round *round, const char *queue)
{
    int64_t read_ahead = round->leases;
    for (size_t i = 0; i < round->ready_count; i++)
        if (round->ready[i].jobs > read_ahead && strcmp(round->ready[i].queue, queue) == 0)
            read_ahead = round->ready[i].jobs;
    return read_ahead;
}

/* ---- of some jobs of a queue only ---- */

static const char *const any_of[] = {NULL, NULL}; /* One that stands for all, and the end. */

/* The first in rank among those of all cells; NULL: none. */
static enum rc peek_first(struct context *ctx, const struct lease_filter *filter,
                          struct supply_wish *wish, const struct job_row **ret_job)
{
    const char *const *repositories = filter->repositories != NULL ? filter->repositories : any_of;
    const char *const *labels = filter->labels != NULL ? filter->labels : any_of;
    const struct job_row *first = NULL;
    enum rc rc = RC_OK;
    for (size_t r = 0; rc == RC_OK && (r == 0 || repositories[r] != NULL); r++) {
        for (size_t l = 0; rc == RC_OK && (l == 0 || labels[l] != NULL); l++) {
            const struct job_row *job;
            wish->cell = (struct job_cell){true, repositories[r], labels[l]};
            rc = supply_peek(&ctx->round->supply, ctx->db, wish, ctx->batch_arena, &job, ctx->err);
            if (rc == RC_OK && job != NULL &&
                (first == NULL || job->rank < first->rank ||
                 (job->rank == first->rank && strcmp(job->id.text, first->id.text) < 0)))
                first = job;
        }
    }
    if (rc == RC_OK)
        *ret_job = first;
    return rc;
}

/* Without a query for each cell where the queue is empty anyway. */
static enum rc peek_any(struct context *ctx, const struct lease_filter *filter,
                        struct supply_wish *wish, const struct job_row **ret_job)
{
    bool any = false;
    *ret_job = NULL;
    enum rc rc = supply_any(&ctx->round->supply, ctx->db, wish->queue, ctx->batch_arena, &any,
                            ctx->err);
    return rc == RC_OK && any ? peek_first(ctx, filter, wish, ret_job) : rc;
}

enum rc lease_finds(struct context *ctx, const struct cmd_lease *cmd, bool *ret_found)
{
    const struct job_row *job = NULL;
    enum rc rc = RC_OK;
    assert(cmd->filter.marked);
    for (size_t i = 0; rc == RC_OK && job == NULL && cmd->queues[i] != NULL; i++) {
        struct supply_wish wish = {.queue = cmd->queues[i],
                                   .now_us = ctx->now_us,
                                   .jobs = 1,
                                   .read_owner = ctx->hooks->jobs->read_ahead};
        rc = peek_any(ctx, &cmd->filter, &wish, &job);
    }
    if (rc == RC_OK)
        *ret_found = job != NULL;
    return rc;
}

static enum rc claim_picked(struct context *ctx, struct cmd_lease *cmd, struct supply_wish *wish,
                            int64_t jobs)
{
    int64_t until = (int64_t)cmd->job_count + jobs;
    enum rc rc = RC_OK;
    wish->jobs = jobs;
    wish->read_ahead = 0;
    while (rc == RC_OK && (int64_t)cmd->job_count < until && cmd->held < LEASE_HELD_MAX) {
        const struct job_row *job;
        rc = peek_any(ctx, &cmd->filter, wish, &job);
        if (rc != RC_OK || job == NULL)
            return rc;
        rc = claim_one(ctx, cmd, job);
    }
    return rc;
}

static enum rc claim_some(struct context *ctx, struct cmd_lease *cmd, const char *queue,
                          int64_t jobs)
{
    struct supply_wish wish = {.queue = queue,
                               .now_us = ctx->now_us,
                               .read_ahead = wanted_by_others(ctx->round, queue),
                               .read_owner = ctx->hooks->jobs->read_ahead};
    if (cmd->filter.marked)
        return claim_picked(ctx, cmd, &wish, jobs);
    int64_t until = (int64_t)cmd->job_count + jobs;
    enum rc rc = RC_OK;
    while (rc == RC_OK && (int64_t)cmd->job_count < until && cmd->held < LEASE_HELD_MAX) {
        wish.jobs = until - (int64_t)cmd->job_count;
        const struct job_row *job;
        rc = supply_next(&ctx->round->supply, ctx->db, &wish, ctx->batch_arena, &job, ctx->err);
        if (rc != RC_OK || job == NULL)
            return rc;
        rc = claim_one(ctx, cmd, job);
    }
    return rc;
}

static enum rc claim_from(struct context *ctx, struct cmd_lease *cmd, const char *queue)
{
    struct gate gate;
    size_t before = cmd->job_count;
    enum rc rc = gate_open(ctx, queue, cmd->max - (int64_t)before, &gate);
    if (rc == RC_OK && gate.granted > 0)
        rc = claim_some(ctx, cmd, queue, gate.granted);
    if (rc != RC_OK)
        return rc;
    if (gate.look_us > 0 && (cmd->base.look_us == 0 || gate.look_us < cmd->base.look_us))
        cmd->base.look_us = gate.look_us;
    return gate_close(ctx, &gate, (int64_t)(cmd->job_count - before));
}

enum rc lease_apply(struct context *ctx, struct command *command)
{
    struct cmd_lease *cmd = (struct cmd_lease *)command;
    assert(!text_empty(command->principal)); /* Without an owner any caller could settle it. */
    if (command->wait_until_us == 0) {
        command->wait_until_us = ctx->now_us + cmd->wait_us;
        command->waiter = cmd->worker;
    }
    cmd->job_count = cmd->held = 0;
    command->look_us = 0;
    if (command->abandoned)
        return RC_OK; /* No client would receive the jobs. */
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && cmd->queues[i] != NULL; i++)
        if ((int64_t)cmd->job_count < cmd->max)
            rc = claim_from(ctx, cmd, cmd->queues[i]);
    return rc;
}

bool lease_may_wait(const struct command *command)
{
    const struct cmd_lease *cmd = (const struct cmd_lease *)command;
    return cmd->job_count == 0 && cmd->wait_us > 0 && cmd->held < LEASE_HELD_MAX;
}

bool lease_wants(const struct command *command, const char *queue)
{
    const struct cmd_lease *cmd = (const struct cmd_lease *)command;
    for (size_t i = 0; cmd->queues[i] != NULL; i++)
        if (strcmp(cmd->queues[i], queue) == 0)
            return true;
    return false;
}

int64_t lease_appetite(const struct command *command)
{
    return ((const struct cmd_lease *)command)->max;
}

static bool among(const char *const *list, const char *text)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return list == NULL;
}

bool lease_picks(const struct command *command, const struct job_about *about)
{
    const struct lease_filter *filter = &((const struct cmd_lease *)command)->filter;
    if (!among(filter->repositories, about->repository))
        return false;
    for (size_t i = 0; filter->labels != NULL && about->labels[i] != NULL; i++)
        if (among(filter->labels, about->labels[i]))
            return true;
    return filter->labels == NULL;
}

static const struct command_ops lease_ops = {
    .name = "lease",
    .apply = lease_apply,
    .may_wait = lease_may_wait,
    .wants = lease_wants,
    .appetite = lease_appetite,
};

struct cmd_lease *cmd_lease_new(void)
{
    return command_new(&lease_ops, sizeof(struct cmd_lease));
}

/* ---- heartbeat ---- */

enum rc lease_load(struct context *ctx, const struct command *command, const struct job_ref *ref,
                   struct job_row *ret_job, struct job_answer *ret_answer)
{
    *ret_answer = (struct job_answer){.ok = false};
    enum rc rc = jobs_get(ctx->db, &ref->id, ctx->arena, ret_job, ctx->err);
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

enum rc lease_renew(struct context *ctx, const struct command *command,
                    const struct renewal *renewal, struct job_answer *ret_answer)
{
    struct job_row job;
    const char *worker = renewal->worker;
    enum rc rc = lease_load(ctx, command, &renewal->ref, &job, ret_answer);
    if (rc == RC_OK && ret_answer->ok && worker != NULL && !worker_may_renew(worker, job.worker))
        *ret_answer = (struct job_answer){.code = "LEASE_LOST", .state = job.life.state};
    if (rc != RC_OK || !ret_answer->ok)
        return rc;
    if (!id_is_none(&job.run_id))
        rc = ctx->hooks->jobs->orders(ctx, &job, ret_answer);
    if (rc != RC_OK)
        return rc;
    struct job_input input = {.event = JOB_EV_RENEW,
                              .now_us = ctx->now_us,
                              .epoch = renewal->ref.epoch,
                              .owner = command->principal,
                              .lease_us = renewal->extend_us};
    rc = job_step(&job.life, &input, &job.life);
    ret_answer->until_us = job.life.due_us;
    return rc == RC_OK ? jobs_save(ctx->db, &job, ctx->err) : rc;
}

struct beat {
    const struct cmd_heartbeat *cmd;
    size_t i;
};

static enum rc try_beat(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct beat *beat = subject;
    const struct cmd_heartbeat *cmd = beat->cmd;
    assert(cmd->worker != NULL);
    const struct renewal renewal = {cmd->leases[beat->i], cmd->worker, cmd->extend_us};
    return lease_renew(ctx, &cmd->base, &renewal, &cmd->answers[beat->i]);
}

/* Not renewed; the worker's other leases are. */
static enum rc refuse_beat(struct context *ctx, void *subject, const struct failure *why)
{
    const struct beat *beat = subject;
    beat->cmd->answers[beat->i] = (struct job_answer){.code = "CONTROL_ERROR",
                                                      .message = failure_text(ctx, why)};
    return RC_OK;
}

static enum rc beat_one(struct context *ctx, const struct cmd_heartbeat *cmd, size_t i)
{
    static isolate_try *const tries[] = {try_beat, refuse_beat, NULL};
    struct beat beat = {cmd, i};
    const struct isolated one = {"job", cmd->leases[i].id.text, &beat, tries};
    return isolate(ctx, &one);
}

static enum rc apply_heartbeat(struct context *ctx, struct command *command)
{
    struct cmd_heartbeat *cmd = (struct cmd_heartbeat *)command;
    struct token_scope_refs refs = {cmd->leases, sizeof *cmd->leases, cmd->count};
    cmd->answers = arena_array(ctx->arena, cmd->count, sizeof *cmd->answers);
    enum rc rc = token_scope_check(ctx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = beat_one(ctx, cmd, i);
    return rc;
}

static void heartbeat_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_heartbeat *cmd = (const struct cmd_heartbeat *)command;
    for (size_t i = 0; i < cmd->count; i++)
        read_ahead_job(read_ahead, &cmd->leases[i].id);
}

static const struct command_ops heartbeat_ops = {
    .name = "heartbeat", .apply = apply_heartbeat, .names = heartbeat_names};

struct cmd_heartbeat *cmd_heartbeat_new(void)
{
    return command_new(&heartbeat_ops, sizeof(struct cmd_heartbeat));
}
