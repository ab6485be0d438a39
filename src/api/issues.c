/*
 * issues.c - issues of repositories, through their forge.
 *
 * All of it runs on a pool thread: the forge answers from a disk or from another machine.
 */
#include "control/pr/issues.h"
#include "api/audit_calls.h"
#include "api/listing.h"
#include "api/repo_access.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/log.h"
#include "core/event_types.h"
#include "forge/forges.h"
#include <inttypes.h>

enum { REPOSITORY_NAME_MAX = 200 };

static const char *const states[] = {"open", "closed", NULL};

static enum rc open_issues(struct call *call, struct db *db, const char *name,
                           struct repo_access *repo_access, const struct issue_ops **ret_ops,
                           struct err *err)
{
    if (name == NULL)
        return err_field(err, RC_INVALID, "MISSING_FIELD", "repository",
                         "repository is missing: say whose issues are meant");
    enum rc rc = repo_access_open(call, db, name, repo_access, err);
    return rc == RC_OK ? issues_find(repo_access->config->forge, ret_ops, err) : rc;
}

/* ---- Shapes ---- */

static void write_issue(struct jw *jw, const char *repository, const struct issue *issue)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "repository", repository);
    jw_kint(jw, "number", issue->number);
    jw_kstr(jw, "title", issue->title);
    jw_kstr(jw, "state", issue->state);
    jw_kstr(jw, "author", issue->author);
    jw_kraw(jw, "labels", issue->labels);
    jw_ktime(jw, "createdAt", issue->created_us);
    jw_ktime(jw, "updatedAt", issue->updated_us);
    jw_kint(jw, "commentCount", issue->comment_count);
}

static void answer_issue(struct call *call, int status, const struct repo_access *repo_access,
                         const struct issue *issue)
{
    struct jw jw = call_answer(call, status);
    write_issue(&jw, repo_access->repository.name, issue);
    jw_kstr(&jw, "body", issue->body);
    jw_key(&jw, "comments");
    jw_begin(&jw, '[');
    for (int64_t i = 0; issue->comments != NULL && i < issue->comment_count; i++) {
        jw_begin(&jw, '{');
        jw_kint(&jw, "id", issue->comments[i].id);
        jw_kstr(&jw, "author", issue->comments[i].author);
        jw_kstr(&jw, "body", issue->comments[i].body);
        jw_ktime(&jw, "createdAt", issue->comments[i].created_us);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
}

/* ---- Reading ---- */

static enum rc read_number(const struct call *call, int64_t *ret_number, struct err *err)
{
    if (text_to_i64(call->vars[0], ret_number) && *ret_number > 0)
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_ID", "%.100s is no number of an issue",
                   call->vars[0]);
}

enum rc api_issue_get(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    const struct issue_ops *ops = NULL;
    struct params params;
    const char *name = NULL;
    int64_t number = 0;
    struct issue issue;
    enum rc rc = read_number(call, &number, err);
    if (rc == RC_OK)
        rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_text(&params, "repository", REPOSITORY_NAME_MAX, &name);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = open_issues(call, db, name, &repo_access, &ops, err);
    if (rc == RC_OK)
        rc = ops->get(ops, &repo_access.forge, repo_access.config->url, number, &call->http.arena,
                      &issue, err);
    if (rc == RC_OK)
        answer_issue(call, 200, &repo_access, &issue);
    return rc;
}

static void read_filter(struct listing *list, struct issue_filter *filter)
{
    struct params *params = &list->params;
    filter->limit = (size_t)list->query_limit;
    if (list->after != NULL && !text_to_i64(list->after, &filter->before))
        params_fail(params, "cursor", "this cursor is of another listing");
    params_text(params, "state", 20, &filter->state);
    if (filter->state != NULL && !text_same(filter->state, states[0]) &&
        !text_same(filter->state, states[1]))
        params_fail(params, "state", "%.20s is no state of an issue", filter->state);
}

