/*
 * github.c - GitHub behind the port.
 */
#include "base/jw.h"
#include "forge/github/api.h"
#include "net/url.h"
#include <inttypes.h>
#include <string.h>

enum { BODY_BYTES_MAX = 512 * 1024, PATH_BYTES_MAX = 4096 };

/* ---- reading ---- */

static bool read_pr(const struct github *gh, const struct js *item, struct host_pr *ret_pr)
{
    struct arena *arena = gh->arena;
    const struct js *head = js_get(item, "head"), *base = js_get(item, "base");
    const char *commit = js_get_str(head, "sha", "");
    const char *from = js_str(js_path(head, "repo.full_name"), NULL);
    const char *to = js_str(js_path(base, "repo.full_name"), NULL);
    bool merged = js_get_str(item, "merged_at", NULL) != NULL || js_get_bool(item, "merged", false);
    struct host_pr pr = {
        .number = js_get_int(item, "number", 0),
        .url = github_text(item, "html_url", "", arena),
        .head_branch = github_text(head, "ref", "", arena),
        .target_branch = github_text(base, "ref", "", arena),
        .body = github_text(item, "body", "", arena),
        .merge_commit = merged ? github_text(item, "merge_commit_sha", NULL, arena) : NULL,
        .open = text_same(js_get_str(item, "state", ""), "open"),
        .merged = merged,
        .draft = js_get_bool(item, "draft", false),
        .foreign_head = from == NULL || to == NULL || strcasecmp(from, to) != 0,
    };
    if (pr.number < 1 || !git_hash_valid(commit))
        return false;
    text_copy(pr.head, sizeof pr.head, commit);
    *ret_pr = pr;
    return true;
}

static enum rc take_pr(const struct github *gh, const struct js *item, struct host_pr *ret_pr)
{
    if (!read_pr(gh, item, ret_pr))
        return err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER",
                       "GitHub answers with no pull request");
    return RC_OK;
}

/* ---- lists ---- */

struct found {
    const struct github *gh;
    struct host_pr *prs;
    size_t count, max;
    bool corrupt;
};

static bool take_listed(void *ctx, const struct js *item)
{
    struct found *found = ctx;
    if (found->count == found->max)
        return false;
    found->corrupt = !read_pr(found->gh, item, &found->prs[found->count]);
    found->count += !found->corrupt;
    return !found->corrupt;
}

static enum rc list_prs(const struct github *gh, const char *path, struct found *found)
{
    const struct rest_request request = github_request(gh, "GET", path);
    enum rc rc = rest_pages(gh->call, &request, gh->arena, take_listed, found, NULL, gh->err);
    if (rc == RC_OK && found->corrupt)
        rc = err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER",
                     "GitHub lists what is no pull request");
    return rc;
}

static enum rc find_of(const struct github *gh, const char *owner, const char *branch,
                       struct found *found)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/pulls?state=all&sort=created&direction=desc&per_page=100&head=");
    url_add_escaped(&path, owner);
    buf_adds(&path, "%3A");
    url_add_escaped(&path, branch);
    if (path.overflow)
        return err_set(gh->err, RC_INVALID, "INVALID_FIELD", "the name of the branch is too long");
    return list_prs(gh, buf_text(&path), found);
}

static enum rc identify(struct forge_call *call, const struct host_repo *repo, struct arena *arena,
                        const char **ret_id, const char **ret_name, struct err *err)
{
    const struct github gh = {.call = call, .repo = *repo, .arena = arena, .err = err};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    const struct rest_request request = github_request(&gh, "GET", "");
    enum rc rc = github_send(&gh, &request, &answer);
    if (rc != RC_OK)
        return rc;
    int64_t id = js_get_int(answer.document, "id", 0);
    const char *name = github_text(answer.document, "full_name", NULL, arena);
    if (id < 1 || name == NULL || strchr(name, '/') == NULL)
        return err_set(err, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub answers with no repository");
    *ret_id = arena_printf(arena, "%" PRId64, id);
    *ret_name = name;
    return RC_OK;
}

/* GitHub filters by "OWNER:BRANCH" and knows a moved repository's new owner only, though it answers
   under the old name. */
static enum rc find_moved(const struct github *gh, const char *branch, struct found *found)
{
    const char *id = NULL, *name = NULL;
    enum rc rc = identify(gh->call, &gh->repo, gh->arena, &id, &name, gh->err);
    if (rc != RC_OK)
        return rc;
    const char *owner = arena_strndup(gh->arena, name, strcspn(name, "/"));
    bool same = strcasecmp(owner, github_owner(gh)) == 0;
    return same ? RC_OK : find_of(gh, owner, branch, found);
}

static void open_first(struct found *found)
{
    size_t at = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (!found->prs[i].open)
            continue;
        struct host_pr open = found->prs[i];
        memmove(&found->prs[at + 1], &found->prs[at], (i - at) * sizeof open);
        found->prs[at++] = open;
    }
}

