/*
 * attempt_input.c - what a local agent is given: tree, prompt, feedback, token, environment.
 */
#include "base/fd.h"
#include "core/config/profile.h"
#include "core/event_types.h"
#include "core/run/prompt.h"
#include "core/run/said.h"
#include "forge/token_source.h"
#include "net/git_credential.h"
#include "work/agent/agent_tree.h"
#include "work/agent/attempt.h"
#include "work/job/account_env.h"
#include "work/job/attachments.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include "work/sandbox/homeseed.h"
#include "work/sandbox/logins.h"
#include "work/tree/worktree.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RESUME_BYTES_MAX = 4096 };

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
        .task_path = worktree_path(step, "io/prompt.md"),
        .prompt_path = worktree_path(step, "io/prompt.md"),
        .feedback_path = worktree_path(step, "io/feedback.md"),
        .plan_path = worktree_path(step, "io/plan.md"),
        .record_path = worktree_path(step, "io/result.json"),
        .log_path = worktree_path(step, log_name),
        .socket = socket != NULL && file_exists(socket) ? socket : NULL,
        .said_seq = js_get_int(step->input.payload, "messageSeq", 0),
        .delivered_seq = js_get_int(step->input.payload, "messageSeq", 0),
        .ended = {.exit_code = -1},
        .record = REPORT_UNKNOWN,
    };
    progress_init(&attempt->progress, step->site->port, &step->lease, step->stop);
    attempt->progress.steer = step->steer;
    attempt->progress.secrets = step_secrets(step);
    /* Events of a remote agent have the form of ndjson. */
    transcript_init(&attempt->transcript,
                    agent->compute == COMPUTE_REMOTE ? ADAPTER_NDJSON : agent->adapter,
                    &attempt->progress);
    attempt->transcript.clock = step->site->clock;
    rollout_init(&attempt->rollout, &attempt->transcript, &attempt->env, attempt->home);
    attempt->transcript.limits = (struct transcript_limits){
        .max_turns = step->input.max_turns,
        .max_budget_usd = step->input.max_budget_usd,
        .max_tokens = step->input.max_tokens,
        .tools_denied = step->input.config.policy.tools_denied,
        .tools_allowed = step->input.config.policy.tools_allowed,
        .bound_retries = true,
        .tool_retries = step->input.config.budget.max[BUDGET_TOOL],
        .prices = step->input.config.agent.prices,
    };
}

void attempt_release(struct attempt *attempt)
{
    if (attempt->compute != NULL)
        attempt->compute->release(attempt);
    rollout_release(&attempt->rollout);
    transcript_release(&attempt->transcript);
    progress_release(&attempt->progress);
    explicit_bzero(attempt->token, sizeof attempt->token);
}

bool attempt_lost_session(const struct attempt *attempt)
{
    const struct transcript *transcript = &attempt->transcript;
    bool failed = attempt->ended.exited && attempt->ended.exit_code != 0;
    return attempt->session != NULL && (failed || transcript->session_lost) &&
           attempt->limit == NULL && !transcript->overloaded && transcript->usage.turns == 0 &&
           transcript->calls == 0;
}

void attempt_begin_anew(struct attempt *attempt)
{
    struct step *step = attempt->step;
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, 2000);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "sessionId", attempt->session);
    jw_kint(&jw, "attempt", step->input.attempt);
    jw_kstr(&jw, "reason", "not_found");
    jw_end(&jw, '}');
    step_event(step, EV_SESSION_LOST, buf_str(&data));
    attempt_release(attempt);
    attempt_init(attempt, step);
    attempt->anew = true;
}

static const char plan_wanted[] =
    "\n## What to do now\n\n"
    "Do not change any file yet. Write a plan for the task above: what you will change and where, "
    "in which order, how it will be checked, and what could go wrong. Write it as Markdown to the "
    "file named by the environment variable DROVER_PLAN, then stop.\n";

