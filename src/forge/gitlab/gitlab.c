/*
 * gitlab.c - GitLab behind the port: merge requests are its pull requests.
 *
 * Merging is by the project's own method (merge commit, semi-linear, fast-forward).  What became of
 * a merge whose answer was lost is read again: a merge request that is merged at the same head is
 * ours.
 */
#include "forge/gitlab/api.h"
#include "forge/port/checks.h"
#include "forge/port/deliveries.h"
#include "forge/port/issues.h"
#include "forge/port/prs.h"
#include <inttypes.h>
#include <string.h>

enum { FOUND_MAX = 100 };

static const struct host_ops gitlab_host;

/* ---- merge requests ---- */

/* A fast-forward has no commit of its own. */
static const char *merge_commit_of(const struct js *mr, struct arena *arena)
{
    const char *commit = js_get_str(
        mr, "merge_commit_sha", js_get_str(mr, "squash_commit_sha", js_get_str(mr, "sha", NULL)));
    return commit != NULL && git_hash_valid(commit) ? arena_strdup(arena, commit) : NULL;
}

static bool read_pr(const struct js *mr, struct arena *arena, struct host_pr *ret_pr)
{
    const char *state = js_get_str(mr, "state", "");
    struct host_pr pr = {
        .number = js_get_int(mr, "iid", 0),
        .url = host_text(arena, mr, "web_url"),
        .head_branch = host_text(arena, mr, "source_branch"),
        .target_branch = host_text(arena, mr, "target_branch"),
        .body = arena_strdup(arena, js_get_str(mr, "description", "")),
        .open = text_same(state, "opened") || text_same(state, "locked"),
        .merged = text_same(state, "merged"),
        .draft = js_get_bool(mr, "draft", js_get_bool(mr, "work_in_progress", false)),
        .foreign_head = js_get_int(mr, "source_project_id", 0) !=
                        js_get_int(mr, "target_project_id", 0),
    };
    if (pr.number < 1 || pr.url == NULL || pr.head_branch == NULL || pr.target_branch == NULL ||
        !*state)
        return false;
    host_hash(js_get(mr, "sha"), pr.head);
    if (pr.merged)
        pr.merge_commit = merge_commit_of(mr, arena);
    *ret_pr = pr;
    return true;
}

static bool add_pr(void *ctx, const struct js *item)
{
    struct host_prs *prs = ctx;
    struct host_pr pr;
    return !read_pr(item, prs->arena, &pr) || host_prs_add(prs, &pr);
}

static enum rc gitlab_find(struct forge_call *call, const struct host_repo *repo,
                           const char *branch, struct arena *arena, struct host_pr **ret_prs,
                           size_t *ret_count, struct err *err)
{
    const struct host_api api = gitlab_at(call, repo, arena);
    struct host_prs prs;
    host_prs_init(&prs, arena, FOUND_MAX);
    const struct host_list list = {
        .path = host_path(&api,
                          "/merge_requests?source_branch=%s&state=all&order_by=created_at"
                          "&sort=desc&per_page=100",
                          host_escaped(arena, branch)),
        .each = add_pr,
        .ctx = &prs};
    enum rc rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    host_prs_open_first(&prs);
    *ret_prs = prs.items;
    *ret_count = prs.count;
    return RC_OK;
}

static enum rc gitlab_list_open(struct forge_call *call, const struct host_repo *repo,
                                struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                                struct err *err)
{
    const struct host_api api = gitlab_at(call, repo, arena);
    struct host_prs prs;
    host_prs_init(&prs, arena, FORGE_LISTED_MAX);
    const struct host_list list = {
        .path = host_path(&api, "/merge_requests?state=opened&per_page=100"),
        .each = add_pr,
        .ctx = &prs};
    enum rc rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_prs = prs.items;
    *ret_count = prs.count;
    return RC_OK;
}

static const struct host_pr_form form = {.what = "merge request", .read = read_pr};

static enum rc gitlab_get(struct forge_call *call, const struct host_repo *repo, int64_t number,
                          struct arena *arena, struct host_pr *ret_pr, struct err *err)
{
    const struct host_api api = gitlab_at(call, repo, arena);
    return host_pr_send(&api, &form, "GET", host_path(&api, "/merge_requests/%" PRId64, number),
                        NULL, ret_pr, err);
}

