/*
 * repositories.c - the repositories that are onboarded.
 */
#include "control/admit/repositories.h"
#include "api/listing.h"
#include "api/repo_access.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "base/clock.h"
#include "base/js_peek.h"
#include "base/yaml.h"
#include "control/run/quarantine.h"
#include "core/config/repo_config.h"
#include "core/config/repo_document.h"
#include "forge/git/checked_out.h"
#include "forge/git/origin_access.h"
#include "forge/git/remote.h"
#include "store/syncs.h"
#include "store/workspaces.h"
#include <string.h>

static enum rc check_name(const struct call *call, struct err *err)
{
    if (repo_name_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME",
                   "a repository's name has letters, digits, '.', '_', '-' and single slashes, "
                   "at most 200 bytes");
}

/* ?effective=true: with the effective values, and the layer of each. */
static enum rc wants_effective(struct call *call, bool *ret_wants, struct err *err)
{
    struct params params;
    const char *text = NULL;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_text(&params, "effective", 5, &text);
    *ret_wants = text_same(text, "true");
    if (text != NULL && !*ret_wants && !text_same(text, "false"))
        params_fail(&params, "effective", "effective must be true or false");
    return params_end(&params);
}

/* null for a repository whose forge is no server. */
static enum rc write_sync(struct jw *jw, struct db *db, const struct id *repository_id,
                          struct arena *arena, struct err *err)
{
    struct sync_row sync;
    enum rc rc = syncs_read(db, repository_id, arena, &sync, err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    jw_key(jw, "sync");
    if (rc == RC_OK)
        shape_sync(jw, &sync);
    else
        jw_null(jw);
    err_clear(err);
    return RC_OK;
}

enum rc api_repository_get(struct call *call, struct db *db, struct err *err)
{
    struct workspace_row workspace;
    struct repository_row repository;
    struct arena *arena = &call->http.arena;
    bool effective = false;
    enum rc rc = wants_effective(call, &effective, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    if (rc == RC_OK)
        rc = repositories_by_name(db, &workspace.id, call->vars[0], arena, &repository, err);
    if (rc == RC_OK && repository.removed)
        rc = err_set(err, RC_NOT_FOUND, "NOT_FOUND", "repository %s was removed", call->vars[0]);
    if (rc != RC_OK)
        return rc;
    const struct repo_layers layers = {.platform = call->api->defaults,
                                       .repository = repository.config};
    struct jw jw = call_answer(call, 200);
    shape_repository_open(&jw, &repository);
    rc = write_sync(&jw, db, &repository.id, arena, err);
    if (rc == RC_OK && effective)
        rc = repo_layers_write(&layers, arena, &jw, err);
    jw_end(&jw, '}');
    return rc;
}

enum { REMOTE_SECONDS_MAX = 15 };

/* What the repository's address leads to, as the server sees it. */
struct origin_report {
    enum rc rc;
    struct err err;          /* What is wrong with it. */
    const char *commit;      /* Of the default branch; NULL: there is none. */
    const char *checked_out; /* The worktree that shows the default branch; NULL: none does. */
};

static void look_at_origin(struct repo_access *access, struct arena *arena,
                           struct origin_report *report)
{
    const struct git *git = &access->forge.git;
    const char *branch = access->config->default_branch;
    const char *ref = arena_printf(arena, "refs/heads/%s", branch);
    struct origin origin = {.git = git, .arena = arena};
    struct checked_out found = {.tree = NULL};
    report->rc = origin_access(git, access->config->url, &report->err);
    if (report->rc == RC_OK)
        report->rc = origin_open(&origin, access->config->url, &report->err);
    if (report->rc == RC_UNREACHABLE)
        (void)err_set(
            &report->err, report->rc, "NOT_FOUND",
            "There is no directory %.200s on the server's machine: correct url, or put the "
            "repository there.",
            access->config->url);
    if (report->rc == RC_OK)
        report->rc = origin_ref(&origin, ref, &report->commit, &report->err);
    if (report->rc == RC_OK)
        report->rc = checked_out_find(&origin, ref, &found, &report->err);
    report->checked_out = found.tree;
    if (report->rc == RC_OK && report->commit == NULL)
        report->rc = err_set(&report->err, RC_NOT_FOUND, "BRANCH_NOT_FOUND",
                             "The repository has no branch %.200s.", branch);
}

/* The words of the remote are for people who may not have the credential. */
static void explain_remote(const struct repo_access *access, struct origin_report *report)
{
    const char *name = access->server_forge.credential;
    const char *credential = access->forge.git.credential;
    bool named = token_source_named(access->config);
    struct err *err = &report->err;
    if (report->rc == RC_UNAUTHORIZED && named)
        (void)err_set(err, report->rc, "GIT_UNAUTHORIZED",
                      "The repository does not accept the credential of %.100s: it needs one that "
                      "may read and push.",
                      name != NULL ? name : "credentials");
    else if (report->rc == RC_UNAUTHORIZED)
        (void)err_set(err, report->rc, "GIT_UNAUTHORIZED",
                      "The repository wants a credential: name a variable of the server's "
                      "environment in credentials.forge.");
    else if (credential != NULL && strstr(err->text, credential) != NULL)
        (void)err_set(err, report->rc, "GIT_FAILED", "The server cannot read %.200s.",
                      access->config->url);
}

/* A repository elsewhere: does the server have its credential, reach it, and find the branch? */
static void look_at_remote(struct repo_access *access, struct arena *arena,
                           struct origin_report *report)
{
    const struct repo_config *config = access->config;
    const char *names[] = {arena_printf(arena, "refs/heads/%s", config->default_branch)};
    char hashes[1][GIT_HASH_BYTES] = {""};
    struct git git = access->forge.git;
    git.deadline_us = clock_mono_us() + REMOTE_SECONDS_MAX * US_PER_SECOND;
    CLEANUP(remote_drop) struct remote remote = {.git = &git, .url = config->url, .arena = arena};
    if (git.credential == NULL && config->forge_credential != NULL) {
        report->rc = err_set(&report->err, RC_NOT_FOUND, "CREDENTIAL_MISSING",
                             "The server's environment has no %.100s, which credentials.forge "
                             "names: set it where the server is started.",
                             config->forge_credential);
        return;
    }
    report->rc = remote_make(&remote, &report->err);
    if (report->rc == RC_OK)
        report->rc = remote_refs(&remote, names, COUNT_OF(names), hashes, &report->err);
    if (report->rc != RC_OK)
        explain_remote(access, report);
    else if (hashes[0][0] != '\0')
        report->commit = arena_strdup(arena, hashes[0]);
    else
        report->rc = err_set(&report->err, RC_NOT_FOUND, "BRANCH_NOT_FOUND",
                             "The repository has no branch %.200s.", config->default_branch);
}

enum rc api_repository_origin(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access access = {0};
    struct origin_report *report = arena_alloc(&call->http.arena, sizeof *report);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = repo_access_open(call, db, call->vars[0], &access, err);
    if (rc != RC_OK)
        return rc;
    if (text_same(access.config->forge, "local"))
        look_at_origin(&access, &call->http.arena, report);
    else
        look_at_remote(&access, &call->http.arena, report);
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "repository", access.repository.name);
    jw_kstr(&jw, "url", access.config->url);
    jw_kstr(&jw, "defaultBranch", access.config->default_branch);
    jw_kstr(&jw, "commit", report->commit);
    jw_kstr(&jw, "checkedOutIn", report->checked_out);
    jw_kbool(&jw, "ok", report->rc == RC_OK);
    jw_optstr(&jw, "code", report->err.code);
    jw_optstr(&jw, "detail", report->err.text);
    jw_end(&jw, '}');
    return RC_OK;
}

enum rc api_repository_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct workspace_row workspace;
    struct repository_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = workspaces_by_name(db, WORKSPACE_DEFAULT, list.arena, &workspace, err);
    if (rc == RC_OK)
        rc = repositories_list(db, &workspace.id, list.after, list.query_limit, list.arena, &rows,
                               &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        shape_repository(&list.jw, &rows[i]);
        list.last = rows[i].name;
    }
    return listing_end(&list, rc);
}

