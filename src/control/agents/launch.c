#include "control/agents/launch.h"
#include "control/commit/isolate.h"
#include "control/commit/read_ahead.h"
#include "control/queue/enqueue.h"
#include "control/queue/lease.h"
#include "control/queue/settle.h"
#include "core/agent/addressee.h"
#include "core/config/account_config.h"
#include "core/event_types.h"
#include "core/queue/rank.h"
#include "core/step_kind.h"
#include "core/text/prose.h"
#include "store/tokens.h"
#include <string.h>

enum { PAYLOAD_BYTES_MAX = 256 * 1024, ERROR_BYTES_MAX = 1000 };

bool launch_job_is(const struct job_row *job)
{
    return step_is(job->type, STEP_LAUNCH) && id_is_none(&job->run_id);
}

/* ---- its job ---- */

/* One that the server's configuration does not have any more: its start fails, and says so. */
static void write_account(const struct context *ctx, const struct agent_row *row, struct jw *jw)
{
    if (row->account == NULL)
        return;
    const struct account_config *account = account_configs_find(ctx->accounts, row->account);
    if (account == NULL) {
        jw_kstr(jw, "missingAccount", row->account);
        return;
    }
    jw_key(jw, "account");
    account_config_write(jw, account);
}

static enum rc write_payload(struct context *ctx, const struct agent_row *row,
                             struct str *ret_payload)
{
    CLEANUP(buf_release) struct buf payload;
    buf_init(&payload, PAYLOAD_BYTES_MAX);
    struct jw jw = jw_to(&payload);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "agentId", row->id.text);
    jw_kstr(&jw, "name", row->name);
    jw_optstr(&jw, "persona", row->persona);
    jw_optstr(&jw, "prompt", row->prompt);
    jw_kraw(&jw, "config", row->config);
    write_account(ctx, row, &jw);
    jw_end(&jw, '}');
    if (payload.overflow)
        return err_set(ctx->err, RC_TOO_LARGE, "PAYLOAD_TOO_LARGE",
                       "the job that starts agent %s would pass %d bytes", row->name,
                       PAYLOAD_BYTES_MAX);
    *ret_payload = (struct str){arena_strndup(ctx->arena, payload.data, payload.len), payload.len};
    return RC_OK;
}

enum rc launch_start(struct context *ctx, struct agent_row *row, int64_t pause_ms)
{
    const struct step_row *step = step_row(STEP_LAUNCH);
    struct job_spec spec = {
        .queue = step->queue,
        .type = step->name,
        .priority = PRIORITY_NORMAL,
        .max_attempts = step->attempts,
        .delay_us = pause_ms * US_PER_MS,
        .always = true,
    };
    struct enqueue_answer answer;
    enum rc rc = write_payload(ctx, row, &spec.payload);
    if (rc == RC_OK)
        rc = enqueue_one(ctx, &spec, &answer);
    if (rc == RC_OK)
        row->job_id = answer.id;
    return rc;
}

/* Its process has ended, or is of no interest any more. */
static void forget_process(struct agent_row *row)
{
    row->job_id = (struct id){0};
    row->worker = NULL;
    row->begun_us = 0;
}

enum rc launch_cancel(struct context *ctx, struct agent_row *row)
{
    struct id job_id = row->job_id;
    struct job_row job;
    forget_process(row);
    enum rc rc = agent_save(ctx, row); /* First: the rule is not to decide about its end. */
    if (rc != RC_OK || id_is_none(&job_id))
        return rc;
    rc = jobs_get(ctx->db, &job_id, ctx->arena, &job, ctx->err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && job_is_settled(job.life.state)))
        return RC_OK;
    return rc == RC_OK ? settle_cancel(ctx, &job) : rc;
}

/* ---- what becomes of it ---- */

/* RC_NOT_FOUND: the job is of an earlier start, or its agent is gone. */
static enum rc load_of_job(struct context *ctx, const struct job_row *job, struct agent_row *ret)
{
    CLEANUP(js_freep) struct js *payload = NULL;
    struct id agent_id;
    enum rc rc = js_parse(job->payload.at, job->payload.len, &payload, ctx->err);
    if (rc != RC_OK || !id_parse(js_get_str(payload, "agentId", ""), &agent_id))
        return err_set(ctx->err, RC_CORRUPT, "PAYLOAD_INVALID", "job %s starts no agent",
                       job->id.text);
    rc = agents_get(ctx->db, &agent_id, ctx->arena, ret, ctx->err);
    if (rc == RC_OK && !id_same(&ret->job_id, &job->id))
        rc = RC_NOT_FOUND;
    return rc;
}

