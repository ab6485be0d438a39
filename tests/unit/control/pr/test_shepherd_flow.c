/*
 * test_shepherd_flow.c - the shepherd in the lab: looks at a forge are results of jobs.
 */
#include "base/clock.h"
#include "control/admit/decide.h"
#include "control/pr/shepherd.h"
#include "core/event_types.h"
#include "core/pr/pr_view.h"
#include "forge/port/forge.h"
#include "store/approvals.h"
#include "store/memories.h"
#include "store/shepherds.h"
#include "store/timers.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include "tests/unit/suites.h"
#include <string.h>

enum { SECOND = 1000, ALL = (1 << 16) - 1 };

static struct lab lab;
static struct id run_id, pr_id;
static int64_t number;
static const char *head; /* Of the pull request, as the forge shows it next. */

static void setup(void)
{
    lab_open(&lab, NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

/* ---- helpers ---- */

static struct pull_request_row pull_request(void)
{
    struct pull_request_row row;
    ck_assert_int_eq(pull_requests_get(lab.db, &pr_id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static struct shepherd_row shepherd(void)
{
    struct shepherd_row row;
    ck_assert_int_eq(shepherds_get(lab.db, &pr_id, &lab.arena, &row, NULL), RC_OK);
    return row;
}

static void expect(enum shepherd_state state)
{
    struct shepherd_row row = shepherd();
    ck_assert_msg(row.state == state, "it is %s (%s), not %s", shepherd_state_name(row.state),
                  row.reason, shepherd_state_name(state));
    lab_check(&lab);
}

/* Runs a task up to its pull request. */
static void open_pr(const char *more)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"prepare", RESULT_PREPARE}, {"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},     {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED},    {"publish", RESULT_PUBLISHED}};
    lab_repository(&lab, "acme/billing", more);
    run_id = lab_submit(&lab, "acme/billing");
    for (size_t i = 0; i < COUNT_OF(way); i++)
        lab_step(&lab, way[i].step, way[i].result);
    pr_id = lab_run(&lab, &run_id).pull_request_id;
    ck_assert(!id_is_none(&pr_id));
    number = pull_request().number;
    head = pull_request().head_commit;
}

/* As the forge shows it when nothing is wrong. */
static struct pr_view view(void)
{
    static const char *none[] = {NULL};
    return (struct pr_view){.number = number,
                            .url = "u",
                            .title = "t",
                            .author = "drover[bot]",
                            .head = head,
                            .head_branch = pull_request().branch,
                            .base = honest_commit("base", &lab.arena),
                            .target_branch = "main",
                            .mergeable = MERGE_CLEAN,
                            .labels = none};
}

static const char *observed(const struct pr_view *seen, const char *more)
{
    CLEANUP(buf_release) struct buf text, result;
    buf_init(&text, 1024 * 1024);
    buf_init(&result, 1024 * 1024);
    struct jw jw = jw_to(&text);
    pr_view_write(&jw, seen);
    jw = jw_to(&result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "viewSha256", buf_text(&text));
    jw_kint(&jw, "can", ALL);
    if (more != NULL)
        jw_kraw(&jw, "failures", str_of(more));
    jw_end(&jw, '}');
    return arena_strdup(&lab.arena, buf_text(&result));
}

/* The shepherd is due, looks, and sees this. */
static void look_at(const struct pr_view *seen, const char *failures)
{
    lab_pass_ms(&lab, 15 * 60 * SECOND);
    lab_step(&lab, "observe", observed(seen, failures));
}

static const char *payload_of(const struct job_row *job)
{
    return arena_strndup(&lab.arena, job->payload.at, job->payload.len);
}

static bool has_job(const char *step)
{
    struct job_row *jobs;
    return lab_lease(&lab, arena_printf(&lab.arena, "drover.%s", step), "w9", &jobs) > 0;
}

/* Takes the acts and says that they were done. */
static void attend(const char *acts)
{
    struct job_row job = lab_take(&lab, "attend");
    for (const char *at = acts; *at != '\0';) {
        size_t len = strcspn(at, " ");
        const char *wanted = arena_printf(&lab.arena, "\"act\":\"%.*s\"", (int)len, at);
        ck_assert_msg(strstr(payload_of(&job), wanted) != NULL, "no %s in %s", wanted,
                      payload_of(&job));
        at += len + (at[len] == ' ');
    }
    CLEANUP(buf_release) struct buf done;
    buf_init(&done, 1000);
    buf_addf(&done, "{\"head\":\"%s\",\"done\":[", head);
    for (const char *at = acts; *at != '\0';) {
        size_t len = strcspn(at, " ");
        buf_addf(&done, "%s\"%.*s\"", at == acts ? "" : ",", (int)len, at);
        at += len + (at[len] == ' ');
    }
    bool merges = strstr(acts, "merge") != NULL && strstr(acts, "auto_merge") == NULL;
    buf_addf(&done, "]%s}",
             merges ? ",\"mergeCommit\":\"3333333333333333333333333333333333333333\"" : "");
    lab_finish(&lab, &job, buf_text(&done));
}

static struct approval_row question(void)
{
    struct waiting_filter filter = {.status = "pending", .run_id = run_id, .limit = 10};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 1);
    return rows[0];
}

static size_t questions(void)
{
    struct waiting_filter filter = {.status = "pending", .run_id = run_id, .limit = 10};
    struct approval_row *rows;
    size_t count;
    ck_assert_int_eq(approvals_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    return count;
}

static void decide(const struct approval_row *row, bool approve)
{
    struct cmd_decide *cmd = cmd_decide_new();
    cmd->approval_id = row->id;
    cmd->approve = approve;
    cmd->base.actor = (struct actor){"user", "ann"};
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
}

/* The run of the repair that is under way goes up to publish; its head is `next`. */
static struct id repair(const char *next)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},
               {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED}};
    struct job_row job = lab_take(&lab, "prepare");
    struct id repair_id = job.run_id;
    struct run_row run = lab_run(&lab, &repair_id);
    ck_assert_str_eq(run.branch, pull_request().branch);
    ck_assert_str_eq(run.base_commit, head);
    lab_finish(&lab, &job, arena_printf(&lab.arena, "{\"baseCommit\":\"%s\"}", head));
    for (size_t i = 0; i < COUNT_OF(way); i++)
        lab_step(&lab, way[i].step, way[i].result);
    job = lab_take(&lab, "publish");
    ck_assert_ptr_nonnull(
        strstr(payload_of(&job),
               arena_printf(&lab.arena, "\"pullRequestNumber\":%lld", (long long)number)));
    const char *commit = honest_commit(next, &lab.arena);
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"number\":%lld,\"headCommit\":\"%s\",\"branch\":\"%s\","
                            "\"draft\":true}",
                            (long long)number, commit, pull_request().branch));
    ck_assert_int_eq(lab_run(&lab, &repair_id).status, RUN_COMPLETED);
    head = commit;
    return repair_id;
}

