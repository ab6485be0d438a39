/*
 * test_issue_tasks.c - issues become tasks in the commit that reads them, and what is told of them.
 */
#include "control/pr/intake_progress.h"
#include "control/pr/issues.h"
#include "core/event_types.h"
#include "store/artifacts.h"
#include "store/intake.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

#define RULES \
    "\"intake\":{\"labels\":[\"drover\"],\"rules\":[{\"label\":\"bug\",\"riskLevel\":\"low\"}]}"
enum { TELL_MS = 5000 };

static struct lab lab;
static struct repository_row repository;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", RULES);
    struct id run_id = lab_submit(&lab, "acme/billing");
    const struct task_row task = lab_task(&lab, &run_id);
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(repositories_get(lab.db, &task.repository_id, &lab.arena, &repository, NULL),
                     RC_OK);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- the forge and the worker ---- */

struct shown {
    const char *body;
    const char *author; /* "ann" is a MEMBER. */
    const char *labels; /* JSON */
    const char *comment, *comment_by;
    int64_t comment_id;
    bool closed, gone;
};

static void write_person(struct jw *jw, const char *key, const char *login)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kstr(jw, "login", login);
    jw_kstr(jw, "association", text_same(login, "ann") ? "MEMBER" : "NONE");
    jw_end(jw, '}');
}

static const char *view_of(const struct shown *shown)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 64 * 1024);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kint(&jw, "number", 12);
    jw_kstr(&jw, "title", "Totals are wrong");
    jw_kstr(&jw, "body", shown->body != NULL ? shown->body : "They are.");
    jw_kbool(&jw, "open", !shown->closed);
    write_person(&jw, "author", shown->author != NULL ? shown->author : "ann");
    jw_ktime(&jw, "updatedAt", lab.now_us);
    jw_kraw(&jw, "labels", shown->labels != NULL ? str_of(shown->labels) : STR("[\"drover\"]"));
    jw_key(&jw, "comments");
    jw_begin(&jw, '[');
    if (shown->comment != NULL) {
        jw_begin(&jw, '{');
        jw_kint(&jw, "id", shown->comment_id);
        write_person(&jw, "author", shown->comment_by);
        jw_kstr(&jw, "body", shown->comment);
        jw_ktime(&jw, "createdAt", lab.now_us);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    jw_end(&jw, '}');
    return arena_strdup(&lab.arena, buf_text(&text));
}

