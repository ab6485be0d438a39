#include "forge/host/issues.h"
#include <inttypes.h>

enum { BLOCKERS_MAX = 100 };

struct issue_reader {
    const struct host_issues *host;
    struct host_api api;
    struct host_people people;
    struct issue issue;
    struct err *err;
};

/* ---- one issue ---- */

static const char *user_of(const struct host_issues *host, const struct js *item,
                           struct arena *arena)
{
    return arena_strdup(arena, js_get_str(js_get(item, host->author), host->login, ""));
}

static bool is_issue(const struct host_issues *host, const struct js *item)
{
    return host->is_issue == NULL || host->is_issue(item);
}

bool host_issue_read(const struct host_issues *host, const struct js *item, bool whole,
                     struct arena *arena, struct issue *ret_issue)
{
    bool closed = text_same(js_get_str(item, "state", ""), "closed");
    struct issue issue = {
        .number = js_get_int(item, host->number, 0),
        .title = host_text(arena, item, "title"),
        .body = whole ? arena_strdup(arena, js_get_str(item, host->body, "")) : "",
        .state = closed ? "closed" : "open",
        .author = user_of(host, item, arena),
        .labels = host_text_array(arena, js_get(item, "labels"), host->label, ISSUE_LABELS_MAX),
        .created_us = host_time(item, "created_at"),
        .updated_us = host_time(item, "updated_at"),
        .comment_count = whole ? 0 : js_get_int(item, host->comment_count, 0),
        .assignees = host_text_array(arena, js_get(item, "assignees"), host->login,
                                     ISSUE_LABELS_MAX),
    };
    if (issue.number < 1 || issue.title == NULL || !is_issue(host, item))
        return false;
    *ret_issue = issue;
    return true;
}

static bool add_comment(void *ctx, const struct js *item)
{
    struct issue_reader *reader = ctx;
    const struct host_issues *host = reader->host;
    struct issue *issue = &reader->issue;
    struct arena *arena = reader->api.arena;
    if (host->is_comment != NULL && !host->is_comment(item))
        return true;
    issue_make_room(issue);
    issue->comments[issue->comment_count++] = (struct issue_comment){
        .author = user_of(host, item, arena),
        .body = arena_strdup(arena, js_get_str(item, "body", "")),
        .created_us = host_time(item, "created_at"),
        .id = js_get_int(item, "id", 0),
        .updated_us = host_time(item, "updated_at")};
    host_people_add(&reader->people, js_get(item, host->author));
    return true;
}

static enum rc read_comments(struct issue_reader *reader)
{
    struct issue *issue = &reader->issue;
    const struct host_list list = {.path = host_path(&reader->api, "/issues/%" PRId64 "%s%s",
                                                     issue->number, reader->host->comments,
                                                     reader->host->oldest),
                                   .each = add_comment,
                                   .ctx = reader};
    issue->comments = arena_array(reader->api.arena, ISSUE_COMMENTS_MAX, sizeof *issue->comments);
    enum rc rc = host_pages(&reader->api, &list, NULL, reader->err);
    return rc == RC_OK ? host_people_of_issue(&reader->people, issue, reader->err) : rc;
}

enum rc host_no_issue(const struct host_issues *host, int64_t number, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "ISSUE_NOT_FOUND", "The %s has no issue %" PRId64 ".",
                   host->place, number);
}

static enum rc read_whole(struct issue_reader *reader, int64_t number)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    const struct host_issues *host = reader->host;
    enum rc rc = host_get(&reader->api, host_path(&reader->api, "/issues/%" PRId64, number),
                          &answer, reader->err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && !is_issue(host, answer.document)))
        return host_no_issue(host, number, reader->err);
    if (rc != RC_OK)
        return rc;
    if (!host_issue_read(host, answer.document, true, reader->api.arena, &reader->issue))
        return host_unreadable(&reader->api, "issue", reader->err);
    host_people_add(&reader->people, js_get(answer.document, host->author));
    return read_comments(reader);
}

static enum rc open_reader(const struct issue_ops *ops, struct forge_call *call, const char *url,
                           struct arena *arena, struct issue_reader *reader)
{
    reader->host = ops->host;
    enum rc rc = ops->host->connect(call, url, arena, &reader->api, reader->err);
    if (rc == RC_OK)
        reader->people = host_people_new(&reader->api, ops->host->people);
    return rc;
}