#define FAILURE(check, cause, word)                                                           \
    "[{\"check\":\"" check "\",\"cause\":\"" cause "\",\"why\":\"w\",\"fingerprint\":\"" word \
    "\",\"line\":\"l\"}]"
#define PRINT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define AUTO    "\"shepherd\":{\"merge\":\"auto\"},\"train\":{\"use\":\"off\"}"

static struct check_view red = {.id = "1", .name = "build", .state = CHECK_FAILED, .job = true};
static struct check_view green = {.id = "1", .name = "build", .state = CHECK_PASSED, .job = true};

/* ---- tests ---- */

START_TEST(a_repository_without_the_section_is_not_followed)
{
    struct shepherd_row row;
    open_pr(NULL);
    lab_pass_ms(&lab, 3600 * SECOND);
    ck_assert(!has_job("observe"));
    ck_assert_int_eq(shepherds_get(lab.db, &pr_id, &lab.arena, &row, NULL), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_green_pull_request_is_made_ready_and_merged)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.draft = true;
    seen.checks = &green;
    seen.check_count = 1;
    look_at(&seen, NULL);
    expect(SHEPHERD_REVIEW);
    attend("ready certificate");
    ck_assert(!pull_request().draft);
    seen.draft = false;
    look_at(&seen, NULL);
    expect(SHEPHERD_MERGING);
    attend("merge");
    expect(SHEPHERD_MERGED);
    ck_assert_str_eq(pull_request().status, "merged");
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PR_MERGED), 1);
    ck_assert_int_ge(lab_count_events(&lab, &run_id, EV_PR_STATE_CHANGED), 5);
    lab_pass_ms(&lab, 24 * 3600 * SECOND); /* It is over: nothing is looked at any more. */
    ck_assert(!has_job("observe"));
}
END_TEST

