/*
 * prs.c - pull requests at GitHub after they were opened.
 *
 * Comments and reviews are found again by their mark.  Anybody can write a text with such a mark:
 * one counts only if the identity that drover uses has written it.
 */
#include "base/clock.h"
#include "base/jw.h"
#include "forge/github/acts.h"
#include "forge/github/api.h"
#include "forge/github/view.h"
#include "forge/port/mark.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES_MAX = 512 * 1024, NAMES_MAX = 100 };

/* ---- what changed ---- */

struct changes {
    struct forge_changed *items;
    size_t count;
};

static bool take_changed(void *ctx, const struct js *issue)
{
    struct changes *changes = ctx;
    if (changes->count == PRS_CHANGED_MAX)
        return false;
    changes->items[changes->count++] = (struct forge_changed){
        .number = js_get_int(issue, "number", 0),
        .is_pr = js_get(issue, "pull_request") != NULL,
        .updated_us = github_time(issue, "updated_at"),
    };
    return true;
}

/* "/issues?state=all&since=..." lists pull requests, too. */
static const char *changed_path(const struct changed_query *query, struct arena *arena)
{
    char since[TIME_TEXT_BYTES];
    if (query->since_us == 0)
        return "/issues?state=open&sort=updated&direction=asc&per_page=100";
    /* Whole seconds, as GitHub has them: an answer may repeat what was seen, but skips nothing. */
    (void)time_format(since, query->since_us - query->since_us % US_PER_SECOND);
    return arena_printf(arena, "/issues?state=all&sort=updated&direction=asc&per_page=100&since=%s",
                        since);
}

/* The items of one page; RC_CORRUPT: it is no list. */
static enum rc take_page(const struct github *gh, const struct js *page, struct changes *changes,
                         bool *ret_more)
{
    bool more = false;
    if (js_type(page) != JS_ARRAY)
        return err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub lists no issues");
    for (size_t i = 0; i < js_count(page) && !more; i++)
        more = !take_changed(changes, js_at(page, i));
    *ret_more |= more;
    return RC_OK;
}

static enum rc changed(struct forge_call *call, const struct changed_query *query,
                       struct arena *arena, struct changed_answer *ret_answer, struct err *err)
{
    struct github gh = {.call = call, .arena = arena, .err = err};
    CLEANUP(rest_answer_release) struct rest_answer first = {0};
    struct changes changes = {
        .items = arena_array(arena, PRS_CHANGED_MAX, sizeof(struct forge_changed))};
    bool more = false;
    enum rc rc = github_open(&gh, query->url);
    if (rc != RC_OK)
        return rc;
    struct rest_request request = github_request(&gh, "GET", changed_path(query, arena));
    request.etag = query->etag;
    rc = github_send(&gh, &request, &first);
    if (rc == RC_OK && !first.same)
        rc = take_page(&gh, first.document, &changes, &more);
    if (rc == RC_OK && !first.same && first.next != NULL) {
        request.etag = NULL;
        request.path = first.next;
        rc = rest_pages(call, &request, arena, take_changed, &changes, &more, err);
    }
    if (rc != RC_OK)
        return rc;
    *ret_answer = (struct changed_answer){
        .items = changes.items,
        .count = changes.count,
        .same = first.same,
        .more = more,
        .etag = first.etag != NULL ? first.etag : arena_strdup(arena, query->etag)};
    return RC_OK;
}

/* ---- comments, labels, reviewers, body ---- */

static enum rc comment(struct forge_call *call, const struct pr_ref *ref,
                       const struct forge_comment *words, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    enum rc rc = github_open(&gh, ref->url);
    return rc == RC_OK ? github_put_comment(&gh, ref->number, words) : rc;
}

static enum rc label(struct forge_call *call, const struct pr_ref *ref, const char *const *labels,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    enum rc rc = github_open(&gh, ref->url);
    return rc == RC_OK ? github_add_labels(&gh, ref->number, labels) : rc;
}

