/*
 * compute_child.c - an agent as a sandboxed command of this worker.
 */
#include "base/log.h"
#include "core/event_types.h"
#include "work/agent/attempt.h"
#include "work/agent/compute_process.h"
#include "work/job/step_secrets.h"
#include "work/tree/worktree.h"

enum { LOG_BYTES_MAX = 63 * 1024 * 1024 }; /* With our own lines it still fits an artifact. */

static bool on_line(void *ctx, struct str line)
{
    struct attempt *attempt = ctx;
    transcript_line(&attempt->transcript, line);
    attempt_check_limits(attempt);
    return !attempt_is_cut(attempt);
}

/* Of the sandbox: a connection that it refused. */
static void on_note(void *ctx, const char *text)
{
    struct attempt *attempt = ctx;
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, 2000);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    step_write_text(&jw, "text", arena_printf(attempt->step->arena, "refused: %s", text), 1000);
    jw_end(&jw, '}');
    progress_add(&attempt->progress, EV_AGENT_MESSAGE, buf_str(&data));
    LOG(LOG_WARN, "an agent was refused a connection",
        LOG_STR("runId", attempt->step->input.run_id.text), LOG_STR("host", text));
}

static enum rc start(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct repo_config *config = &step->input.config;
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = attempt->argv,
                 .cwd = attempt->tree,
                 .binds = {{step->mirror, false},
                           {attempt->tree, true},
                           {attempt->io, true},
                           {attempt->home, true},
                           {attempt->socket, false}}},
        .env = attempt->env.entries,
        .stdin_path = config->agent.prompt == PROMPT_STDIN ? attempt->prompt_path : NULL,
        .log_path = attempt->log_path,
        .secrets = step_secrets(step),
        .log_bytes_max = LOG_BYTES_MAX,
        .idle_ms = config->timeouts.idle_ms,
        .stop = step->stop,
        .reader = {.ctx = attempt, .line = on_line, .note = on_note},
    };
    compute_grant(&spec, &config->agent, step->input.run_id.text);
    enum rc rc = RC_OK;
    if (attempt->planning)
        worktree_lend(step);
    else
        rc = worktree_hand_out(step, attempt->base, err);
    attempt->handed_out = rc == RC_OK && !attempt->planning;
    if (rc == RC_OK)
        rc = compute_begin(&spec, &attempt->child, err);
    if (rc == RC_INVALID)
        return step_fail(step, rc, err, (struct port_failure){.code = "agent_mount_refused"});
    if (rc == RC_NOT_FOUND)
        return step_fail(step, rc, err, (struct port_failure){.code = "agent_command_not_found"});
    if (rc != RC_OK)
        return step_fail(step, rc, err,
                         (struct port_failure){.code = "agent_start_failed", .retryable = true});
    if (attempt->handed_out)
        attempt->snapshots = snapshot_thread_begin(step, attempt->base);
    return RC_OK;
}

static enum rc poll_child(struct attempt *attempt, int64_t until_us, bool *ret_ended,
                          struct err *err)
{
    if (compute_turn(attempt->child, until_us)) {
        *ret_ended = false;
        return RC_OK;
    }
    snapshot_thread_end(&attempt->snapshots, &attempt->progress);
    enum rc rc = compute_finish(attempt->child, &attempt->ended, err);
    if (rc != RC_OK)
        return step_fail(attempt->step, rc, err,
                         (struct port_failure){.code = "agent_start_failed", .retryable = true});
    *ret_ended = true;
    return RC_OK;
}

static void stop(struct attempt *attempt, enum compute_end why)
{
    compute_stop(attempt->child, why);
}

static void release(struct attempt *attempt)
{
    snapshot_thread_end(&attempt->snapshots, &attempt->progress);
    compute_session_free(attempt->child);
    attempt->child = NULL;
}

const struct compute_ops compute_child = {
    .name = "process",
    .ready = attempt_make_input,
    .start = start,
    .poll = poll_child,
    .stop = stop,
    .collect = attempt_take_output,
    .release = release,
};