START_TEST(checks_that_fail_are_repaired_on_top_of_the_head)
{
    open_pr(AUTO);
    const char *first = head;
    struct pr_view seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "patch", PRINT_A));
    expect(SHEPHERD_FAILING);
    ck_assert_int_eq(shepherd().repairs, 1);
    ck_assert_str_eq(shepherd().work, "repair");
    attend("certificate");
    struct id repair_id = repair("h2");
    struct shepherd_row row = shepherd();
    ck_assert_str_eq(pull_request().head_commit, head);
    ck_assert_str_ne(head, first);
    ck_assert_int_eq(lab_count_events(&lab, &repair_id, EV_PR_UPDATED), 1);
    ck_assert_int_eq(lab_count_events(&lab, &repair_id, EV_PR_CREATED), 0);
    seen = view();
    seen.checks = &green;
    seen.check_count = 1;
    look_at(&seen, NULL);
    row = shepherd();
    ck_assert_ptr_null(row.work);
    ck_assert_str_eq(row.certified_head, head);
    ck_assert(row.certified);
    ck_assert_int_gt(row.repair_microusd, 0);
    struct ci_failure_row known;
    ck_assert_int_eq(ci_failures_get(lab.db, &row.repository_id, PRINT_A, &lab.arena, &known, NULL),
                     RC_OK);
    ck_assert_str_eq(known.cure, "repair");
    expect(SHEPHERD_MERGING);
}
END_TEST

START_TEST(the_same_failure_never_costs_twice)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "patch", PRINT_A));
    attend("certificate");
    (void)repair("h2");
    seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "patch", PRINT_A));
    expect(SHEPHERD_BLOCKED);
    attend("certificate");
    ck_assert_int_eq(shepherd().repairs, 1);
    ck_assert_str_eq(question().kind, "shepherd");
    look_at(&seen, NULL); /* One question, however often it is looked at. */
    look_at(&seen, NULL);
    struct approval_row asked = question();
    decide(&asked, true); /* A person lets it be tried once more. */
    look_at(&seen, NULL);
    expect(SHEPHERD_FAILING);
    ck_assert_int_eq(shepherd().repairs, 1);
    ck_assert_str_eq(shepherd().work, "repair");
}
END_TEST

START_TEST(what_fails_in_our_own_checks_is_repaired_once)
{
    open_pr("\"shepherd\":{\"merge\":\"auto\"},\"train\":{\"use\":\"off\"}");
    struct pr_view seen = view();
    seen.checks = &green;
    seen.check_count = 1;
    for (int time = 0; time < 2; time++) {
        /* As if a person had pushed: the head is verified, and fails. */
        head = honest_commit(time == 0 ? "p1" : "p2", &lab.arena);
        seen = view();
        seen.checks = &green;
        seen.check_count = 1;
        look_at(&seen, NULL);
        struct job_row job = lab_take(&lab, "rebase");
        lab_finish(&lab, &job,
                   arena_printf(&lab.arena,
                                "{\"outcome\":\"failed\",\"head\":\"%s\","
                                "\"certificateSha256\":\"cert\",\"feedbackSha256\":"
                                "\"a.c:1:1: error: it is red\"}",
                                head));
        look_at(&seen, NULL);
        if (time == 0) {
            expect(SHEPHERD_FAILING);
            ck_assert_str_eq(shepherd().work, "repair");
            struct task_row task;
            struct id work_id = shepherd().work_id;
            ck_assert_int_eq(tasks_get(lab.db, &work_id, &lab.arena, &task, NULL), RC_OK);
            ck_assert_ptr_nonnull(strstr(task.description, "it is red"));
            head = honest_commit("p2", &lab.arena); /* It is stopped by another push. */
            seen = view();
            look_at(&seen, NULL);
        }
    }
    expect(SHEPHERD_BLOCKED); /* The same failure, which a repair was begun for. */
    ck_assert_int_eq(shepherd().repairs, 1);
}
END_TEST

