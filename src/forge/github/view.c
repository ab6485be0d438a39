/*
 * view.c - see prs_github_view.h.
 *
 * REST would take a call each for the pull request, its reviews, its comments, its check runs, its
 * statuses and the rules of the branch, and has no threads at all.  The query asks for a page of
 * reviews, threads and checks at once; while one of them has more it is sent again with the cursors
 * of all three.
 *
 * GitHub answers with what a token may read, and errors beside it: a token without the permission
 * for checks sees a pull request that has none.  A view that lacks something of one of the lists,
 * or whose pages are of two heads, is therefore one that was cut.
 */
#include "forge/github/view.h"
#include "base/jw.h"
#include "forge/github/api.h"
#include "forge/github/checks.h"
#include <inttypes.h>
#include <string.h>

enum { ROUNDS_MAX = 5, LABELS_MAX = 100, VARIABLES_MAX = 8 * 1024 };

static const char view_query[] =
    "query PullRequestView($owner: String!, $name: String!, $number: Int!, $reviews: String,"
    " $threads: String, $checks: String) {\n"
    "  repository(owner: $owner, name: $name) {\n"
    "    pullRequest(number: $number) {\n"
    "      number url title state isDraft headRefOid headRefName baseRefOid baseRefName\n"
    "      mergeable mergeStateStatus isInMergeQueue updatedAt\n"
    "      author { login }\n"
    "      mergeCommit { oid }\n"
    "      autoMergeRequest { enabledAt }\n"
    "      labels(first: 100) { nodes { name } }\n"
    "      reviews(first: 100, after: $reviews) {\n"
    "        pageInfo { hasNextPage endCursor }\n"
    "        nodes { id state body submittedAt authorAssociation author { login } commit { oid } "
    "}\n"
    "      }\n"
    "      reviewThreads(first: 50, after: $threads) {\n"
    "        pageInfo { hasNextPage endCursor }\n"
    "        nodes {\n"
    "          id path line originalLine isResolved isOutdated\n"
    "          comments(first: 50) {\n"
    "            pageInfo { hasNextPage }\n"
    "            nodes { id body createdAt authorAssociation author { login } }\n"
    "          }\n"
    "        }\n"
    "      }\n"
    "      commits(last: 1) {\n"
    "        nodes {\n"
    "          commit {\n"
    "            statusCheckRollup {\n"
    "              contexts(first: 100, after: $checks) {\n"
    "                pageInfo { hasNextPage endCursor }\n"
    "                nodes {\n"
    "                  __typename\n"
    "                  ... on CheckRun {\n"
    "                    databaseId name status conclusion externalId detailsUrl url title "
    "summary\n"
    "                    startedAt completedAt isRequired(pullRequestNumber: $number)\n"
    "                    checkSuite { app { slug } }\n"
    "                  }\n"
    "                  ... on StatusContext {\n"
    "                    context state description targetUrl createdAt\n"
    "                    isRequired(pullRequestNumber: $number)\n"
    "                  }\n"
    "                }\n"
    "              }\n"
    "            }\n"
    "          }\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

/* One list that comes in pages. */
struct list {
    const char *cursor; /* Where the next page begins; NULL: at the start. */
    bool more;
};

struct reading {
    struct github gh;
    int64_t number;
    struct list reviews, threads, checks;
    struct pr_view view;
};

/* ---- the parts ---- */

static enum pr_state state_of(const char *name)
{
    if (text_same(name, "MERGED"))
        return PR_MERGED;
    return text_same(name, "CLOSED") ? PR_CLOSED : PR_OPEN;
}

static enum pr_mergeable mergeable_of(const struct js *pr)
{
    static const struct {
        const char *name;
        enum pr_mergeable mergeable;
    } table[] = {
        {"BEHIND", MERGE_BEHIND},  {"BLOCKED", MERGE_BLOCKED}, {"CLEAN", MERGE_CLEAN},
        {"DIRTY", MERGE_CONFLICT}, {"DRAFT", MERGE_BLOCKED},   {"HAS_HOOKS", MERGE_CLEAN},
        {"UNSTABLE", MERGE_CLEAN},
    };
    const char *state = js_get_str(pr, "mergeStateStatus", "");
    const char *mergeable = js_get_str(pr, "mergeable", "");
    if (text_same(mergeable, "CONFLICTING"))
        return MERGE_CONFLICT;
    if (text_same(mergeable, "UNKNOWN"))
        return MERGE_UNKNOWN;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (text_same(state, table[i].name))
            return table[i].mergeable;
    }
    return MERGE_UNKNOWN;
}

