/*
 * complete.c - workers report: complete, fail, release.
 *
 * A report is idempotent: one whose answer was lost on the way may be sent again with the same
 * epoch.  A stale one, or one about another principal's lease (LEASE_LOST), changes nothing.
 */
#include "control/queue/complete.h"
#include "control/commit/context.h"
#include "control/commit/isolate.h"
#include "control/commit/read_ahead.h"
#include "control/queue/enqueue.h"
#include "control/queue/job_hooks.h"
#include "control/queue/settle.h"
#include "control/queue/token_scope.h"
#include <string.h>

static enum rc load(struct context *ctx, const struct job_ref *ref, struct job_row *ret_job,
                    struct job_answer *answer, bool *ret_found)
{
    enum rc rc = jobs_get(ctx->db, &ref->id, ctx->arena, ret_job, ctx->err);
    *ret_found = rc == RC_OK;
    if (rc == RC_NOT_FOUND)
        *answer = (struct job_answer){.ok = false, .code = "NOT_FOUND"};
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* An expired lease may leave the job in the same state as a failure: only the recorded attempt
   shows whether this report was taken. */
static enum rc was_failed(struct context *ctx, const struct job_ref *ref, bool *ret_failed)
{
    struct attempt_row *attempts;
    size_t count;
    enum rc rc = attempts_list(ctx->db, &ref->id, ctx->arena, &attempts, &count, ctx->err);
    if (rc != RC_OK)
        return rc;
    *ret_failed = false;
    for (size_t i = 0; i < count; i++)
        *ret_failed |= attempts[i].epoch == ref->epoch &&
                       strcmp(attempts[i].outcome, "failed") == 0;
    return RC_OK;
}

/* Was this report taken before? */
static enum rc is_repeat(struct context *ctx, const struct job_row *job, const struct job_ref *ref,
                         const struct settlement *settlement, bool *ret_repeat)
{
    enum job_state state = job->life.state;
    enum job_event event = settlement->event;
    *ret_repeat = false;
    if (!job_lease_is(&job->life, ref->epoch, settlement->owner))
        return RC_OK;
    if (event == JOB_EV_FINISH)
        *ret_repeat = state == JOB_SUCCEEDED;
    if (event == JOB_EV_FAIL && (state == JOB_SCHEDULED || state == JOB_DEAD_LETTER))
        return was_failed(ctx, ref, ret_repeat);
    return RC_OK;
}

/* *ret_settled: the job was settled; its hooks are to be called. */
static enum rc report(struct context *ctx, struct job_row *job, const struct job_ref *ref,
                      const struct settlement *settlement, struct job_answer *answer,
                      bool *ret_settled)
{
    *ret_settled = false;
    bool repeat;
    enum rc rc = is_repeat(ctx, job, ref, settlement, &repeat);
    if (rc != RC_OK)
        return rc;
    if (repeat) {
        *answer = (struct job_answer){.ok = true, .state = job->life.state};
        return RC_OK;
    }
    rc = settle(ctx, job, settlement);
    if (rc == RC_STALE || rc == RC_CONFLICT) {
        *answer = (struct job_answer){.code = "LEASE_LOST", .state = job->life.state};
        return RC_OK;
    }
    *ret_settled = rc == RC_OK;
    *answer = (struct job_answer){.ok = rc == RC_OK, .state = job->life.state};
    return rc;
}

/* ---- one report among many ---- */

struct reporting {
    const struct command *command;
    const void *what; /* Of a failure its struct job_failed, of a release its struct job_ref. */
    const struct job_wait *wait; /* Of a release; or NULL. */
    struct job_done *done;       /* Of a completion, */
    bool follows;                /* with following jobs. */
    struct job_answer *answer;
    struct job_row job; /* As it was loaded. */
};

/* The run cannot take the report: it ends, and the other reports of the call are taken. */
static enum rc fail_run(struct context *ctx, void *subject, const struct failure *why)
{
    const struct reporting *reporting = subject;
    *reporting->answer = (struct job_answer){
        .code = "CONTROL_ERROR",
        .message = failure_text(ctx, why),
        .state = reporting->job.life.state,
    };
    return ctx->hooks->jobs->broken(ctx, &reporting->job.run_id, why);
}

/* The job stays leased, until the lease expires. */
static enum rc only_answer(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject; /* Answered by fail_run. */
    (void)why;
    return RC_OK;
}

/* A report with following jobs that cannot be made fails the whole call.  A run that fails must not
   stop the others. */
static enum rc take_report(struct context *ctx, struct reporting *reporting, isolate_try *take)
{
    if (reporting->follows || id_is_none(&reporting->job.run_id))
        return take(ctx, reporting, NULL);
    isolate_try *const tries[] = {take, fail_run, only_answer, NULL};
    const struct isolated one = {"job", reporting->job.id.text, reporting, tries};
    return isolate(ctx, &one);
}

static struct retry_decision decide(const struct context *ctx, const struct job_row *job,
                                    const struct job_failed *failed)
{
    struct reported_error error = {
        .code = failed->code,
        .retryable = failed->retryable,
        .classed = failed->classed || failed->policy,
        .class = failed->policy ? CLASS_POLICY : failed->class,
    };
    return id_is_none(&job->run_id) ? retry_as_reported(&error) : ctx->hooks->jobs->retry(&error);
}

static enum rc fail_loaded(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct reporting *reporting = subject;
    const struct job_failed *failed = reporting->what;
    struct job_row job = reporting->job;
    bool settled;
    struct retry_decision decision = decide(ctx, &job, failed);
    struct settlement settlement = {
        .event = JOB_EV_FAIL,
        .epoch = failed->ref.epoch,
        .owner = reporting->command->principal,
        .code = failed->code,
        .message = failed->message,
        .retryable = decision.retryable,
        .policy = decision.policy,
        .outside = decision.outside,
    };
    enum rc rc = report(ctx, &job, &failed->ref, &settlement, reporting->answer, &settled);
    if (rc != RC_OK || !settled)
        return rc;
    struct job_failure failure = {failed->code, failed->message, decision.quarantine,
                                  reporting->job.worker};
    return ctx->hooks->jobs->failed(ctx, &job, &failure);
}

static enum rc fail_one(struct context *ctx, const struct command *command,
                        const struct job_failed *failed, struct job_answer *answer)
{
    struct reporting reporting = {.command = command, .what = failed, .answer = answer};
    bool found;
    enum rc rc = load(ctx, &failed->ref, &reporting.job, answer, &found);
    return rc == RC_OK && found ? take_report(ctx, &reporting, fail_loaded) : rc;
}

static void answer_refused(struct job_answer *answer, const char *message)
{
    answer->ok = false;
    answer->code = "RESULT_REFUSED";
    answer->message = message;
}

/* A worker that reports an invalid result would report it again: the step fails for good.  The
   answer is RESULT_REFUSED, also when the report is repeated. */
static enum rc refuse_result(struct context *ctx, const struct command *command,
                             const struct job_row *job, const struct job_done *done,
                             struct job_answer *answer)
{
    struct err why = *ctx->err;
    err_clear(ctx->err);
    const char *message = arena_strdup(ctx->arena, why.text);
    bool untrue = strcmp(why.code, "RESULT_REFUSED") == 0;
    struct job_failed failed = {
        .ref = done->ref,
        .code = untrue ? "result_refused" : "invalid_step_result",
        .message = message,
    };
    enum rc rc = ctx->hooks->jobs->refused(ctx, job, &why);
    if (rc == RC_OK)
        rc = fail_one(ctx, command, &failed, answer);
    if (rc == RC_OK && answer->ok) {
        answer_refused(answer, message);
        answer->field = why.field[0] != '\0' ? arena_strdup(ctx->arena, why.field) : NULL;
    }
    return rc;
}

/* Was this report refused before? */
static bool was_refused(const struct command *command, const struct job_row *job,
                        const struct job_ref *ref)
{
    return job->life.state == JOB_DEAD_LETTER &&
           job_lease_is(&job->life, ref->epoch, command->principal) &&
           (text_same(job->error_code, "result_refused") ||
            text_same(job->error_code, "invalid_step_result"));
}

/* Jobs that follow a completed one: made exactly once, since a report counts once.  They belong to
   work that has begun, so they are accepted under any load. */
static enum rc make_next(struct context *ctx, struct job_done *done)
{
    if (done->next_count == 0)
        return RC_OK;
    done->made = arena_array(ctx->arena, done->next_count, sizeof *done->made);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < done->next_count; i++) {
        struct job_spec spec = done->next[i];
        spec.always = true;
        rc = enqueue_one(ctx, &spec, &done->made[i]);
    }
    return rc;
}

