/*
 * port_local.c - port calls as commands.
 *
 * A command that was not executed (RC_BUSY, RC_IO) is distinguished from the answer that the lease
 * is lost: the worker retries after the first and stops after the second.
 */
#include "server/port_local.h"
#include "api/app_hook.h"
#include "base/clock.h"
#include "base/jw.h"
#include "control/admit/answer.h"
#include "control/agents/launch.h"
#include "control/pr/quota.h"
#include "control/queue/breakers.h"
#include "control/queue/complete.h"
#include "control/queue/lease.h"
#include "control/run/messages.h"
#include "control/run/progress.h"
#include "control/watch/workers.h"
#include "store/artifacts.h"
#include <string.h>

enum { QUEUES_BYTES_MAX = 4096, FORGE_CALL_MS = 30000 };

static struct port_local *local(struct port *port)
{
    return (struct port_local *)((char *)port - offsetof(struct port_local, port));
}

static void command_freep(struct command **command)
{
    command_free(*command);
}

/* On the worker's behalf. */
static void set_actor(struct port *port, struct command *command, const char *worker)
{
    command->actor = (struct actor){.type = "worker", .id = worker};
    command->principal = local(port)->principal.text;
}

static enum rc call(struct port *port, struct command *command, const char *worker, struct err *err)
{
    set_actor(port, command, worker);
    enum rc rc = committer_call(control_committer(local(port)->control), command);
    if (rc != RC_OK && err != NULL)
        *err = command->err;
    return rc;
}

/* The only answer of a call about one job. */
static enum rc answered(enum rc rc, const struct job_answer *answer, struct err *err)
{
    if (rc != RC_OK || answer->ok)
        return rc;
    if (answer->message != NULL)
        return err_set(err, RC_INVALID, answer->code, "%s", answer->message);
    return err_set(err, RC_STALE, answer->code != NULL ? answer->code : "LEASE_LOST",
                   "the lease of this job was lost");
}

static const char *node_of(struct port *port)
{
    return control_node(local(port)->control);
}

/* It does not wait for work, unless the caller sets a wait. */
static struct cmd_lease *lease_of(struct port *port, const struct port_lease_request *request)
{
    struct cmd_lease *cmd = cmd_lease_new();
    set_actor(port, &cmd->base, request->worker);
    cmd->queues = request->queues;
    cmd->worker = request->worker;
    cmd->max = request->max;
    cmd->lease_us = request->lease_ms * US_PER_MS;
    return cmd;
}

static struct port_job *leased(const struct cmd_lease *cmd, struct arena *arena)
{
    struct port_job *jobs = arena_array(arena, cmd->job_count, sizeof *jobs);
    for (size_t i = 0; i < cmd->job_count; i++) {
        const struct job_row *row = &cmd->jobs[i];
        jobs[i] = (struct port_job){.id = row->id,
                                    .queue = arena_strdup(arena, row->queue),
                                    .type = arena_strdup(arena, row->type),
                                    .payload = {str_dup(arena, row->payload), row->payload.len},
                                    .headers = {str_dup(arena, row->headers), row->headers.len},
                                    .attempt = row->life.attempt + 1,
                                    .epoch = row->life.epoch,
                                    .lease_until_us = row->life.due_us};
    }
    return jobs;
}

static enum rc local_lease(struct port *port, const struct port_lease_request *request,
                           struct arena *arena, struct port_job **ret_jobs, size_t *ret_count,
                           struct err *err)
{
    struct cmd_lease *cmd = lease_of(port, request);
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->wait_us = request->wait_ms * US_PER_MS;
    enum rc rc = call(port, owned, request->worker, err);
    if (rc != RC_OK)
        return rc;
    *ret_jobs = leased(cmd, arena);
    *ret_count = cmd->job_count;
    return RC_OK;
}

