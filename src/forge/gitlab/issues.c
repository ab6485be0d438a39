/*
 * issues.c - issues of GitLab.
 *
 * Internal notes are left out: what drover publishes may be read by anyone.
 */
#include "forge/port/issues.h"
#include "forge/gitlab/roles.h"
#include <inttypes.h>
#include <string.h>

enum { BLOCKERS_MAX = 100 };

struct issue_reader {
    struct host_api api;
    struct issue issue;
    struct gitlab_roles roles;
    struct err *err;
};

/* ---- one issue ---- */

static const char *state_of(const struct js *item)
{
    return text_same(js_get_str(item, "state", ""), "closed") ? "closed" : "open";
}

/* A JSON array of the texts that are at `key` of each item, or of the items themselves. */
static struct str texts_of(struct arena *arena, const struct js *items, const char *key, size_t max)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, HOST_BODY_MAX);
    struct jw jw = jw_to(&to);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < js_count(items) && i < max; i++) {
        const struct js *item = js_at(items, i);
        const char *text = key != NULL ? js_get_str(item, key, NULL) : js_str(item, NULL);
        if (text != NULL)
            jw_str(&jw, text);
    }
    jw_end(&jw, ']');
    return str_of(arena_strdup(arena, buf_text(&to)));
}

static bool read_issue(const struct js *item, struct arena *arena, bool whole,
                       struct issue *ret_issue)
{
    struct issue issue = {
        .number = js_get_int(item, "iid", 0),
        .title = host_text(arena, item, "title"),
        .body = whole ? arena_strdup(arena, js_get_str(item, "description", "")) : "",
        .state = state_of(item),
        .author = gitlab_user(arena, item, "author"),
        .labels = texts_of(arena, js_get(item, "labels"), NULL, ISSUE_LABELS_MAX),
        .created_us = host_time(item, "created_at"),
        .updated_us = host_time(item, "updated_at"),
        .comment_count = whole ? 0 : js_get_int(item, "user_notes_count", 0),
        .assignees = texts_of(arena, js_get(item, "assignees"), "username", ISSUE_LABELS_MAX),
    };
    if (issue.number < 1 || issue.title == NULL)
        return false;
    *ret_issue = issue;
    return true;
}

static bool add_note(void *ctx, const struct js *note)
{
    struct issue_reader *reader = ctx;
    struct issue *issue = &reader->issue;
    struct arena *arena = reader->api.arena;
    if (js_get_bool(note, "system", false) || js_get_bool(note, "internal", false) ||
        js_get_bool(note, "confidential", false))
        return true;
    if (issue->comment_count == ISSUE_COMMENTS_MAX)
        return false;
    int64_t created_us = host_time(note, "created_at");
    issue->comments[issue->comment_count++] = (struct issue_comment){
        .author = gitlab_user(arena, note, "author"),
        .body = arena_strdup(arena, js_get_str(note, "body", "")),
        .created_us = created_us,
        .id = js_get_int(note, "id", 0),
        .updated_us = host_time(note, "updated_at")};
    gitlab_roles_add(&reader->roles, arena, js_get(note, "author"));
    return true;
}

static enum rc read_notes(struct issue_reader *reader)
{
    struct issue *issue = &reader->issue;
    const struct host_list list = {.path = host_path(&reader->api,
                                                     "/issues/%" PRId64
                                                     "/notes?activity_filter=only_comments"
                                                     "&order_by=created_at&sort=asc&per_page=100",
                                                     issue->number),
                                   .each = add_note,
                                   .ctx = reader};
    issue->comments = arena_array(reader->api.arena, ISSUE_COMMENTS_MAX, sizeof *issue->comments);
    enum rc rc = host_pages(&reader->api, &list, NULL, reader->err);
    if (rc == RC_OK)
        rc = gitlab_roles_read(&reader->api, &reader->roles, reader->err);
    if (rc != RC_OK)
        return rc;
    issue->association = gitlab_association(&reader->roles, issue->author);
    for (int64_t i = 0; i < issue->comment_count; i++)
        issue->comments[i].association = gitlab_association(&reader->roles,
                                                            issue->comments[i].author);
    return RC_OK;
}