static bool is_yaml(const struct call *call)
{
    const char *type = http_header(&call->http, "Content-Type");
    return type != NULL && strcasestr(type, "yaml") != NULL;
}

static enum rc read_document(struct call *call, struct js **ret_tree, struct err *err)
{
    struct str body = http_body(&call->http);
    if (body.len == 0)
        return err_set(err, RC_MALFORMED, "MALFORMED_CONFIG",
                       "the request needs the repository's configuration as its body");
    if (!is_yaml(call) && js_peek_count(body) > YAML_VALUES_MAX)
        return err_set(err, RC_MALFORMED, "MALFORMED_CONFIG",
                       "a configuration has at most %d values", YAML_VALUES_MAX);
    enum rc rc = is_yaml(call) ? yaml_parse(body.at, body.len, ret_tree, err)
                               : js_parse(body.at, body.len, ret_tree, err);
    struct faults faults = {0};
    if (rc == RC_MALFORMED && faults_of_syntax(&faults, &call->http.arena, err))
        call_faults(call, &faults);
    return rc;
}

static void find_accounts(struct call *call, const struct agent_config *agent, const char *path,
                          struct faults *faults)
{
    struct arena *arena = &call->http.arena;
    for (size_t i = 0; agent->accounts[i] != NULL; i++)
        if (account_configs_find(&call->api->accounts, agent->accounts[i]) == NULL)
            faults_add(faults, arena, arena_printf(arena, "%s.accounts[%zu]", path, i),
                       arena_printf(arena,
                                    "account %s is not in the server's configuration; drover "
                                    "accounts lists those that are",
                                    agent->accounts[i]));
}

