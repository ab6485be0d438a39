/*
 * api_issues.c - issues of repositories, through their forge.
 *
 * All of it runs on a pool thread: the forge answers from a disk or from another machine.
 */
#include "base/clock.h"
#include "base/form.h"
#include "base/log.h"
#include "control/issues.h"
#include "core/repo_document.h"
#include "edge/api_routes.h"
#include "forge/issues.h"
#include "store/repositories.h"
#include "store/workspaces.h"

enum { REPOSITORY_NAME_MAX = 200, FORGE_SECONDS_MAX = 60 };
#define DEFAULT_WORKSPACE "default"

static const char *const states[] = {"open", "closed", NULL};

/* A repository, and how to reach its issues. */
struct desk {
    struct repository_row repository;
    struct js *document;
    struct repo_config *config;
    const struct issue_ops *ops;
    struct git git;
};

static void desk_release(struct desk *desk)
{
    js_free(desk->document);
}

static enum rc find_repository(struct db *db, const char *name, struct arena *arena,
                               struct repository_row *ret_row, struct err *err)
{
    struct workspace_row workspace;
    if (!name)
        return err_field(err, RC_INVALID, "MISSING_FIELD", "repository",
                         "repository is missing: say whose issues are meant");
    enum rc rc = workspaces_by_name(db, DEFAULT_WORKSPACE, arena, &workspace, err);
    if (rc == RC_OK)
        rc = repositories_by_name(db, &workspace.id, name, arena, ret_row, err);
    if (rc == RC_NOT_FOUND || (rc == RC_OK && ret_row->removed))
        return err_set(err, RC_NOT_FOUND, "REPO_NOT_FOUND", "there is no repository %.200s", name);
    return rc;
}

