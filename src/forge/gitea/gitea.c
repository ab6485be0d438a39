/*
 * gitea.c - Gitea and Forgejo behind the port.
 *
 * Pull requests cannot be searched by their branch: the open ones are read, and of the closed ones
 * those that changed last. Merging is by the repository's default way. What became of a merge whose
 * answer was lost is read again: a pull request that is merged at the same head is ours.
 *
 * "gitea" is Gitea 1.27 or later; "forgejo" is Forgejo, and any older Gitea: what both have.
 */
#include "forge/gitea/api.h"
#include "forge/port/checks.h"
#include "forge/port/deliveries.h"
#include "forge/port/issues.h"
#include "forge/port/prs.h"
#include <inttypes.h>
#include <string.h>

enum { FOUND_MAX = 100, CLOSED_READ_MAX = 200 };

static const struct host_ops gitea_host;

/* ---- pull requests ---- */

static bool read_pr(const struct js *item, struct arena *arena, struct host_pr *ret_pr)
{
    const struct js *head = js_get(item, "head"), *base = js_get(item, "base");
    const char *state = js_get_str(item, "state", "");
    struct host_pr pr = {
        .number = js_get_int(item, "number", 0),
        .url = host_text(arena, item, "html_url"),
        /* When the branch is gone, "ref" is refs/pull/N/head. */
        .head_branch = arena_strdup(arena,
                                    js_get_str(head, "label", js_get_str(head, "ref", NULL))),
        .target_branch = host_text(arena, base, "ref"),
        .body = arena_strdup(arena, js_get_str(item, "body", "")),
        .open = text_same(state, "open"),
        .merged = js_get_bool(item, "merged", false),
        .draft = js_get_bool(item, "draft", false),
        .foreign_head = js_get_int(head, "repo_id", 0) != js_get_int(base, "repo_id", 0),
    };
    if (pr.number < 1 || pr.url == NULL || pr.head_branch == NULL || pr.target_branch == NULL ||
        !*state)
        return false;
    host_hash(js_get(head, "sha"), pr.head);
    const char *commit = js_get_str(item, "merge_commit_sha", "");
    if (pr.merged && git_hash_valid(commit))
        pr.merge_commit = arena_strdup(arena, commit);
    *ret_pr = pr;
    return true;
}

/* Those of a branch among all that are listed. */
struct search {
    struct host_prs found;
    const char *branch; /* NULL: any */
    size_t left;        /* How many are still read. */
};

static bool add_pr(void *ctx, const struct js *item)
{
    struct search *search = ctx;
    struct host_pr pr;
    if (search->left == 0)
        return false;
    search->left--;
    if (!read_pr(item, search->found.arena, &pr) ||
        (search->branch != NULL && !text_same(pr.head_branch, search->branch)))
        return true;
    return host_prs_add(&search->found, &pr);
}

static enum rc search_in(const struct host_api *api, const char *query, size_t max,
                         struct search *search, struct err *err)
{
    const struct host_list list = {
        .path = host_path(api, "/pulls?%s&limit=50", query), .each = add_pr, .ctx = search};
    search->left = max;
    return host_pages(api, &list, NULL, err);
}

static enum rc gitea_find(struct forge_call *call, const struct host_repo *repo, const char *branch,
                          struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                          struct err *err)
{
    const struct host_api api = gitea_at(call, repo, arena);
    struct search search = {.branch = branch};
    host_prs_init(&search.found, arena, FOUND_MAX);
    enum rc rc = search_in(&api, "state=open&sort=recentupdate", FORGE_LISTED_MAX, &search, err);
    if (rc == RC_OK)
        rc = search_in(&api, "state=closed&sort=recentupdate", CLOSED_READ_MAX, &search, err);
    if (rc != RC_OK)
        return rc;
    *ret_prs = search.found.items;
    *ret_count = search.found.count;
    return RC_OK;
}