/* The prompt; and the feedback and the plan, where there are such. */
struct text_file {
    const char *sha256;       /* Of its artifact; NULL: there is none. */
    const char *said, *order; /* Behind it; or empty. */
    const char *path;
};
static enum rc write_text(struct step *step, const struct text_file *file, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX + SAID_BYTES_MAX + sizeof plan_wanted);
    enum rc rc = file->sha256 != NULL ? step_get(step, file->sha256, &text, err) : RC_OK;
    const char *const ends[] = {file->said, file->order};
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(ends); i++)
        buf_adds(&text, ends[i] != NULL ? ends[i] : "");
    const char *path = file->path;
    return rc == RC_OK ? file_write_new(path, buf_text(&text), text.len, 0600, err) : rc;
}

/* Can a session be resumed: by arguments, or in the agent's own protocol? */
static bool can_resume(const struct agent_config *agent)
{
    return agent->resume[0] != NULL || agent->adapter == ADAPTER_ACP;
}

/* false: the agent logs in with no file that drover knows of. */
static bool logins_of(const struct attempt *attempt, struct logins *ret)
{
    const struct step_input *input = &attempt->step->input;
    const struct agent_config *agent = &input->config.agent;
    const struct agent_profile *profile = agent->profile;
    if (profile == NULL && input->account.name != NULL)
        profile = agent_profile_find(input->account.provider);
    /* The login of drover's own user is not that of an account with variables. */
    bool own = input->account.env[0] == NULL;
    const char *account = agent->home != NULL ? agent->home : own ? getenv("HOME") : NULL;
    if (profile == NULL || profile->logins == NULL || text_empty(account))
        return false;
    *ret = (struct logins){attempt->home, account, profile->logins};
    return true;
}

void attempt_save_login(const struct attempt *attempt)
{
    const struct step *step = attempt->step;
    struct logins logins;
    if (step->input.config.agent.home_write_back && logins_of(attempt, &logins))
        logins_give_back(&logins, step->input.run_id.text);
}

static enum rc place_login(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    struct logins logins;
    enum rc rc = RC_OK;
    if (!logins_of(attempt, &logins))
        return RC_OK;
    if (logins_taken(&logins))
        attempt_save_login(attempt); /* Its worker may have been killed before it could. */
    else
        rc = logins_take(&logins, step->input.config.agent.home == NULL, err);
    logins_secrets(&logins, step->arena, step_secrets(step));
    return rc;
}

static enum rc make_home(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct agent_config *agent = &step->input.config.agent;
    const struct account_config *account = &step->input.account;
    bool kept = false;
    struct logins logins;
    const char *login = logins_of(attempt, &logins) ? logins.list->path : "-";
    /* Login and sessions in it are those of the account and the program that it was made for.  A
       login is never put where another program has been: it may have left links there. */
    const char *owner = account->name == NULL ? login
                                              : arena_printf(step->arena, "%s %s %s", account->name,
                                                             step->input.account_since, login);
    const struct homeseed homeseed = {attempt->home, agent->home, owner, &step->site->sandbox};
    enum rc rc = homeseed_make(&homeseed, &kept, err);
    if (rc == RC_INVALID && account->home != NULL)
        rc = err_wrap(err, rc, arena_printf(step->arena, "account %s", account->name));
    if (rc == RC_INVALID)
        return step_fail(step, rc, err, (struct port_failure){.code = "agent_home_refused"});
    if (rc == RC_OK)
        rc = place_login(attempt, err);
    if (kept && !attempt->planning && !attempt->anew && can_resume(agent))
        attempt->session = step->input.agent_session;
    return rc;
}

