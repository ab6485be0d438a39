/*
 * launch.c - runs the process of an agent of the registry, for as long as it lives.
 *
 *     payload: {"agentId", "name", "persona"?, "prompt"?, "config": {...}, "account"?: {...},
 *               "missingAccount"?}
 *
 *     work_dir/agents/<agent id>/   work, io and home of the process, its log; made anew for each
 *                                   start and removed with its end
 *
 * The process runs in the sandbox, as its configuration has it (`agent` of a repository's), and has
 * a token of its own for this start.  However it ends, the step completes: what follows is decided
 * by the rule of its restarts.  Only a worker that shuts down, or whose lease was lost, leaves it
 * to another worker.
 */
#include "base/fd.h"
#include "core/config/profile.h"
#include "work/agent/compute_process.h"
#include "work/job/account_env.h"
#include "work/job/childenv.h"
#include "work/job/retry.h"
#include "work/job/step_secrets.h"
#include <string.h>

enum {
    TOKEN_BYTES = 160,
    LOG_BYTES_MAX = 16 * 1024 * 1024,
    INTERRUPT_MS = 3000,
    ERROR_MAX = 1000,
    WORDS_MAX = 2000,
};

struct launch {
    struct step *step;
    struct id agent_id;
    const char *name, *persona; /* persona: or NULL */
    const char *dir, *work, *io, *home, *prompt_path, *log_path;
    const char *argv[CONFIG_ARGS_MAX + 1];
    char token[TOKEN_BYTES];
    struct childenv env;
};

/* ---- input ---- */

static enum rc read_payload(struct launch *launch, struct err *err)
{
    struct step *step = launch->step;
    struct step_input *input = &step->input;
    const struct js *payload = input->payload, *account = js_get(payload, "account");
    launch->name = js_get_str(payload, "name", NULL);
    launch->persona = js_get_str(payload, "persona", NULL);
    if (launch->name == NULL || !id_parse(js_get_str(payload, "agentId", ""), &launch->agent_id))
        return err_set(err, RC_INVALID, "INVALID_FIELD", "The payload names no agent.");
    enum rc rc = account != NULL ? account_config_read(account, &input->account, err) : RC_OK;
    return rc == RC_OK ? repo_config_decode_for(js_get(payload, "config"), input->account.model,
                                                step->arena, &input->config, err)
                       : rc;
}

static enum rc make_place(struct launch *launch, struct err *err)
{
    struct step *step = launch->step;
    struct arena *arena = step->arena;
    const char *prompt = js_get_str(step->input.payload, "prompt", "");
    launch->dir = arena_printf(arena, "%s/agents/%s", step->site->work_dir, launch->agent_id.text);
    launch->work = arena_printf(arena, "%s/work", launch->dir);
    launch->io = arena_printf(arena, "%s/io", launch->dir);
    launch->home = arena_printf(arena, "%s/home", launch->dir);
    launch->prompt_path = arena_printf(arena, "%s/prompt.md", launch->io);
    launch->log_path = arena_printf(arena, "%s/agent.log", launch->dir);
    enum rc rc = dir_remove(launch->dir, err);
    if (rc == RC_OK)
        rc = dir_make(launch->work, 0700, err);
    if (rc == RC_OK)
        rc = dir_make(launch->io, 0700, err);
    if (rc == RC_OK)
        rc = dir_make(launch->home, 0700, err);
    return rc == RC_OK ? file_write_new(launch->prompt_path, prompt, strlen(prompt), 0600, err)
                       : rc;
}

static enum rc get_token(struct launch *launch, struct err *err)
{
    struct step *step = launch->step;
    struct port *port = step->site->port;
    struct retry retry = retry_begin(step->stop);
    enum rc rc;
    do
        rc = port->ops->agent_token(port, &step->lease, launch->token, sizeof launch->token, err);
    while (retry_again(&retry, rc));
    if (rc == RC_OK)
        secrets_add(step_secrets(step), "drover-token", launch->token);
    return rc;
}

