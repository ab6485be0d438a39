/*
 * compute_child.c - an agent as a sandboxed command of this worker.
 */
#include "base/fd.h"
#include "base/log.h"
#include "core/event_types.h"
#include "work/agent/attempt.h"
#include "work/agent/compute_process.h"
#include "work/agent/session_cost.h"
#include "work/job/step_secrets.h"
#include "work/tree/worktree.h"

enum {
    LOG_BYTES_MAX = 63 * 1024 * 1024, /* With our own lines it still fits an artifact. */
    INTERRUPT_MS = 3000,              /* For an agent to say what it has spent. */
    LINGER_MS = 20000,                /* For an agent that was told all to end by itself. */
};

static bool on_line(void *ctx, struct str line)
{
    struct attempt *attempt = ctx;
    transcript_line(&attempt->transcript, line);
    attempt_check_limits(attempt);
    return !attempt_is_cut(attempt);
}

/* What begins like a record of the agent and cannot be read may be a call that policy denies. */
static bool on_too_long(void *ctx, struct str beginning)
{
    struct attempt *attempt = ctx;
    enum adapter adapter = attempt->step->input.config.agent.adapter;
    bool is_record = beginning.len > 0 && beginning.at[0] == '{';
    if (!is_record || adapter == ADAPTER_NONE || adapter == ADAPTER_TEXT)
        return true;
    struct transcript *transcript = &attempt->transcript;
    if (transcript->stop == NULL) {
        transcript->stop = CUT_UNREADABLE;
        transcript_copy(transcript->error, sizeof transcript->error,
                        "The agent printed a record of more than 16 MiB, which cannot be checked.");
    }
    attempt_check_limits(attempt);
    return false;
}

static bool on_interrupt(void *ctx)
{
    struct attempt *attempt = ctx;
    struct transcript *transcript = &attempt->transcript;
    if (!attempt->converses || transcript->ops->interrupt == NULL)
        return false;
    transcript->ops->interrupt(transcript);
    return true;
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

/* Of the session that is resumed.  Without the agent's own sum, after a worker that was killed:
   what the run has cost, which may be more. */
static double booked_usd(const struct attempt *attempt)
{
    const struct step *step = attempt->step;
    double usd = attempt->session != NULL ? session_cost_read(step, attempt->session) : 0;
    int64_t used = js_int(js_path(step->input.payload, "used.costMicrousd"), 0);
    return usd > 0 ? usd : (double)used / 1e6;
}

/* Speaks to an agent that listens; the others read their prompt from a file. */
static enum rc begin_conversation(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    struct transcript *transcript = &attempt->transcript;
    const struct agent_config *agent = &step->input.config.agent;
    attempt->converses = transcript_converses(transcript, attempt->argv);
    if (!attempt->converses)
        return RC_OK;
    CLEANUP(buf_release) struct buf prompt;
    buf_init(&prompt, ADAPTER_INPUT_MAX);
    enum rc rc = file_read(attempt->prompt_path, &prompt, err);
    const struct conversation conversation = {
        .prompt = buf_text(&prompt),
        .session_id = attempt->session,
        .session_usd = booked_usd(attempt),
        .cwd = attempt->tree,
        .model = agent->model,
        .asks_permission = agent->asks_permission,
        .asks_forms = agent->asks_forms,
    };
    if (rc == RC_OK)
        transcript->ops->begin(transcript, &conversation);
    if (rc == RC_OK && transcript->stop == NULL && !transcript->input.overflow)
        return RC_OK;
    if (rc == RC_OK || rc == RC_TOO_LARGE)
        rc = err_set(err, RC_TOO_LARGE, "PROMPT_TOO_LARGE",
                     "The prompt is too long for the stdin of an agent.");
    return step_fail(step, rc, err, (struct port_failure){.code = "prompt_too_large"});
}

static enum rc start(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct repo_config *config = &step->input.config;
    enum rc rc = begin_conversation(attempt, err);
    if (rc != RC_OK)
        return rc;
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
        .interrupt_ms = INTERRUPT_MS,
        .linger_ms = LINGER_MS,
        .stop = step->stop,
        .wake_fd = step->steer != NULL ? step->steer->event_fd : 0,
        .reader = {.ctx = attempt,
                   .line = on_line,
                   .too_long = on_too_long,
                   .note = on_note,
                   .interrupt = on_interrupt},
    };
    compute_grant(&spec, &config->agent, step->input.run_id.text);
    scratch_show(&attempt->scratch, &spec);
    if (attempt->converses)
        spec.input = (struct compute_input){&attempt->transcript.input,
                                            &attempt->transcript.input_over};
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

static void hold(struct attempt *attempt, enum port_hold hold)
{
    static const enum compute_hold holds[] = {
        [PORT_HOLD_NONE] = COMPUTE_FREE,
        [PORT_HOLD_PAUSED] = COMPUTE_PAUSED,
        [PORT_HOLD_ASKING] = COMPUTE_WAITS,
    };
    compute_hold(attempt->child, holds[hold]);
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
    .hold = hold,
    .collect = attempt_take_output,
    .release = release,
};
