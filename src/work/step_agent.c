/*
 * step_agent.c - one attempt of the agent: its tree, its input, its run, its patch.
 *
 *     run_dir/tree    the worktree; an attempt that repairs goes on where the last one stopped
 *     run_dir/io      prompt.md, feedback.md, and what the agent writes to result.json; made anew
 *     run_dir/home    $HOME, kept from attempt to attempt
 *
 * After the agent has run, everything in those three is hostile: links, FIFOs and planted
 * configuration included.  result.json is opened with care, the tree is left to collect.c.
 */
#include "base/fd.h"
#include "core/infer.h"
#include "work/adapter.h"
#include "work/childenv.h"
#include "work/collect.h"
#include "work/compute_process.h"
#include "work/progress.h"
#include "work/retry.h"
#include "work/step.h"
#include "work/worktree.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOG_BYTES_MAX = 64 * 1024 * 1024,
    RECORD_BYTES_MAX = 64 * 1024,
    TOKEN_BYTES = 256,
    PATHS_MAX = 50,
    PATHS_BYTES_MAX = 5 * 1024, /* Where the list of paths ends in the result. */
    SUMMARY_MAX = 1500,
    ERROR_MAX = 800,
};

struct attempt {
    struct step *step;
    const char *base;
    const char *tree, *io, *home;
    const char *prompt_path, *feedback_path, *record_path, *log_path;
    const char *socket; /* The server's, for an agent without a network; NULL: there is none. */
    char token[TOKEN_BYTES];
    struct childenv env;
    struct progress progress;
    struct transcript transcript;
    const char *limit; /* turn_limit, budget_limit: why the agent was cut off. */
    struct compute_result ended;
    enum report record; /* From the completion record. */
    struct collected patch;
};

static void attempt_release(struct attempt *attempt)
{
    progress_release(&attempt->progress);
    explicit_bzero(attempt->token, sizeof attempt->token);
}

/* --- before --- */

static enum rc write_artifact(struct step *step, const char *sha256, const char *path,
                              struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX);
    enum rc rc = sha256 ? step_get(step, sha256, &text, err) : RC_OK;
    return rc == RC_OK ? file_write_durable(path, buf_text(&text), text.len, 0600, err) : rc;
}

static enum rc make_io(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct step_input *input = &step->input;
    enum rc rc = dir_remove(attempt->io, err);
    if (rc == RC_OK)
        rc = dir_make(attempt->io, 0700, err);
    if (rc == RC_OK)
        rc = dir_make(attempt->home, 0700, err);
    if (rc == RC_OK)
        rc = write_artifact(step, input->prompt_sha256, attempt->prompt_path, err);
    if (rc == RC_OK && input->attempt > 1)
        rc = write_artifact(step, input->feedback_sha256, attempt->feedback_path, err);
    return rc;
}

static enum rc get_token(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    struct port *port = step->site->port;
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    do
        rc = port->ops->run_token(port, &step->lease, &step->input.run_id, attempt->token,
                                  sizeof attempt->token, err);
    while (retry_again(&retry, rc));
    return rc;
}

static void make_env(struct attempt *attempt)
{
    struct step *step = attempt->step;
    struct arena *arena = step->arena;
    struct childenv *env = &attempt->env;
    childenv_init(env, step, attempt->home);
    childenv_set(env, arena, "DROVER_PROMPT", attempt->prompt_path);
    if (step->input.attempt > 1)
        childenv_set(env, arena, "DROVER_FEEDBACK", attempt->feedback_path);
    childenv_set(env, arena, "DROVER_RESULT", attempt->record_path);
    childenv_set(env, arena, "DROVER_ATTEMPT",
                 arena_printf(arena, "%" PRId64, step->input.attempt));
    childenv_set(env, arena, "DROVER_URL", step->site->server_url ? step->site->server_url : "");
    childenv_set(env, arena, "DROVER_TOKEN", attempt->token);
    if (attempt->socket)
        childenv_set(env, arena, "DROVER_SOCKET", attempt->socket);
}

static enum rc make_ready(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &attempt->base, err);
    if (rc == RC_OK)
        rc = worktree_keep_or_make(step, attempt->base, err);
    if (rc == RC_OK)
        rc = make_io(attempt, err);
    if (rc == RC_OK)
        rc = get_token(attempt, err);
    if (rc == RC_OK)
        make_env(attempt);
    return rc;
}

/* --- during --- */

