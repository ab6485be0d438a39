/*
 * defaults_check.c - see defaults_check.h.  Repositories are read page by page.
 */
#include "api/defaults_check.h"
#include "base/log.h"
#include "core/config/repo_document.h"
#include "store/repositories.h"
#include "store/workspaces.h"

enum { PAGE_ROWS = 100 };

static void check_one(const struct repository_row *row, struct str defaults, struct arena *arena)
{
    struct err err = {0};
    struct faults faults = {0};
    const struct repo_layers layers = {.platform = defaults, .repository = row->config};
    if (repo_layers_check(&layers, arena, &faults, &err) != RC_OK)
        LOG(LOG_WARN, "the defaults do not go with a repository: it takes no tasks",
            LOG_STR("repository", row->name), LOG_STR("error", err.text));
}

static enum rc check_all(struct db *db, struct str defaults, struct err *err)
{
    CLEANUP(arena_release) struct arena names = {0};
    struct workspace_row workspace;
    const char *after = NULL;
    size_t count = PAGE_ROWS;
    enum rc rc = workspaces_by_name(db, WORKSPACE_DEFAULT, &names, &workspace, err);
    while (rc == RC_OK && count == PAGE_ROWS) {
        CLEANUP(arena_release) struct arena page = {0};
        struct repository_row *rows = NULL;
        rc = repositories_list(db, &workspace.id, after, PAGE_ROWS, &page, &rows, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++)
            check_one(&rows[i], defaults, &page);
        if (rc == RC_OK && count > 0)
            after = arena_strdup(&names, rows[count - 1].name);
    }
    return rc;
}

enum rc defaults_check(struct store *store, struct str defaults, struct err *err)
{
    if (defaults.len == 0)
        return RC_OK;
    struct db *db = NULL;
    enum rc rc = store_reader_open(store, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = check_all(db, defaults, err);
    store_reader_close(store, db);
    return rc;
}
