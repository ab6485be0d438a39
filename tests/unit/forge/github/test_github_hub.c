/*
 * test_github_hub.c - one act of the GitHub forge at the hub of tests/hub, as the environment names
 * it: tests/e2e/github_forge.test.mjs starts this suite for each.  Without it the suite does
 * nothing.
 *
 *     HUB_URL, HUB_API, HUB_TOKEN    the repository and the credential
 *     HUB_APP, HUB_KEY               in place of the token: an App and its key file
 *     HUB_ACT                        the act and its arguments, in lines
 *     HUB_OUT                        a file for {"rc", "code", "text", "answer"}
 */
#include "base/fd.h"
#include "base/jw.h"
#include "core/pr/pr_view.h"
#include "forge/github/app_token.h"
#include "forge/port/checks.h"
#include "forge/port/deliveries.h"
#include "forge/port/issues.h"
#include "forge/port/people.h"
#include "forge/port/prs.h"
#include "tests/unit/github_kit.h"
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 8, OUT_MAX = 4 * 1024 * 1024 };

struct act {
    struct forge_call call;
    const char *url;
    const char *args[ARGS_MAX + 1]; /* The first is the name. */
    struct arena arena;
    struct jw *jw; /* Writes the answer: one value. */
    bool answered;
    struct err err;
};

static struct pr_ref pr_of(const struct act *act)
{
    return (struct pr_ref){.url = act->url, .number = strtoll(act->args[1], NULL, 10)};
}

static enum rc act_view(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    struct pr_view view;
    enum rc rc = prs_github.view(&act->call, &ref, &act->arena, &view, &act->err);
    if (rc == RC_OK)
        pr_view_write(act->jw, &view);
    act->answered = rc == RC_OK;
    return rc;
}

static enum rc act_changed(struct act *act)
{
    struct changed_query query = {.url = act->url, .etag = act->args[2]};
    struct changed_answer answer;
    if (*act->args[1] != '\0' && !time_parse(act->args[1], &query.since_us))
        return RC_MALFORMED;
    enum rc rc = prs_github.changed(&act->call, &query, &act->arena, &answer, &act->err);
    if (rc != RC_OK)
        return rc;
    jw_begin(act->jw, '{');
    jw_kstr(act->jw, "etag", answer.etag);
    jw_kbool(act->jw, "same", answer.same);
    jw_key(act->jw, "numbers");
    jw_begin(act->jw, '[');
    for (size_t i = 0; i < answer.count; i++)
        jw_int(act->jw, answer.items[i].is_pr ? -answer.items[i].number : answer.items[i].number);
    jw_end(act->jw, ']');
    jw_end(act->jw, '}');
    act->answered = true;
    return RC_OK;
}

static enum rc act_comment(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    const struct forge_comment words = {.key = act->args[2], .body = act->args[3]};
    return prs_github.comment(&act->call, &ref, &words, &act->err);
}

static enum rc act_label(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.label(&act->call, &ref, &act->args[2], &act->err);
}

static enum rc act_reviewers(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.request_review(&act->call, &ref, &act->args[2], &act->err);
}

static enum rc act_ready(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.mark_ready(&act->call, &ref, &act->err);
}

static enum rc act_body(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.set_body(&act->call, &ref, act->args[2], &act->err);
}

static enum rc act_review(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    const struct pr_review_words words = {
        .key = act->args[2], .commit = act->args[3], .body = "Looked at.", .approve = true};
    return prs_github.review(&act->call, &ref, &words, &act->err);
}

static enum rc act_reply(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    const struct forge_comment words = {.key = act->args[3], .body = act->args[4]};
    return prs_github.thread_reply(&act->call, &ref, act->args[2], &words, &act->err);
}

static enum rc act_resolve(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.thread_resolve(&act->call, &ref, act->args[2], &act->err);
}

static enum rc act_auto_merge(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.auto_merge(&act->call, &ref, act->args[2], MERGE_WAY_SQUASH, &act->err);
}

static enum rc act_enqueue(struct act *act)
{
    const struct pr_ref ref = pr_of(act);
    return prs_github.enqueue(&act->call, &ref, act->args[2], &act->err);
}

/* ---- checks ---- */

static enum rc find_check(struct act *act, struct check_view *ret_check)
{
    struct check_view *checks = NULL;
    size_t count = 0;
    enum rc rc = checks_github.of_commit(&act->call, act->url, act->args[1], &act->arena, &checks,
                                         &count, &act->err);
    for (size_t i = 0; i < count && rc == RC_OK; i++) {
        if (text_same(checks[i].name, act->args[2])) {
            *ret_check = checks[i];
            return RC_OK;
        }
    }
    return rc == RC_OK ? RC_NOT_FOUND : rc;
}

