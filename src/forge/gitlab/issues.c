/*
 * issues.c - issues of GitLab.
 *
 * Internal notes are left out: what drover publishes may be read by anyone.
 */
#include "forge/host/issues.h"
#include "forge/gitlab/roles.h"
#include <inttypes.h>

static bool is_comment(const struct js *note)
{
    return !js_get_bool(note, "system", false) && !js_get_bool(note, "internal", false) &&
           !js_get_bool(note, "confidential", false);
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

static enum rc put(const struct host_api *api, int64_t number, const char *key, const char *text,
                   struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, key, text);
    host_body_end(&jw);
    return host_send(api, "PUT", host_path(api, "/issues/%" PRId64, number), &body, NULL, err);
}

static enum rc set_state(const struct host_api *api, int64_t number, const char *state,
                         struct err *err)
{
    return put(api, number, "state_event", text_same(state, "closed") ? "close" : "reopen", err);
}

static enum rc set_labels(const struct host_api *api, int64_t number, struct str labels,
                          struct err *err)
{
    return put(api, number, "labels", joined_labels(api->arena, labels), err);
}

static enum rc open_issue(const struct issue_ops *ops, struct forge_call *call, const char *url,
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
    return host_issue_read(ops->host, answer.document, true, arena, ret_issue)
               ? RC_OK
               : host_unreadable(&api, "issue", err);
}

/* ---- dependencies ---- */

static bool blocks(const void *ctx, const struct js *item)
{
    const int64_t *project = ctx;
    return text_same(js_get_str(item, "link_type", ""), "is_blocked_by") &&
           js_get_int(item, "project_id", 0) == *project;
}

static enum rc blocked_by(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          int64_t number, struct arena *arena, int64_t **ret_numbers,
                          size_t *ret_count, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct host_api api;
    enum rc rc = gitlab_open(call, url, arena, &api, err);
    if (rc == RC_OK)
        rc = host_get(&api, host_path(&api, "/issues/%" PRId64, number), &answer, err);
    if (rc == RC_NOT_FOUND)
        return host_no_issue(ops->host, number, err);
    if (rc != RC_OK)
        return rc;
    int64_t project = js_get_int(answer.document, "project_id", 0);
    const struct host_blockers query = {
        .host = ops->host,
        .path = host_path(&api, "/issues/%" PRId64 "/links?per_page=100", number),
        .blocks = blocks,
        .ctx = &project};
    return host_issue_blockers(&api, &query, ret_numbers, ret_count, err);
}

static const struct host_issues host = {
    .place = "project",
    .number = "iid",
    .body = "description",
    .comment_count = "user_notes_count",
    .author = "author",
    .login = "username",
    .list = "scope=all&order_by=created_at&sort=desc&per_page=100",
    .open = "opened",
    .comments = "/notes",
    .oldest = "?activity_filter=only_comments&order_by=created_at&sort=asc&per_page=100",
    .people = &gitlab_roles,
    .connect = gitlab_open,
    .is_comment = is_comment,
    .set_state = set_state,
    .set_labels = set_labels,
};

const struct issue_ops issues_gitlab = {
    .host = &host,
    .get = host_issue_get,
    .open = open_issue,
    .change = host_issue_change,
    .list = host_issue_list,
    .blocked_by = blocked_by,
};
