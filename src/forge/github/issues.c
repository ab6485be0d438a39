/*
 * issues.c - issues of GitHub.
 *
 * GitHub lists pull requests among the issues, which are left out here.  An issue that was moved to
 * another repository answers with the one that it has become there: that is not found here.  Texts
 * are written in the name of the credential: issue_words.author is not sent.
 */
#include "forge/port/issues.h"
#include "base/jw.h"
#include "forge/github/api.h"
#include <inttypes.h>
#include <string.h>

enum {
    BODY_BYTES_MAX = 512 * 1024,
    NAMES_BYTES_MAX = 64 * 1024,
    BLOCKERS_MAX = 100,
    PAGE = 100,
    PAGES_READ = ISSUE_COMMENTS_MAX / PAGE + 1, /* The last one may be short. */
};

/* ---- reading ---- */

/* A JSON array of the texts at `key` of each item; an item may be the text itself. */
static struct str texts_of(const struct js *items, const char *key, struct arena *arena)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, NAMES_BYTES_MAX);
    struct jw jw = jw_to(&to);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < js_count(items) && i < ISSUE_LABELS_MAX; i++) {
        const char *text = js_str(js_at(items, i), js_get_str(js_at(items, i), key, NULL));
        if (text != NULL && strlen(text) <= ISSUE_LABEL_MAX)
            jw_str(&jw, text);
    }
    jw_end(&jw, ']');
    return str_of(arena_strdup(arena, buf_text(&to)));
}

static struct issue read_issue(const struct js *item, struct arena *arena)
{
    bool closed = text_same(js_get_str(item, "state", ""), "closed");
    return (struct issue){
        .number = js_get_int(item, "number", 0),
        .title = github_text(item, "title", NULL, arena),
        .body = "",
        .state = closed ? "closed" : "open",
        .author = github_login(js_get(item, "user"), arena),
        .labels = texts_of(js_get(item, "labels"), "name", arena),
        .created_us = github_time(item, "created_at"),
        .updated_us = github_time(item, "updated_at"),
        .comment_count = js_get_int(item, "comments", 0),
        .association = github_text(item, "author_association", NULL, arena),
        .assignees = texts_of(js_get(item, "assignees"), "login", arena),
    };
}

static enum rc not_found(const struct github *gh, int64_t number)
{
    return err_set(gh->err, RC_NOT_FOUND, "ISSUE_NOT_FOUND", "%s has no issue %" PRId64 ".",
                   gh->repo.path, number);
}

/* Of an answer that holds one issue. */
static enum rc take_issue(const struct github *gh, const struct js *item, struct issue *ret_issue)
{
    struct issue issue = read_issue(item, gh->arena);
    if (issue.number < 1 || issue.title == NULL)
        return err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub answers with no issue");
    issue.body = github_text(item, "body", "", gh->arena);
    *ret_issue = issue;
    return RC_OK;
}

static enum rc read_one(const struct github *gh, int64_t number, struct issue *ret_issue)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    const struct rest_request request = github_request(
        gh, "GET", arena_printf(gh->arena, "/issues/%" PRId64, number));
    enum rc rc = github_send(gh, &request, &answer);
    if (rc == RC_NOT_FOUND)
        return not_found(gh, number);
    if (rc == RC_OK)
        rc = take_issue(gh, answer.document, ret_issue);
    if (rc == RC_OK && (ret_issue->number != number ||
                        js_type(js_get(answer.document, "pull_request")) == JS_OBJECT))
        return not_found(gh, number);
    return rc;
}

struct comments {
    struct issue *issue;
    struct arena *arena;
};

static bool take_comment(void *ctx, const struct js *item)
{
    struct comments *comments = ctx;
    struct issue *issue = comments->issue;
    struct arena *arena = comments->arena;
    issue_make_room(issue);
    issue->comments[issue->comment_count++] = (struct issue_comment){
        .author = github_login(js_get(item, "user"), arena),
        .body = github_text(item, "body", "", arena),
        .created_us = github_time(item, "created_at"),
        .id = js_get_int(item, "id", 0),
        .association = github_text(item, "author_association", NULL, arena),
        .updated_us = github_time(item, "updated_at"),
    };
    return true;
}