static enum rc act_check(struct act *act)
{
    struct check_view check;
    enum rc rc = find_check(act, &check);
    if (rc != RC_OK)
        return rc;
    jw_begin(act->jw, '{');
    jw_kstr(act->jw, "id", check.id);
    jw_kstr(act->jw, "state", check_state_name(check.state));
    jw_kbool(act->jw, "own", check.own);
    jw_kbool(act->jw, "job", check.job);
    jw_end(act->jw, '}');
    act->answered = true;
    return RC_OK;
}

static enum rc act_log(struct act *act)
{
    struct check_view check;
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, CHECK_LOG_MAX);
    enum rc rc = find_check(act, &check);
    if (rc == RC_OK)
        rc = checks_github.log(&act->call, act->url, &check, &log, &act->err);
    if (rc == RC_OK)
        jw_strn(act->jw, log.data, log.len);
    act->answered = rc == RC_OK;
    return rc;
}

static enum rc act_rerun(struct act *act)
{
    struct check_view check;
    enum rc rc = find_check(act, &check);
    return rc == RC_OK ? checks_github.rerun(&act->call, act->url, &check, &act->err) : rc;
}

static enum rc act_put(struct act *act)
{
    const struct forge_check check = {.commit = act->args[1],
                                      .name = "drover",
                                      .key = act->args[2],
                                      .state = text_same(act->args[3], "passed") ? CHECK_PASSED
                                                                                 : CHECK_PENDING,
                                      .title = "Certificate",
                                      .summary = "All good."};
    return checks_github.put(&act->call, act->url, &check, &act->err);
}

/* ---- issues and deliveries ---- */

static enum rc act_issue(struct act *act)
{
    struct issue issue;
    int64_t *numbers = NULL;
    size_t count = 0;
    int64_t number = strtoll(act->args[1], NULL, 10);
    enum rc rc = issues_github.get(&issues_github, &act->call, act->url, number, &act->arena,
                                   &issue, &act->err);
    if (rc == RC_OK)
        rc = issues_github.blocked_by(&issues_github, &act->call, act->url, number, &act->arena,
                                      &numbers, &count, &act->err);
    if (rc != RC_OK)
        return rc;
    jw_begin(act->jw, '{');
    jw_kstr(act->jw, "title", issue.title);
    jw_kstr(act->jw, "state", issue.state);
    jw_kstr(act->jw, "association", issue.association);
    jw_kraw(act->jw, "labels", issue.labels);
    jw_kraw(act->jw, "assignees", issue.assignees);
    jw_key(act->jw, "comments");
    jw_begin(act->jw, '[');
    for (int64_t i = 0; i < issue.comment_count; i++)
        jw_str(act->jw, issue.comments[i].body);
    jw_end(act->jw, ']');
    jw_key(act->jw, "blockedBy");
    jw_begin(act->jw, '[');
    for (size_t i = 0; i < count; i++)
        jw_int(act->jw, numbers[i]);
    jw_end(act->jw, ']');
    jw_end(act->jw, '}');
    act->answered = true;
    return RC_OK;
}

static enum rc act_close_issue(struct act *act)
{
    struct issue issue;
    const struct issue_words words = {.state = "closed"};
    return issues_github.change(&issues_github, &act->call, act->url,
                                strtoll(act->args[1], NULL, 10), &words, &act->arena, &issue,
                                &act->err);
}

static enum rc act_deliveries(struct act *act)
{
    struct forge_delivery *items = NULL;
    size_t count = 0;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1024 * 1024);
    enum rc rc = deliveries_github.list(&act->call, act->url, 0, &act->arena, &items, &count,
                                        &act->err);
    if (rc == RC_OK && count > 0)
        rc = deliveries_github.payload(&act->call, act->url, &items[0], &body, &act->err);
    if (rc != RC_OK)
        return rc;
    jw_begin(act->jw, '{');
    jw_key(act->jw, "items");
    jw_begin(act->jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(act->jw, '{');
        jw_kstr(act->jw, "id", items[i].id);
        jw_kstr(act->jw, "event", items[i].event);
        jw_kbool(act->jw, "answered", items[i].answered);
        jw_end(act->jw, '}');
    }
    jw_end(act->jw, ']');
    jw_kraw(act->jw, "newest", buf_str(&body));
    jw_end(act->jw, '}');
    act->answered = true;
    return RC_OK;
}