START_TEST(a_person_who_says_no_is_left_alone)
{
    open_pr("\"shepherd\":{\"merge\":\"auto\",\"repairs\":0},\"train\":{\"use\":\"off\"}");
    struct pr_view seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "patch", PRINT_A));
    attend("certificate");
    expect(SHEPHERD_BLOCKED);
    struct approval_row asked = question();
    decide(&asked, false);
    look_at(&seen, NULL);
    expect(SHEPHERD_BLOCKED);
    ck_assert(shepherd().stopped);
    ck_assert_uint_eq(questions(), 0);
    seen.state = PR_MERGED; /* The end is noticed all the same. */
    seen.merge_commit = honest_commit("m", &lab.arena);
    look_at(&seen, NULL);
    expect(SHEPHERD_MERGED);
    ck_assert_str_eq(pull_request().status, "merged");
}
END_TEST

START_TEST(a_flaky_check_runs_again_once)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "flaky", PRINT_A));
    expect(SHEPHERD_FAILING);
    attend("rerun certificate");
    ck_assert_int_eq(shepherd().reruns, 1);
    ck_assert_int_eq(shepherd().repairs, 0);
    seen.checks = &green;
    look_at(&seen, NULL);
    struct ci_failure_row known;
    struct shepherd_row row = shepherd();
    ck_assert_int_eq(ci_failures_get(lab.db, &row.repository_id, PRINT_A, &lab.arena, &known, NULL),
                     RC_OK);
    ck_assert_str_eq(known.cure, "rerun");
    ck_assert_int_eq(row.repairs, 0);
}
END_TEST

START_TEST(a_push_by_a_person_is_adopted_and_stops_the_repair_of_the_old_head)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "patch", PRINT_A));
    attend("certificate");
    struct job_row job = lab_take(&lab, "prepare");
    head = honest_commit("pushed", &lab.arena);
    seen = view();
    look_at(&seen, NULL);
    expect(SHEPHERD_OPEN);
    ck_assert_str_eq(pull_request().head_commit, head);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_PR_HEAD_CHANGED), 1);
    ck_assert_int_eq(lab_run(&lab, &job.run_id).stop, RUN_STOP_CANCEL);
    ck_assert_ptr_null(shepherd().work);
    look_at(&seen, NULL); /* It is verified before anything else. */
    job = lab_take(&lab, "rebase");
    ck_assert_ptr_nonnull(strstr(payload_of(&job), "\"mode\":\"verify\""));
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"outcome\":\"verified\",\"head\":\"%s\","
                            "\"certificateSha256\":\"cert\"}",
                            head));
    ck_assert_str_eq(shepherd().certified_head, head);
    look_at(&seen, NULL);
    expect(SHEPHERD_MERGING);
}
END_TEST

START_TEST(a_push_that_drover_makes_itself_is_not_taken_for_that_of_another)
{
    static const struct {
        const char *step, *result;
    } way[] = {{"hydrate", RESULT_HYDRATE},
               {"agent", RESULT_AGENT},
               {"verify", RESULT_VERIFIED},
               {"judge", RESULT_JUDGED}};
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.checks = &red;
    seen.check_count = 1;
    look_at(&seen, FAILURE("build", "patch", PRINT_A));
    attend("certificate");
    struct job_row job = lab_take(&lab, "prepare");
    struct id repair_id = job.run_id;
    lab_finish(&lab, &job, arena_printf(&lab.arena, "{\"baseCommit\":\"%s\"}", head));
    for (size_t i = 0; i < COUNT_OF(way); i++)
        lab_step(&lab, way[i].step, way[i].result);
    head = honest_commit("h2", &lab.arena);
    seen = view(); /* The forge shows the push before the worker reports it. */
    look_at(&seen, NULL);
    job = lab_take(&lab, "publish");
    ck_assert_str_eq(shepherd().work, "repair");
    ck_assert_int_eq(lab_run(&lab, &repair_id).stop, RUN_STOP_NONE);
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"number\":%lld,\"headCommit\":\"%s\",\"branch\":\"%s\","
                            "\"draft\":true}",
                            (long long)number, head, pull_request().branch));
    look_at(&seen, NULL);
    ck_assert_ptr_null(shepherd().work);
    ck_assert_str_eq(shepherd().certified_head, head);
    ck_assert(!has_job("rebase"));
}
END_TEST