static bool on_line(void *ctx, struct str line)
{
    struct attempt *attempt = ctx;
    const struct step_input *input = &attempt->step->input;
    const struct usage *usage = &attempt->transcript.usage;
    transcript_line(&attempt->transcript, line);
    if (input->max_turns > 0 && usage->turns > input->max_turns)
        attempt->limit = "turn_limit";
    else if (input->max_budget_usd > 0 && usage->cost_usd > input->max_budget_usd)
        attempt->limit = "budget_limit";
    return attempt->limit == NULL;
}

static int64_t on_tick(void *ctx, int64_t now_us)
{
    struct attempt *attempt = ctx;
    return progress_tick(&attempt->progress, now_us);
}

/* The agent's own time, and what is left of the run's. */
static int64_t wall_ms(const struct step *step)
{
    int64_t ms = step->input.config.timeouts.agent_ms;
    if (step->input.run_deadline_us > 0) {
        int64_t now_us = clock_now_us(&step->site->clock);
        int64_t left_ms = (step->input.run_deadline_us - now_us) / US_PER_MS;
        ms = left_ms < ms ? left_ms : ms;
    }
    return ms > 0 ? ms : 1;
}

static enum rc run_agent(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct repo_config *config = &step->input.config;
    const struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = config->agent.command,
                 .cwd = attempt->tree,
                 .binds = {{step->mirror, false},
                           {attempt->tree, true},
                           {attempt->io, true},
                           {attempt->home, true},
                           {attempt->socket, false}},
                 .network = config->agent.network},
        .env = attempt->env.entries,
        .stdin_path = config->agent.prompt == PROMPT_STDIN ? attempt->prompt_path : NULL,
        .log_path = attempt->log_path,
        .log_bytes_max = LOG_BYTES_MAX,
        .wall_ms = wall_ms(step),
        .idle_ms = config->timeouts.idle_ms,
        .stop = step->stop,
        .reader = {.ctx = attempt, .line = on_line, .tick = on_tick},
    };
    worktree_unmark(step); /* From here on the tree is whatever the agent makes of it. */
    enum rc rc = compute_run(&spec, &attempt->ended, err);
    progress_flush(&attempt->progress);
    if (rc == RC_NOT_FOUND)
        return step_fail(step, rc, err, (struct port_failure){.code = "agent_command_not_found"});
    if (rc != RC_OK)
        return step_fail(step, rc, err,
                         (struct port_failure){.code = "agent_start_failed", .retryable = true});
    if (attempt->ended.end == COMPUTE_STOPPED)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The agent was stopped.");
    return RC_OK;
}

/* --- after --- */

/* The agent may have put anything at the place of the record: only a small plain file counts. */
static enum rc read_record(const char *path, struct buf *into)
{
    CLEANUP(fd_closep)
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size > RECORD_BYTES_MAX)
        return RC_NOT_FOUND;
    char chunk[4096];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0 && !into->overflow)
        buf_add(into, chunk, (size_t)got);
    return got == 0 && !into->overflow ? RC_OK : RC_NOT_FOUND;
}

/* The completion record outranks what the agent said on the way. */
static void take_record(struct attempt *attempt)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *record = NULL;
    buf_init(&text, RECORD_BYTES_MAX);
    if (read_record(attempt->record_path, &text) != RC_OK ||
        js_parse(buf_text(&text), text.len, &record, NULL) != RC_OK)
        return;
    const char *status = js_get_str(record, "status", "");
    if (text_same(status, "success"))
        attempt->record = REPORT_SUCCESS;
    else if (text_same(status, "error"))
        attempt->record = REPORT_ERROR;
    else
        return;
    struct transcript *transcript = &attempt->transcript;
    transcript_copy(transcript->summary, sizeof transcript->summary,
                    js_get_str(record, "summary", transcript->summary));
    transcript_copy(transcript->error, sizeof transcript->error,
                    js_get_str(record, "error", transcript->error));
}

static enum rc keep_log(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const char *sha256 = NULL;
    const char *name = arena_printf(step->arena, "agent-%" PRId64 ".log", step->input.attempt);
    enum rc rc = step_put_file(step, "agent_log", name, attempt->log_path, &sha256, err);
    if (rc == RC_OK)
        (void)unlink(attempt->log_path);
    return rc;
}

static enum rc take_results(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    take_record(attempt);
    enum rc rc = keep_log(attempt, err);
    if (rc == RC_OK)
        rc = collect_patch(step, attempt->base, &attempt->patch, err);
    if (rc == RC_OK)
        rc = worktree_mark(step, attempt->base, attempt->patch.sha256, err);
    return rc;
}

/* --- the result --- */