static const char **labels_of(const struct js *pr, struct arena *arena)
{
    const struct js *nodes = js_path(pr, "labels.nodes");
    size_t count = js_count(nodes) < LABELS_MAX ? js_count(nodes) : LABELS_MAX, used = 0;
    const char **labels = arena_array(arena, count + 1, sizeof *labels);
    for (size_t i = 0; i < count; i++) {
        const char *name = github_text(js_at(nodes, i), "name", NULL, arena);
        if (name != NULL)
            labels[used++] = name;
    }
    return labels;
}

static void read_head(struct reading *reading, const struct js *pr)
{
    struct arena *arena = reading->gh.arena;
    struct pr_view *view = &reading->view;
    view->number = js_get_int(pr, "number", reading->number);
    view->url = github_text(pr, "url", "", arena);
    view->title = github_text(pr, "title", "", arena);
    view->author = github_login(js_get(pr, "author"), arena);
    view->state = state_of(js_get_str(pr, "state", ""));
    view->draft = js_get_bool(pr, "isDraft", false);
    view->head = github_text(pr, "headRefOid", "", arena);
    view->head_branch = github_text(pr, "headRefName", "", arena);
    view->base = github_text(pr, "baseRefOid", "", arena);
    view->target_branch = github_text(pr, "baseRefName", "", arena);
    if (view->state == PR_MERGED)
        view->merge_commit = github_text(js_get(pr, "mergeCommit"), "oid", NULL, arena);
    view->mergeable = mergeable_of(pr);
    view->auto_merge = js_type(js_get(pr, "autoMergeRequest")) == JS_OBJECT;
    view->queued = js_get_bool(pr, "isInMergeQueue", false);
    view->labels = labels_of(pr, arena);
    view->updated_us = github_time(pr, "updatedAt");
}

/* A dismissed review counts no more: what was said in it stays. */
static enum review_verdict verdict_of(const char *state)
{
    if (text_same(state, "APPROVED"))
        return REVIEW_APPROVED;
    if (text_same(state, "CHANGES_REQUESTED"))
        return REVIEW_CHANGES_REQUESTED;
    return text_same(state, "PENDING") ? REVIEW_PENDING : REVIEW_COMMENTED;
}

static void read_review(struct reading *reading, const struct js *node)
{
    struct arena *arena = reading->gh.arena;
    reading->view.reviews[reading->view.review_count++] = (struct review_view){
        .id = github_text(node, "id", "", arena),
        .author = github_login(js_get(node, "author"), arena),
        .association = github_text(node, "authorAssociation", "NONE", arena),
        .verdict = verdict_of(js_get_str(node, "state", "")),
        .commit = github_text(js_get(node, "commit"), "oid", "", arena),
        .body = github_text(node, "body", "", arena),
        .submitted_us = github_time(node, "submittedAt"),
    };
}

static void read_thread(struct reading *reading, const struct js *node)
{
    struct arena *arena = reading->gh.arena;
    const struct js *comments = js_path(node, "comments.nodes");
    size_t count = js_count(comments) < PR_THREAD_COMMENTS_MAX ? js_count(comments)
                                                               : PR_THREAD_COMMENTS_MAX;
    struct thread_view thread = {
        .id = github_text(node, "id", "", arena),
        .path = github_text(node, "path", NULL, arena),
        .line = js_get_int(node, "line", js_get_int(node, "originalLine", 0)),
        .resolved = js_get_bool(node, "isResolved", false),
        .outdated = js_get_bool(node, "isOutdated", false),
        .comments = arena_array(arena, count + 1, sizeof *thread.comments),
        .comment_count = count,
    };
    for (size_t i = 0; i < count; i++) {
        const struct js *comment = js_at(comments, i);
        thread.comments[i] = (struct thread_comment){
            .id = github_text(comment, "id", "", arena),
            .author = github_login(js_get(comment, "author"), arena),
            .association = github_text(comment, "authorAssociation", "NONE", arena),
            .body = github_text(comment, "body", "", arena),
            .created_us = github_time(comment, "createdAt"),
        };
    }
    reading->view.cut |= js_bool(js_path(node, "comments.pageInfo.hasNextPage"), false);
    reading->view.threads[reading->view.thread_count++] = thread;
}

static void read_check(struct reading *reading, const struct js *node)
{
    struct check_view check;
    if (github_check_of_graphql(node, reading->gh.arena, &check))
        reading->view.checks[reading->view.check_count++] = check;
}

/* ---- pages ---- */

/* A page of one list; read puts a node into the view, which has `count` of at most `max`. */
static void read_page(struct reading *reading, const struct js *connection, struct list *list,
                      void (*read)(struct reading *reading, const struct js *node),
                      const size_t *count, size_t max)
{
    const struct js *nodes = js_get(connection, "nodes");
    size_t i = 0;
    for (; i < js_count(nodes) && *count < max; i++)
        read(reading, js_at(nodes, i));
    const char *cursor = github_text(js_get(connection, "pageInfo"), "endCursor", NULL,
                                     reading->gh.arena);
    list->more = js_bool(js_path(connection, "pageInfo.hasNextPage"), false) && cursor != NULL;
    list->cursor = cursor != NULL ? cursor : list->cursor;
    if (i < js_count(nodes) || (list->more && *count == max)) {
        reading->view.cut = true;
        list->more = false;
    }
}

