/*
 * issues.c - issues of Gitea and Forgejo.
 *
 * A pull request has a number of the same row, but is no issue here.
 */
#include "forge/port/issues.h"
#include "forge/gitea/api.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum { BLOCKERS_MAX = 100 };

struct issue_reader {
    struct host_api api;
    struct issue issue;
    struct err *err;
};

/* ---- one issue ---- */

static const char *state_of(const struct js *item)
{
    return text_same(js_get_str(item, "state", ""), "closed") ? "closed" : "open";
}

static struct str names_of(struct arena *arena, const struct js *items, const char *key)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, HOST_BODY_MAX);
    struct jw jw = jw_to(&to);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < js_count(items) && i < ISSUE_LABELS_MAX; i++)
        jw_str(&jw, js_get_str(js_at(items, i), key, ""));
    jw_end(&jw, ']');
    return str_of(arena_strdup(arena, buf_text(&to)));
}

static bool read_issue(const struct js *item, struct arena *arena, bool whole,
                       struct issue *ret_issue)
{
    struct issue issue = {
        .number = js_get_int(item, "number", 0),
        .title = host_text(arena, item, "title"),
        .body = whole ? arena_strdup(arena, js_get_str(item, "body", "")) : "",
        .state = state_of(item),
        .author = gitea_user(arena, item, "user"),
        .labels = names_of(arena, js_get(item, "labels"), "name"),
        .created_us = host_time(item, "created_at"),
        .updated_us = host_time(item, "updated_at"),
        .comment_count = whole ? 0 : js_get_int(item, "comments", 0),
        .assignees = names_of(arena, js_get(item, "assignees"), "login"),
    };
    if (issue.number < 1 || issue.title == NULL ||
        js_type(js_get(item, "pull_request")) == JS_OBJECT)
        return false;
    *ret_issue = issue;
    return true;
}

static bool add_comment(void *ctx, const struct js *item)
{
    struct issue_reader *reader = ctx;
    struct issue *issue = &reader->issue;
    struct arena *arena = reader->api.arena;
    if (issue->comment_count == ISSUE_COMMENTS_MAX)
        return false;
    int64_t created_us = host_time(item, "created_at");
    issue->comments[issue->comment_count++] = (struct issue_comment){
        .author = gitea_user(arena, item, "user"),
        .body = arena_strdup(arena, js_get_str(item, "body", "")),
        .created_us = created_us,
        .id = js_get_int(item, "id", 0),
        .updated_us = host_time(item, "updated_at")};
    return true;
}

static enum rc read_comments(struct issue_reader *reader)
{
    struct issue *issue = &reader->issue;
    struct gitea_writers writers = {.count = 0};
    const struct host_list list = {
        .path = host_path(&reader->api, "/issues/%" PRId64 "/comments", issue->number),
        .each = add_comment,
        .ctx = reader};
    issue->comments = arena_array(reader->api.arena, ISSUE_COMMENTS_MAX, sizeof *issue->comments);
    enum rc rc = host_pages(&reader->api, &list, NULL, reader->err);
    if (rc == RC_OK)
        rc = gitea_writers_read(&reader->api, &writers, reader->err);
    if (rc != RC_OK)
        return rc;
    issue->association = gitea_association(&reader->api, &writers, issue->author);
    for (int64_t i = 0; i < issue->comment_count; i++)
        issue->comments[i].association = gitea_association(&reader->api, &writers,
                                                           issue->comments[i].author);
    return RC_OK;
}

static enum rc no_issue(int64_t number, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "ISSUE_NOT_FOUND", "The repository has no issue %" PRId64 ".",
                   number);
}

static enum rc read_whole(struct issue_reader *reader, int64_t number)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(&reader->api, host_path(&reader->api, "/issues/%" PRId64, number),
                          &answer, reader->err);
    if (rc == RC_NOT_FOUND ||
        (rc == RC_OK && js_type(js_get(answer.document, "pull_request")) == JS_OBJECT))
        return no_issue(number, reader->err);
    if (rc != RC_OK)
        return rc;
    if (!read_issue(answer.document, reader->api.arena, true, &reader->issue))
        return host_unreadable(&reader->api, "issue", reader->err);
    return read_comments(reader);
}

static enum rc gitea_get(struct forge_call *call, const char *url, int64_t number,
                         struct arena *arena, struct issue *ret_issue, struct err *err)
{
    struct issue_reader reader = {.err = err};
    enum rc rc = gitea_open(call, url, arena, &reader.api, err);
    if (rc == RC_OK)
        rc = read_whole(&reader, number);
    if (rc == RC_OK)
        *ret_issue = reader.issue;
    return rc;
}

/* ---- lists ---- */

struct issue_list {
    struct arena *arena;
    const struct issue_filter *filter;
    struct issue *items;
    size_t count, max;
};

static bool add_issue(void *ctx, const struct js *item)
{
    struct issue_list *list = ctx;
    if (list->count == list->max)
        return false;
    if (read_issue(item, list->arena, false, &list->items[list->count]) &&
        (list->filter->before == 0 || list->items[list->count].number < list->filter->before))
        list->count++;
    return list->count < list->max;
}

static enum rc gitea_list(struct forge_call *call, const char *url,
                          const struct issue_filter *filter, struct arena *arena,
                          struct issue **ret_issues, size_t *ret_count, struct err *err)
{
    struct host_api api;
    struct issue_list issues = {.arena = arena, .filter = filter, .max = filter->limit};
    if (issues.max > ISSUES_LISTED_MAX)
        issues.max = ISSUES_LISTED_MAX;
    issues.items = arena_array(arena, issues.max + 1, sizeof *issues.items);
    enum rc rc = gitea_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const struct host_list list = {.path = host_path(&api, "/issues?type=issues&state=%s&limit=50",
                                                     filter->state != NULL ? filter->state : "all"),
                                   .each = add_issue,
                                   .ctx = &issues};
    rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_issues = issues.items;
    *ret_count = issues.count;
    return RC_OK;
}