/* They are listed from the oldest on: with many, reading begins further on. */
static const char *comments_path(const struct github *gh, int64_t number, int64_t count)
{
    int64_t pages = (count + PAGE - 1) / PAGE;
    const char *path = arena_printf(gh->arena, "/issues/%" PRId64 "/comments?per_page=%d", number,
                                    PAGE);
    return pages <= PAGES_READ
               ? path
               : arena_printf(gh->arena, "%s&page=%" PRId64, path, pages - PAGES_READ + 1);
}

static enum rc read_whole(const struct github *gh, int64_t number, struct issue *ret_issue)
{
    struct issue issue;
    enum rc rc = read_one(gh, number, &issue);
    if (rc != RC_OK)
        return rc;
    bool any = issue.comment_count > 0;
    const char *path = comments_path(gh, number, issue.comment_count);
    issue.comments = arena_array(gh->arena, ISSUE_COMMENTS_MAX + 1, sizeof *issue.comments);
    issue.comment_count = 0;
    struct comments comments = {.issue = &issue, .arena = gh->arena};
    const struct rest_request list = github_request(gh, "GET", path);
    if (any)
        rc = rest_pages(gh->call, &list, gh->arena, take_comment, &comments, NULL, gh->err);
    if (rc == RC_OK)
        *ret_issue = issue;
    return rc;
}

static enum rc get(const struct issue_ops *ops, struct forge_call *call, const char *url,
                   int64_t number, struct arena *arena, struct issue *ret_issue, struct err *err)
{
    (void)ops;
    struct github gh = {.call = call, .arena = arena, .err = err};
    enum rc rc = github_open(&gh, url);
    return rc == RC_OK ? read_whole(&gh, number, ret_issue) : rc;
}

/* ---- list ---- */

struct listing {
    const struct issue_filter *filter;
    struct issue *issues;
    size_t count, limit;
    struct arena *arena;
};

static bool take_listed(void *ctx, const struct js *item)
{
    struct listing *listing = ctx;
    int64_t number = js_get_int(item, "number", 0);
    bool wanted = number > 0 && js_type(js_get(item, "pull_request")) != JS_OBJECT &&
                  (listing->filter->before == 0 || number < listing->filter->before);
    if (wanted)
        listing->issues[listing->count++] = read_issue(item, listing->arena);
    return listing->count < listing->limit;
}

static enum rc list(const struct issue_ops *ops, struct forge_call *call, const char *url,
                    const struct issue_filter *filter, struct arena *arena,
                    struct issue **ret_issues, size_t *ret_count, struct err *err)
{
    (void)ops;
    struct github gh = {.call = call, .arena = arena, .err = err};
    size_t limit = filter->limit < ISSUES_LISTED_MAX ? filter->limit : ISSUES_LISTED_MAX;
    struct listing listing = {.filter = filter,
                              .issues = arena_array(arena, limit + 1, sizeof(struct issue)),
                              .limit = limit,
                              .arena = arena};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(
        &gh, "GET",
        arena_printf(arena, "/issues?state=%s&sort=created&direction=desc&per_page=100",
                     filter->state != NULL ? filter->state : "all"));
    if (limit > 0)
        rc = rest_pages(call, &request, arena, take_listed, &listing, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_issues = listing.issues;
    *ret_count = listing.count;
    return RC_OK;
}

/* ---- open and change ---- */

static enum rc open_issue(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          const struct issue_words *words, struct arena *arena,
                          struct issue *ret_issue, struct err *err)
{
    (void)ops;
    struct github gh = {.call = call, .arena = arena, .err = err};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "title", words->title);
    jw_kstr(&jw, "body", words->body != NULL ? words->body : "");
    if (words->labels.len > 0)
        jw_kraw(&jw, "labels", words->labels);
    jw_end(&jw, '}');
    struct rest_request request = github_request(&gh, "POST", "/issues");
    request.body = buf_str(&body);
    rc = github_send(&gh, &request, &answer);
    return rc == RC_OK ? take_issue(&gh, answer.document, ret_issue) : rc;
}

