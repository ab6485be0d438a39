#include "control/admit/answer.h"
#include "base/clock.h"
#include "control/commit/read_ahead.h"
#include "control/queue/lease.h"
#include "control/queue/token_scope.h"
#include "control/run/pause.h"
#include "control/run/pipeline.h"
#include "core/step_kind.h"
#include <string.h>

static enum rc token_expired(struct context *ctx)
{
    return err_set(ctx->err, RC_UNAUTHORIZED, "TOKEN_EXPIRED",
                   "the run that this token was given for has ended");
}

/* The run whose agent works under this lease. */
static enum rc run_of_lease(struct context *ctx, const struct command *command,
                            const struct job_ref *ref, struct id *ret_run_id)
{
    struct token_scope_refs refs = {ref, sizeof *ref, 1};
    struct job_answer answer;
    struct job_row job;
    enum rc rc = token_scope_check(ctx, command, &refs);
    if (rc == RC_OK)
        rc = lease_load(ctx, command, ref, &job, &answer);
    if (rc != RC_OK)
        return rc;
    if (!answer.ok)
        return err_set(ctx->err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    if (id_is_none(&job.run_id) || !step_runs_agent(job.type))
        return err_set(ctx->err, RC_CONFLICT, "NO_AGENT_WORKS",
                       "job %s is no work of an agent: only an agent that works asks",
                       ref->id.text);
    *ret_run_id = job.run_id;
    return RC_OK;
}

/* ---- asking ---- */

static enum rc check_works(struct context *ctx, const struct flow *flow)
{
    struct job_row job = {0};
    enum rc rc = RC_OK;
    if (!id_is_none(&flow->run.job_id))
        rc = jobs_get(ctx->db, &flow->run.job_id, ctx->arena, &job, ctx->err);
    if (rc != RC_OK || (job.life.state == JOB_LEASED && step_runs_agent(job.type)))
        return rc;
    return err_set(ctx->err, RC_CONFLICT, "NO_AGENT_WORKS",
                   "run %s is %s and no agent works on it: only one that works asks",
                   flow->run.id.text, run_status_name(flow->run.status));
}

/* An answer that got lost on the way: the agent asks the same again. */
static enum rc find_same(struct context *ctx, struct cmd_ask *cmd, const struct flow *flow)
{
    enum rc rc = questions_get(ctx->db, &flow->run.question_id, ctx->arena, &cmd->row, ctx->err);
    if (rc != RC_OK || strcmp(cmd->row.text, cmd->spec.text) == 0)
        return rc;
    return err_set(ctx->err, RC_CONFLICT, "QUESTION_OPEN",
                   "question %s of run %s is open: one at a time", cmd->row.id.text,
                   flow->run.id.text);
}

/* The token of an agent ends with its run. */
static enum rc check_asker(struct context *ctx, const struct flow *flow)
{
    if (strcmp(ctx->actor.type, "agent") == 0 && run_is_terminal(flow->run.status))
        return token_expired(ctx);
    return steer_check(ctx, flow, "ask");
}

static enum rc apply_ask(struct context *ctx, struct command *command)
{
    struct cmd_ask *cmd = (struct cmd_ask *)command;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = RC_OK;
    if (!id_is_none(&cmd->ref.id))
        rc = run_of_lease(ctx, command, &cmd->ref, &cmd->run_id);
    if (rc == RC_OK)
        rc = steer_load(ctx, &cmd->run_id, &flow);
    if (rc == RC_OK)
        rc = check_asker(ctx, &flow);
    if (rc == RC_OK)
        rc = check_works(ctx, &flow);
    if (rc == RC_OK && question_is_open(&flow))
        return find_same(ctx, cmd, &flow);
    if (rc == RC_OK && flow.run.question_count >= QUESTIONS_MAX)
        return err_set(ctx->err, RC_LIMIT, "TOO_MANY_QUESTIONS",
                       "the agent of run %s has asked %d questions and may ask no more",
                       flow.run.id.text, QUESTIONS_MAX);
    if (rc == RC_OK)
        rc = question_ask(ctx, &flow, &cmd->spec, &cmd->row);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

static void ask_names(const struct command *command, struct read_ahead *read_ahead)
{
    const struct cmd_ask *cmd = (const struct cmd_ask *)command;
    if (!id_is_none(&cmd->ref.id))
        read_ahead_job(read_ahead, &cmd->ref.id);
}

static const struct command_ops ask_ops = {.name = "ask", .apply = apply_ask, .names = ask_names};

struct cmd_ask *cmd_ask_new(void)
{
    return command_new(&ask_ops, sizeof(struct cmd_ask));
}

/* ---- waiting for the answer ---- */

static enum rc not_found(struct context *ctx, const struct id *id)
{
    return err_set(ctx->err, RC_NOT_FOUND, "QUESTION_NOT_FOUND", "there is no question %s",
                   id->text);
}

static enum rc check_reader(struct context *ctx, const struct cmd_question *cmd)
{
    enum run_status status;
    struct id run_id;
    if (!id_is_none(&cmd->ref.id)) {
        enum rc rc = run_of_lease(ctx, &cmd->base, &cmd->ref, &run_id);
        return rc == RC_OK && !id_same(&run_id, &cmd->row.run_id) ? not_found(ctx, &cmd->id) : rc;
    }
    if (id_is_none(&cmd->agent_run))
        return RC_OK;
    if (!id_same(&cmd->agent_run, &cmd->row.run_id))
        return err_set(ctx->err, RC_DENIED, "NOT_YOUR_RUN",
                       "an agent's token is good for its own run only");
    enum rc rc = runs_status_of(ctx->db, &cmd->agent_run, ctx->arena, &status, ctx->err);
    if (rc == RC_OK && run_is_terminal(status))
        return token_expired(ctx);
    return rc;
}

/* The agent has the answer now. */
static enum rc note_delivery(struct context *ctx, struct cmd_question *cmd)
{
    bool is_agent = !id_is_none(&cmd->agent_run) || !id_is_none(&cmd->ref.id);
    if (!is_agent || cmd->waiting || cmd->row.delivered_us > 0)
        return RC_OK;
    cmd->row.delivered_us = ctx->now_us;
    return questions_save(ctx->db, &cmd->row, ctx->err);
}

static enum rc apply_question(struct context *ctx, struct command *command)
{
    struct cmd_question *cmd = (struct cmd_question *)command;
    cmd->waiting = false;
    question_name(cmd->name, &cmd->id);
    if (command->abandoned)
        return RC_OK; /* No client would receive the answer. */
    enum rc rc = questions_get(ctx->db, &cmd->id, ctx->arena, &cmd->row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return not_found(ctx, &cmd->id);
    if (rc == RC_OK)
        rc = check_reader(ctx, cmd);
    if (rc != RC_OK)
        return rc;
    if (command->wait_until_us == 0) {
        command->wait_until_us = ctx->now_us + cmd->wait_us;
        command->waiter = ""; /* No worker's. */
    }
    cmd->waiting = strcmp(cmd->row.status, "pending") == 0;
    return note_delivery(ctx, cmd);
}

static bool question_may_wait(const struct command *command)
{
    const struct cmd_question *cmd = (const struct cmd_question *)command;
    return cmd->waiting && cmd->wait_us > 0;
}

static bool question_wants(const struct command *command, const char *queue)
{
    return strcmp(((const struct cmd_question *)command)->name, queue) == 0;
}

static const struct command_ops question_ops = {
    .name = "question",
    .apply = apply_question,
    .may_wait = question_may_wait,
    .wants = question_wants,
};

struct cmd_question *cmd_question_new(void)
{
    return command_new(&question_ops, sizeof(struct cmd_question));
}

/* ---- withdrawing it ---- */

static enum rc apply_withdraw(struct context *ctx, struct command *command)
{
    const struct cmd_withdraw *cmd = (const struct cmd_withdraw *)command;
    struct id run_id;
    struct question_row row;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = run_of_lease(ctx, command, &cmd->ref, &run_id);
    if (rc == RC_OK)
        rc = flow_load(ctx, &run_id, &flow);
    if (rc != RC_OK || !id_same(&flow.run.question_id, &cmd->id))
        return rc;
    const struct question_end end = {"cancelled", NULL, NULL};
    rc = questions_get(ctx->db, &cmd->id, ctx->arena, &row, ctx->err);
    if (rc == RC_OK)
        rc = question_close(ctx, &flow, &row, &end);
    if (rc == RC_OK)
        rc = run_clock_settle(ctx, &flow.run);
    return rc == RC_OK ? flow_save(ctx, &flow) : rc;
}

static void withdraw_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_job(read_ahead, &((const struct cmd_withdraw *)command)->ref.id);
}

static const struct command_ops withdraw_ops = {
    .name = "question_withdraw", .apply = apply_withdraw, .names = withdraw_names};

struct cmd_withdraw *cmd_withdraw_new(void)
{
    return command_new(&withdraw_ops, sizeof(struct cmd_withdraw));
}

/* ---- answering ---- */

static enum rc check_options(struct context *ctx, const struct question_row *row,
                             const char *answer)
{
    CLEANUP(js_freep) struct js *options = NULL;
    if (row->options.len == 0)
        return RC_OK;
    if (js_parse(row->options.at, row->options.len, &options, ctx->err) != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, "the options of a question");
    for (size_t i = 0; i < js_count(options); i++)
        if (strcmp(js_str(js_at(options, i), ""), answer) == 0)
            return RC_OK;
    return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "answer",
                     "question %s is to be answered with one of %.*s", row->id.text,
                     (int)row->options.len, row->options.at);
}

/* The agent that waits gets the answer; one that does not is started with it. */
static enum rc go_on(struct context *ctx, struct flow *flow)
{
    enum rc rc = flow->run.status == RUN_AWAITING_APPROVAL ? pipeline_answered(ctx, flow)
                                                           : run_clock_settle(ctx, &flow->run);
    return rc == RC_OK ? flow_save(ctx, flow) : rc;
}

static enum rc apply_answer(struct context *ctx, struct command *command)
{
    struct cmd_answer *cmd = (struct cmd_answer *)command;
    bool pending;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = question_load(ctx, &cmd->id, &cmd->row, &flow, &pending);
    if (rc == RC_NOT_FOUND)
        return not_found(ctx, &cmd->id);
    if (rc == RC_OK && !pending)
        return err_set(ctx->err, RC_CONFLICT, "QUESTION_CLOSED", "question %s is %s already",
                       cmd->id.text, cmd->row.status);
    if (rc == RC_OK)
        rc = check_options(ctx, &cmd->row, cmd->answer);
    if (rc != RC_OK)
        return rc;
    const struct question_end end = {"answered", cmd->answer, ctx->actor.id};
    rc = question_close(ctx, &flow, &cmd->row, &end);
    return rc == RC_OK ? go_on(ctx, &flow) : rc;
}

static const struct command_ops answer_ops = {.name = "answer", .apply = apply_answer};

struct cmd_answer *cmd_answer_new(void)
{
    return command_new(&answer_ops, sizeof(struct cmd_answer));
}

enum rc question_expired(struct context *ctx, const struct id *question_id)
{
    struct question_row row;
    bool pending;
    CLEANUP(flow_release) struct flow flow = {0};
    enum rc rc = question_load(ctx, question_id, &row, &flow, &pending);
    if (rc != RC_OK || !pending)
        return rc;
    const struct question_end end = {"expired", row.default_answer, NULL};
    rc = question_close(ctx, &flow, &row, &end);
    return rc == RC_OK ? go_on(ctx, &flow) : rc;
}