/* ---- open and change ---- */

/* A NULL-terminated list of the texts of a JSON array. */
static const char **labels_of(struct arena *arena, struct str json)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (json.len == 0 || js_parse(json.at, json.len, &tree, NULL) != RC_OK)
        return arena_alloc(arena, sizeof(char *));
    const char **labels = arena_array(arena, js_count(tree) + 1, sizeof *labels);
    for (size_t i = 0; i < js_count(tree); i++)
        labels[i] = arena_strdup(arena, js_str(js_at(tree, i), ""));
    return labels;
}

static enum rc gitea_open_issue(struct forge_call *call, const char *url,
                                const struct issue_words *words, struct arena *arena,
                                struct issue *ret_issue, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    struct host_api api;
    struct issue issue;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "title", words->title);
    jw_kstr(&jw, "body", words->body);
    host_body_end(&jw);
    enum rc rc = gitea_open(call, url, arena, &api, err);
    if (rc == RC_OK)
        rc = host_send(&api, "POST", host_path(&api, "/issues"), &body, &answer, err);
    if (rc != RC_OK)
        return rc;
    if (!read_issue(answer.document, arena, true, &issue))
        return host_unreadable(&api, "issue", err);
    rc = gitea_add_labels(&api, issue.number, labels_of(arena, words->labels), err);
    if (rc == RC_OK && words->labels.len > 0)
        issue.labels = words->labels;
    if (rc == RC_OK)
        *ret_issue = issue;
    return rc;
}

static enum rc send_text(const struct issue_reader *reader, const char *method, const char *path,
                         const char *key, const char *text)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, key, text);
    host_body_end(&jw);
    return host_send(&reader->api, method, path, &body, NULL, reader->err);
}

static enum rc apply_words(const struct issue_reader *reader, const struct issue_words *words)
{
    const struct issue *issue = &reader->issue;
    const char *path = host_path(&reader->api, "/issues/%" PRId64, issue->number);
    if (words->state != NULL && text_same(words->state, issue->state))
        return err_set(reader->err, RC_CONFLICT,
                       text_same(issue->state, "closed") ? "ISSUE_CLOSED" : "ISSUE_OPEN",
                       "Issue %" PRId64 " is %s already.", issue->number, issue->state);
    if (words->state != NULL)
        return send_text(reader, "PATCH", path, "state", words->state);
    if (words->body == NULL)
        return gitea_set_labels(&reader->api, issue->number,
                                labels_of(reader->api.arena, words->labels), reader->err);
    if (issue->comment_count >= ISSUE_COMMENTS_MAX)
        return err_set(reader->err, RC_CONFLICT, "TOO_MANY_COMMENTS",
                       "Issue %" PRId64 " has %d comments; it takes no more.", issue->number,
                       ISSUE_COMMENTS_MAX);
    return send_text(reader, "POST", arena_printf(reader->api.arena, "%s/comments", path), "body",
                     words->body);
}

static enum rc gitea_change(struct forge_call *call, const char *url, int64_t number,
                            const struct issue_words *words, struct arena *arena,
                            struct issue *ret_issue, struct err *err)
{
    struct issue_reader reader = {.err = err};
    enum rc rc = gitea_open(call, url, arena, &reader.api, err);
    if (rc == RC_OK)
        rc = read_whole(&reader, number);
    if (rc == RC_OK)
        rc = apply_words(&reader, words);
    return rc == RC_OK ? gitea_get(call, url, number, arena, ret_issue, err) : rc;
}

/* ---- dependencies ---- */

struct blockers {
    const char *repository; /* owner/name */
    int64_t *numbers;
    size_t count;
};

static bool add_blocker(void *ctx, const struct js *item)
{
    struct blockers *blockers = ctx;
    const char *repository = js_str(js_path(item, "repository.full_name"), NULL);
    if (blockers->count == BLOCKERS_MAX)
        return false;
    if (text_same(state_of(item), "open") &&
        (repository == NULL || strcasecmp(repository, blockers->repository) == 0))
        blockers->numbers[blockers->count++] = js_get_int(item, "number", 0);
    return true;
}

static enum rc gitea_blocked_by(struct forge_call *call, const char *url, int64_t number,
                                struct arena *arena, int64_t **ret_numbers, size_t *ret_count,
                                struct err *err)
{
    struct host_api api;
    struct blockers blockers = {.count = 0};
    enum rc rc = gitea_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    blockers.repository = api.repo->path;
    blockers.numbers = arena_array(arena, BLOCKERS_MAX, sizeof *blockers.numbers);
    const struct host_list list = {
        .path = host_path(&api, "/issues/%" PRId64 "/dependencies?limit=50", number),
        .each = add_blocker,
        .ctx = &blockers};
    rc = host_pages(&api, &list, NULL, err);
    if (rc == RC_NOT_FOUND)
        return no_issue(number, err);
    if (rc != RC_OK)
        return rc;
    *ret_numbers = blockers.numbers;
    *ret_count = blockers.count;
    return RC_OK;
}

const struct issue_ops issues_gitea = {
    .get = gitea_get,
    .open = gitea_open_issue,
    .change = gitea_change,
    .list = gitea_list,
    .blocked_by = gitea_blocked_by,
};