static enum rc desk_open(struct call *call, struct db *db, const char *name, struct desk *desk,
                         struct err *err)
{
    struct arena *arena = &call->http.arena;
    enum rc rc = find_repository(db, name, arena, &desk->repository, err);
    if (rc != RC_OK)
        return rc;
    const struct repo_layers layers = {.platform = call->api->defaults,
                                       .repository = desk->repository.config};
    desk->config = arena_alloc(arena, sizeof *desk->config);
    rc = repo_layers_decode(&layers, arena, &desk->document, desk->config, err);
    if (rc == RC_OK)
        rc = issues_find(desk->config->forge, &desk->ops, err);
    if (rc != RC_OK)
        return rc;
    desk->git = (struct git){.home = arena_printf(arena, "%s/work/git", call->api->data_dir),
                             .cancel = &call->api->stopping,
                             .deadline_us = clock_mono_us() + FORGE_SECONDS_MAX * US_PER_SECOND};
    return git_home_make(desk->git.home, err);
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

static void answer_issue(struct call *call, int status, const struct desk *desk,
                         const struct issue *issue)
{
    struct jw jw = call_answer(call, status);
    write_issue(&jw, desk->repository.name, issue);
    jw_kstr(&jw, "body", issue->body);
    jw_key(&jw, "comments");
    jw_begin(&jw, '[');
    for (int64_t i = 0; issue->comments && i < issue->comment_count; i++) {
        jw_begin(&jw, '{');
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
    CLEANUP(desk_release) struct desk desk = {0};
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
        rc = desk_open(call, db, name, &desk, err);
    if (rc == RC_OK)
        rc = desk.ops->get(&desk.git, desk.config->url, number, &call->http.arena, &issue, err);
    if (rc == RC_OK)
        answer_issue(call, 200, &desk, &issue);
    return rc;
}

static void read_filter(struct params *params, const struct page *page, struct issue_filter *filter)
{
    filter->limit = (size_t)page->limit + 1;
    if (page->after && !text_to_i64(page->after, &filter->before))
        params_fail(params, "cursor", "this cursor is of another listing");
    params_text(params, "state", 20, &filter->state);
    if (filter->state && !text_same(filter->state, states[0]) &&
        !text_same(filter->state, states[1]))
        params_fail(params, "state", "%.20s is no state of an issue", filter->state);
}

enum rc api_issue_list(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(desk_release) struct desk desk = {0};
    struct arena *arena = &call->http.arena;
    struct params params;
    struct issue_filter filter = {0};
    const char *name = NULL;
    struct issue *issues = NULL;
    size_t count = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page_by_name(call, &params);
    params_text(&params, "repository", REPOSITORY_NAME_MAX, &name);
    read_filter(&params, &page, &filter);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = desk_open(call, db, name, &desk, err);
    if (rc == RC_OK)
        rc = desk.ops->list(&desk.git, desk.config->url, &filter, arena, &issues, &count, err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    size_t shown = page_rows(&page, count);
    for (size_t i = 0; i < shown; i++) {
        write_issue(&jw, desk.repository.name, &issues[i]);
        jw_end(&jw, '}');
    }
    const char *last = shown ? arena_printf(arena, "%lld", (long long)issues[shown - 1].number)
                             : NULL;
    call_list_end(&jw, shown ? call_next_name(call, &page, count, last) : NULL);
    return RC_OK;
}

/* ---- Writing ---- */

/* The forge has it: a refusal now would have it said twice. */
static void tell(struct call *call, const struct desk *desk, const struct issue *issue,
                 int64_t comment_no)
{
    struct cmd_issue_told *cmd = cmd_issue_told_new();
    cmd->base.actor = auth_actor(&call->who);
    cmd->repository_id = desk->repository.id;
    cmd->repository = desk->repository.name;
    cmd->number = issue->number;
    cmd->title = issue->title;
    cmd->labels = issue->labels;
    cmd->comment_no = comment_no;
    if (committer_call(control_committer(call->api->control), &cmd->base) != RC_OK)
        LOG(LOG_WARN, "an issue has no event: it could not be told",
            LOG_STR("repository", cmd->repository), LOG_INT("number", cmd->number),
            LOG_STR("error", cmd->base.err.text));
    command_free(&cmd->base);
}

static struct issue_words words_of(const struct call *call)
{
    struct clock clock = control_clock(call->api->control);
    return (struct issue_words){
        .author = auth_actor(&call->who).id, .body = "", .time_us = clock_now_us(&clock)};
}

enum rc api_issue_new(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(desk_release) struct desk desk = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct issue_words words = words_of(call);
    const char *name = NULL;
    const struct js *labels = NULL;
    struct form form;
    struct issue issue;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc != RC_OK)
        return rc;
    form_open(&form, tree, "", err);
    form_string(&form, "repository", FORM_REQUIRED, &(struct form_text){1, REPOSITORY_NAME_MAX},
                &name);
    form_string(&form, "title", FORM_REQUIRED, &(struct form_text){1, ISSUE_TITLE_MAX},
                &words.title);
    form_string(&form, "body", FORM_OPTIONAL, &(struct form_text){0, ISSUE_BODY_MAX}, &words.body);
    form_strings(&form, "labels", FORM_OPTIONAL, ISSUE_LABELS_MAX,
                 &(struct form_text){1, ISSUE_LABEL_MAX}, &labels);
    rc = form_close(&form);
    if (rc == RC_OK)
        rc = desk_open(call, db, name, &desk, err);
    if (rc != RC_OK)
        return rc;
    if (labels)
        words.labels = str_of(js_text(labels, &call->http.arena));
    rc = desk.ops->open(&desk.git, desk.config->url, &words, &call->http.arena, &issue, err);
    if (rc != RC_OK)
        return rc;
    tell(call, &desk, &issue, 0);
    answer_issue(call, 201, &desk, &issue);
    return RC_OK;
}

enum rc api_issue_comment(struct call *call, struct db *db, struct err *err)
{
    CLEANUP(desk_release) struct desk desk = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct issue_words words = words_of(call);
    const char *name = NULL;
    int64_t number = 0;
    struct form form;
    struct issue issue;
    enum rc rc = read_number(call, &number, err);
    if (rc == RC_OK)
        rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &tree, err);
    if (rc != RC_OK)
        return rc;
    form_open(&form, tree, "", err);
    form_string(&form, "repository", FORM_REQUIRED, &(struct form_text){1, REPOSITORY_NAME_MAX},
                &name);
    form_string(&form, "body", FORM_REQUIRED, &(struct form_text){1, ISSUE_BODY_MAX}, &words.body);
    rc = form_close(&form);
    if (rc == RC_OK)
        rc = desk_open(call, db, name, &desk, err);
    if (rc == RC_OK)
        rc = desk.ops->comment(&desk.git, desk.config->url, number, &words, &call->http.arena,
                               &issue, err);
    if (rc != RC_OK)
        return rc;
    tell(call, &desk, &issue, issue.comment_count);
    answer_issue(call, 201, &desk, &issue);
    return RC_OK;
}