static const char *outcome_name(const struct attempt *attempt)
{
    switch (attempt->ended.end) {
    case COMPUTE_TIMED_OUT:
        return "timed_out";
    case COMPUTE_IDLE_TIMED_OUT:
        return "idle_timed_out";
    case COMPUTE_CUT_OFF:
        return attempt->limit;
    case COMPUTE_ENDED:
    case COMPUTE_STOPPED:
        break;
    }
    return "ended";
}

static const char *report_name(const struct attempt *attempt)
{
    static const char *const names[] = {
        [REPORT_UNKNOWN] = "unknown", [REPORT_SUCCESS] = "success", [REPORT_ERROR] = "error"};
    struct session_facts facts = {
        .completion = attempt->record,
        .adapter = attempt->transcript.report,
        .exited = attempt->ended.exited,
        .exit_code = attempt->ended.exit_code,
    };
    return names[infer_report(&facts)];
}

static void write_patch(struct jw *jw, const struct collected *patch)
{
    jw_key(jw, "patch");
    if (!patch->sha256) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "sha256", patch->sha256);
    jw_kint(jw, "bytes", patch->bytes);
    jw_kint(jw, "files", (int64_t)patch->stats.files);
    jw_kint(jw, "linesAdded", patch->stats.lines_added);
    jw_kint(jw, "linesDeleted", patch->stats.lines_deleted);
    jw_kstr(jw, "treeHash", patch->tree_hash);
    jw_key(jw, "paths");
    jw_begin(jw, '[');
    size_t before = jw->buf->len;
    for (size_t i = 0; i < patch->stats.files && i < PATHS_MAX; i++) {
        const char *path = patch->stats.paths[i];
        /* In the worst case every byte becomes an escape of six. */
        if (jw->buf->len - before + 6 * strlen(path) > PATHS_BYTES_MAX)
            break;
        jw_str(jw, path);
    }
    jw_end(jw, ']');
    jw_end(jw, '}');
}

static void write_result(struct attempt *attempt)
{
    const struct compute_result *ended = &attempt->ended;
    const struct usage *usage = &attempt->transcript.usage;
    struct jw jw = jw_to(attempt->step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "outcome", outcome_name(attempt));
    jw_kstr(&jw, "report", report_name(attempt));
    jw_kbool(&jw, "exited", ended->exited);
    jw_kint(&jw, "exitCode", ended->exit_code);
    jw_kint(&jw, "signal", ended->signal);
    step_write_text(&jw, "summary", attempt->transcript.summary, SUMMARY_MAX);
    step_write_text(&jw, "error", attempt->transcript.error, ERROR_MAX);
    jw_kint(&jw, "turns", usage->turns);
    jw_kint(&jw, "inputTokens", usage->input_tokens);
    jw_kint(&jw, "outputTokens", usage->output_tokens);
    jw_kreal(&jw, "costUsd", usage->cost_usd);
    jw_kstr(&jw, "model", usage->model[0] ? usage->model : NULL);
    jw_kstr(&jw, "sandbox", sandbox_name(&attempt->step->site->sandbox));
    jw_kbool(&jw, "logTruncated", ended->log_truncated);
    step_write_artifacts(attempt->step, &jw);
    write_patch(&jw, &attempt->patch);
    jw_end(&jw, '}');
}

static const char *socket_of(const struct step *step)
{
    const char *path = step->site->server_socket;
    return path && file_exists(path) ? path : NULL;
}

enum rc step_agent(struct step *step, struct err *err)
{
    const char *log_name = arena_printf(step->arena, "agent-%" PRId64 ".log", step->input.attempt);
    CLEANUP(attempt_release)
    struct attempt attempt = {
        .step = step,
        .tree = worktree_path(step, "tree"),
        .io = worktree_path(step, "io"),
        .home = worktree_path(step, "home"),
        .prompt_path = worktree_path(step, "io/prompt.md"),
        .feedback_path = worktree_path(step, "io/feedback.md"),
        .record_path = worktree_path(step, "io/result.json"),
        .log_path = worktree_path(step, log_name),
        .socket = socket_of(step),
        .record = REPORT_UNKNOWN,
    };
    progress_init(&attempt.progress, step->site->port, &step->lease, step->stop);
    transcript_init(&attempt.transcript, step->input.config.agent.adapter, &attempt.progress);
    enum rc rc = make_ready(&attempt, err);
    if (rc == RC_OK)
        rc = run_agent(&attempt, err);
    if (rc == RC_OK)
        rc = take_results(&attempt, err);
    if (rc == RC_OK)
        write_result(&attempt);
    return rc;
}