START_TEST(an_approval_to_merge_is_for_one_head)
{
    open_pr("\"shepherd\":{\"merge\":\"approved\"},\"train\":{\"use\":\"off\"}");
    struct pr_view seen = view();
    struct job_row job;
    lab_pass_ms(&lab, SECOND);
    job = lab_take(&lab, "observe");
    const char *text = observed(&seen, NULL);
    const char *cannot = arena_printf(&lab.arena, "\"can\":%d", 0); /* A forge without reviews. */
    char *at = strstr((char *)text, "\"can\":");
    *at = '\0';
    lab_finish(&lab, &job, arena_printf(&lab.arena, "%s%s}", text, cannot));
    expect(SHEPHERD_MERGEABLE);
    struct approval_row asked = question();
    ck_assert_str_eq(asked.kind, "merge");
    head = honest_commit("pushed", &lab.arena);
    seen = view();
    look_at(&seen, NULL); /* A new head: the question is taken back. */
    ck_assert_uint_eq(questions(), 0);
    job = lab_take(&lab, "rebase");
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"outcome\":\"verified\",\"head\":\"%s\","
                            "\"certificateSha256\":\"cert\"}",
                            head));
    ck_assert_str_eq(shepherd().state == SHEPHERD_OPEN ? "open" : "?", "open");
}
END_TEST

START_TEST(a_conflict_is_rebased_and_left_to_an_agent_when_it_does_not_apply)
{
    open_pr(AUTO);
    const char *target = honest_commit("target", &lab.arena);
    struct pr_view seen = view();
    seen.mergeable = MERGE_CONFLICT;
    look_at(&seen, NULL);
    expect(SHEPHERD_CONFLICTING);
    struct job_row job = lab_take(&lab, "rebase");
    ck_assert_ptr_nonnull(strstr(payload_of(&job), "\"mode\":\"rebase\""));
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"outcome\":\"conflict\",\"head\":\"%s\",\"target\":\"%s\","
                            "\"detail\":\"both change a.c\"}",
                            head, target));
    attend("certificate");
    look_at(&seen, NULL);
    expect(SHEPHERD_CONFLICTING);
    ck_assert_str_eq(shepherd().work, "repair");
    job = lab_take(&lab, "prepare");
    ck_assert_ptr_nonnull(
        strstr(payload_of(&job), arena_printf(&lab.arena, "\"mergeWith\":\"%s\"", target)));
    ck_assert_ptr_null(lab_run(&lab, &job.run_id).base_commit); /* Prepare makes it. */
    struct task_row task = lab_task(&lab, &job.run_id);
    ck_assert_ptr_nonnull(strstr(task.description, "both change a.c"));
}
END_TEST

START_TEST(a_stale_base_is_rebased_and_verified_again)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.mergeable = MERGE_BEHIND;
    seen.checks = &green;
    seen.check_count = 1;
    look_at(&seen, NULL);
    expect(SHEPHERD_STALE);
    attend("certificate");
    struct job_row job = lab_take(&lab, "rebase");
    head = honest_commit("rebased", &lab.arena);
    lab_finish(&lab, &job,
               arena_printf(&lab.arena,
                            "{\"outcome\":\"verified\",\"head\":\"%s\","
                            "\"certificateSha256\":\"cert\"}",
                            head));
    ck_assert_str_eq(pull_request().head_commit, head);
    seen = view();
    seen.checks = &green;
    seen.check_count = 1;
    look_at(&seen, NULL);
    expect(SHEPHERD_MERGING);
    ck_assert_int_eq(shepherd().rebases, 1);
}
END_TEST