static enum rc gitea_list_open(struct forge_call *call, const struct host_repo *repo,
                               struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                               struct err *err)
{
    const struct host_api api = gitea_at(call, repo, arena);
    struct search search = {.branch = NULL};
    host_prs_init(&search.found, arena, FORGE_LISTED_MAX);
    enum rc rc = search_in(&api, "state=open", FORGE_LISTED_MAX, &search, err);
    if (rc != RC_OK)
        return rc;
    *ret_prs = search.found.items;
    *ret_count = search.found.count;
    return RC_OK;
}

static const struct host_pr_form form = {.what = "pull request", .read = read_pr};

static enum rc gitea_get(struct forge_call *call, const struct host_repo *repo, int64_t number,
                         struct arena *arena, struct host_pr *ret_pr, struct err *err)
{
    const struct host_api api = gitea_at(call, repo, arena);
    return host_pr_send(&api, &form, "GET", host_path(&api, "/pulls/%" PRId64, number), NULL,
                        ret_pr, err);
}

static enum rc gitea_create(struct forge_call *call, const struct host_repo *repo,
                            const struct host_new_pr *pr, struct arena *arena,
                            struct host_pr *ret_pr, struct err *err)
{
    const struct host_api api = gitea_at(call, repo, arena);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "head", pr->branch);
    jw_kstr(&jw, "base", pr->target_branch);
    jw_kstr(&jw, "title",
            pr->draft ? arena_printf(arena, "WIP: %s", gitea_ready_title(pr->title)) : pr->title);
    jw_kstr(&jw, "body", pr->body);
    host_body_end(&jw);
    return host_pr_send(&api, &form, "POST", host_path(&api, "/pulls"), &body, ret_pr, err);
}

static enum rc gitea_close(struct forge_call *call, const struct host_repo *repo, int64_t number,
                           struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct host_api api = gitea_at(call, repo, &arena);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "state", "closed");
    host_body_end(&jw);
    return host_send(&api, "PATCH", host_path(&api, "/pulls/%" PRId64, number), &body, NULL, err);
}

/* ---- merging ---- */

static enum rc merge_style(const struct host_api *api, const char **ret_style, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(api, api->root, &answer, err);
    if (rc == RC_OK)
        *ret_style = arena_strdup(api->arena,
                                  js_get_str(answer.document, "default_merge_style", "merge"));
    return rc;
}

/* Names of the members of a message: Gitea has changed them in 1.26. */
struct message_names {
    const char *title, *rest;
};
static const struct message_names gitea_names = {"merge_title_field", "merge_message_field"};
static const struct message_names forgejo_names = {"MergeTitleField", "MergeMessageField"};

/* A merge of one head. */
struct merging {
    const struct message_names *names;
    const char *head, *message;
};

static void write_merge(struct jw *jw, const char *style, const struct merging *merging)
{
    const char *message = merging->message;
    jw_kstr(jw, "do", style);
    jw_kstr(jw, "head_commit_id", merging->head);
    jw_kbool(jw, "delete_branch_after_merge", false);
    if (text_empty(message))
        return;
    size_t title = strcspn(message, "\n");
    jw_key(jw, merging->names->title);
    jw_strn(jw, message, title);
    jw_optstr(jw, merging->names->rest, message + title + strspn(message + title, "\n"));
}

static enum rc merge_pr(struct forge_call *call, const struct host_repo *repo, int64_t number,
                        const struct merging *merging, char ret_commit[GIT_HASH_BYTES],
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct host_api api = gitea_at(call, repo, &arena);
    CLEANUP(buf_release) struct buf body;
    const char *style = NULL;
    struct jw jw = host_body(&body);
    enum rc rc = merge_style(&api, &style, err);
    if (rc != RC_OK)
        return rc;
    write_merge(&jw, style, merging);
    host_body_end(&jw);
    rc = host_send(&api, "POST", host_path(&api, "/pulls/%" PRId64 "/merge", number), &body, NULL,
                   err);
    const struct host_merging merge = {.host = &gitea_host,
                                       .call = call,
                                       .repo = repo,
                                       .number = number,
                                       .head = merging->head,
                                       .what = "Pull request"};
    return host_merge_outcome(&merge, rc, ret_commit, err);
}

