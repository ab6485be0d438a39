#include "api/origins.h"
#include "api/forge_gate.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/config/repo_document.h"
#include "forge/forges.h"
#include "store/repositories.h"
#include "store/workspaces.h"

enum {
    PAGE = 200,
    ORIGIN_SECONDS_MAX = 30, /* For one of them. */
    TICK_MS = 1000,
    ROUND_EVERY_MS = 3600 * 1000,
};

/* ---- comparing ---- */

static enum rc survey_one(struct api *api, const struct repository_row *row, struct arena *arena,
                          struct forge_traces *ret_traces, struct err *err)
{
    CLEANUP(js_freep) struct js *document = NULL;
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    const struct repo_layers layers = {.platform = api->defaults, .repository = row->config};
    CLEANUP(server_forge_close) struct server_forge server_forge = {.count = 0};
    CLEANUP(forge_call_release)
    struct forge_call call = {
        .git = {.home = arena_printf(arena, "%s/work/git", api->data_dir),
                .cancel = &api->stopping,
                .deadline_us = clock_mono_us() + ORIGIN_SECONDS_MAX * US_PER_SECOND}};
    enum rc rc = repo_layers_decode(&layers, arena, &document, config, err);
    const struct forge_ops *forge = rc == RC_OK ? forge_find(config->forge) : NULL;
    if (forge == NULL || forge->survey == NULL)
        return rc;
    const struct server_forge_wish wish = {
        .config = config, .repository = row->name, .access = ACCESS_READ};
    rc = git_home_make(call.git.home, err);
    if (rc == RC_OK)
        rc = server_forge_open(&server_forge, api, &wish, arena, &call, err);
    return rc == RC_OK ? forge->survey(forge, &call, config->url, arena, ret_traces, err) : rc;
}

static enum rc examine_one(struct api *api, struct db *db, const struct repository_row *row,
                           struct arena *arena, struct origins_report *report, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    struct forge_traces traces = {.count = 0};
    enum rc rc = survey_one(api, row, &scratch, &traces, err);
    if (rc == RC_CANCELLED)
        return rc;
    if (rc != RC_OK) {
        if (report->away_count++ == 0)
            report->away = arena_strdup(arena, row->name);
        return RC_OK;
    }
    return strays_judge(db, row->name, &traces, arena, &report->strays, err);
}

enum rc origins_examine(struct api *api, struct db *db, struct arena *arena,
                        struct origins_report *ret_report, struct err *err)
{
    struct workspace_row workspace;
    struct origins_report *report = arena_alloc(arena, sizeof *report);
    enum rc rc = workspaces_by_name(db, WORKSPACE_DEFAULT, arena, &workspace, err);
    const char *after = NULL;
    size_t count = PAGE;
    while (rc == RC_OK && count == PAGE) {
        struct arena page = {0};
        struct repository_row *rows = NULL;
        rc = repositories_list(db, &workspace.id, after, PAGE, &page, &rows, &count, err);
        for (size_t i = 0; rc == RC_OK && i < count; i++)
            rc = examine_one(api, db, &rows[i], arena, report, err);
        if (rc == RC_OK && count > 0)
            after = arena_strdup(arena, rows[count - 1].name);
        arena_release(&page);
    }
    if (rc == RC_OK)
        *ret_report = *report;
    return rc;
}

struct doctor_check origins_check(const struct origins_report *report, struct arena *arena)
{
    const struct strays *strays = &report->strays;
    const struct stray *first = strays->count > 0 ? &strays->items[0] : NULL;
    return (struct doctor_check){
        .name = "strays",
        .title = "Every branch and pull request of drover's at an origin is known",
        .looked_at = strays->looked_at,
        .bad = strays->bad,
        .first = first != NULL
                     ? arena_printf(arena, "%s %s: %s", first->repository, first->ref, first->what)
                     : NULL,
    };
}