START_TEST(a_review_becomes_one_repair_and_every_thread_is_answered)
{
    open_pr(AUTO);
    struct thread_comment words[] = {{.id = "c1",
                                      .author = "ann",
                                      .association = "MEMBER",
                                      .body = "Use a constant here.",
                                      .created_us = lab.now_us}};
    struct thread_view threads[] = {
        {.id = "T1", .path = "a.c", .line = 3, .comments = words, .comment_count = 1},
        {.id = "T2", .path = "b.c", .line = 9, .comments = words, .comment_count = 1}};
    struct pr_view seen = view();
    seen.threads = threads;
    seen.thread_count = 2;
    lab_pass_ms(&lab, SECOND);
    lab_step(&lab, "observe", observed(&seen, NULL));
    expect(SHEPHERD_CHANGES_REQUESTED);
    ck_assert_ptr_null(shepherd().work); /* The reviewer may not be done. */
    attend("certificate");
    look_at(&seen, NULL);
    ck_assert_str_eq(shepherd().work, "repair");
    ck_assert_int_eq(shepherd().repairs, 1);
    struct task_row task;
    struct id work_id = shepherd().work_id;
    ck_assert_int_eq(tasks_get(lab.db, &work_id, &lab.arena, &task, NULL), RC_OK);
    ck_assert_ptr_nonnull(strstr(task.description, "Thread 2 (b.c, line 9)"));
    (void)repair("h2");
    seen = view();
    seen.threads = threads;
    seen.thread_count = 2;
    look_at(&seen, NULL);
    struct job_row job = lab_take(&lab, "attend");
    ck_assert_ptr_nonnull(strstr(payload_of(&job), "\"id\":\"T1\""));
    ck_assert_ptr_nonnull(strstr(payload_of(&job), "\"id\":\"T2\""));
    ck_assert_ptr_nonnull(strstr(payload_of(&job), "Addressed by commit"));
    lab_finish(
        &lab, &job,
        arena_printf(&lab.arena, "{\"head\":\"%s\",\"done\":[\"answer\",\"certificate\"]}", head));
    ck_assert(!shepherd().unanswered);
    ck_assert_uint_eq(questions(), 2); /* What was corrected is proposed as rules. */
}
END_TEST

START_TEST(a_rule_is_used_after_a_person_has_agreed)
{
    open_pr(AUTO);
    struct review_view reviews[] = {{.id = "r",
                                     .author = "ann",
                                     .association = "OWNER",
                                     .verdict = REVIEW_CHANGES_REQUESTED,
                                     .commit = head,
                                     .body = "Always name constants.",
                                     .submitted_us = lab.now_us}};
    struct pr_view seen = view();
    seen.reviews = reviews;
    seen.review_count = 1;
    look_at(&seen, NULL);
    attend("certificate");
    (void)repair("h2");
    seen = view();
    look_at(&seen, NULL);
    struct approval_row asked = question();
    ck_assert_str_eq(asked.kind, "rule");
    struct memory_filter filter = {.limit = 10};
    struct memory_row *rows;
    size_t before, count;
    ck_assert_int_eq(memories_list(lab.db, &filter, &lab.arena, &rows, &before, NULL), RC_OK);
    decide(&asked, true);
    ck_assert_int_eq(memories_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, before + 1);
    ck_assert_str_eq(rows[0].outcome, "rule");
    ck_assert_ptr_nonnull(strstr(rows[0].summary, "Always name constants."));
    ck_assert_ptr_nonnull(strstr(rows[0].summary, "agreed to by"));
}
END_TEST

START_TEST(a_job_that_is_given_up_is_followed_by_another_look)
{
    open_pr(AUTO);
    lab_pass_ms(&lab, SECOND);
    struct job_row job = lab_take(&lab, "observe");
    (void)lab_fail(&lab, &job, "observe_failed", false);
    lab_pass_ms(&lab, 10 * 60 * SECOND);
    struct pr_view seen = view();
    lab_step(&lab, "observe", observed(&seen, NULL));
    expect(SHEPHERD_CHECKS); /* They may still appear. */
}
END_TEST

