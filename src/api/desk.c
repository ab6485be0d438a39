/*
 * desk.c - see desk.h.
 */
#include "api/desk.h"
#include "api/call.h"
#include "base/clock.h"
#include "core/config/repo_document.h"
#include "store/workspaces.h"

enum { FORGE_SECONDS_MAX = 60 };

void desk_release(struct desk *desk)
{
    js_free(desk->document);
}

static enum rc sit_down(struct call *call, struct desk *desk, struct err *err)
{
    struct arena *arena = &call->http.arena;
    const struct repo_layers layers = {.platform = call->api->defaults,
                                       .repository = desk->repository.config};
    desk->config = arena_alloc(arena, sizeof *desk->config);
    enum rc rc = repo_layers_decode(&layers, arena, &desk->document, desk->config, err);
    if (rc != RC_OK)
        return rc;
    desk->git = (struct git){.home = arena_printf(arena, "%s/work/git", call->api->data_dir),
                             .cancel = &call->api->stopping,
                             .deadline_us = clock_mono_us() + FORGE_SECONDS_MAX * US_PER_SECOND};
    return git_home_make(desk->git.home, err);
}

enum rc desk_open(struct call *call, struct db *db, const char *name, struct desk *desk,
                  struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct workspace_row workspace;
    enum rc rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    if (rc == RC_OK)
        rc = repositories_by_name(db, &workspace.id, name, arena, &desk->repository, err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && desk->repository.removed))
        return err_set(err, RC_NOT_FOUND, "REPO_NOT_FOUND", "there is no repository %.200s", name);
    return rc == RC_OK ? sit_down(call, desk, err) : rc;
}

enum rc desk_open_id(struct call *call, struct db *db, const struct id *id, struct desk *desk,
                     struct err *err)
{
    enum rc rc = repositories_get(db, id, &call->http.arena, &desk->repository, err);
    return rc == RC_OK ? sit_down(call, desk, err) : rc;
}