enum rc api_issue_list(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    const struct issue_ops *ops = NULL;
    struct listing list;
    struct issue_filter filter = {0};
    const char *name = NULL;
    struct issue *issues = NULL;
    listing_open(&list, call, CURSOR_NAME, err); /* The name is the issue's number. */
    params_text(&list.params, "repository", REPOSITORY_NAME_MAX, &name);
    read_filter(&list, &filter);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = open_issues(call, db, name, &repo_access, &ops, err);
    if (rc == RC_OK)
        rc = ops->list(ops, &repo_access.forge, repo_access.config->url, &filter, list.arena,
                       &issues, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_issue(&list.jw, repo_access.repository.name, &issues[i]);
        jw_end(&list.jw, '}');
        list.last_number = issues[i].number;
    }
    return listing_end(&list, rc);
}

/* ---- Writing ---- */

/* The forge has it already: after an error now the client would create it twice. */
static void post_event(struct call *call, const struct repo_access *repo_access,
                       const struct issue *issue, const char *event)
{
    struct cmd_issue_event *cmd = cmd_issue_event_new();
    struct err err = {0};
    call_own(call, &cmd->base);
    audit_calls_about(
        call,
        arena_printf(&cmd->base.arena, "%s#%" PRId64, repo_access->repository.name, issue->number),
        NULL);
    cmd->event = event;
    cmd->repository_id = repo_access->repository.id;
    cmd->repository = repo_access->repository.name;
    cmd->number = issue->number;
    cmd->title = issue->title;
    cmd->labels = issue->labels;
    cmd->comment_count = issue->comment_count;
    if (call_commit(call, &err) != RC_OK)
        LOG(LOG_WARN, "the event of an issue could not be appended",
            LOG_STR("repository", cmd->repository), LOG_INT("number", cmd->number),
            LOG_STR("error", err.text));
}

static struct issue_words words_of(const struct call *call)
{
    struct clock clock = control_clock(call->api->control);
    return (struct issue_words){
        .author = auth_actor(&call->who).id, .body = "", .time_us = clock_now_us(&clock)};
}

enum rc api_issue_new(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    const struct issue_ops *ops = NULL;
    struct issue_words words = words_of(call);
    const char *name = NULL;
    const struct js *labels = NULL;
    struct fields fields;
    struct issue issue;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "repository", FIELD_REQUIRED,
                  &(struct field_text){1, REPOSITORY_NAME_MAX}, &name);
    fields_string(&fields, "title", FIELD_REQUIRED, &(struct field_text){1, ISSUE_TITLE_MAX},
                  &words.title);
    fields_string(&fields, "body", FIELD_OPTIONAL, &(struct field_text){0, ISSUE_BODY_MAX},
                  &words.body);
    fields_strings(&fields, "labels", FIELD_OPTIONAL, ISSUE_LABELS_MAX,
                   &(struct field_text){1, ISSUE_LABEL_MAX}, &labels);
    rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = open_issues(call, db, name, &repo_access, &ops, err);
    if (rc != RC_OK)
        return rc;
    if (labels != NULL)
        words.labels = str_of(js_text(labels, &call->http.arena));
    rc = ops->open(ops, &repo_access.forge, repo_access.config->url, &words, &call->http.arena,
                   &issue, err);
    if (rc != RC_OK)
        return rc;
    post_event(call, &repo_access, &issue, EV_ISSUE_CREATED);
    answer_issue(call, 201, &repo_access, &issue);
    return RC_OK;
}

/* A change of an existing issue, and its answer. */
struct saying {
    struct issue_words words;
    const char *event;
    int status;
};

static enum rc say(struct call *call, struct db *db, struct saying *saying, struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    const struct issue_ops *ops = NULL;
    const char *name = NULL;
    int64_t number = 0;
    struct fields fields;
    struct issue issue;
    enum rc rc = read_number(call, &number, err);
    if (rc == RC_OK)
        rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "repository", FIELD_REQUIRED,
                  &(struct field_text){1, REPOSITORY_NAME_MAX}, &name);
    if (saying->words.state == NULL)
        fields_string(&fields, "body", FIELD_REQUIRED, &(struct field_text){1, ISSUE_BODY_MAX},
                      &saying->words.body);
    rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = open_issues(call, db, name, &repo_access, &ops, err);
    if (rc == RC_OK)
        rc = ops->change(ops, &repo_access.forge, repo_access.config->url, number, &saying->words,
                         &call->http.arena, &issue, err);
    if (rc != RC_OK)
        return rc;
    post_event(call, &repo_access, &issue, saying->event);
    answer_issue(call, saying->status, &repo_access, &issue);
    return RC_OK;
}

