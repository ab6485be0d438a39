/*
 * attempt_input.c - what a local agent is given: tree, prompt, feedback, token, environment.
 */
#include "base/fd.h"
#include "work/agent/attempt.h"
#include "work/job/attachments.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include "work/sandbox/homeseed.h"
#include "work/tree/agent_tree.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <string.h>

static const struct compute_ops *compute_of(const struct step *step)
{
    static const struct compute_ops *const kinds[] = {
        [COMPUTE_PROCESS] = &compute_child,
        [COMPUTE_REMOTE] = &compute_remote,
        [COMPUTE_PULL] = NULL,
    };
    return kinds[step->input.config.agent.compute];
}

void attempt_init(struct attempt *attempt, struct step *step)
{
    const struct agent_config *agent = &step->input.config.agent;
    const char *socket = step->site->server_socket;
    const char *log_name = arena_printf(step->arena, "agent-%" PRId64 ".log", step->input.attempt);
    *attempt = (struct attempt){
        .step = step,
        .compute = compute_of(step),
        .tree = worktree_path(step, "tree"),
        .io = worktree_path(step, "io"),
        .home = worktree_path(step, "home"),
        .prompt_path = worktree_path(step, "io/prompt.md"),
        .feedback_path = worktree_path(step, "io/feedback.md"),
        .plan_path = worktree_path(step, "io/plan.md"),
        .record_path = worktree_path(step, "io/result.json"),
        .log_path = worktree_path(step, log_name),
        .socket = socket != NULL && file_exists(socket) ? socket : NULL,
        .ended = {.exit_code = -1},
        .record = REPORT_UNKNOWN,
    };
    progress_init(&attempt->progress, step->site->port, &step->lease, step->stop);
    /* Events of a remote agent have the form of ndjson. */
    attempt->progress.secrets = step_secrets(step);
    transcript_init(&attempt->transcript,
                    agent->compute == COMPUTE_REMOTE ? ADAPTER_NDJSON : agent->adapter,
                    &attempt->progress);
    attempt->transcript.clock = step->site->clock;
    attempt->transcript.limits = (struct transcript_limits){
        .max_turns = step->input.max_turns,
        .max_budget_usd = step->input.max_budget_usd,
        .tools_denied = step->input.config.policy.tools_denied,
        .bound_retries = true,
        .tool_retries = step->input.config.budget.max[BUDGET_TOOL],
        .prices = step->input.config.agent.prices,
    };
}

void attempt_release(struct attempt *attempt)
{
    if (attempt->compute != NULL)
        attempt->compute->release(attempt);
    transcript_release(&attempt->transcript);
    progress_release(&attempt->progress);
    explicit_bzero(attempt->token, sizeof attempt->token);
}

static const char plan_wanted[] =
    "\n## What to do now\n\n"
    "Do not change any file yet. Write a plan for the task above: what you will change and where, "
    "in which order, how it will be checked, and what could go wrong. Write it as Markdown to the "
    "file named by the environment variable DROVER_PLAN, then stop.\n";

/* The prompt; and the feedback and the plan, where there are such. */
static enum rc write_artifact(struct step *step, const char *sha256, const char *path,
                              const char *end, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX + sizeof plan_wanted);
    enum rc rc = sha256 != NULL ? step_get(step, sha256, &text, err) : RC_OK;
    if (rc == RC_OK)
        buf_adds(&text, end);
    return rc == RC_OK ? file_write_new(path, buf_text(&text), text.len, 0600, err) : rc;
}

static enum rc make_home(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const char *seed = step->input.config.agent.home;
    enum rc rc = homeseed_make(attempt->home, seed, &step->site->sandbox, err);
    if (rc == RC_INVALID)
        return step_fail(step, rc, err, (struct port_failure){.code = "agent_home_refused"});
    return rc;
}

static enum rc make_io(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct step_input *input = &step->input;
    enum rc rc = dir_remove(attempt->io, err);
    if (rc == RC_OK)
        rc = dir_make(attempt->io, 0700, err);
    if (rc == RC_OK)
        rc = make_home(attempt, err);
    if (rc == RC_OK)
        rc = write_artifact(step, input->prompt_sha256, attempt->prompt_path,
                            attempt->planning ? plan_wanted : "", err);
    if (rc == RC_OK && input->attempt > 1)
        rc = write_artifact(step, input->feedback_sha256, attempt->feedback_path, "", err);
    if (rc == RC_OK && input->plan_sha256 != NULL)
        rc = write_artifact(step, input->plan_sha256, attempt->plan_path, "", err);
    if (rc == RC_OK)
        rc = attachments_place(step, worktree_path(step, "io/attachments"), err);
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
    if (attempt->planning || step->input.plan_sha256 != NULL)
        childenv_set(env, arena, "DROVER_PLAN", attempt->plan_path);
    childenv_set(env, arena, "DROVER_PHASE", attempt->planning ? "plan" : "work");
    if (js_count(js_get(step->input.payload, "attachments")) > 0)
        childenv_set(env, arena, "DROVER_ATTACHMENTS", worktree_path(step, "io/attachments"));
    childenv_set(env, arena, "DROVER_RESULT", attempt->record_path);
    childenv_set(env, arena, "DROVER_ATTEMPT",
                 arena_printf(arena, "%" PRId64, step->input.attempt));
    childenv_set(env, arena, "DROVER_URL",
                 step->site->server_url != NULL ? step->site->server_url : "");
    childenv_set(env, arena, "DROVER_TOKEN", attempt->token);
    if (attempt->socket != NULL)
        childenv_set(env, arena, "DROVER_SOCKET", attempt->socket);
}

enum rc attempt_make_input(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &attempt->base, err);
    if (rc == RC_OK)
        rc = agent_tree_keep_or_make(step, attempt->base, err);
    if (rc == RC_OK)
        rc = make_io(attempt, err);
    if (rc == RC_OK)
        rc = get_token(attempt, err);
    if (rc == RC_OK) {
        secrets_add(step_secrets(step), "drover-token", attempt->token);
        make_env(attempt);
    }
    return rc;
}