void origins_write(struct jw *jw, const struct origins_report *report)
{
    const struct strays *strays = &report->strays;
    jw_key(jw, "strays");
    jw_begin(jw, '[');
    for (size_t i = 0; i < strays->count; i++) {
        const struct stray *stray = &strays->items[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "repository", stray->repository);
        jw_kstr(jw, "ref", stray->ref);
        jw_kstr(jw, "head", stray->head);
        jw_kstr(jw, "runId", id_or_null(&stray->run_id));
        jw_kbool(jw, "stale", stray->stale);
        jw_kstr(jw, "what", stray->what);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    jw_key(jw, "originsAway");
    jw_begin(jw, '{');
    jw_kint(jw, "count", report->away_count);
    jw_optstr(jw, "first", report->away);
    jw_end(jw, '}');
}

/* ---- the reconciler ---- */

struct reconciler {
    struct api *api;
    struct event *tick;
    struct pool_work work;
    atomic_bool busy;
    int64_t next_us; /* Of the loop's thread; by clock_mono_us. */
};

static bool same_run_before(const struct strays *strays, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strays->items[i].stale && id_same(&strays->items[i].run_id, &strays->items[at].run_id))
            return true;
    return false;
}

static void take_back(struct api *api, const struct stray *stray)
{
    struct cmd_take_back *cmd = cmd_take_back_new();
    cmd->run_id = stray->run_id;
    cmd->base.actor = (struct actor){"system", "reconciler"};
    enum rc rc = committer_call(control_committer(api->control), &cmd->base);
    if (rc != RC_OK || cmd->begun)
        LOG(LOG_WARN,
            rc == RC_OK ? "an origin shows work of a run that has ended: it is taken back"
                        : "an origin shows work of a run that has ended, and it stays",
            LOG_STR("repository", stray->repository), LOG_STR("ref", stray->ref),
            LOG_STR("runId", stray->run_id.text), LOG_STR("error", cmd->base.err.text));
    command_free(&cmd->base);
}

static void reconcile(struct api *api, struct db *db)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct origins_report *report = arena_alloc(&arena, sizeof *report);
    struct err err = {0};
    enum rc rc = origins_examine(api, db, &arena, report, &err);
    if (rc != RC_OK) {
        if (rc != RC_CANCELLED)
            LOG(LOG_WARN, "cannot compare the origins with the database",
                LOG_STR("error", err.text));
        return;
    }
    const struct strays *strays = &report->strays;
    for (size_t i = 0; i < strays->count; i++) {
        const struct stray *stray = &strays->items[i];
        if (!stray->stale)
            LOG(LOG_WARN, "an origin has what the database does not know",
                LOG_STR("repository", stray->repository), LOG_STR("ref", stray->ref),
                LOG_STR("what", stray->what));
        else if (!same_run_before(strays, i))
            take_back(api, stray);
    }
}

/* On a pool thread. */
static void run_reconcile(struct pool_work *work, struct db *db)
{
    struct reconciler *reconciler = (struct reconciler *)((char *)work -
                                                          offsetof(struct reconciler, work));
    reconcile(reconciler->api, db);
    atomic_store(&reconciler->busy, false);
}

static void on_tick(void *arg)
{
    struct reconciler *reconciler = arg;
    if (clock_mono_us() < reconciler->next_us || atomic_exchange(&reconciler->busy, true))
        return;
    reconciler->work = (struct pool_work){.run = run_reconcile, .class = POOL_SLOW};
    if (pool_post(reconciler->api->pool, &reconciler->work) == RC_OK)
        reconciler->next_us = clock_mono_us() + ROUND_EVERY_MS * US_PER_MS;
    else
        atomic_store(&reconciler->busy, false);
}

struct reconciler *reconciler_start(struct api *api)
{
    struct reconciler *reconciler = mem_alloc(sizeof *reconciler);
    reconciler->api = api;
    reconciler->tick = loop_every(api->loop, TICK_MS, on_tick, reconciler);
    return reconciler;
}

void reconciler_free(struct reconciler *reconciler)
{
    if (reconciler == NULL)
        return;
    loop_event_free(reconciler->tick);
    mem_free(reconciler);
}
