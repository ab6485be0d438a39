/*
 * api_reviews.c - what people decide: approvals, and pull requests to merge.
 */
#include "base/clock.h"
#include "control/tasks.h"
#include "core/repo_document.h"
#include "edge/api_routes.h"
#include "edge/shapes.h"
#include "forge/forge.h"

enum { REPOSITORY_NAME_MAX = 200, STATUS_MAX = 40, MERGE_SECONDS_MAX = 60 };

static const char *const approval_statuses[] = {"pending", "approved",  "rejected",
                                                "expired", "cancelled", NULL};
static const char *const pull_request_statuses[] = {"open", "merged", "closed", NULL};

static void read_status(struct params *params, const char *const *names, const char **ret_status)
{
    params_text(params, "status", STATUS_MAX, ret_status);
    if (!*ret_status)
        return;
    for (size_t i = 0; names[i]; i++) {
        if (text_same(names[i], *ret_status))
            return;
    }
    params_fail(params, "status", "%.40s is not a status here", *ret_status);
}

/* ---- Approvals ---- */

enum rc api_approval_list(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct approval_row *rows = NULL;
    size_t count = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page(call, &params);
    struct approval_filter filter = {.before = page.before, .limit = page.limit + 1};
    read_status(&params, approval_statuses, &filter.status);
    params_id(&params, "runId", &filter.run_id);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = approvals_list(db, &filter, &call->http.arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    size_t shown = page_rows(&page, count);
    for (size_t i = 0; i < shown; i++)
        shape_approval(&jw, &rows[i]);
    call_list_end(&jw, shown ? call_next_id(call, &page, count, &rows[shown - 1].id) : NULL);
    return RC_OK;
}

enum rc api_approval_get(struct call *call, struct db *db, struct err *err)
{
    struct id id;
    struct approval_row row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = approvals_get(db, &id, &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_approval(&jw, &row);
    return RC_OK;
}

static enum rc build_decision(struct call *call, bool approve, struct command **ret_command,
                              struct err *err)
{
    struct cmd_decide *cmd = cmd_decide_new();
    CLEANUP(call_command_freep) struct command *owned = &cmd->base;
    cmd->approve = approve;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->approval_id, err);
    if (rc == RC_OK)
        rc = call_reason(call, &cmd->base, &cmd->reason, err);
    if (rc != RC_OK)
        return rc;
    owned = NULL;
    *ret_command = &cmd->base;
    return RC_OK;
}

static void answer_decision(struct call *call, const struct cmd_decide *cmd)
{
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->approval_id.text);
    jw_kstr(&jw, "runId", cmd->run_id.text);
    jw_kstr(&jw, "status", cmd->approve ? "approved" : "rejected");
    jw_end(&jw, '}');
}

enum rc api_approve(struct call *call, struct command **ret_command, struct err *err)
{
    return build_decision(call, true, ret_command, err);
}

void api_approve_answer(struct call *call, struct command *command)
{
    answer_decision(call, (const struct cmd_decide *)command);
}

enum rc api_reject(struct call *call, struct command **ret_command, struct err *err)
{
    return build_decision(call, false, ret_command, err);
}

void api_reject_answer(struct call *call, struct command *command)
{
    answer_decision(call, (const struct cmd_decide *)command);
}

/* ---- Pull requests ---- */

enum rc api_pull_request_list(struct call *call, struct db *db, struct err *err)
{
    struct params params;
    struct pull_request_row *rows = NULL;
    size_t count = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page(call, &params);
    struct pull_request_filter filter = {.before = page.before, .limit = page.limit + 1};
    params_text(&params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    read_status(&params, pull_request_statuses, &filter.status);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = pull_requests_list(db, &filter, &call->http.arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    size_t shown = page_rows(&page, count);
    for (size_t i = 0; i < shown; i++)
        shape_pull_request(&jw, &rows[i]);
    call_list_end(&jw, shown ? call_next_id(call, &page, count, &rows[shown - 1].id) : NULL);
    return RC_OK;
}

static enum rc find_pull_request(struct call *call, struct db *db, struct pull_request_row *ret_row,
                                 struct err *err)
{
    struct id id;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    return rc == RC_OK ? pull_requests_get(db, &id, &call->http.arena, ret_row, err) : rc;
}

enum rc api_pull_request_get(struct call *call, struct db *db, struct err *err)
{
    struct pull_request_row row;
    enum rc rc = find_pull_request(call, db, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_pull_request(&jw, &row);
    return RC_OK;
}

/* The forge merges; a merge that was done before and not recorded is found done. */
static enum rc merge_at_forge(struct call *call, struct db *db, const struct pull_request_row *row,
                              char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct repository_row repository = {.config = {0}};
    CLEANUP(js_freep) struct js *document = NULL;
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    enum rc rc = repositories_get(db, &row->repository_id, arena, &repository, err);
    const struct repo_layers layers = {.platform = call->api->defaults,
                                       .repository = repository.config};
    if (rc == RC_OK)
        rc = repo_layers_decode(&layers, arena, &document, config, err);
    if (rc != RC_OK)
        return rc;
    struct git git = {.home = arena_printf(arena, "%s/work/git", call->api->data_dir),
                      .cancel = &call->api->stopping,
                      .deadline_us = clock_mono_us() + MERGE_SECONDS_MAX * US_PER_SECOND};
    rc = git_home_make(git.home, err);
    if (rc != RC_OK)
        return rc;
    struct forge_merge merge = {.forge = config->forge,
                                .url = config->url,
                                .number = row->number,
                                .expected_head = row->head_commit,
                                .target_branch = row->target_branch,
                                .message = arena_printf(arena, "Merge pull request #%lld: %s",
                                                        (long long)row->number,
                                                        row->title ? row->title : row->branch)};
    return forge_merge(&git, &merge, ret_commit, err);
}

static enum rc record_merge(struct call *call, const struct id *pull_request_id, const char *commit,
                            struct err *err)
{
    struct cmd_merged *cmd = cmd_merged_new();
    cmd->base.actor = auth_actor(&call->who);
    cmd->pull_request_id = *pull_request_id;
    cmd->merge_commit = commit;
    enum rc rc = committer_call(control_committer(call->api->control), &cmd->base);
    if (rc != RC_OK)
        *err = cmd->base.err;
    command_free(&cmd->base);
    return rc;
}

enum rc api_pull_request_merge(struct call *call, struct db *db, struct err *err)
{
    struct pull_request_row row;
    char commit[GIT_HASH_BYTES];
    enum rc rc = call_no_fields(call, err);
    if (rc == RC_OK)
        rc = find_pull_request(call, db, &row, err);
    if (rc != RC_OK)
        return rc;
    if (!text_same(row.status, "open"))
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN", "pull request #%lld is %s",
                       (long long)row.number, row.status);
    rc = merge_at_forge(call, db, &row, commit, err);
    if (rc == RC_OK)
        rc = record_merge(call, &row.id, commit, err);
    if (rc == RC_OK)
        rc = pull_requests_get(db, &row.id, &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_pull_request(&jw, &row);
    return RC_OK;
}