/* *ret_checked: for completed(), freed by the caller; NULL: this lease does not hold the job. */
static enum rc check_result(struct context *ctx, const struct reporting *reporting,
                            void **ret_checked)
{
    const struct job_row *job = &reporting->job;
    const struct job_done *done = reporting->done;
    if (!job_leased_to(&job->life, done->ref.epoch, reporting->command->principal))
        return RC_OK;
    return ctx->hooks->jobs->check_result(ctx, job, done->result, ret_checked);
}

static enum rc take_completion(struct context *ctx, const struct reporting *reporting,
                               void *checked)
{
    struct job_done *done = reporting->done;
    struct job_row job = reporting->job;
    bool settled;
    struct settlement settlement = {
        .event = JOB_EV_FINISH,
        .epoch = done->ref.epoch,
        .owner = reporting->command->principal,
        .result = done->result,
    };
    enum rc rc = report(ctx, &job, &done->ref, &settlement, reporting->answer, &settled);
    if (rc == RC_OK && settled && checked != NULL)
        rc = ctx->hooks->jobs->completed(ctx, &job, checked);
    return rc == RC_OK && settled ? make_next(ctx, done) : rc;
}

static enum rc complete_loaded(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct reporting *reporting = subject;
    const struct command *command = reporting->command;
    if (was_refused(command, &reporting->job, &reporting->done->ref)) {
        answer_refused(reporting->answer, reporting->job.error_message);
        return RC_OK;
    }
    void *checked = NULL;
    enum rc rc = check_result(ctx, reporting, &checked);
    if (rc == RC_OK)
        rc = take_completion(ctx, reporting, checked);
    else if (rc == RC_INVALID)
        rc = refuse_result(ctx, command, &reporting->job, reporting->done, reporting->answer);
    if (checked != NULL)
        ctx->hooks->jobs->checked_free(checked);
    return rc;
}

