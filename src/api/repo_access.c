#include "api/repo_access.h"
#include "api/call.h"
#include "base/clock.h"
#include "core/config/repo_document.h"
#include "store/workspaces.h"

enum { FORGE_SECONDS_MAX = 60 };

void repo_access_release(struct repo_access *repo_access)
{
    server_forge_close(&repo_access->server_forge);
    forge_call_release(&repo_access->forge);
    js_free(repo_access->document);
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
    rc = git_home_make(repo_access->forge.git.home, err);
    if (rc != RC_OK)
        return rc;
    /* The role of the caller has been checked: what it may do here may write. */
    const struct server_forge_wish wish = {.config = repo_access->config,
                                           .repository = repo_access->repository.name,
                                           .access = ACCESS_WRITE};
    return server_forge_open(&repo_access->server_forge, call->api, &wish, arena,
                             &repo_access->forge, err);
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
