#include "api/repo_access.h"
#include "api/call.h"
#include "base/clock.h"
#include "core/config/repo_document.h"
#include "store/workspaces.h"

enum { FORGE_SECONDS_MAX = 60 };

void repo_access_release(struct repo_access *repo_access)
{
    forge_call_release(&repo_access->forge);
    forge_token_wipe(&repo_access->token);
    js_free(repo_access->document);
}

/* Without one where the configuration names none, or the variable is one of the workers'. */
static enum rc get_token(struct repo_access *repo_access, struct err *err)
{
    struct git *git = &repo_access->forge.git;
    enum rc rc = token_source_get(repo_access->config, repo_access->wanted, git,
                                  &repo_access->token, err);
    if (rc == RC_OK && repo_access->token.text[0] != '\0')
        git->credential = repo_access->token.text;
    return rc;
}

static enum rc sit_down(struct call *call, struct repo_access *repo_access, struct err *err)
{
    struct arena *arena = &call->http.arena;
    const struct repo_layers layers = {.platform = call->api->defaults,
                                       .repository = repo_access->repository.config};
    repo_access->config = arena_alloc(arena, sizeof *repo_access->config);
    enum rc rc = repo_layers_decode(&layers, arena, &repo_access->document, repo_access->config,
                                    err);
    if (rc != RC_OK)
        return rc;
    repo_access->forge.git = (struct git){
        .home = arena_printf(arena, "%s/work/git", call->api->data_dir),
        .cancel = &call->api->stopping,
        .deadline_us = clock_mono_us() + FORGE_SECONDS_MAX * US_PER_SECOND};
    repo_access->forge.api = repo_access->config->api;
    rc = git_home_make(repo_access->forge.git.home, err);
    return rc == RC_OK ? get_token(repo_access, err) : rc;
}

enum rc repo_access_open(struct call *call, struct db *db, const char *name,
                         struct repo_access *repo_access, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct workspace_row workspace;
    enum rc rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    if (rc == RC_OK)
        rc = repositories_by_name(db, &workspace.id, name, arena, &repo_access->repository, err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && repo_access->repository.removed))
        return err_set(err, RC_NOT_FOUND, "REPO_NOT_FOUND", "there is no repository %.200s", name);
    return rc == RC_OK ? sit_down(call, repo_access, err) : rc;
}

enum rc repo_access_open_id(struct call *call, struct db *db, const struct id *id,
                            struct repo_access *repo_access, struct err *err)
{
    enum rc rc = repositories_get(db, id, &call->http.arena, &repo_access->repository, err);
    return rc == RC_OK ? sit_down(call, repo_access, err) : rc;
}