static enum rc act_acts(struct act *act)
{
    struct forge_act *found = NULL;
    size_t count = 0;
    enum rc rc = people_github.acts(&act->call, act->url, strtoll(act->args[1], NULL, 10),
                                    &act->arena, &found, &count, &act->err);
    if (rc != RC_OK)
        return rc;
    jw_begin(act->jw, '[');
    for (size_t i = 0; i < count; i++) {
        jw_begin(act->jw, '[');
        jw_str(act->jw, found[i].assigned ? "assigned" : "labeled");
        jw_str(act->jw, found[i].what);
        jw_str(act->jw, found[i].actor);
        jw_end(act->jw, ']');
    }
    jw_end(act->jw, ']');
    act->answered = true;
    return RC_OK;
}

static enum rc act_person(struct act *act)
{
    const char *association = "NONE";
    bool in = false;
    enum rc rc = people_github.standing(&act->call, act->url, act->args[1], &act->arena,
                                        &association, &act->err);
    if (rc == RC_OK || rc == RC_NOT_FOUND)
        rc = people_github.in_team(&act->call, act->url, act->args[2], act->args[1], &in,
                                   &act->err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    jw_begin(act->jw, '{');
    jw_kstr(act->jw, "association", association);
    jw_kbool(act->jw, "inTeam", in);
    jw_end(act->jw, '}');
    act->answered = true;
    return RC_OK;
}

static const struct {
    const char *name;
    enum rc (*run)(struct act *act);
} acts[] = {
    {"view", act_view},
    {"changed", act_changed},
    {"comment", act_comment},
    {"label", act_label},
    {"reviewers", act_reviewers},
    {"ready", act_ready},
    {"body", act_body},
    {"review", act_review},
    {"reply", act_reply},
    {"resolve", act_resolve},
    {"auto_merge", act_auto_merge},
    {"enqueue", act_enqueue},
    {"check", act_check},
    {"log", act_log},
    {"rerun", act_rerun},
    {"put", act_put},
    {"issue", act_issue},
    {"close_issue", act_close_issue},
    {"deliveries", act_deliveries},
    {"acts", act_acts},
    {"person", act_person},
};

static void take_args(struct act *act)
{
    struct str rest = str_of(getenv("HUB_ACT")), line;
    for (size_t i = 0; i < ARGS_MAX && str_take_line(&rest, &line); i++)
        act->args[i] = str_dup(&act->arena, line);
}

/* The token that is given, or one that the App makes: of the App itself for its deliveries. */
static enum rc take_credential(struct act *act, struct app_token *token, struct buf *jwt)
{
    const struct app_config app = {.id = getenv("HUB_APP"), .key_file = getenv("HUB_KEY")};
    const struct app_token_want want = {
        .app = &app, .url = act->url, .api = getenv("HUB_API"), .write = true};
    const struct git how = {0};
    act->call.git.credential = getenv("HUB_TOKEN");
    if (app.id == NULL)
        return RC_OK;
    if (text_same(act->args[0], "deliveries")) {
        act->call.git.credential = jwt->data;
        enum rc rc = app_token_jwt(&app, NULL, jwt, &act->err);
        act->call.git.credential = buf_text(jwt);
        return rc;
    }
    act->call.git.credential = token->text;
    return app_token_get(&want, &how, token, &act->err);
}

static enum rc perform(struct act *act)
{
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        if (text_same(acts[i].name, act->args[0]))
            return acts[i].run(act);
    }
    return RC_INVALID;
}

START_TEST(an_act_at_the_hub)
{
    if (getenv("HUB_URL") == NULL)
        return;
    CLEANUP(buf_release) struct buf out, jwt;
    struct app_token token = {0};
    struct act act = {.url = getenv("HUB_URL"), .call = {.api = getenv("HUB_API")}};
    buf_init(&out, OUT_MAX);
    buf_init(&jwt, 4096);
    struct jw jw = jw_to(&out);
    act.jw = &jw;
    take_args(&act);
    jw_begin(&jw, '{');
    jw_key(&jw, "answer");
    enum rc rc = take_credential(&act, &token, &jwt);
    if (rc == RC_OK)
        rc = perform(&act);
    if (!act.answered)
        jw_null(&jw);
    jw_kstr(&jw, "rc", rc_name(rc));
    jw_kstr(&jw, "code", act.err.code);
    jw_kstr(&jw, "text", act.err.text);
    jw_kint(&jw, "retryMs", act.err.retry_ms);
    jw_end(&jw, '}');
    ck_assert_int_eq(file_write_durable(getenv("HUB_OUT"), out.data, out.len, 0600, NULL), RC_OK);
    forge_call_release(&act.call);
    arena_release(&act.arena);
}
END_TEST

Suite *github_hub_suite(void)
{
    Suite *suite = suite_create("github_hub");
    TCase *tc = tcase_create("github_hub");
    tcase_add_test(tc, an_act_at_the_hub);
    suite_add_tcase(suite, tc);
    return suite;
}