static enum rc gitea_merge(struct forge_call *call, const struct host_repo *repo, int64_t number,
                           const char *head, const char *message, char ret_commit[GIT_HASH_BYTES],
                           struct err *err)
{
    const struct merging merging = {.names = &gitea_names, .head = head, .message = message};
    return merge_pr(call, repo, number, &merging, ret_commit, err);
}

static enum rc forgejo_merge(struct forge_call *call, const struct host_repo *repo, int64_t number,
                             const char *head, const char *message, char ret_commit[GIT_HASH_BYTES],
                             struct err *err)
{
    const struct merging merging = {.names = &forgejo_names, .head = head, .message = message};
    return merge_pr(call, repo, number, &merging, ret_commit, err);
}

static enum rc gitea_identify(struct forge_call *call, const struct host_repo *repo,
                              struct arena *arena, const char **ret_id, const char **ret_name,
                              struct err *err)
{
    const struct host_api api = gitea_at(call, repo, arena);
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(&api, api.root, &answer, err);
    if (rc != RC_OK)
        return rc;
    int64_t id = js_get_int(answer.document, "id", 0);
    const char *name = host_text(arena, answer.document, "full_name");
    if (id < 1 || name == NULL)
        return host_unreadable(&api, "repository", err);
    *ret_id = arena_printf(arena, "%" PRId64, id);
    *ret_name = name;
    return RC_OK;
}

static const char *gitea_pr_address(const struct host_repo *repo, int64_t number,
                                    struct arena *arena)
{
    return arena_printf(arena, "%s/pulls/%" PRId64, repo->web, number);
}

static const struct host_ops gitea_host = {
    .place = gitea_place,
    .find = gitea_find,
    .get = gitea_get,
    .create = gitea_create,
    .close = gitea_close,
    .merge = gitea_merge,
    .list_open = gitea_list_open,
    .identify = gitea_identify,
    .pr_url = gitea_pr_address,
};

static const struct host_ops forgejo_host = {
    .place = gitea_place,
    .find = gitea_find,
    .get = gitea_get,
    .create = gitea_create,
    .close = gitea_close,
    .merge = forgejo_merge,
    .list_open = gitea_list_open,
    .identify = gitea_identify,
    .pr_url = gitea_pr_address,
};

/* ---- the port ---- */

/* What both have.  No CAN_AUTO_MERGE: a merge that was scheduled is not bound to a head, and merges
   what is pushed later.  No CAN_QUEUE, CAN_LIST_DELIVERIES, CAN_APP: there are none. */
#define CAN_COMMON                                                                          \
    (CAN_DRAFT | CAN_LABEL | CAN_REQUEST_REVIEW | CAN_CHECKS | CAN_PUT_CHECK | CAN_REVIEW | \
     CAN_THREADS | CAN_WEBHOOKS | CAN_DEPENDENCIES)

const struct forge_ops forge_gitea = {
    .name = "gitea",
    .can = CAN_COMMON | CAN_RERUN_CHECK | CAN_CHECK_LOG | CAN_RESOLVE,
    HOSTED_OPS,
    .host = &gitea_host,
    .issues = &issues_gitea,
    .prs = &prs_gitea,
    .checks = &checks_gitea,
    .deliveries = &deliveries_gitea,
    .people = &people_gitea,
};

const struct forge_ops forge_forgejo = {
    .name = "forgejo",
    .can = CAN_COMMON,
    HOSTED_OPS,
    .host = &forgejo_host,
    .issues = &issues_gitea,
    .prs = &prs_forgejo,
    .checks = &checks_forgejo,
    .deliveries = &deliveries_gitea,
    .people = &people_gitea,
};