static enum rc find(struct forge_call *call, const struct host_repo *repo, const char *branch,
                    struct arena *arena, struct host_pr **ret_prs, size_t *ret_count,
                    struct err *err)
{
    const struct github gh = {.call = call, .repo = *repo, .arena = arena, .err = err};
    struct found found = {
        .gh = &gh, .prs = arena_array(arena, 100, sizeof(struct host_pr)), .max = 100};
    enum rc rc = find_of(&gh, github_owner(&gh), branch, &found);
    if (rc == RC_OK && found.count == 0)
        rc = find_moved(&gh, branch, &found);
    if (rc != RC_OK)
        return rc;
    open_first(&found);
    *ret_prs = found.prs;
    *ret_count = found.count;
    return RC_OK;
}

static enum rc list_open(struct forge_call *call, const struct host_repo *repo, struct arena *arena,
                         struct host_pr **ret_prs, size_t *ret_count, struct err *err)
{
    const struct github gh = {.call = call, .repo = *repo, .arena = arena, .err = err};
    struct found found = {.gh = &gh,
                          .prs = arena_array(arena, FORGE_LISTED_MAX, sizeof(struct host_pr)),
                          .max = FORGE_LISTED_MAX};
    enum rc rc = list_prs(&gh, "/pulls?state=open&sort=created&direction=asc&per_page=100", &found);
    if (rc != RC_OK)
        return rc;
    *ret_prs = found.prs;
    *ret_count = found.count;
    return RC_OK;
}

/* ---- one ---- */

static enum rc get(struct forge_call *call, const struct host_repo *repo, int64_t number,
                   struct arena *arena, struct host_pr *ret_pr, struct err *err)
{
    const struct github gh = {.call = call, .repo = *repo, .arena = arena, .err = err};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    const struct rest_request request = github_request(
        &gh, "GET", arena_printf(arena, "/pulls/%" PRId64, number));
    enum rc rc = github_send(&gh, &request, &answer);
    return rc == RC_OK ? take_pr(&gh, answer.document, ret_pr) : rc;
}

static enum rc post_pr(const struct github *gh, const struct host_new_pr *pr, bool draft,
                       struct host_pr *ret_pr)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "title", pr->title);
    jw_kstr(&jw, "head", pr->branch);
    jw_kstr(&jw, "base", pr->target_branch);
    jw_kstr(&jw, "body", pr->body);
    jw_kbool(&jw, "draft", draft);
    jw_end(&jw, '}');
    struct rest_request request = github_request(gh, "POST", "/pulls");
    request.body = buf_str(&body);
    enum rc rc = github_send(gh, &request, &answer);
    return rc == RC_OK ? take_pr(gh, answer.document, ret_pr) : rc;
}

/* The words of a refusal. */
static bool says(enum rc rc, const struct err *err, const char *words)
{
    return rc == RC_INVALID && strcasestr(err->text, words) != NULL;
}

static enum rc create(struct forge_call *call, const struct host_repo *repo,
                      const struct host_new_pr *pr, struct arena *arena, struct host_pr *ret_pr,
                      struct err *err)
{
    struct err own = {0};
    const struct github gh = {.call = call, .repo = *repo, .arena = arena, .err = &own};
    enum rc rc = post_pr(&gh, pr, pr->draft, ret_pr);
    if (pr->draft && says(rc, &own, "draft pull requests are not supported"))
        rc = post_pr(&gh, pr, false, ret_pr); /* Not part of every plan of GitHub. */
    if (says(rc, &own, "already exists"))
        rc = RC_CONFLICT;
    if (rc != RC_OK && err != NULL)
        *err = own;
    return rc;
}

static enum rc close_pr(struct forge_call *call, const struct host_repo *repo, int64_t number,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct github gh = {.call = call, .repo = *repo, .arena = &arena, .err = err};
    struct rest_request request = github_request(&gh, "PATCH",
                                                 arena_printf(&arena, "/pulls/%" PRId64, number));
    request.body = STR("{\"state\":\"closed\"}");
    return github_do(&gh, &request);
}

