/*
 * doctor_forge.c - see doctor_forge.h.
 *
 * Of each repository the newest PULLS_MAX pull requests are examined.  Runs continue meanwhile,
 * which does no harm: a forge has a pull request before the database does.
 */
#include "api/doctor_forge.h"
#include "api/call.h"
#include "api/repo_access.h"
#include "base/clock.h"
#include "forge/forges.h"
#include "store/pull_requests.h"
#include "store/workspaces.h"
#include <inttypes.h>

enum {
    REPOSITORIES_PAGE = 100,
    REPOSITORIES_MAX = 1000,
    PULLS_MAX = 1000,
    MERGED_LATELY_DAYS = 7, /* Later a person may have rewritten the branch. */
};

struct examination {
    struct call *call;
    struct db *db;
    struct doctor_check check;
    int64_t repositories;
};

static void found(struct examination *examination, const char *text)
{
    if (examination->check.bad++ == 0)
        examination->check.first = text;
}

static struct forge_known known_of(const struct pull_request_row *row, int64_t now_us)
{
    return (struct forge_known){
        .number = row->number,
        .head = row->head_commit,
        .merge_commit = text_same(row->status, "merged") ? row->merge_commit : NULL,
        .merged_lately = now_us - row->merged_us < MERGED_LATELY_DAYS * 24 * US_PER_HOUR,
        .target_branch = row->target_branch,
        .closed = text_same(row->status, "closed"),
    };
}

static void take_findings(struct examination *examination, const struct repository_row *repository,
                          const struct pull_request_row *rows, size_t count,
                          const struct forge_examined *examined)
{
    struct arena *arena = &examination->call->http.arena;
    for (size_t i = 0; i < count; i++) {
        if (examined->wrong[i] != NULL)
            found(examination,
                  arena_printf(arena, "pull request %" PRId64 " of %s (run %s): %s", rows[i].number,
                               repository->name, rows[i].run_id.text, examined->wrong[i]));
    }
    if (examined->broken != NULL)
        found(examination,
              arena_printf(arena,
                           "repository %s: git says of its pull requests and issues: %s; git fsck "
                           "there names what is damaged: restore it from a clone or a backup",
                           repository->name, examined->broken));
}

static enum rc ask_forge(struct examination *examination, const struct repository_row *repository,
                         const struct pull_request_row *rows, size_t count, struct err *err)
{
    struct arena *arena = &examination->call->http.arena;
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    enum rc rc = repo_access_open_id(examination->call, examination->db, &repository->id,
                                     &repo_access, err);
    if (rc != RC_OK)
        return rc;
    const struct forge_ops *forge = forge_find(repo_access.config->forge);
    if (forge == NULL || forge->examine == NULL)
        return RC_OK;
    struct clock clock = control_clock(examination->call->api->control);
    struct forge_known *known = arena_array(arena, count + 1, sizeof *known);
    for (size_t i = 0; i < count; i++)
        known[i] = known_of(&rows[i], clock_now_us(&clock));
    struct forge_examined examined = {0};
    examination->check.looked_at += (int64_t)count;
    rc = forge->examine(forge, &repo_access.forge, repo_access.config->url, known, count, arena,
                        &examined, err);
    if (rc == RC_OK)
        take_findings(examination, repository, rows, count, &examined);
    return rc;
}

/* No finding: an origin that is unreachable, because it may come back, and one that cannot be read
   but has no pull requests in the database. */
static enum rc examine(struct examination *examination, const struct repository_row *repository,
                       struct err *err)
{
    struct arena *arena = &examination->call->http.arena;
    struct pull_request_filter filter = {.repository = repository->name, .limit = PULLS_MAX};
    struct pull_request_row *rows = NULL;
    size_t count = 0;
    struct err why = {0};
    enum rc rc = pull_requests_list(examination->db, &filter, arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    rc = ask_forge(examination, repository, rows, count, &why);
    if (rc == RC_CANCELLED)
        return err_set(err, rc, why.code, "%s", why.text);
    if (rc != RC_OK && rc != RC_UNREACHABLE && count > 0)
        found(examination,
              arena_printf(arena,
                           "the %zu pull requests of %s cannot be looked at: %s; mount "
                           "or restore the repository, or remove it from drover",
                           count, repository->name, why.text));
    return RC_OK;
}

static enum rc examine_all(struct examination *examination, struct err *err)
{
    struct arena *arena = &examination->call->http.arena;
    struct workspace_row workspace;
    const char *after = NULL;
    size_t count = REPOSITORIES_PAGE;
    enum rc rc = workspaces_by_name(examination->db, WORKSPACE_DEFAULT, arena, &workspace, err);
    while (rc == RC_OK && count == REPOSITORIES_PAGE &&
           examination->repositories < REPOSITORIES_MAX) {
        struct repository_row *rows = NULL;
        rc = repositories_list(examination->db, &workspace.id, after, REPOSITORIES_PAGE, arena,
                               &rows, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            rc = examine(examination, &rows[i], err);
            after = rows[i].name;
            examination->repositories++;
        }
    }
    return rc;
}

enum rc doctor_forge_add(struct call *call, struct db *db, struct doctor_report *report,
                         struct err *err)
{
    struct examination examination = {
        .call = call,
        .db = db,
        .check = {.name = "forge",
                  .title = "The forges have every pull request that was opened or merged"},
    };
    enum rc rc = examine_all(&examination, err);
    if (rc != RC_OK)
        return rc;
    doctor_add(report, &examination.check, &call->http.arena);
    return RC_OK;
}