static enum rc gitlab_create(struct forge_call *call, const struct host_repo *repo,
                             const struct host_new_pr *pr, struct arena *arena,
                             struct host_pr *ret_pr, struct err *err)
{
    const struct host_api api = gitlab_at(call, repo, arena);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "source_branch", pr->branch);
    jw_kstr(&jw, "target_branch", pr->target_branch);
    jw_kstr(&jw, "title",
            pr->draft ? arena_printf(arena, "Draft: %s", gitlab_ready_title(pr->title))
                      : pr->title);
    jw_kstr(&jw, "description", pr->body);
    jw_kbool(&jw, "remove_source_branch", false);
    host_body_end(&jw);
    return host_pr_send(&api, &form, "POST", host_path(&api, "/merge_requests"), &body, ret_pr,
                        err);
}

static enum rc gitlab_close(struct forge_call *call, const struct host_repo *repo, int64_t number,
                            struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct host_api api = gitlab_at(call, repo, &arena);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "state_event", "close");
    host_body_end(&jw);
    return host_send(&api, "PUT", host_path(&api, "/merge_requests/%" PRId64, number), &body, NULL,
                     err);
}

static enum rc gitlab_merge(struct forge_call *call, const struct host_repo *repo, int64_t number,
                            const char *head, const char *message, char ret_commit[GIT_HASH_BYTES],
                            struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct host_api api = gitlab_at(call, repo, &arena);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "sha", head);
    jw_optstr(&jw, "merge_commit_message", message);
    host_body_end(&jw);
    enum rc rc = host_send(&api, "PUT",
                           host_path(&api, "/merge_requests/%" PRId64 "/merge", number), &body,
                           NULL, err);
    const struct host_merging merging = {.host = &gitlab_host,
                                         .call = call,
                                         .repo = repo,
                                         .number = number,
                                         .head = head,
                                         .what = "Merge request"};
    return host_merge_outcome(&merging, rc, ret_commit, err);
}

static enum rc gitlab_identify(struct forge_call *call, const struct host_repo *repo,
                               struct arena *arena, const char **ret_id, const char **ret_name,
                               struct err *err)
{
    const struct host_api api = gitlab_at(call, repo, arena);
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(&api, api.root, &answer, err);
    if (rc != RC_OK)
        return rc;
    int64_t id = js_get_int(answer.document, "id", 0);
    const char *name = host_text(arena, answer.document, "path_with_namespace");
    if (id < 1 || name == NULL)
        return host_unreadable(&api, "project", err);
    *ret_id = arena_printf(arena, "%" PRId64, id);
    *ret_name = name;
    return RC_OK;
}

static const char *gitlab_pr_address(const struct host_repo *repo, int64_t number,
                                     struct arena *arena)
{
    return arena_printf(arena, "%s/-/merge_requests/%" PRId64, repo->web, number);
}

static const struct host_ops gitlab_host = {
    .place = gitlab_place,
    .find = gitlab_find,
    .get = gitlab_get,
    .create = gitlab_create,
    .close = gitlab_close,
    .merge = gitlab_merge,
    .list_open = gitlab_list_open,
    .identify = gitlab_identify,
    .pr_url = gitlab_pr_address,
};

/* ---- the port ---- */

/* No CAN_LIST_DELIVERIES: its list of a hook's events (17.3) has no times, and only those of seven
   days.  No CAN_APP: its tokens are made by people. */
const struct forge_ops forge_gitlab = {
    .name = "gitlab",
    .can = CAN_DRAFT | CAN_LABEL | CAN_REQUEST_REVIEW | CAN_CHECKS | CAN_PUT_CHECK |
           CAN_RERUN_CHECK | CAN_CHECK_LOG | CAN_REVIEW | CAN_THREADS | CAN_RESOLVE |
           CAN_AUTO_MERGE | CAN_QUEUE | CAN_WEBHOOKS | CAN_DEPENDENCIES,
    HOSTED_OPS,
    .host = &gitlab_host,
    .issues = &issues_gitlab,
    .prs = &prs_gitlab,
    .checks = &checks_gitlab,
    .deliveries = &deliveries_gitlab,
    .people = &people_gitlab,
};