/* Logins, or with `teams` the names behind "team/". */
static void write_reviewers(struct jw *jw, const char *const *reviewers, bool teams)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < NAMES_MAX && reviewers[i] != NULL; i++) {
        bool team = text_starts(reviewers[i], "team/");
        if (team == teams)
            jw_str(jw, reviewers[i] + (team ? strlen("team/") : 0));
    }
    jw_end(jw, ']');
}

static enum rc request_review(struct forge_call *call, const struct pr_ref *ref,
                              const char *const *reviewers, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf body;
    struct github gh = {.call = call, .arena = &arena, .err = err};
    buf_init(&body, BODY_BYTES_MAX);
    if (reviewers == NULL || reviewers[0] == NULL)
        return RC_OK;
    enum rc rc = github_open(&gh, ref->url);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_key(&jw, "reviewers");
    write_reviewers(&jw, reviewers, false);
    jw_key(&jw, "team_reviewers");
    write_reviewers(&jw, reviewers, true);
    jw_end(&jw, '}');
    struct rest_request request = github_request(
        &gh, "POST", arena_printf(&arena, "/pulls/%" PRId64 "/requested_reviewers", ref->number));
    request.body = buf_str(&body);
    return github_do(&gh, &request);
}

static enum rc set_body(struct forge_call *call, const struct pr_ref *ref, const char *text,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf body;
    struct github gh = {.call = call, .arena = &arena, .err = err};
    buf_init(&body, BODY_BYTES_MAX);
    enum rc rc = github_open(&gh, ref->url);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "body", text);
    jw_end(&jw, '}');
    struct rest_request request = github_request(
        &gh, "PATCH", arena_printf(&arena, "/pulls/%" PRId64, ref->number));
    request.body = buf_str(&body);
    return github_do(&gh, &request);
}

/* ---- reviews ---- */

/* The first review with the mark that is ours: it may stand behind copies by others. */
struct own_review {
    const struct github *gh;
    const char *key, *commit;
    struct github_me me;
    bool found;
    enum rc rc;
};

/* A pending one was never submitted: it is no review yet. */
static bool find_review(void *ctx, const struct js *review)
{
    struct own_review *own = ctx;
    if (!mark_is(js_get_str(review, "body", ""), own->key) ||
        !text_same(js_get_str(review, "commit_id", ""), own->commit) ||
        text_same(js_get_str(review, "state", ""), "PENDING"))
        return true;
    own->rc = github_is_me(own->gh, &own->me, github_login(js_get(review, "user"), own->gh->arena),
                           &own->found);
    return own->rc == RC_OK && !own->found;
}

static enum rc submit_review(const struct github *gh, int64_t number,
                             const struct pr_review_words *words)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    const struct forge_comment text = {.key = words->key,
                                       .body = words->body != NULL ? words->body : ""};
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "commit_id", words->commit);
    jw_kstr(&jw, "event", words->approve ? "APPROVE" : "COMMENT");
    jw_kstr(&jw, "body", github_marked_body(&text, gh->arena));
    jw_end(&jw, '}');
    struct rest_request request = github_request(
        gh, "POST", arena_printf(gh->arena, "/pulls/%" PRId64 "/reviews", number));
    request.body = buf_str(&body);
    enum rc rc = github_do(gh, &request);
    /* 422: its own author cannot approve it, or the commit is no part of it any more. */
    return rc == RC_INVALID ? RC_CONFLICT : rc;
}