/* How its process ended, in words, or NULL: well. */
static const char *describe_end(struct context *ctx, const struct job_row *job,
                                const struct js *result)
{
    const char *error = js_get_str(result, "error", NULL);
    const char *words = js_get_str(result, "lastWords", "");
    if (job->life.state != JOB_SUCCEEDED)
        error = job->error_message != NULL ? job->error_message : "its step failed";
    else if (error == NULL && js_get_int(result, "signal", 0) > 0)
        error = arena_printf(ctx->arena, "signal %d", (int)js_get_int(result, "signal", 0));
    else if (error == NULL && js_get_int(result, "exitCode", 0) != 0)
        error = arena_printf(ctx->arena, "exit status %d", (int)js_get_int(result, "exitCode", 0));
    if (error == NULL)
        return NULL;
    error = arena_printf(ctx->arena, "%s%s%s", error, *words != '\0' ? ": " : "", words);
    return arena_strndup(ctx->arena, error, prose_fit(error, strlen(error), ERROR_BYTES_MAX));
}

static enum rc emit_exited(struct context *ctx, const struct agent_row *row,
                           const struct process_verdict *verdict, const struct js *result)
{
    CLEANUP(event_body_release) struct event_body body;
    agent_event_open(&body, row);
    if (js_type(js_get(result, "exitCode")) == JS_INT)
        jw_kint(&body.jw, "exitCode", js_get_int(result, "exitCode", 0));
    if (js_get_int(result, "signal", 0) > 0)
        jw_kint(&body.jw, "signal", js_get_int(result, "signal", 0));
    jw_optstr(&body.jw, "error", row->last_error);
    jw_kint(&body.jw, "livedMs", js_get_int(result, "livedMs", 0));
    jw_kstr(&body.jw, "state", instance_state_name(row->state));
    if (verdict->event == INSTANCE_EV_END)
        jw_kint(&body.jw, "restartInMs", verdict->pause_ms);
    return agent_emit(ctx, row, EV_AGENT_EXITED, &body);
}

static enum rc end_process(struct context *ctx, struct agent_row *row, const struct job_row *job,
                           const struct js *result)
{
    const struct instance life = {
        .state = row->state,
        .launched = true,
        .failures = row->failures,
        .rule = {row->restart, row->restart_max, row->backoff_ms},
    };
    row->last_error = describe_end(ctx, job, result);
    const struct process_end end = {
        .ok = row->last_error == NULL,
        .lived_ms = js_get_int(result, "livedMs", 0),
        .random = random_next(ctx->random),
    };
    struct process_verdict verdict = instance_ended(&life, &end);
    forget_process(row);
    if (verdict.event == INSTANCE_EV_END) {
        row->failures = verdict.failures;
        row->restarts++;
    }
    enum rc rc = agent_move(ctx, row, verdict.event);
    if (rc == RC_OK)
        rc = agent_revoke(ctx, row);
    if (rc == RC_OK && verdict.event == INSTANCE_EV_END)
        rc = launch_start(ctx, row, verdict.pause_ms);
    if (rc == RC_OK)
        rc = agent_save(ctx, row);
    if (rc == RC_OK)
        rc = agent_watch(ctx, row);
    return rc == RC_OK ? emit_exited(ctx, row, &verdict, result) : rc;
}

