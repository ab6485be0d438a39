/*
 * credentials.c - POST /v1/runs/{id}/credential: the git of a run's agent gets a token to read its
 * repository with.
 *
 * Agents never hold a key: what they get can read that one repository, and is given to a run that
 * has not ended.  A token that can write is never given, so a repository needs an App, or a token
 * in credentials.agent that can only read.
 */
#include "api/call.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "core/config/repo_config.h"
#include "forge/token_source.h"
#include "net/git_credential.h"
#include "store/runs.h"
#include "store/tasks.h"

enum { LOGIN_BYTES_MAX = 2000, FORGE_SECONDS_MAX = 25 };

static enum rc read_login(const struct js *tree, struct git_login *login, struct err *err)
{
    const struct field_text text = {.min = 1, .max = LOGIN_BYTES_MAX};
    struct fields fields;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "protocol", FIELD_REQUIRED, &text, &login->protocol);
    fields_string(&fields, "host", FIELD_REQUIRED, &text, &login->host);
    fields_string(&fields, "path", FIELD_REQUIRED, &text, &login->path);
    return fields_close(&fields);
}

/* The configuration that the run works with; *ret_document is what it points into. */
static enum rc read_config(struct call *call, struct db *db, struct js **ret_document,
                           struct repo_config **ret_config, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    struct run_row run;
    struct task_row task;
    struct id id;
    enum rc rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = runs_get(db, &id, arena, &run, err);
    if (rc == RC_OK && run_is_terminal(run.status))
        rc = err_set(err, RC_CONFLICT, "RUN_FINISHED", "the run has ended");
    if (rc == RC_OK)
        rc = tasks_get(db, &run.task_id, arena, &task, err);
    if (rc == RC_OK)
        rc = js_parse(task.config.at, task.config.len, ret_document, err);
    if (rc == RC_OK)
        rc = repo_config_decode(*ret_document, NULL, arena, config, err);
    if (rc == RC_OK)
        *ret_config = config;
    return rc;
}

static enum rc check_login(const struct repo_config *config, const struct git_login *login,
                           struct err *err)
{
    if (!git_login_fits(login, config->url))
        return err_set(err, RC_DENIED, "NOT_YOUR_REPOSITORY",
                       "a run gets a credential for its own repository only, over the address that "
                       "is configured");
    if (!token_source_for_agents(config))
        return err_set(err, RC_CONFLICT, "NO_AGENT_CREDENTIAL",
                       "the repository has no credential that agents may have: use an App "
                       "(credentials.app), or name a token that can only read in "
                       "credentials.agent");
    return RC_OK;
}

enum rc api_run_credential(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL, *document = NULL;
    CLEANUP(forge_token_wipe) struct forge_token token = {.expires_us = 0};
    struct git_login login = {.path = NULL};
    struct repo_config *config = NULL;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc == RC_OK)
        rc = read_login(tree, &login, err);
    if (rc == RC_OK)
        rc = read_config(call, db, &document, &config, err);
    if (rc == RC_OK)
        rc = check_login(config, &login, err);
    const struct git how = {.cancel = &call->api->stopping,
                            .deadline_us = clock_mono_us() + FORGE_SECONDS_MAX * US_PER_SECOND};
    if (rc == RC_OK)
        rc = token_source_unavailable(token_source_get(config, ACCESS_AGENT, &how, &token, err),
                                      err);
    if (rc == RC_OK && token.text[0] == '\0')
        rc = err_set(err, RC_CONFLICT, "NO_AGENT_CREDENTIAL",
                     "the server's environment lacks the variable that credentials.agent names");
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "username", GIT_CREDENTIAL_USER);
    jw_kstr(&jw, "password", token.text);
    jw_ktime(&jw, "expiresAt", token.expires_us);
    jw_end(&jw, '}');
    return RC_OK;
}