static enum rc make_env(struct launch *launch, struct err *err)
{
    struct step *step = launch->step;
    const char *missing = js_get_str(step->input.payload, "missingAccount", NULL);
    if (missing != NULL)
        return err_set(err, RC_INVALID, "ACCOUNT_INCOMPLETE",
                       "The server's configuration does not have account %s any more.", missing);
    struct arena *arena = step->arena;
    struct childenv *env = &launch->env;
    const struct step_site *site = step->site;
    const char *path = sandbox_path(&site->sandbox, arena);
    childenv_init(env, step, launch->home);
    childenv_unset(env, "DROVER_TASK_ID");
    childenv_unset(env, "DROVER_RUN_ID");
    enum rc rc = account_env_set(&step->input.account, arena, env, err);
    if (rc != RC_OK)
        return rc;
    if (path != NULL)
        childenv_add_path(env, arena, path);
    childenv_set(env, arena, "DROVER_AGENT", launch->name);
    if (launch->persona != NULL)
        childenv_set(env, arena, "DROVER_PERSONA", launch->persona);
    childenv_set(env, arena, "DROVER_PROMPT", launch->prompt_path);
    childenv_set(env, arena, "DROVER_URL", site->server_url != NULL ? site->server_url : "");
    if (site->server_socket != NULL)
        childenv_set(env, arena, "DROVER_SOCKET", site->server_socket);
    childenv_set(env, arena, "DROVER_TOKEN", launch->token);
    return RC_OK;
}

static void make_argv(struct launch *launch)
{
    const char *const *words = launch->step->input.config.agent.command;
    for (size_t i = 0; words[i] != NULL; i++)
        launch->argv[i] = agent_word_put(words[i], WORD_PROMPT_FILE, launch->prompt_path,
                                         launch->step->arena);
}

/* ---- its life ---- */

static enum rc run(struct launch *launch, struct compute_result *ret_ended, struct err *err)
{
    struct step *step = launch->step;
    const struct agent_config *agent = &step->input.config.agent;
    struct compute_spec spec = {
        .sandbox = &step->site->sandbox,
        .view = {.argv = launch->argv,
                 .cwd = launch->work,
                 .binds = {{launch->work, true},
                           {launch->io, true},
                           {launch->home, true},
                           {step->site->server_socket, false}}},
        .env = launch->env.entries,
        .stdin_path = agent->prompt == PROMPT_STDIN ? launch->prompt_path : NULL,
        .log_path = launch->log_path,
        .secrets = step_secrets(step),
        .log_bytes_max = LOG_BYTES_MAX,
        .interrupt_ms = INTERRUPT_MS,
        .stop = step->stop,
    };
    compute_grant(&spec, agent, launch->agent_id.text);
    return compute_run(&spec, ret_ended, err);
}

static void write_result(struct launch *launch, const struct compute_result *ended,
                         const char *error)
{
    struct jw jw = jw_to(launch->step->result);
    jw_begin(&jw, '{');
    if (ended->exited)
        jw_kint(&jw, "exitCode", ended->exit_code);
    if (ended->signal > 0)
        jw_kint(&jw, "signal", ended->signal);
    if (ended->limit != NULL)
        error = arena_printf(launch->step->arena, "it passed its %s", ended->limit);
    if (error != NULL)
        step_write_text(&jw, "error", error, ERROR_MAX);
    if (ended->last_words[0] != '\0')
        step_write_text(&jw, "lastWords", ended->last_words, WORDS_MAX);
    jw_kint(&jw, "livedMs", ended->duration_us / US_PER_MS);
    jw_end(&jw, '}');
}

static enum rc live(struct launch *launch, struct compute_result *ret_ended, struct err *err)
{
    enum rc rc = make_place(launch, err);
    if (rc == RC_OK)
        rc = get_token(launch, err);
    if (rc == RC_OK)
        rc = make_env(launch, err);
    if (rc != RC_OK)
        return rc;
    make_argv(launch);
    return run(launch, ret_ended, err);
}

enum rc step_launch(struct step *step, struct err *err)
{
    struct launch *launch = arena_alloc(step->arena, sizeof *launch);
    struct compute_result ended = {.end = COMPUTE_ENDED};
    launch->step = step;
    enum rc rc = read_payload(launch, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    rc = live(launch, &ended, err);
    explicit_bzero(launch->token, sizeof launch->token);
    if (launch->dir != NULL && dir_remove(launch->dir, NULL) != RC_OK) {
        /* What the process left cannot be deleted: the next start tries again. */
    }
    if (rc == RC_STALE || stop_asked(step->stop) != STOP_NONE)
        return err_set(err, RC_CANCELLED, "CANCELLED", "The agent was stopped.");
    write_result(launch, &ended, rc != RC_OK ? err->text : NULL);
    return RC_OK;
}