static enum rc no_issue(int64_t number, struct err *err)
{
    return err_set(err, RC_NOT_FOUND, "ISSUE_NOT_FOUND", "The project has no issue %" PRId64 ".",
                   number);
}

static enum rc read_whole(struct issue_reader *reader, int64_t number)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(&reader->api, host_path(&reader->api, "/issues/%" PRId64, number),
                          &answer, reader->err);
    if (rc == RC_NOT_FOUND)
        return no_issue(number, reader->err);
    if (rc != RC_OK)
        return rc;
    if (!read_issue(answer.document, reader->api.arena, true, &reader->issue))
        return host_unreadable(&reader->api, "issue", reader->err);
    gitlab_roles_add(&reader->roles, reader->api.arena, js_get(answer.document, "author"));
    return read_notes(reader);
}

static enum rc gitlab_get(struct forge_call *call, const char *url, int64_t number,
                          struct arena *arena, struct issue *ret_issue, struct err *err)
{
    struct issue_reader *reader = arena_alloc(arena, sizeof *reader);
    reader->err = err;
    enum rc rc = gitlab_open(call, url, arena, &reader->api, err);
    if (rc == RC_OK)
        rc = read_whole(reader, number);
    if (rc == RC_OK)
        *ret_issue = reader->issue;
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

static enum rc gitlab_list(struct forge_call *call, const char *url,
                           const struct issue_filter *filter, struct arena *arena,
                           struct issue **ret_issues, size_t *ret_count, struct err *err)
{
    struct host_api api;
    struct issue_list issues = {.arena = arena, .filter = filter, .max = filter->limit};
    if (issues.max > ISSUES_LISTED_MAX)
        issues.max = ISSUES_LISTED_MAX;
    issues.items = arena_array(arena, issues.max + 1, sizeof *issues.items);
    enum rc rc = gitlab_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const char *state = filter->state == NULL              ? "all"
                        : text_same(filter->state, "open") ? "opened"
                                                           : filter->state;
    const struct host_list list = {
        .path = host_path(
            &api, "/issues?state=%s&scope=all&order_by=created_at&sort=desc&per_page=100", state),
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

static const char *joined_labels(struct arena *arena, struct str labels)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, HOST_BODY_MAX);
    if (labels.len == 0 || js_parse(labels.at, labels.len, &tree, NULL) != RC_OK)
        return "";
    for (size_t i = 0; i < js_count(tree); i++)
        buf_addf(&to, "%s%s", i > 0 ? "," : "", js_str(js_at(tree, i), ""));
    return arena_strdup(arena, buf_text(&to));
}

static enum rc gitlab_open_issue(struct forge_call *call, const char *url,
                                 const struct issue_words *words, struct arena *arena,
                                 struct issue *ret_issue, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf body;
    struct host_api api;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "title", words->title);
    jw_kstr(&jw, "description", words->body);
    jw_optstr(&jw, "labels", joined_labels(arena, words->labels));
    host_body_end(&jw);
    enum rc rc = gitlab_open(call, url, arena, &api, err);
    if (rc == RC_OK)
        rc = host_send(&api, "POST", host_path(&api, "/issues"), &body, &answer, err);
    if (rc != RC_OK)
        return rc;
    return read_issue(answer.document, arena, true, ret_issue)
               ? RC_OK
               : host_unreadable(&api, "issue", err);
}