/* ---- merging ---- */

static void write_merge(struct jw *jw, const char *head, const char *message, const char *way,
                        struct arena *arena)
{
    const char *line_end = strchrnul(message, '\n');
    const char *rest = line_end + strspn(line_end, "\n");
    jw_begin(jw, '{');
    jw_kstr(jw, "sha", head);
    jw_kstr(jw, "merge_method", way);
    jw_kstr(jw, "commit_title", arena_strndup(arena, message, (size_t)(line_end - message)));
    jw_kstr(jw, "commit_message", rest);
    jw_end(jw, '}');
}

static enum rc put_merge(const struct github *gh, int64_t number, struct str body,
                         const char **ret_commit)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct rest_request request = github_request(
        gh, "PUT", arena_printf(gh->arena, "/pulls/%" PRId64 "/merge", number));
    request.body = body;
    enum rc rc = github_send(gh, &request, &answer);
    if (rc == RC_OK)
        *ret_commit = github_text(answer.document, "sha", "", gh->arena);
    return rc;
}

/* It may be merged all the same: by a try whose answer was lost, or by a person. */
static enum rc merged_anyway(const struct github *gh, int64_t number, const char *head,
                             const char **ret_commit)
{
    struct host_pr pr;
    struct err ignored = {0};
    struct github quiet = *gh;
    quiet.err = &ignored;
    enum rc rc = get(quiet.call, &quiet.repo, number, quiet.arena, &pr, quiet.err);
    if (rc != RC_OK || !pr.merged || !text_same(pr.head, head) || pr.merge_commit == NULL)
        return RC_CONFLICT;
    *ret_commit = pr.merge_commit;
    return RC_OK;
}

static enum rc merge(struct forge_call *call, const struct host_repo *repo, int64_t number,
                     const char *head, const char *message, char ret_commit[GIT_HASH_BYTES],
                     struct err *err)
{
    static const char *const ways[] = {"merge", "squash", "rebase"};
    CLEANUP(arena_release) struct arena arena = {0};
    struct err own = {0};
    const struct github gh = {.call = call, .repo = *repo, .arena = &arena, .err = &own};
    const char *commit = "";
    enum rc rc = RC_CONFLICT;
    bool forbidden = true; /* The repository does not allow this way. */
    for (size_t i = 0; i < COUNT_OF(ways) && rc == RC_CONFLICT && forbidden; i++) {
        CLEANUP(buf_release) struct buf body;
        buf_init(&body, BODY_BYTES_MAX);
        struct jw jw = jw_to(&body);
        write_merge(&jw, head, message, ways[i], &arena);
        rc = put_merge(&gh, number, buf_str(&body), &commit);
        forbidden = rc == RC_CONFLICT && strstr(own.text, "not allowed on this repository") != NULL;
    }
    if (rc == RC_CONFLICT)
        rc = merged_anyway(&gh, number, head, &commit);
    if (rc == RC_OK && !git_hash_valid(commit))
        rc = err_set(&own, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub merged without a commit");
    if (rc == RC_OK)
        text_copy(ret_commit, GIT_HASH_BYTES, commit);
    else if (err != NULL)
        *err = own;
    return rc;
}

static const char *pr_url(const struct host_repo *repo, int64_t number, struct arena *arena)
{
    return arena_printf(arena, "%s/pull/%" PRId64, repo->web, number);
}

const struct host_ops host_github = {
    .place = github_place,
    .find = find,
    .get = get,
    .create = create,
    .close = close_pr,
    .merge = merge,
    .list_open = list_open,
    .identify = identify,
    .pr_url = pr_url,
};

/* ---- the port ---- */

const struct forge_ops forge_github = {
    .name = "github",
    .can = CAN_DRAFT | CAN_LABEL | CAN_REQUEST_REVIEW | CAN_CHECKS | CAN_PUT_CHECK |
           CAN_RERUN_CHECK | CAN_CHECK_LOG | CAN_REVIEW | CAN_THREADS | CAN_RESOLVE |
           CAN_AUTO_MERGE | CAN_QUEUE | CAN_WEBHOOKS | CAN_LIST_DELIVERIES | CAN_DEPENDENCIES |
           CAN_APP,
    .takes_snapshots = false, /* Unpublished work is not for all who may read the repository. */
    HOSTED_OPS,
    .host = &host_github,
    .issues = &issues_github,
    .prs = &prs_github,
    .checks = &checks_github,
    .deliveries = &deliveries_github,
    .people = &people_github,
};