static enum rc write_resume(struct attempt *attempt, const char *said, struct err *err)
{
    struct step *step = attempt->step;
    CLEANUP(buf_release) struct buf feedback, text;
    buf_init(&feedback, STEP_TEXT_ARTIFACT_MAX);
    buf_init(&text, STEP_TEXT_ARTIFACT_MAX + SAID_BYTES_MAX + RESUME_BYTES_MAX);
    const char *sha256 = step->input.attempt > 1 ? step->input.feedback_sha256 : NULL;
    enum rc rc = sha256 != NULL ? step_get(step, sha256, &feedback, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    const struct prompt_news news = {buf_text(&feedback), said};
    prompt_resume(&news, &text);
    attempt->prompt_path = worktree_path(step, "io/resume.md");
    return file_write_new(attempt->prompt_path, buf_text(&text), text.len, 0600, err);
}

/* What people have said stands in the file that is new: the prompt, later the feedback. */
static enum rc write_texts(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    const struct step_input *input = &step->input;
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    said_write(input->payload, &said);
    bool again = input->attempt > 1;
    const struct text_file prompt = {.sha256 = input->prompt_sha256,
                                     .said = again ? NULL : buf_text(&said),
                                     .order = attempt->planning ? plan_wanted : NULL,
                                     .path = attempt->task_path};
    const struct text_file feedback = {
        .sha256 = input->feedback_sha256, .said = buf_text(&said), .path = attempt->feedback_path};
    const struct text_file plan = {.sha256 = input->plan_sha256, .path = attempt->plan_path};
    enum rc rc = write_text(step, &prompt, err);
    if (rc == RC_OK && again)
        rc = write_text(step, &feedback, err);
    if (rc == RC_OK && input->plan_sha256 != NULL)
        rc = write_text(step, &plan, err);
    return rc == RC_OK && attempt->session != NULL ? write_resume(attempt, buf_text(&said), err)
                                                   : rc;
}

static enum rc make_io(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    enum rc rc = dir_remove(attempt->io, err);
    if (rc == RC_OK)
        rc = dir_make(attempt->io, 0700, err);
    if (rc == RC_OK)
        rc = make_home(attempt, err);
    if (rc == RC_OK)
        rc = write_texts(attempt, err);
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

/* The agent's git asks for a credential of its repository, and of no other host. */
static void set_git_helper(struct childenv *env, struct arena *arena,
                           const struct repo_config *config)
{
    const char *scope = git_login_scope(config->url, arena);
    if (scope == NULL || !token_source_for_agents(config))
        return;
    childenv_set(env, arena, "GIT_CONFIG_COUNT", "2");
    childenv_set(env, arena, "GIT_CONFIG_KEY_0",
                 arena_printf(arena, "credential.%s.helper", scope));
    childenv_set(env, arena, "GIT_CONFIG_VALUE_0", "!drover credential");
    childenv_set(env, arena, "GIT_CONFIG_KEY_1",
                 arena_printf(arena, "credential.%s.useHttpPath", scope));
    childenv_set(env, arena, "GIT_CONFIG_VALUE_1", "true");
}

static enum rc make_env(struct attempt *attempt, struct err *err)
{
    struct step *step = attempt->step;
    struct arena *arena = step->arena;
    struct childenv *env = &attempt->env;
    const char *path = sandbox_path(&step->site->sandbox, arena);
    enum rc rc = scratch_open(step, SCRATCH_AGENT, &attempt->scratch, err);
    if (rc != RC_OK)
        return rc;
    childenv_init(env, step, attempt->home);
    scratch_set(&attempt->scratch, arena, env);
    rc = account_env_set(&step->input.account, arena, env, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "account_incomplete"});
    if (path != NULL)
        childenv_add_path(env, arena, path);
    childenv_set(env, arena, "DROVER_PROMPT", attempt->task_path);
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
    set_git_helper(env, arena, &step->input.config);
    return RC_OK;
}

static void make_argv(struct attempt *attempt)
{
    const struct agent_config *agent = &attempt->step->input.config.agent;
    struct arena *arena = attempt->step->arena;
    bool resumes = attempt->session != NULL && agent->resume[0] != NULL;
    const char *const *words = resumes ? agent->resume : agent->command;
    for (size_t i = 0; words[i] != NULL; i++) {
        attempt->argv[i] = agent_word_put(words[i], WORD_PROMPT_FILE, attempt->prompt_path, arena);
        if (resumes)
            attempt->argv[i] = agent_word_put(attempt->argv[i], WORD_SESSION, attempt->session,
                                              arena);
    }
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
        rc = make_env(attempt, err);
        make_argv(attempt);
    }
    return rc;
}
