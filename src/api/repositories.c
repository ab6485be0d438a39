/*
 * repositories.c - the repositories that are onboarded.
 */
#include "control/admit/repositories.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "base/js_peek.h"
#include "base/yaml.h"
#include "control/run/quarantine.h"
#include "core/config/repo_config.h"
#include "core/config/repo_document.h"
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
    if (text && !*ret_wants && !text_same(text, "false"))
        params_fail(&params, "effective", "effective must be true or false");
    return params_end(&params);
}

static enum rc write_effective(struct call *call, const struct repository_row *repository,
                               struct jw *jw, struct err *err)
{
    const struct repo_layers layers = {.platform = call->api->defaults,
                                       .repository = repository->config};
    return repo_layers_write(&layers, &call->http.arena, jw, err);
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
    struct jw jw = call_answer(call, 200);
    shape_repository_open(&jw, &repository);
    if (effective)
        rc = write_effective(call, &repository, &jw, err);
    jw_end(&jw, '}');
    return rc;
}

enum rc api_repository_list(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct workspace_row workspace;
    struct repository_row *rows = NULL;
    size_t count = 0;
    struct arena *arena = &call->http.arena;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page_by_name(call, &params);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    if (rc == RC_OK)
        rc = repositories_list(db, &workspace.id, page.after, page.limit + 1, arena, &rows, &count,
                               err);
    if (rc != RC_OK)
        return rc;
    size_t shown = page_rows(&page, count);
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < shown; i++)
        shape_repository(&jw, &rows[i]);
    call_list_end(&jw, shown ? call_next_name(call, &page, count, rows[shown - 1].name) : NULL);
    return RC_OK;
}

static bool is_yaml(const struct call *call)
{
    const char *type = http_header(&call->http, "Content-Type");
    return type && strcasestr(type, "yaml");
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

/* The document must be valid over the server's defaults: tasks get both merged. */
static enum rc check_document(struct call *call, struct str document, struct err *err)
{
    const struct repo_layers layers = {.platform = call->api->defaults, .repository = document};
    struct faults faults = {0};
    enum rc rc = repo_layers_check(&layers, &call->http.arena, &faults, err);
    if (rc != RC_INVALID)
        return rc;
    if (is_yaml(call))
        faults_locate(&faults, http_body(&call->http));
    call_faults(call, &faults);
    return rc;
}

enum rc api_repository_put(struct call *call, struct command **ret_command, struct err *err)
{
    struct cmd_repository_put *cmd = cmd_repository_put_new();
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = read_document(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    cmd->config = str_of(js_text(cmd->base.tree, &cmd->base.arena));
    rc = check_document(call, cmd->config, err);
    if (rc != RC_OK)
        return rc;
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
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

enum rc api_repository_remove(struct call *call, struct command **ret_command, struct err *err)
{
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc != RC_OK)
        return rc;
    struct cmd_repository_remove *cmd = cmd_repository_remove_new();
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    *ret_command = &cmd->base;
    return RC_OK;
}

static enum rc build_quarantine(struct call *call, struct cmd_quarantine *cmd,
                                struct command **ret_command, struct err *err)
{
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = call_reason(call, &cmd->base, &cmd->reason, err);
    if (rc != RC_OK)
        return rc;
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
}

static void answer_quarantine(struct call *call, const struct command *command)
{
    struct jw jw = call_answer(call, 200);
    shape_repository(&jw, &((const struct cmd_quarantine *)command)->row);
}

enum rc api_repository_quarantine(struct call *call, struct command **ret_command, struct err *err)
{
    return build_quarantine(call, cmd_quarantine_new(), ret_command, err);
}

void api_repository_quarantine_answer(struct call *call, struct command *command)
{
    answer_quarantine(call, command);
}

enum rc api_repository_release(struct call *call, struct command **ret_command, struct err *err)
{
    return build_quarantine(call, cmd_quarantine_release_new(), ret_command, err);
}

void api_repository_release_answer(struct call *call, struct command *command)
{
    answer_quarantine(call, command);
}