static enum rc complete_one(struct context *ctx, const struct command *command,
                            struct job_done *done, struct job_answer *answer)
{
    struct reporting reporting = {
        .command = command, .done = done, .follows = done->next_count > 0, .answer = answer};
    bool found;
    done->made = NULL;
    enum rc rc = load(ctx, &done->ref, &reporting.job, answer, &found);
    return rc == RC_OK && found ? take_report(ctx, &reporting, complete_loaded) : rc;
}

static enum rc release_loaded(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct reporting *reporting = subject;
    const struct job_ref *ref = reporting->what;
    struct job_row job = reporting->job;
    bool settled;
    const struct job_wait *wait = reporting->wait;
    struct settlement settlement = {
        .event = JOB_EV_RELEASE,
        .epoch = ref->epoch,
        .owner = reporting->command->principal,
        .code = wait != NULL ? wait->code : NULL,
        .message = wait != NULL ? wait->message : NULL,
    };
    enum rc rc = report(ctx, &job, ref, &settlement, reporting->answer, &settled);
    if (rc == RC_OK && settled && wait != NULL && wait->wait_us > 0)
        rc = settle_hold(ctx, &job, ctx->now_us + wait->wait_us);
    return rc == RC_OK && settled ? ctx->hooks->jobs->released(ctx, &job) : rc;
}

static enum rc release_one(struct context *ctx, const struct cmd_release *cmd, size_t i)
{
    const struct job_ref *ref = &cmd->leases[i];
    struct job_answer *answer = &cmd->answers[i];
    struct reporting reporting = {.command = &cmd->base,
                                  .what = ref,
                                  .wait = cmd->waits != NULL ? &cmd->waits[i] : NULL,
                                  .answer = answer};
    bool found;
    enum rc rc = load(ctx, ref, &reporting.job, answer, &found);
    return rc == RC_OK && found ? take_report(ctx, &reporting, release_loaded) : rc;
}

/* ---- the commands ---- */

static enum rc apply_complete(struct context *ctx, struct command *command)
{
    struct cmd_complete *cmd = (struct cmd_complete *)command;
    struct token_scope_refs refs = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->count};
    cmd->answers = arena_array(ctx->arena, cmd->count, sizeof *cmd->answers);
    enum rc rc = token_scope_check(ctx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = token_scope_check_specs(ctx, command, cmd->jobs[i].next, cmd->jobs[i].next_count);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = complete_one(ctx, command, &cmd->jobs[i], &cmd->answers[i]);
    return rc;
}

static enum rc apply_fail(struct context *ctx, struct command *command)
{
    struct cmd_fail *cmd = (struct cmd_fail *)command;
    struct token_scope_refs refs = {&cmd->jobs->ref, sizeof *cmd->jobs, cmd->count};
    cmd->answers = arena_array(ctx->arena, cmd->count, sizeof *cmd->answers);
    enum rc rc = token_scope_check(ctx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = fail_one(ctx, command, &cmd->jobs[i], &cmd->answers[i]);
    return rc;
}

static enum rc apply_release(struct context *ctx, struct command *command)
{
    struct cmd_release *cmd = (struct cmd_release *)command;
    struct token_scope_refs refs = {cmd->leases, sizeof *cmd->leases, cmd->count};
    cmd->answers = arena_array(ctx->arena, cmd->count, sizeof *cmd->answers);
    enum rc rc = token_scope_check(ctx, command, &refs);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++)
        rc = release_one(ctx, cmd, i);
    return rc;
}

static void complete_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_complete *cmd = (const struct cmd_complete *)command;
    for (size_t i = 0; i < cmd->count; i++)
        read_ahead_job(read_ahead, &cmd->jobs[i].ref.id);
}

static void fail_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_fail *cmd = (const struct cmd_fail *)command;
    for (size_t i = 0; i < cmd->count; i++)
        read_ahead_job(read_ahead, &cmd->jobs[i].ref.id);
}

static void release_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_release *cmd = (const struct cmd_release *)command;
    for (size_t i = 0; i < cmd->count; i++)
        read_ahead_job(read_ahead, &cmd->leases[i].id);
}

static const struct command_ops complete_ops = {
    .name = "complete", .apply = apply_complete, .names = complete_names};
static const struct command_ops fail_ops = {
    .name = "fail", .apply = apply_fail, .names = fail_names};
static const struct command_ops release_ops = {
    .name = "release", .apply = apply_release, .names = release_names};

struct cmd_complete *cmd_complete_new(void)
{
    return command_new(&complete_ops, sizeof(struct cmd_complete));
}

struct cmd_fail *cmd_fail_new(void)
{
    return command_new(&fail_ops, sizeof(struct cmd_fail));
}

struct cmd_release *cmd_release_new(void)
{
    return command_new(&release_ops, sizeof(struct cmd_release));
}