static struct port_beat beat_of(const struct job_answer *answer)
{
    static const enum port_hold holds[] = {
        [JOB_HOLD_NONE] = PORT_HOLD_NONE,
        [JOB_HOLD_PAUSED] = PORT_HOLD_PAUSED,
        [JOB_HOLD_ASKING] = PORT_HOLD_ASKING,
    };
    return (struct port_beat){.ok = answer->ok,
                              .cancel = answer->cancel,
                              .hold = holds[answer->hold],
                              .message_seq = answer->message_seq};
}

static enum rc local_heartbeat(struct port *port, const char *worker, const struct port_ref *leases,
                               size_t count, int64_t extend_ms, struct port_beat *ret_beats,
                               struct err *err)
{
    struct cmd_heartbeat *cmd = cmd_heartbeat_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    struct job_ref *refs = arena_array(&cmd->base.arena, count, sizeof *refs);
    for (size_t i = 0; i < count; i++)
        refs[i] = (struct job_ref){.id = leases[i].id, .epoch = leases[i].epoch};
    cmd->worker = worker;
    cmd->leases = refs;
    cmd->count = count;
    cmd->extend_us = extend_ms * US_PER_MS;
    enum rc rc = call(port, owned, worker, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        ret_beats[i] = beat_of(&cmd->answers[i]);
    return rc;
}

static enum rc local_progress(struct port *port, const struct port_ref *lease, struct str events,
                              struct port_beat *ret_beat, struct err *err)
{
    struct cmd_progress *cmd = cmd_progress_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    enum rc rc = js_parse(events.at, events.len, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    struct job_progress job = {.ref = {.id = lease->id, .epoch = lease->epoch},
                               .events = cmd->base.tree};
    cmd->jobs = &job;
    cmd->count = 1;
    rc = call(port, owned, node_of(port), err);
    rc = answered(rc, cmd->answers, err);
    if (rc == RC_OK)
        *ret_beat = beat_of(&cmd->answers[0]);
    return rc;
}

static enum rc local_messages(struct port *port, const struct port_ref *lease, int64_t after_seq,
                              struct arena *arena, struct port_message **ret_messages,
                              size_t *ret_count, struct err *err)
{
    struct cmd_messages_read *cmd = cmd_messages_read_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->ref = (struct job_ref){.id = lease->id, .epoch = lease->epoch};
    cmd->after_seq = after_seq;
    enum rc rc = call(port, owned, node_of(port), err);
    if (rc != RC_OK)
        return rc;
    struct port_message *messages = arena_array(arena, cmd->count, sizeof *messages);
    for (size_t i = 0; i < cmd->count; i++)
        messages[i] = (struct port_message){cmd->messages[i].seq,
                                            arena_strdup(arena, cmd->messages[i].text)};
    *ret_messages = messages;
    *ret_count = cmd->count;
    return RC_OK;
}

static struct port_question question_of(const struct question_row *row, struct arena *arena)
{
    return (struct port_question){.id = row->id,
                                  .open = strcmp(row->status, "pending") == 0,
                                  .answer = arena_strdup(arena, row->answer)};
}

static enum rc local_ask(struct port *port, const struct port_ref *lease,
                         const struct question_spec *spec, struct arena *arena,
                         struct port_question *ret_question, struct err *err)
{
    struct cmd_ask *cmd = cmd_ask_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->ref = (struct job_ref){.id = lease->id, .epoch = lease->epoch};
    cmd->spec = *spec;
    enum rc rc = call(port, owned, node_of(port), err);
    if (rc == RC_OK)
        *ret_question = question_of(&cmd->row, arena);
    return rc;
}

static enum rc local_question(struct port *port, const struct port_ref *lease, const struct id *id,
                              struct arena *arena, struct port_question *ret_question,
                              struct err *err)
{
    struct cmd_question *cmd = cmd_question_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->ref = (struct job_ref){.id = lease->id, .epoch = lease->epoch};
    cmd->id = *id;
    enum rc rc = call(port, owned, node_of(port), err);
    if (rc == RC_OK)
        *ret_question = question_of(&cmd->row, arena);
    return rc;
}

static enum rc local_withdraw(struct port *port, const struct port_ref *lease, const struct id *id,
                              struct err *err)
{
    struct cmd_withdraw *cmd = cmd_withdraw_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->ref = (struct job_ref){.id = lease->id, .epoch = lease->epoch};
    cmd->id = *id;
    return call(port, owned, node_of(port), err);
}

static enum rc local_release(struct port *port, const struct port_ref *lease, struct err *err)
{
    struct cmd_release *cmd = cmd_release_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    struct job_ref ref = {.id = lease->id, .epoch = lease->epoch};
    cmd->leases = &ref;
    cmd->count = 1;
    enum rc rc = call(port, owned, node_of(port), err);
    return answered(rc, cmd->answers, err);
}

static enum rc local_put_off(struct port *port, const struct port_ref *lease,
                             const struct port_wait *wait, struct err *err)
{
    struct cmd_release *cmd = cmd_release_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    struct job_ref ref = {.id = lease->id, .epoch = lease->epoch};
    struct job_wait until = {
        .wait_us = wait->ms * US_PER_MS, .code = wait->code, .message = wait->message};
    cmd->leases = &ref;
    cmd->waits = &until;
    cmd->count = 1;
    enum rc rc = call(port, owned, node_of(port), err);
    return answered(rc, cmd->answers, err);
}

/* Completes, and leases the next job in the same commit: most often the run's next step. */
static enum rc call_with_next(struct port *port, struct command *complete, struct port_next *next,
                              struct err *err)
{
    struct cmd_lease *lease = lease_of(port, &next->request);
    CLEANUP(command_freep) struct command *owned = &lease->base;
    set_actor(port, complete, node_of(port));
    struct command *const both[] = {complete, owned};
    committer_call_all(control_committer(local(port)->control), both, COUNT_OF(both));
    struct port_job *job = owned->rc == RC_OK && lease->job_count > 0 ? leased(lease, next->arena)
                                                                      : NULL;
    if (complete->rc == RC_OK)
        next->job = job;
    else if (job !=
             NULL) /* The report is retried, and no heartbeat would renew this lease meanwhile. */
        (void)local_release(port, &(struct port_ref){job->id, job->epoch}, NULL);
    if (complete->rc != RC_OK && err != NULL)
        *err = complete->err;
    return complete->rc;
}

static enum rc local_complete(struct port *port, const struct port_ref *lease, struct str result,
                              struct port_next *next, struct err *err)
{
    struct cmd_complete *cmd = cmd_complete_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    struct job_done job = {.ref = {.id = lease->id, .epoch = lease->epoch}, .result = result};
    cmd->jobs = &job;
    cmd->count = 1;
    enum rc rc = next != NULL ? call_with_next(port, owned, next, err)
                              : call(port, owned, node_of(port), err);
    return answered(rc, cmd->answers, err);
}

static enum rc local_fail(struct port *port, const struct port_ref *lease,
                          const struct port_failure *failure, struct err *err)
{
    struct cmd_fail *cmd = cmd_fail_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    struct job_failed job = {.ref = {.id = lease->id, .epoch = lease->epoch},
                             .code = failure->code,
                             .message = failure->message,
                             .retryable = failure->retryable,
                             .policy = failure->policy};
    cmd->jobs = &job;
    cmd->count = 1;
    enum rc rc = call(port, owned, node_of(port), err);
    return answered(rc, cmd->answers, err);
}

static enum rc local_artifact_put(struct port *port, struct str bytes, char ret_sha256[65],
                                  struct err *err)
{
    return artifact_put(control_store(local(port)->control), bytes, ret_sha256, err);
}

static enum rc local_artifact_put_file(struct port *port, const char *path, char ret_sha256[65],
                                       int64_t *ret_bytes, struct err *err)
{
    return artifact_put_file(control_store(local(port)->control), path, ret_sha256, ret_bytes, err);
}

static enum rc local_artifact_get(struct port *port, const char *sha256, struct buf *into,
                                  struct err *err)
{
    return artifact_get(control_store(local(port)->control), sha256, into, err);
}

static enum rc local_run_token(struct port *port, const struct port_ref *lease,
                               const struct id *run_id, char *to, size_t to_bytes, struct err *err)
{
    (void)
        lease; /* Not checked: workers of this process request only the tokens of their own runs. */
    char token[RUN_TOKEN_BYTES];
    control_run_token(local(port)->control, run_id, token);
    if (strlen(token) >= to_bytes)
        return err_set(err, RC_TOO_LARGE, "TOKEN_TOO_LONG", "the token does not fit");
    text_copy(to, to_bytes, token);
    return RC_OK;
}

/* This server knows the new token before the process has it. */
static enum rc know_token(struct port *port, struct err *err)
{
    struct store *store = control_store(local(port)->control);
    struct db *db = NULL;
    enum rc rc = store_reader_open(store, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = auth_refresh(local(port)->api->auth, db, err);
    store_reader_close(store, db);
    return rc;
}

static enum rc local_agent_token(struct port *port, const struct port_ref *lease, char *to,
                                 size_t to_bytes, struct err *err)
{
    struct cmd_agent_begin *cmd = cmd_agent_begin_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    char token[AUTH_TOKEN_BYTES];
    if (sizeof token > to_bytes)
        return err_set(err, RC_TOO_LARGE, "TOKEN_TOO_LONG", "the token does not fit");
    cmd->ref = (struct job_ref){.id = lease->id, .epoch = lease->epoch};
    auth_make_token(AUTH_AGENT_PREFIX, token);
    sha256_hex(token, strlen(token), cmd->sha256);
    enum rc rc = call(port, owned, node_of(port), err);
    if (rc == RC_OK)
        rc = know_token(port, err);
    if (rc == RC_OK)
        text_copy(to, to_bytes, token);
    explicit_bzero(token, sizeof token);
    return rc;
}

static enum rc local_quota(struct port *port, const struct port_ref *lease,
                           const struct port_forge_request *request,
                           struct port_forge_answer *answer, struct err *err)
{
    struct cmd_quota *cmd = cmd_quota_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->ref = (struct job_ref){.id = lease->id, .epoch = lease->epoch};
    cmd->access = request->access;
    cmd->host = request->host;
    cmd->resource = request->resource;
    cmd->want = request->want;
    cmd->told = (struct quota_told){.used = request->used, .back = request->back};
    cmd->has_seen = request->seen != NULL;
    if (cmd->has_seen)
        cmd->seen = quota_seen_of(request->seen);
    enum rc rc = call(port, owned, node_of(port), err);
    if (rc != RC_OK)
        return rc;
    answer->calls = cmd->verdict.calls;
    answer->retry_ms = cmd->verdict.wait_us / US_PER_MS;
    text_copy(answer->why, sizeof answer->why, cmd->why != NULL ? cmd->why : "");
    return RC_OK;
}

/* The lease is not checked for a token, as above. */
static enum rc local_forge_access(struct port *port, const struct port_ref *lease,
                                  const struct port_forge_request *request,
                                  struct port_forge_answer *ret_answer, struct err *err)
{
    struct git how = {.deadline_us = clock_mono_us() + FORGE_CALL_MS * US_PER_MS};
    struct port_forge_answer answer = {.calls = 0};
    enum rc rc = RC_OK;
    if (request->host != NULL)
        rc = local_quota(port, lease, request, &answer, err);
    if (rc == RC_OK && request->refused_sha256 != NULL)
        token_source_refused(request->refused_sha256);
    if (rc == RC_OK && request->token)
        rc = token_source_unavailable(
            token_source_get(request->config, request->access, &how, &answer.token, err), err);
    if (rc == RC_OK)
        *ret_answer = answer;
    forge_token_wipe(&answer.token);
    return rc;
}

static enum rc local_app_deliveries(struct port *port, const struct port_ref *lease,
                                    const struct port_hook_request *request, struct buf *into,
                                    struct err *err)
{
    (void)lease; /* Not checked: workers of this process ask for the repository of their job. */
    CLEANUP(arena_release) struct arena arena = {0};
    const struct app_hook_wish wish = {request->config, request->repository, request->since_us,
                                       request->handle};
    return app_hook_ask(local(port)->api, &wish, &arena, into, err);
}

static enum rc local_breaker_ask(struct port *port, const char *name,
                                 struct port_verdict *ret_verdict, struct err *err)
{
    struct cmd_breaker *cmd = cmd_breaker_acquire_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->name = name;
    enum rc rc = call(port, owned, node_of(port), err);
    if (rc == RC_OK)
        *ret_verdict = (struct port_verdict){
            .allowed = cmd->verdict.allowed,
            .retry_ms = (cmd->verdict.wait_us + US_PER_MS - 1) / US_PER_MS,
        };
    return rc;
}

static enum rc local_breaker_report(struct port *port, const char *name,
                                    const struct port_outcome *outcome, struct err *err)
{
    struct cmd_breaker *cmd = cmd_breaker_report_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->name = name;
    cmd->ok = outcome->ok;
    cmd->error = outcome->error;
    return call(port, owned, node_of(port), err);
}

static struct str queues_json(const char *const *queues, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, QUEUES_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '[');
    for (size_t i = 0; queues[i] != NULL; i++)
        jw_str(&jw, queues[i]);
    jw_end(&jw, ']');
    return str_of(arena_strdup(arena, buf_text(&text)));
}

static enum rc local_announce(struct port *port, const struct port_worker *worker, struct err *err)
{
    struct cmd_worker_seen *cmd = cmd_worker_seen_new();
    CLEANUP(command_freep) struct command *owned = &cmd->base;
    cmd->worker = (struct worker_row){
        .name = worker->name,
        .host = worker->host,
        .version = DROVER_VERSION,
        .queues = queues_json(worker->queues, &cmd->base.arena),
        .pid = worker->pid,
        .slots = worker->slots,
        .busy = worker->busy,
        .draining = worker->presence == PORT_DRAINING,
        .lease_us = worker->lease_ms * US_PER_MS,
        .unpublished_count = worker->unpublished_count,
        .unpublished_bytes = worker->unpublished_bytes,
        .disk_free = worker->disk_free,
        .disk_low = worker->disk_low,
        .leased_ports = worker->leased_ports,
        .leased_databases = worker->leased_databases,
    };
    cmd->left = worker->presence == PORT_LEFT;
    return call(port, owned, worker->name, err);
}

/* A worker in this process ends only with the server: all waiting leases end. */
static void local_interrupt(struct port *port)
{
    committer_drain(control_committer(local(port)->control), "");
}

static const struct port_ops local_ops = {
    .lease = local_lease,
    .heartbeat = local_heartbeat,
    .progress = local_progress,
    .messages = local_messages,
    .ask = local_ask,
    .question = local_question,
    .withdraw = local_withdraw,
    .complete = local_complete,
    .fail = local_fail,
    .release = local_release,
    .put_off = local_put_off,
    .artifact_put = local_artifact_put,
    .artifact_put_file = local_artifact_put_file,
    .artifact_get = local_artifact_get,
    .run_token = local_run_token,
    .agent_token = local_agent_token,
    .forge_access = local_forge_access,
    .app_deliveries = local_app_deliveries,
    .breaker_ask = local_breaker_ask,
    .breaker_report = local_breaker_report,
    .announce = local_announce,
    .interrupt = local_interrupt,
};

void port_local_init(struct port_local *port, struct control *control, struct api *api)
{
    *port = (struct port_local){
        .port = {.ops = &local_ops},
        .control = control,
        .api = api,
        .principal = principal_of_node(control_node(control)),
    };
}