START_TEST(a_merge_that_the_forge_refuses_is_asked_about)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.checks = &green;
    seen.check_count = 1;
    look_at(&seen, NULL);
    for (int tries = 0; tries < 3; tries++) {
        struct job_row job = lab_take(&lab, "attend");
        lab_finish(&lab, &job,
                   arena_printf(&lab.arena,
                                "{\"head\":\"%s\",\"done\":[\"certificate\"],\"refused\":"
                                "[{\"act\":\"merge\",\"code\":\"HEAD_MOVED\","
                                "\"message\":\"a rule forbids it\"}]}",
                                head));
        look_at(&seen, NULL);
    }
    expect(SHEPHERD_BLOCKED);
    ck_assert_str_eq(question().kind, "shepherd");
    ck_assert_ptr_nonnull(strstr(question().summary, "a rule forbids it"));
    ck_assert(!has_job("attend"));
}
END_TEST

START_TEST(a_look_that_comes_twice_is_one_job)
{
    open_pr(AUTO);
    lab_pass_ms(&lab, SECOND);
    lab_pass_ms(&lab, 15 * 60 * SECOND);
    lab_pass_ms(&lab, 15 * 60 * SECOND);
    struct job_row *jobs;
    size_t count = lab_lease(&lab, "drover.observe", "w1", &jobs);
    ck_assert_uint_eq(count, 1);
    ck_assert(!has_job("observe"));
}
END_TEST

START_TEST(time_is_a_budget)
{
    open_pr("\"shepherd\":{\"merge\":\"auto\",\"maxHours\":1},\"train\":{\"use\":\"off\"}");
    struct check_view waits = {.id = "1", .name = "build", .state = CHECK_PENDING};
    struct pr_view seen = view();
    seen.checks = &waits;
    seen.check_count = 1;
    look_at(&seen, NULL);
    expect(SHEPHERD_CHECKS);
    attend("certificate");
    lab_pass_ms(&lab, 3600 * SECOND);
    lab_step(&lab, "observe", observed(&seen, NULL));
    expect(SHEPHERD_BLOCKED);
    ck_assert_str_eq(question().kind, "shepherd");
}
END_TEST

START_TEST(a_closed_pull_request_ends_it)
{
    open_pr(AUTO);
    struct pr_view seen = view();
    seen.state = PR_CLOSED;
    look_at(&seen, NULL);
    expect(SHEPHERD_CLOSED);
    ck_assert_str_eq(pull_request().status, "closed");
}
END_TEST

Suite *shepherd_flow_suite(void)
{
    Suite *suite = suite_create("shepherd_flow");
    TCase *tc = tcase_create("shepherd_flow");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_repository_without_the_section_is_not_followed);
    tcase_add_test(tc, a_green_pull_request_is_made_ready_and_merged);
    tcase_add_test(tc, checks_that_fail_are_repaired_on_top_of_the_head);
    tcase_add_test(tc, the_same_failure_never_costs_twice);
    tcase_add_test(tc, what_fails_in_our_own_checks_is_repaired_once);
    tcase_add_test(tc, a_person_who_says_no_is_left_alone);
    tcase_add_test(tc, a_flaky_check_runs_again_once);
    tcase_add_test(tc, a_push_by_a_person_is_adopted_and_stops_the_repair_of_the_old_head);
    tcase_add_test(tc, a_push_that_drover_makes_itself_is_not_taken_for_that_of_another);
    tcase_add_test(tc, an_approval_to_merge_is_for_one_head);
    tcase_add_test(tc, a_conflict_is_rebased_and_left_to_an_agent_when_it_does_not_apply);
    tcase_add_test(tc, a_stale_base_is_rebased_and_verified_again);
    tcase_add_test(tc, a_review_becomes_one_repair_and_every_thread_is_answered);
    tcase_add_test(tc, a_rule_is_used_after_a_person_has_agreed);
    tcase_add_test(tc, a_job_that_is_given_up_is_followed_by_another_look);
    tcase_add_test(tc, a_merge_that_the_forge_refuses_is_asked_about);
    tcase_add_test(tc, a_look_that_comes_twice_is_one_job);
    tcase_add_test(tc, time_is_a_budget);
    tcase_add_test(tc, a_closed_pull_request_ends_it);
    suite_add_tcase(suite, tc);
    return suite;
}