/* A run would wait for ever for an account that is misspelt. */
static enum rc check_accounts(struct call *call, const struct repo_layers *layers,
                              struct faults *faults, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct arena *arena = &call->http.arena;
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    enum rc rc = repo_layers_decode(layers, arena, &tree, config, err);
    if (rc != RC_OK)
        return rc;
    find_accounts(call, &config->agent, "agent", faults);
    for (size_t i = 0; i < config->fallback_count; i++)
        find_accounts(call, &config->fallback[i], arena_printf(arena, "agent.fallback[%zu]", i),
                      faults);
    return faults_err(faults, "INVALID_CONFIGURATION", err);
}

/* The document must be valid over the server's defaults: tasks get both merged. */
static enum rc check_document(struct call *call, struct str document, struct err *err)
{
    const struct repo_layers layers = {.platform = call->api->defaults, .repository = document};
    struct faults faults = {0};
    enum rc rc = repo_layers_check(&layers, &call->http.arena, &faults, err);
    if (rc == RC_OK)
        rc = check_accounts(call, &layers, &faults, err);
    if (rc != RC_INVALID)
        return rc;
    if (is_yaml(call))
        faults_locate(&faults, http_body(&call->http));
    call_faults(call, &faults);
    return rc;
}

enum rc api_repository_put(struct call *call, struct err *err)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = read_document(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    cmd->config = str_of(js_text(cmd->base.tree, &cmd->base.arena));
    return check_document(call, cmd->config, err);
}

void api_repository_put_answer(struct call *call, struct command *command)
{
    const struct cmd_repository_put *cmd = (const struct cmd_repository_put *)command;
    struct jw jw = call_answer(call, cmd->created ? 201 : 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->id.text);
    jw_kstr(&jw, "name", cmd->name);
    jw_kint(&jw, "version", cmd->version);
    jw_kraw(&jw, "config", cmd->config);
    jw_end(&jw, '}');
}

enum rc api_repository_remove(struct call *call, struct err *err)
{
    struct cmd_repository_remove *cmd = cmd_repository_remove_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

static enum rc build_quarantine(struct call *call, struct cmd_quarantine *cmd, struct err *err)
{
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_repository_quarantine(struct call *call, struct err *err)
{
    return build_quarantine(call, cmd_quarantine_new(), err);
}

enum rc api_repository_release(struct call *call, struct err *err)
{
    return build_quarantine(call, cmd_quarantine_release_new(), err);
}

void api_repository_answer(struct call *call, struct command *command)
{
    struct jw jw = call_answer(call, 200);
    shape_repository(&jw, &((const struct cmd_quarantine *)command)->row);
}