enum rc api_issue_comment(struct call *call, struct db *db, struct err *err)
{
    struct saying saying = {words_of(call), EV_ISSUE_COMMENTED, 201};
    return say(call, db, &saying, err);
}

enum rc api_issue_close(struct call *call, struct db *db, struct err *err)
{
    struct saying saying = {words_of(call), EV_ISSUE_CLOSED, 200};
    saying.words.state = "closed";
    return say(call, db, &saying, err);
}

enum rc api_issue_reopen(struct call *call, struct db *db, struct err *err)
{
    struct saying saying = {words_of(call), EV_ISSUE_REOPENED, 200};
    saying.words.state = "open";
    return say(call, db, &saying, err);
}

/* ---- Labels ---- */

static bool holds(const struct js *list, const char *word)
{
    for (size_t i = 0; i < js_count(list); i++)
        if (text_same(js_str(js_at(list, i), ""), word))
            return true;
    return false;
}

/* The labels of the issue without those that are removed, and with those that are added. */
static struct str new_labels(struct str labels, const struct js *add, const struct js *remove,
                             struct arena *arena)
{
    CLEANUP(js_freep) struct js *there = NULL;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ISSUE_LABELS_MAX * 2 * ISSUE_LABEL_MAX * 6);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '[');
    if (js_parse(labels.at, labels.len, &there, NULL) == RC_OK) {
        for (size_t i = 0; i < js_count(there); i++)
            if (!holds(remove, js_str(js_at(there, i), "")))
                jw_str(&jw, js_str(js_at(there, i), ""));
    }
    for (size_t i = 0; i < js_count(add); i++)
        if (!holds(there, js_str(js_at(add, i), "")))
            jw_str(&jw, js_str(js_at(add, i), ""));
    jw_end(&jw, ']');
    return str_of(arena_strdup(arena, buf_text(&text)));
}

static enum rc set_labels(struct call *call, struct repo_access *repo_access,
                          const struct issue_ops *ops, struct issue *issue, const struct js *tree,
                          struct err *err)
{
    const char *url = repo_access->config->url;
    struct forge_call *forge = &repo_access->forge;
    struct issue_words words = words_of(call);
    enum rc rc = ops->get(ops, forge, url, issue->number, &call->http.arena, issue, err);
    if (rc != RC_OK)
        return rc;
    words.body = NULL;
    words.labels = new_labels(issue->labels, js_get(tree, "add"), js_get(tree, "remove"),
                              &call->http.arena);
    return ops->change(ops, forge, url, issue->number, &words, &call->http.arena, issue, err);
}

enum rc api_issue_label(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(repo_access_release) struct repo_access repo_access = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    const struct field_text each = {1, ISSUE_LABEL_MAX};
    const struct js *add = NULL, *remove = NULL;
    const struct issue_ops *ops = NULL;
    const char *name = NULL;
    struct issue issue = {0};
    struct fields fields;
    enum rc rc = read_number(call, &issue.number, err);
    if (rc == RC_OK)
        rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, tree, "", err);
    fields_string(&fields, "repository", FIELD_REQUIRED,
                  &(struct field_text){1, REPOSITORY_NAME_MAX}, &name);
    fields_strings(&fields, "add", FIELD_OPTIONAL, ISSUE_LABELS_MAX, &each, &add);
    fields_strings(&fields, "remove", FIELD_OPTIONAL, ISSUE_LABELS_MAX, &each, &remove);
    if (add == NULL && remove == NULL)
        fields_fail(&fields, "add", "give labels to add, to remove, or both");
    rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = open_issues(call, db, name, &repo_access, &ops, err);
    if (rc == RC_OK && !text_same(repo_access.config->forge, "local"))
        rc = err_set(err, RC_INVALID, "LABELS_AT_FORGE",
                     "labels of this repository are changed at its forge, %s",
                     repo_access.config->forge);
    if (rc == RC_OK)
        rc = set_labels(call, &repo_access, ops, &issue, tree, err);
    if (rc != RC_OK)
        return rc;
    post_event(call, &repo_access, &issue, EV_ISSUE_LABELLED);
    answer_issue(call, 200, &repo_access, &issue);
    return RC_OK;
}