static enum rc change_state(struct issue_reader *reader, const char *state)
{
    const struct issue *issue = &reader->issue;
    if (text_same(state, issue->state))
        return err_set(reader->err, RC_CONFLICT,
                       text_same(state, "closed") ? "ISSUE_CLOSED" : "ISSUE_OPEN",
                       "Issue %" PRId64 " is %s already.", issue->number, issue->state);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "state_event", text_same(state, "closed") ? "close" : "reopen");
    host_body_end(&jw);
    return host_send(&reader->api, "PUT",
                     host_path(&reader->api, "/issues/%" PRId64, issue->number), &body, NULL,
                     reader->err);
}

static enum rc change_labels(struct issue_reader *reader, struct str labels)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "labels", joined_labels(reader->api.arena, labels));
    host_body_end(&jw);
    return host_send(&reader->api, "PUT",
                     host_path(&reader->api, "/issues/%" PRId64, reader->issue.number), &body, NULL,
                     reader->err);
}

static enum rc add_words(struct issue_reader *reader, const struct issue_words *words)
{
    const struct issue *issue = &reader->issue;
    if (issue->comment_count >= ISSUE_COMMENTS_MAX)
        return err_set(reader->err, RC_CONFLICT, "TOO_MANY_COMMENTS",
                       "Issue %" PRId64 " has %d comments; it takes no more.", issue->number,
                       ISSUE_COMMENTS_MAX);
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "body", words->body);
    host_body_end(&jw);
    return host_send(&reader->api, "POST",
                     host_path(&reader->api, "/issues/%" PRId64 "/notes", issue->number), &body,
                     NULL, reader->err);
}

static enum rc gitlab_change(struct forge_call *call, const char *url, int64_t number,
                             const struct issue_words *words, struct arena *arena,
                             struct issue *ret_issue, struct err *err)
{
    struct issue_reader *reader = arena_alloc(arena, sizeof *reader);
    reader->err = err;
    enum rc rc = gitlab_open(call, url, arena, &reader->api, err);
    if (rc == RC_OK)
        rc = read_whole(reader, number);
    if (rc == RC_OK)
        rc = words->state != NULL  ? change_state(reader, words->state)
             : words->body == NULL ? change_labels(reader, words->labels)
                                   : add_words(reader, words);
    return rc == RC_OK ? gitlab_get(call, url, number, arena, ret_issue, err) : rc;
}

/* ---- dependencies ---- */

struct blockers {
    int64_t project;
    int64_t *numbers;
    size_t count;
};

static bool add_blocker(void *ctx, const struct js *item)
{
    struct blockers *blockers = ctx;
    if (blockers->count == BLOCKERS_MAX)
        return false;
    if (text_same(js_get_str(item, "link_type", ""), "is_blocked_by") &&
        js_get_int(item, "project_id", 0) == blockers->project && text_same(state_of(item), "open"))
        blockers->numbers[blockers->count++] = js_get_int(item, "iid", 0);
    return true;
}

static enum rc gitlab_blocked_by(struct forge_call *call, const char *url, int64_t number,
                                 struct arena *arena, int64_t **ret_numbers, size_t *ret_count,
                                 struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct host_api api;
    struct blockers blockers = {.count = 0};
    enum rc rc = gitlab_open(call, url, arena, &api, err);
    if (rc == RC_OK)
        rc = host_get(&api, host_path(&api, "/issues/%" PRId64, number), &answer, err);
    if (rc == RC_NOT_FOUND)
        return no_issue(number, err);
    if (rc != RC_OK)
        return rc;
    blockers.project = js_get_int(answer.document, "project_id", 0);
    blockers.numbers = arena_array(arena, BLOCKERS_MAX, sizeof *blockers.numbers);
    const struct host_list list = {
        .path = host_path(&api, "/issues/%" PRId64 "/links?per_page=100", number),
        .each = add_blocker,
        .ctx = &blockers};
    rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_numbers = blockers.numbers;
    *ret_count = blockers.count;
    return RC_OK;
}

const struct issue_ops issues_gitlab = {
    .get = gitlab_get,
    .open = gitlab_open_issue,
    .change = gitlab_change,
    .list = gitlab_list,
    .blocked_by = gitlab_blocked_by,
};