/* Is an error about one of the lists?  Other fields may be forbidden one by one. */
static bool hides_some(const struct js *errors)
{
    static const char *const lists[] = {"reviews", "reviewThreads", "commits"};
    for (size_t i = 0; i < js_count(errors); i++) {
        const struct js *path = js_get(js_at(errors, i), "path");
        if (js_count(path) == 0)
            return true;
        for (size_t at = 0; at < js_count(path); at++) {
            for (size_t list = 0; list < COUNT_OF(lists); list++) {
                if (text_same(js_str(js_at(path, at), NULL), lists[list]))
                    return true;
            }
        }
    }
    return false;
}

static bool is_whole(const struct js *document, const struct js *pr)
{
    return js_type(js_path(pr, "reviews.nodes")) == JS_ARRAY &&
           js_type(js_path(pr, "reviewThreads.nodes")) == JS_ARRAY &&
           js_type(js_path(pr, "commits.nodes")) == JS_ARRAY &&
           !hides_some(js_get(document, "errors"));
}

static enum rc read_pr(struct reading *reading, const struct js *document)
{
    const struct js *pr = js_path(document, "data.repository.pullRequest");
    struct pr_view *view = &reading->view;
    const char *before = view->head;
    if (js_type(pr) != JS_OBJECT)
        return err_set(reading->gh.err, RC_NOT_FOUND, "FORGE_NOT_FOUND",
                       "%s has no pull request %" PRId64, reading->gh.repo.path, reading->number);
    read_head(reading, pr);
    if (!git_hash_valid(view->head) || view->target_branch[0] == '\0')
        return err_set(reading->gh.err, RC_CORRUPT, "FORGE_HALF_ANSWER",
                       "GitHub shows pull request %" PRId64 " without its head", reading->number);
    view->cut |= !is_whole(document, pr) || (before != NULL && !text_same(before, view->head));
    const struct js *commit = js_get(js_at(js_path(pr, "commits.nodes"), 0), "commit");
    read_page(reading, js_get(pr, "reviews"), &reading->reviews, read_review, &view->review_count,
              PR_REVIEWS_MAX);
    read_page(reading, js_get(pr, "reviewThreads"), &reading->threads, read_thread,
              &view->thread_count, PR_THREADS_MAX);
    read_page(reading, js_path(commit, "statusCheckRollup.contexts"), &reading->checks, read_check,
              &view->check_count, PR_CHECKS_MAX);
    return RC_OK;
}

static enum rc ask(struct reading *reading, struct rest_answer *answer)
{
    const struct github *gh = &reading->gh;
    CLEANUP(buf_release) struct buf variables;
    buf_init(&variables, VARIABLES_MAX);
    struct jw jw = jw_to(&variables);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "owner", github_owner(gh));
    jw_kstr(&jw, "name", github_name(gh));
    jw_kint(&jw, "number", reading->number);
    jw_kstr(&jw, "reviews", reading->reviews.cursor);
    jw_kstr(&jw, "threads", reading->threads.cursor);
    jw_kstr(&jw, "checks", reading->checks.cursor);
    jw_end(&jw, '}');
    const struct github_query query = {.text = view_query, .variables = buf_str(&variables)};
    return github_graphql(gh, &query, answer);
}

enum rc github_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                    struct pr_view *ret_view, struct err *err)
{
    struct reading reading = {
        .gh = {.call = call, .arena = arena, .err = err},
        .number = ref->number,
        .view = {.reviews = arena_array(arena, PR_REVIEWS_MAX, sizeof(struct review_view)),
                 .threads = arena_array(arena, PR_THREADS_MAX, sizeof(struct thread_view)),
                 .checks = arena_array(arena, PR_CHECKS_MAX, sizeof(struct check_view))},
    };
    enum rc rc = github_open(&reading.gh, ref->url);
    bool more = true;
    for (int round = 0; rc == RC_OK && more && round < ROUNDS_MAX; round++) {
        CLEANUP(rest_answer_release) struct rest_answer answer = {0};
        rc = ask(&reading, &answer);
        if (rc == RC_OK)
            rc = read_pr(&reading, answer.document);
        more = reading.reviews.more || reading.threads.more || reading.checks.more;
    }
    if (rc != RC_OK)
        return rc;
    reading.view.cut |= more;
    *ret_view = reading.view;
    return RC_OK;
}