enum rc host_issue_get(const struct issue_ops *ops, struct forge_call *call, const char *url,
                       int64_t number, struct arena *arena, struct issue *ret_issue,
                       struct err *err)
{
    struct issue_reader reader = {.err = err};
    enum rc rc = open_reader(ops, call, url, arena, &reader);
    if (rc == RC_OK)
        rc = read_whole(&reader, number);
    if (rc == RC_OK)
        *ret_issue = reader.issue;
    return rc;
}

/* ---- lists ---- */

struct issue_list {
    const struct host_issues *host;
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
    if (host_issue_read(list->host, item, false, list->arena, &list->items[list->count]) &&
        (list->filter->before == 0 || list->items[list->count].number < list->filter->before))
        list->count++;
    return list->count < list->max;
}

enum rc host_issue_list(const struct issue_ops *ops, struct forge_call *call, const char *url,
                        const struct issue_filter *filter, struct arena *arena,
                        struct issue **ret_issues, size_t *ret_count, struct err *err)
{
    struct host_api api;
    struct issue_list issues = {
        .host = ops->host, .arena = arena, .filter = filter, .max = filter->limit};
    if (issues.max > ISSUES_LISTED_MAX)
        issues.max = ISSUES_LISTED_MAX;
    issues.items = arena_array(arena, issues.max + 1, sizeof *issues.items);
    enum rc rc = ops->host->connect(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const char *state = filter->state == NULL              ? "all"
                        : text_same(filter->state, "open") ? ops->host->open
                                                           : filter->state;
    const struct host_list list = {
        .path = host_path(&api, "/issues?state=%s&%s", state, ops->host->list),
        .each = add_issue,
        .ctx = &issues};
    rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_issues = issues.items;
    *ret_count = issues.count;
    return RC_OK;
}

/* ---- change ---- */

static enum rc change_state(const struct issue_reader *reader, const char *state)
{
    const struct issue *issue = &reader->issue;
    if (text_same(state, issue->state))
        return err_set(reader->err, RC_CONFLICT,
                       text_same(state, "closed") ? "ISSUE_CLOSED" : "ISSUE_OPEN",
                       "Issue %" PRId64 " is %s already.", issue->number, issue->state);
    return reader->host->set_state(&reader->api, issue->number, state, reader->err);
}

static enum rc add_words(const struct issue_reader *reader, const char *text)
{
    const struct issue *issue = &reader->issue;
    if (issue->comment_count >= ISSUE_COMMENTS_MAX)
        return err_set(reader->err, RC_CONFLICT, "TOO_MANY_COMMENTS",
                       "Issue %" PRId64 " has %d comments; it takes no more.", issue->number,
                       ISSUE_COMMENTS_MAX);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "body", text);
    host_body_end(&jw);
    return host_send(
        &reader->api, "POST",
        host_path(&reader->api, "/issues/%" PRId64 "%s", issue->number, reader->host->comments),
        &body, NULL, reader->err);
}

enum rc host_issue_change(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          int64_t number, const struct issue_words *words, struct arena *arena,
                          struct issue *ret_issue, struct err *err)
{
    struct issue_reader reader = {.err = err};
    enum rc rc = open_reader(ops, call, url, arena, &reader);
    if (rc == RC_OK)
        rc = read_whole(&reader, number);
    if (rc == RC_OK && words->state != NULL)
        rc = change_state(&reader, words->state);
    else if (rc == RC_OK && words->body == NULL)
        rc = ops->host->set_labels(&reader.api, number, words->labels, err);
    else if (rc == RC_OK)
        rc = add_words(&reader, words->body);
    return rc == RC_OK ? host_issue_get(ops, call, url, number, arena, ret_issue, err) : rc;
}

/* ---- dependencies ---- */

struct blockers {
    const struct host_blockers *query;
    int64_t *numbers;
    size_t count;
};

static bool add_blocker(void *ctx, const struct js *item)
{
    struct blockers *blockers = ctx;
    const struct host_blockers *query = blockers->query;
    if (blockers->count == BLOCKERS_MAX)
        return false;
    if (!text_same(js_get_str(item, "state", ""), "closed") && query->blocks(query->ctx, item))
        blockers->numbers[blockers->count++] = js_get_int(item, query->host->number, 0);
    return true;
}

enum rc host_issue_blockers(const struct host_api *api, const struct host_blockers *query,
                            int64_t **ret_numbers, size_t *ret_count, struct err *err)
{
    struct blockers blockers = {.query = query};
    const struct host_list list = {.path = query->path, .each = add_blocker, .ctx = &blockers};
    blockers.numbers = arena_array(api->arena, BLOCKERS_MAX, sizeof *blockers.numbers);
    enum rc rc = host_pages(api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_numbers = blockers.numbers;
    *ret_count = blockers.count;
    return RC_OK;
}