static enum rc review(struct forge_call *call, const struct pr_ref *ref,
                      const struct pr_review_words *words, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    struct own_review own = {.gh = &gh, .key = words->key, .commit = words->commit};
    enum rc rc = github_open(&gh, ref->url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request list = github_request(
        &gh, "GET", arena_printf(&arena, "/pulls/%" PRId64 "/reviews?per_page=100", ref->number));
    rc = rest_pages(call, &list, &arena, find_review, &own, NULL, err);
    if (rc == RC_OK)
        rc = own.rc;
    return rc == RC_OK && !own.found ? submit_review(&gh, ref->number, words) : rc;
}

/* ---- by GraphQL ---- */

static const char find_thread[] = "query ThreadComments($thread: ID!) {\n"
                                  "  node(id: $thread) {\n"
                                  "    ... on PullRequestReviewThread {\n"
                                  "      isResolved\n"
                                  "      comments(last: 100) { nodes { body viewerDidAuthor } }\n"
                                  "    }\n"
                                  "  }\n"
                                  "}\n";
static const char reply_mutation[] =
    "mutation ReplyToThread($thread: ID!, $body: String!) {\n"
    "  addPullRequestReviewThreadReply(\n"
    "    input: {pullRequestReviewThreadId: $thread, body: $body}) { comment { id } }\n"
    "}\n";
static const char resolve_mutation[] =
    "mutation ResolveThread($thread: ID!) {\n"
    "  resolveReviewThread(input: {threadId: $thread}) { thread { id isResolved } }\n"
    "}\n";

/* A mutation or query about a thread; body may be NULL. */
static enum rc ask_thread(const struct github *gh, const char *text, const char *thread,
                          const char *body, struct rest_answer *answer)
{
    CLEANUP(buf_release) struct buf variables;
    buf_init(&variables, BODY_BYTES_MAX);
    struct jw jw = jw_to(&variables);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "thread", thread);
    jw_optstr(&jw, "body", body);
    jw_end(&jw, '}');
    const struct github_query query = {
        .text = text, .variables = buf_str(&variables), .changes = text_starts(text, "mutation")};
    return github_graphql(gh, &query, answer);
}

static bool replied(const struct js *node, const char *key)
{
    const struct js *comments = js_path(node, "comments.nodes");
    for (size_t i = 0; i < js_count(comments); i++) {
        const struct js *comment = js_at(comments, i);
        if (js_get_bool(comment, "viewerDidAuthor", false) &&
            mark_is(js_get_str(comment, "body", ""), key))
            return true;
    }
    return false;
}

static enum rc look_at_thread(const struct github *gh, const char *thread,
                              struct rest_answer *answer, const struct js **ret_node)
{
    enum rc rc = ask_thread(gh, find_thread, thread, NULL, answer);
    if (rc != RC_OK)
        return rc;
    *ret_node = js_path(answer->document, "data.node");
    if (js_type(js_get(*ret_node, "isResolved")) != JS_BOOL)
        return err_set(gh->err, RC_NOT_FOUND, "FORGE_NOT_FOUND", "there is no such thread");
    return RC_OK;
}

static enum rc thread_reply(struct forge_call *call, const struct pr_ref *ref, const char *thread,
                            const struct forge_comment *words, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer found = {0}, done = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    const struct js *node = NULL;
    enum rc rc = github_open(&gh, ref->url);
    if (rc == RC_OK)
        rc = look_at_thread(&gh, thread, &found, &node);
    if (rc != RC_OK || replied(node, words->key))
        return rc;
    return ask_thread(&gh, reply_mutation, thread, github_marked_body(words, &arena), &done);
}

static enum rc thread_resolve(struct forge_call *call, const struct pr_ref *ref, const char *thread,
                              struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer found = {0}, done = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    const struct js *node = NULL;
    enum rc rc = github_open(&gh, ref->url);
    if (rc == RC_OK)
        rc = look_at_thread(&gh, thread, &found, &node);
    if (rc != RC_OK || js_get_bool(node, "isResolved", false))
        return rc;
    return ask_thread(&gh, resolve_mutation, thread, NULL, &done);
}

const struct pr_ops prs_github = {
    .view = github_view,
    .changed = changed,
    .comment = comment,
    .label = label,
    .request_review = request_review,
    .mark_ready = github_mark_ready,
    .set_body = set_body,
    .review = review,
    .thread_reply = thread_reply,
    .thread_resolve = thread_resolve,
    .auto_merge = github_auto_merge,
    .enqueue = github_enqueue,
};