static enum rc try_ended(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct job_row *job = subject;
    CLEANUP(js_freep) struct js *result = NULL;
    struct agent_row row;
    enum rc rc = load_of_job(ctx, job, &row);
    if (rc == RC_OK && job->result.len > 0 &&
        js_parse(job->result.at, job->result.len, &result, NULL) != RC_OK)
        result = NULL; /* Counts as an end without particulars. */
    if (rc == RC_OK)
        rc = end_process(ctx, &row, job, result);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* isolate() has logged it: the agent stays as it is, and a person may kill and launch it. */
static enum rc leave_it(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject;
    (void)why;
    return RC_OK;
}

enum rc launch_ended(struct context *ctx, const struct job_row *job)
{
    static isolate_try *const tries[] = {try_ended, leave_it, NULL};
    struct job_row copy = *job;
    const struct isolated one = {"job", job->id.text, &copy, tries};
    return isolate(ctx, &one);
}

enum rc launch_lost(struct context *ctx, struct job_row *job)
{
    struct agent_row row;
    enum rc rc = load_of_job(ctx, job, &row);
    if (rc != RC_OK || job_is_settled(job->life.state)) /* Settled: launch_ended was called. */
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    bool had_begun = row.begun_us > 0; /* Else nothing was lost with the worker. */
    bool stays = row.restart != RESTART_NEVER || !had_begun;
    row.restarts += had_begun && stays;
    if (had_begun)
        row.last_error = "its worker is gone, or has given it back";
    row.begun_us = 0;
    row.worker = NULL;
    rc = agent_move(ctx, &row, stays ? INSTANCE_EV_LOSE : INSTANCE_EV_STOP);
    if (rc == RC_OK)
        rc = agent_revoke(ctx, &row);
    if (rc == RC_OK)
        rc = stays ? agent_save(ctx, &row) : launch_cancel(ctx, &row);
    return rc == RC_OK ? agent_watch(ctx, &row) : rc;
}

/* ---- begin ---- */

static enum rc make_token(struct context *ctx, const struct cmd_agent_begin *cmd,
                          struct agent_row *row)
{
    const struct addressee to = {row->queue, row->persona, row->name};
    const char *const *queues = addressee_queues(&to, row->general, ctx->arena);
    const char *list = queues[0];
    for (size_t i = 1; queues[i] != NULL; i++)
        list = arena_printf(ctx->arena, "%s %s", list, queues[i]);
    if (strlen(list) > TOKEN_QUEUES_BYTES_MAX)
        return err_set(ctx->err, RC_CONFLICT, "AGENT_STATE",
                       "the queues of agent %s have more than %d bytes in all: shorten its queue "
                       "or its name",
                       row->name, TOKEN_QUEUES_BYTES_MAX);
    const struct token_row token = {
        .id = context_id(ctx),
        .name = agent_bell(row->name, ctx->arena),
        .role = ROLE_WORKER,
        .queues = list,
        .agent = row->name,
        .sha256 = cmd->sha256,
        .created_us = ctx->now_us,
    };
    enum rc rc = agent_revoke(ctx, row);
    if (rc == RC_OK)
        rc = tokens_check_room(ctx->db, ctx->now_us, ctx->err);
    if (rc == RC_OK)
        rc = tokens_insert(ctx->db, &token, ctx->err);
    row->token_id = token.id;
    return rc;
}

static enum rc emit_launched(struct context *ctx, const struct agent_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    agent_event_open(&body, row);
    jw_kstr(&body.jw, "worker", row->worker);
    jw_kint(&body.jw, "restarts", row->restarts);
    jw_kstr(&body.jw, "jobId", row->job_id.text);
    return agent_emit(ctx, row, EV_AGENT_LAUNCHED, &body);
}

static enum rc begin(struct context *ctx, const struct cmd_agent_begin *cmd,
                     const struct job_row *job, struct agent_row *row)
{
    bool repeated = row->state == INSTANCE_ACTIVE || row->state == INSTANCE_LATE;
    enum rc rc = repeated ? RC_OK : agent_move(ctx, row, INSTANCE_EV_BEGIN);
    if (rc == RC_OK)
        rc = make_token(ctx, cmd, row);
    if (rc != RC_OK)
        return rc;
    row->worker = job->worker;
    row->seen_us = row->begun_us = ctx->now_us;
    rc = agent_save(ctx, row);
    if (rc == RC_OK)
        rc = agent_watch(ctx, row);
    return rc == RC_OK && !repeated ? emit_launched(ctx, row) : rc;
}

static enum rc apply_begin(struct context *ctx, struct command *command)
{
    struct cmd_agent_begin *cmd = (struct cmd_agent_begin *)command;
    struct job_row job;
    struct job_answer answer;
    struct agent_row row;
    enum rc rc = lease_load(ctx, command, &cmd->ref, &job, &answer);
    if (rc != RC_OK)
        return rc;
    rc = answer.ok && launch_job_is(&job) ? load_of_job(ctx, &job, &row) : RC_NOT_FOUND;
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, RC_STALE, "LEASE_LOST", "the lease of this job was lost");
    return rc == RC_OK ? begin(ctx, cmd, &job, &row) : rc;
}

static void begin_names(const struct command *command, struct read_ahead *read_ahead)
{
    read_ahead_job(read_ahead, &((const struct cmd_agent_begin *)command)->ref.id);
}

static const struct command_ops begin_ops = {
    .name = "agent_begin", .apply = apply_begin, .names = begin_names};

struct cmd_agent_begin *cmd_agent_begin_new(void)
{
    return command_new(&begin_ops, sizeof(struct cmd_agent_begin));
}

/* ---- launch ---- */

static enum rc apply_launch(struct context *ctx, struct command *command)
{
    struct cmd_agent_launch *cmd = (struct cmd_agent_launch *)command;
    struct agent_row *row = &cmd->row;
    enum rc rc = agents_find(ctx->db, &cmd->ref, ctx->arena, row, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (row->config.len == 0)
        return err_set(ctx->err, RC_CONFLICT, "AGENT_STATE",
                       "agent %s has no command that drover could start: register it with command "
                       "or profile",
                       row->name);
    if (instance_has_process(row->state))
        return RC_OK; /* It was launched before. */
    int64_t claims;
    rc = agents_count_claims(ctx->db, row->name, &claims, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (claims > 0) /* What it claimed before it was killed is being settled. */
        return err_set(ctx->err, RC_CONFLICT, "AGENT_STATE",
                       "agent %s still has work that it claimed before; try again", row->name);
    rc = agent_move(ctx, row, INSTANCE_EV_LAUNCH);
    if (rc == RC_OK)
        rc = agent_revoke(ctx, row);
    row->restarts = 0;
    row->last_error = row->reason = NULL;
    if (rc == RC_OK)
        rc = launch_start(ctx, row, 0);
    return rc == RC_OK ? agent_save(ctx, row) : rc;
}

static const struct command_ops launch_ops = {.name = "agent_launch", .apply = apply_launch};

struct cmd_agent_launch *cmd_agent_launch_new(void)
{
    return command_new(&launch_ops, sizeof(struct cmd_agent_launch));
}