static enum rc change_state(const struct github *gh, struct issue *issue, const char *state)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    if (text_same(issue->state, state))
        return err_set(gh->err, RC_CONFLICT,
                       text_same(state, "closed") ? "ISSUE_CLOSED" : "ISSUE_OPEN",
                       "Issue %" PRId64 " is %s already.", issue->number, issue->state);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "state", state);
    jw_end(&jw, '}');
    struct rest_request request = github_request(
        gh, "PATCH", arena_printf(gh->arena, "/issues/%" PRId64, issue->number));
    request.body = buf_str(&body);
    enum rc rc = github_do(gh, &request);
    if (rc == RC_OK)
        issue->state = state;
    return rc;
}

static enum rc add_comment(const struct github *gh, struct issue *issue, const char *text)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    if (issue->comment_count >= ISSUE_COMMENTS_MAX)
        return err_set(gh->err, RC_CONFLICT, "TOO_MANY_COMMENTS",
                       "Issue %" PRId64 " has %d comments; it takes no more.", issue->number,
                       ISSUE_COMMENTS_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "body", text);
    jw_end(&jw, '}');
    struct rest_request request = github_request(
        gh, "POST", arena_printf(gh->arena, "/issues/%" PRId64 "/comments", issue->number));
    request.body = buf_str(&body);
    enum rc rc = github_send(gh, &request, &answer);
    struct comments comments = {.issue = issue, .arena = gh->arena};
    if (rc == RC_OK)
        (void)take_comment(&comments, answer.document);
    return rc;
}

static enum rc change(const struct issue_ops *ops, struct forge_call *call, const char *url,
                      int64_t number, const struct issue_words *words, struct arena *arena,
                      struct issue *ret_issue, struct err *err)
{
    (void)ops;
    struct github gh = {.call = call, .arena = arena, .err = err};
    struct issue issue = {0};
    enum rc rc = github_open(&gh, url);
    if (rc == RC_OK)
        rc = read_whole(&gh, number, &issue);
    if (rc == RC_OK && words->state != NULL)
        rc = change_state(&gh, &issue, words->state);
    else if (rc == RC_OK)
        rc = add_comment(&gh, &issue, words->body);
    if (rc == RC_OK)
        *ret_issue = issue;
    return rc;
}

/* ---- dependencies ---- */

struct blockers {
    const struct github *gh;
    int64_t *numbers;
    size_t count;
};

/* Open ones of this repository: "https://api.github.com/repos/acme/billing" */
static bool take_blocker(void *ctx, const struct js *item)
{
    struct blockers *blockers = ctx;
    const char *path = blockers->gh->repo.path;
    const char *repository = js_get_str(item, "repository_url", "");
    size_t len = strlen(repository), path_len = strlen(path);
    bool here = len > path_len && repository[len - path_len - 1] == '/' &&
                strcasecmp(repository + len - path_len, path) == 0;
    int64_t number = js_get_int(item, "number", 0);
    if (here && number > 0 && text_same(js_get_str(item, "state", ""), "open"))
        blockers->numbers[blockers->count++] = number;
    return blockers->count < BLOCKERS_MAX;
}

static enum rc blocked_by(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          int64_t number, struct arena *arena, int64_t **ret_numbers,
                          size_t *ret_count, struct err *err)
{
    (void)ops;
    struct github gh = {.call = call, .arena = arena, .err = err};
    struct blockers blockers = {.gh = &gh,
                                .numbers = arena_array(arena, BLOCKERS_MAX, sizeof(int64_t))};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(
        &gh, "GET",
        arena_printf(arena, "/issues/%" PRId64 "/dependencies/blocked_by?per_page=100", number));
    rc = rest_pages(call, &request, arena, take_blocker, &blockers, NULL, err);
    if (rc == RC_NOT_FOUND) { /* A server without dependencies. */
        err_clear(err);
        rc = RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    *ret_numbers = blockers.numbers;
    *ret_count = blockers.count;
    return RC_OK;
}

const struct issue_ops issues_github = {
    .get = get,
    .open = open_issue,
    .change = change,
    .list = list,
    .blocked_by = blocked_by,
};