static void happen(void)
{
    struct cmd_issue_event *cmd = cmd_issue_event_new();
    cmd->event = EV_ISSUE_LABELLED;
    cmd->repository_id = repository.id;
    cmd->repository = repository.name;
    cmd->number = 12;
    cmd->title = "Totals are wrong";
    cmd->labels = STR("[]");
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

static void read_it(const struct shown *shown)
{
    struct job_row job = lab_take(&lab, "issue");
    const char *result = "{\"number\":12}";
    char sha256[SHA256_TEXT_BYTES];
    struct err err = {0};
    if (!shown->gone) {
        ck_assert_int_eq(artifact_put(lab.store, str_of(view_of(shown)), sha256, &err), RC_OK);
        result = arena_printf(&lab.arena, "{\"number\":12,\"issueSha256\":\"%s\"}", sha256);
    }
    struct job_answer answer = lab_claim(&lab, &job, result);
    ck_assert_msg(answer.ok, "%s %s", answer.code, answer.message);
}

static void look(const struct shown *shown)
{
    happen();
    read_it(shown);
}

static struct intake_row row_now(void)
{
    struct intake_row row;
    ck_assert_int_eq(intake_of_issue(lab.db, &repository.id, 12, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static size_t tasks_now(void)
{
    struct task_row *rows;
    size_t count;
    const struct task_filter filter = {
        .repository = "acme/billing", .status = -1, .requested_by = "local/ann", .limit = 100};
    ck_assert_int_eq(tasks_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    return count;
}

/* How many comments wait to be written: none or one. */
static size_t comments_waiting(void)
{
    struct job_row *jobs;
    size_t count = lab_lease(&lab, "drover.comment", "reader", &jobs);
    for (size_t i = 0; i < count; i++)
        (void)lab_fail(&lab, &jobs[i], "comment_failed", true);
    return count;
}

/* Writes what waits; what was written, or NULL. */
static const struct js *write_comment(void)
{
    struct job_row *jobs;
    struct js *payload = NULL;
    if (lab_lease(&lab, "drover.comment", "writer", &jobs) == 0)
        return NULL;
    ck_assert_int_eq(js_parse(jobs[0].payload.at, jobs[0].payload.len, &payload, NULL), RC_OK);
    ck_assert(lab_claim(&lab, &jobs[0], "{\"number\":12,\"closed\":false}").ok);
    return payload;
}

static void expect_comment(const char *words)
{
    struct js *payload = (struct js *)write_comment();
    ck_assert_msg(payload != NULL, "no comment with: %s", words);
    ck_assert_msg(strstr(js_get_str(payload, "body", ""), words) != NULL, "%s in\n%s", words,
                  js_get_str(payload, "body", ""));
    js_free(payload);
}

static void expect_silence(void)
{
    struct js *payload = (struct js *)write_comment();
    ck_assert_msg(payload == NULL, "%s", js_get_str(payload, "body", ""));
}

/* ---- tests ---- */

START_TEST(a_label_becomes_one_task)
{
    const struct shown shown = {.labels = "[\"drover\",\"bug\"]"};
    look(&shown);
    struct intake_row row = row_now();
    ck_assert_int_eq(row.state, ISSUE_ACTIVE);
    ck_assert_str_eq(row.asked_by, "ann");
    struct task_row task;
    ck_assert_int_eq(tasks_get(lab.db, &row.task_id, &lab.arena, &task, NULL), RC_OK);
    ck_assert_int_eq(task.risk, RISK_LOW);
    ck_assert_int_eq(task.issue_number, 12);
    ck_assert_str_eq(task.requested_by, "local/ann");
    ck_assert_ptr_nonnull(memmem(task.origin.at, task.origin.len, row.prompt_sha256, 64));
    ck_assert_ptr_nonnull(memmem(task.origin.at, task.origin.len, row.view_sha256, 64));
    for (int i = 0; i < 3; i++)
        look(&shown);
    ck_assert_uint_eq(tasks_now(), 1);
    ck_assert_str_eq(row_now().task_id.text, row.task_id.text);
}
END_TEST

START_TEST(a_look_that_is_asked_for_twice_is_one_job)
{
    const struct shown shown = {.labels = "[]"};
    happen();
    happen();
    read_it(&shown);
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.issue", "w", &jobs), 0);
    ck_assert_int_eq(row_now().state, ISSUE_SEEN);
    expect_silence();
}
END_TEST

START_TEST(a_stranger_waits_for_a_person_who_may)
{
    struct shown shown = {.author = "eve"};
    look(&shown);
    ck_assert_int_eq(row_now().state, ISSUE_AWAITING);
    ck_assert_uint_eq(tasks_now(), 0);
    expect_comment("waits for an approval");
    look(&shown);
    expect_silence(); /* There is nothing new. */
    lab_pass_ms(&lab, 2000);
    shown.comment = "/drover run";
    shown.comment_by = "eve";
    shown.comment_id = 5;
    look(&shown);
    ck_assert_uint_eq(tasks_now(), 0);
    ck_assert_int_eq(row_now().last_comment_id, 5);
    shown.comment_by = "ann";
    shown.comment_id = 6;
    look(&shown);
    ck_assert_int_eq(row_now().state, ISSUE_ACTIVE);
    ck_assert_uint_eq(tasks_now(), 1);
    look(&shown); /* The same comment is not obeyed twice. */
    ck_assert_uint_eq(tasks_now(), 1);
}
END_TEST

START_TEST(a_text_that_was_edited_is_asked_for_again)
{
    struct shown shown = {.author = "eve", .labels = "[]"};
    look(&shown);
    lab_pass_ms(&lab, 2000);
    shown.comment = "/drover run";
    shown.comment_by = "ann";
    shown.comment_id = 6;
    shown.body = "EVIL"; /* Edited after the comment, before the look. */
    look(&shown);
    ck_assert_int_eq(row_now().state, ISSUE_AWAITING);
    ck_assert_uint_eq(tasks_now(), 0);
}
END_TEST

START_TEST(closing_taking_the_label_away_and_deleting_cancel)
{
    static const struct shown ends[] = {{.closed = true}, {.labels = "[]"}, {.gone = true}};
    const struct shown begin = {.body = "Begin"};
    const struct shown unlabelled = {.labels = "[]"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        look(&begin);
        struct intake_row row = row_now();
        ck_assert_int_eq(row.state, ISSUE_ACTIVE);
        look(&ends[i]);
        struct task_row task;
        ck_assert_int_eq(tasks_get(lab.db, &row.task_id, &lab.arena, &task, NULL), RC_OK);
        ck_assert_int_eq(task.status, TASK_CANCELLED);
        ck_assert_int_eq(row_now().state, ISSUE_DONE);
        look(&unlabelled);
        ck_assert_int_eq(row_now().state, ISSUE_SEEN);
    }
    ck_assert_uint_eq(tasks_now(), COUNT_OF(ends));
}
END_TEST

START_TEST(a_task_that_is_refused_says_so)
{
    lab_repository(&lab, "acme/billing",
                   "\"intake\":{\"labels\":[\"drover\"],\"rules\":[{\"label\":\"drover\","
                   "\"riskLevel\":\"high\",\"executionMode\":\"autonomous_pr\"}]}");
    const struct shown shown = {.body = NULL};
    look(&shown);
    struct intake_row row = row_now();
    ck_assert_int_eq(row.state, ISSUE_DONE);
    ck_assert(id_is_none(&row.task_id));
    ck_assert_uint_eq(tasks_now(), 0);
    expect_comment("could not take this on");
}
END_TEST

START_TEST(the_comment_follows_the_run_and_the_latest_text_wins)
{
    const struct shown shown = {.body = NULL};
    look(&shown);
    expect_comment("has accepted this");
    expect_silence();
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    expect_silence(); /* Not yet: events of a while are told together. */
    lab_pass_ms(&lab, TELL_MS);
    /* While it is being written the run moves on. */
    struct job_row *jobs;
    ck_assert_uint_eq(lab_lease(&lab, "drover.comment", "slow", &jobs), 1);
    ck_assert_ptr_nonnull(memmem(jobs[0].payload.at, jobs[0].payload.len, "`running`", 9));
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    lab_pass_ms(&lab, TELL_MS);
    ck_assert(lab_claim(&lab, &jobs[0], "{\"number\":12}").ok);
    expect_comment("has opened a pull request");
    lab_pass_ms(&lab, TELL_MS);
    expect_silence();
    struct intake_row row = row_now();
    ck_assert_str_eq(row.told, row.wanted);
    ck_assert_int_eq(row.state, ISSUE_DONE);
}
END_TEST

START_TEST(a_comment_that_could_not_be_written_is_written_with_the_next_text)
{
    const struct shown shown = {.body = NULL};
    look(&shown);
    struct job_row job = lab_take(&lab, "comment");
    (void)lab_fail(&lab, &job, "credential_refused", false);
    ck_assert_ptr_null(row_now().told);
    ck_assert_uint_eq(comments_waiting(), 0);
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_pass_ms(&lab, TELL_MS);
    expect_comment("working on this");
}
END_TEST

static bool is_stored(const char *sha256)
{
    const struct artifact_source source = {lab.store, lab.db};
    int64_t bytes;
    return artifact_stat(&source, sha256, &bytes, NULL) == RC_OK;
}

START_TEST(what_was_read_is_dropped_unless_a_task_was_made_of_it)
{
    struct shown shown = {.labels = "[]"};
    look(&shown);
    const char *first = row_now().view_sha256;
    shown.labels = "[\"drover\"]";
    look(&shown);
    const char *second = row_now().view_sha256;
    ck_assert(!is_stored(first) && is_stored(second));
    shown.body = "Edited";
    look(&shown);
    const char *third = row_now().view_sha256;
    shown.body = "Edited again";
    look(&shown);
    ck_assert(is_stored(second));
    ck_assert(!is_stored(third));
    ck_assert(row_now().changed);
}
END_TEST

START_TEST(events_of_other_tasks_set_no_timer)
{
    (void)lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_pass_ms(&lab, TELL_MS);
    expect_silence();
}
END_TEST

Suite *issue_tasks_suite(void)
{
    Suite *suite = suite_create("issue_tasks");
    TCase *tc = tcase_create("issue_tasks");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_label_becomes_one_task);
    tcase_add_test(tc, a_look_that_is_asked_for_twice_is_one_job);
    tcase_add_test(tc, a_stranger_waits_for_a_person_who_may);
    tcase_add_test(tc, a_text_that_was_edited_is_asked_for_again);
    tcase_add_test(tc, closing_taking_the_label_away_and_deleting_cancel);
    tcase_add_test(tc, a_task_that_is_refused_says_so);
    tcase_add_test(tc, the_comment_follows_the_run_and_the_latest_text_wins);
    tcase_add_test(tc, a_comment_that_could_not_be_written_is_written_with_the_next_text);
    tcase_add_test(tc, what_was_read_is_dropped_unless_a_task_was_made_of_it);
    tcase_add_test(tc, events_of_other_tasks_set_no_timer);
    suite_add_tcase(suite, tc);
    return suite;
}
