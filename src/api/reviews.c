/*
 * reviews.c - what people decide: approvals, and pull requests to merge or close.
 */
#include "api/listing.h"
#include "api/repo_access.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "control/admit/decide.h"
#include "forge/forges.h"
#include "store/patches.h"
#include "store/runs.h"
#include "store/shepherds.h"

enum { REPOSITORY_NAME_MAX = 200 };

static const char *const approval_statuses[] = {"pending", "approved",  "rejected",
                                                "expired", "cancelled", NULL};
static const char *const pull_request_statuses[] = {"open", "merged", "closed", NULL};

/* ---- Approvals ---- */

enum rc api_approval_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct approval_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct waiting_filter filter = {
        .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    params_choice(&list.params, "status", approval_statuses, &filter.status);
    params_id(&list.params, "runId", &filter.run_id);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = approvals_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        shape_approval(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
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

static enum rc build_decision(struct call *call, bool approve, struct err *err)
{
    struct cmd_decide *cmd = cmd_decide_new();
    call_own(call, &cmd->base);
    cmd->approve = approve;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &cmd->approval_id, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_approve(struct call *call, struct err *err)
{
    return build_decision(call, true, err);
}

enum rc api_reject(struct call *call, struct err *err)
{
    return build_decision(call, false, err);
}

void api_decision_answer(struct call *call, struct command *command)
{
    const struct cmd_decide *cmd = (const struct cmd_decide *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "id", cmd->approval_id.text);
    jw_kstr(&jw, "runId", cmd->run_id.text);
    jw_kstr(&jw, "status", cmd->approve ? "approved" : "rejected");
    jw_end(&jw, '}');
}

/* ---- Pull requests ---- */

enum rc api_pull_request_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct pull_request_row *rows = NULL;
    listing_open(&list, call, CURSOR_ID, err);
    struct pull_request_filter filter = {
        .before = list.before, .limit = list.query_limit, .scan = &list.scan};
    params_text(&list.params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    params_choice(&list.params, "status", pull_request_statuses, &filter.status);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = pull_requests_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        shape_pull_request(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
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

/* The shepherd first: what it has done to the pull request is there then. */
enum rc api_pull_request_get(struct call *call, struct db *db, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct shepherd_row shepherd;
    struct pull_request_row row;
    struct id id;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc != RC_OK)
        return rc;
    rc = shepherds_get(db, &id, arena, &shepherd, err);
    bool followed = rc == RC_OK;
    if (rc == RC_OK || rc == RC_NOT_FOUND) {
        err_clear(err);
        rc = pull_requests_get(db, &id, arena, &row, err);
    }
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_followed(&jw, &row, followed ? &shepherd : NULL);
    return RC_OK;
}

/* Has a repair, a rebase or a person given it another head than its run has published? */
static enum rc has_moved(struct call *call, struct db *db, const struct pull_request_row *pr,
                         const struct run_row *run, bool *ret_moved, struct err *err)
{
    struct shepherd_row shepherd;
    enum rc rc = shepherds_get(db, &pr->id, &call->http.arena, &shepherd, err);
    *ret_moved = rc == RC_OK && shepherd.certified && shepherd.certificate_sha256 != NULL &&
                 !text_same(shepherd.certificate_sha256, run->certificate_sha256);
    if (rc == RC_NOT_FOUND)
        err_clear(err);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

/* The tree of the base with the run's latest patch applied; NULL: it has none, or was verified with
   another head since. */
static enum rc find_tree(struct call *call, struct db *db, const struct pull_request_row *pr,
                         const char **ret_tree, struct err *err)
{
    struct run_row run;
    struct patch_row patch;
    bool moved = false;
    enum rc rc = runs_get(db, &pr->run_id, &call->http.arena, &run, err);
    if (rc == RC_OK)
        rc = has_moved(call, db, pr, &run, &moved, err);
    if (rc != RC_OK || moved || id_is_none(&run.patch_id))
        return rc;
    rc = patches_get(db, &run.patch_id, &call->http.arena, &patch, err);
    if (rc == RC_OK)
        *ret_tree = patch.tree_hash;
    return rc;
}

/* The forge merges; a merge that was done before and not recorded is found done. */
static enum rc merge_at_forge(struct call *call, struct db *db, const struct pull_request_row *row,
                              char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    const char *tree = NULL;
    enum rc rc = repo_access_open_id(call, db, &row->repository_id, &repo_access, err);
    if (rc == RC_OK)
        rc = find_tree(call, db, row, &tree, err);
    if (rc != RC_OK)
        return rc;
    struct forge_merge merge = {
        .forge = repo_access.config->forge,
        .url = repo_access.config->url,
        .number = row->number,
        .run_id = row->run_id.text,
        .branch = row->branch,
        .expected_head = row->head_commit,
        .expected_tree = tree,
        .target_branch = row->target_branch,
        .message = arena_printf(&call->http.arena, "Merge pull request #%lld: %s",
                                (long long)row->number,
                                row->title != NULL ? row->title : row->branch)};
    return forge_merge(&repo_access.forge, &merge, ret_commit, err);
}

static enum rc find_open(struct call *call, struct db *db, struct pull_request_row *ret_row,
                         struct err *err)
{
    enum rc rc = find_pull_request(call, db, ret_row, err);
    if (rc == RC_OK && !text_same(ret_row->status, "open"))
        return err_set(err, RC_CONFLICT, "PULL_REQUEST_NOT_OPEN", "pull request #%lld is %s",
                       (long long)ret_row->number, ret_row->status);
    return rc;
}

/* Its current state. */
static enum rc answer_pull_request(struct call *call, struct db *db, const struct id *id,
                                   struct err *err)
{
    struct pull_request_row row;
    enum rc rc = pull_requests_get(db, id, &call->http.arena, &row, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_answer(call, 200);
    shape_pull_request(&jw, &row);
    return RC_OK;
}

enum rc api_pull_request_merge(struct call *call, struct db *db, struct err *err)
{
    struct cmd_merged *cmd = cmd_merged_new();
    call_own(call, &cmd->base);
    struct pull_request_row row;
    char commit[GIT_HASH_BYTES];
    enum rc rc = call_no_fields(call, err);
    if (rc == RC_OK)
        rc = find_open(call, db, &row, err);
    if (rc == RC_OK)
        rc = merge_at_forge(call, db, &row, commit, err);
    if (rc != RC_OK)
        return rc;
    cmd->pull_request_id = row.id;
    cmd->merge_commit = commit;
    rc = call_commit(call, err);
    return rc == RC_OK ? answer_pull_request(call, db, &row.id, err) : rc;
}

static enum rc close_at_forge(struct call *call, struct db *db, const struct pull_request_row *row,
                              struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    enum rc rc = repo_access_open_id(call, db, &row->repository_id, &repo_access, err);
    if (rc != RC_OK)
        return rc;
    const struct forge_closing closing = {.forge = repo_access.config->forge,
                                          .url = repo_access.config->url,
                                          .number = row->number,
                                          .run_id = row->run_id.text,
                                          .branch = row->branch,
                                          .target_branch = row->target_branch};
    return forge_close(&repo_access.forge, &closing, err);
}

enum rc api_pull_request_close(struct call *call, struct db *db, struct err *err)
{
    struct cmd_closed *cmd = cmd_closed_new();
    call_own(call, &cmd->base);
    struct pull_request_row row;
    enum rc rc = call_reason(call, &cmd->reason, err);
    if (rc == RC_OK)
        rc = find_open(call, db, &row, err);
    if (rc == RC_OK)
        rc = close_at_forge(call, db, &row, err);
    if (rc != RC_OK)
        return rc;
    cmd->pull_request_id = row.id;
    rc = call_commit(call, err);
    return rc == RC_OK ? answer_pull_request(call, db, &row.id, err) : rc;
}
