/*
 * issues.c - issues of Gitea and Forgejo.
 *
 * A pull request has a number of the same row, but is no issue here.
 */
#include "forge/host/issues.h"
#include "forge/gitea/api.h"
#include "forge/gitea/writers.h"
#include <inttypes.h>
#include <strings.h>

static bool is_issue(const struct js *item)
{
    return js_type(js_get(item, "pull_request")) != JS_OBJECT;
}

/* ---- open and change ---- */

/* A NULL-terminated list of the texts of a JSON array. */
static const char **labels_of(struct arena *arena, struct str json)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (json.len == 0 || js_parse(json.at, json.len, &tree, NULL) != RC_OK)
        return arena_alloc(arena, sizeof(char *));
    return host_texts(arena, tree, NULL);
}

static enum rc set_state(const struct host_api *api, int64_t number, const char *state,
                         struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "state", state);
    host_body_end(&jw);
    return host_send(api, "PATCH", host_path(api, "/issues/%" PRId64, number), &body, NULL, err);
}

static enum rc set_labels(const struct host_api *api, int64_t number, struct str labels,
                          struct err *err)
{
    return gitea_set_labels(api, number, labels_of(api->arena, labels), err);
}

static enum rc open_issue(const struct issue_ops *ops, struct forge_call *call, const char *url,
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
    if (!host_issue_read(ops->host, answer.document, true, arena, &issue))
        return host_unreadable(&api, "issue", err);
    rc = gitea_add_labels(&api, issue.number, labels_of(arena, words->labels), err);
    if (rc == RC_OK && words->labels.len > 0)
        issue.labels = words->labels;
    if (rc == RC_OK)
        *ret_issue = issue;
    return rc;
}

/* ---- dependencies ---- */

static bool blocks(const void *ctx, const struct js *item)
{
    const char *repository = js_str(js_path(item, "repository.full_name"), NULL);
    return repository == NULL || strcasecmp(repository, ctx) == 0;
}

static enum rc blocked_by(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          int64_t number, struct arena *arena, int64_t **ret_numbers,
                          size_t *ret_count, struct err *err)
{
    struct host_api api;
    enum rc rc = gitea_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const struct host_blockers query = {
        .host = ops->host,
        .path = host_path(&api, "/issues/%" PRId64 "/dependencies?limit=50", number),
        .blocks = blocks,
        .ctx = api.repo->path};
    rc = host_issue_blockers(&api, &query, ret_numbers, ret_count, err);
    return rc == RC_NOT_FOUND ? host_no_issue(ops->host, number, err) : rc;
}

static const struct host_issues host = {
    .place = "repository",
    .number = "number",
    .body = "body",
    .comment_count = "comments",
    .author = "user",
    .login = "login",
    .label = "name",
    .list = "type=issues&limit=50",
    .open = "open",
    .comments = "/comments",
    .oldest = "",
    .people = &gitea_writers,
    .connect = gitea_open,
    .is_issue = is_issue,
    .set_state = set_state,
    .set_labels = set_labels,
};

const struct issue_ops issues_gitea = {
    .host = &host,
    .get = host_issue_get,
    .open = open_issue,
    .change = host_issue_change,
    .list = host_issue_list,
    .blocked_by = blocked_by,
};
