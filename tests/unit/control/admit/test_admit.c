/*
 * test_admit.c - the gates before a start, one by one: who is held back, why, and what lets it go.
 */
#include "base/clock.h"
#include "control/admit/decide.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "core/event_types.h"
#include "store/capacity.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void open_lab(struct committer_limits limits)
{
    lab_open(&lab, &(struct lab_options){.limits = limits});
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

struct wish { /* What a test says of a task; the rest is as always. */
    const char *repository, *type, *scope, *actor;
    const struct id *after; /* The run of a task that it depends on. */
    int priority;
    enum mode mode;
    enum risk risk;
};

static struct cmd_submit *new_submit(struct wish wish)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = wish.repository;
    cmd->task.description = "Mend it";
    cmd->task.task_type = wish.type;
    cmd->task.mode = wish.mode;
    cmd->task.risk = wish.risk;
    cmd->task.scope = str_of(wish.scope);
    if (wish.priority != 0)
        cmd->task.priority = wish.priority;
    if (wish.after != NULL) {
        struct id *task_id = arena_array(&cmd->base.arena, 1, sizeof *task_id);
        *task_id = lab_run(&lab, wish.after).task_id;
        cmd->task.depends_on = task_id;
        cmd->task.depends_count = 1;
    }
    cmd->base.actor = (struct actor){"user", wish.actor != NULL ? wish.actor : "ada"};
    return cmd;
}

static struct id submit(struct wish wish)
{
    struct cmd_submit *cmd = new_submit(wish);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    struct id run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    return run_id;
}

/* Many of a kind, by the batch. */
static void submit_all(struct wish wish, size_t count)
{
    struct cmd_submit **cmds = arena_array(&lab.arena, count, sizeof(struct cmd_submit *));
    for (size_t i = 0; i < count; i++) {
        cmds[i] = new_submit(wish);
        lab_post(&lab, &cmds[i]->base);
    }
    lab_rounds(&lab);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(cmds[i]->base.rc, RC_OK);
        command_free(&cmds[i]->base);
    }
}

static bool started(const struct id *run_id)
{
    return lab_run(&lab, run_id).status != RUN_QUEUED;
}

static void expect_waits(const struct id *run_id, const char *reason, const char *detail)
{
    struct run_row run = lab_run(&lab, run_id);
    ck_assert_int_eq(run.status, RUN_QUEUED);
    ck_assert_str_eq(run.deferred_reason, reason);
    ck_assert_str_eq(run.deferred_detail, detail);
    ck_assert_int_eq(lab_task(&lab, run_id).status, TASK_DEFERRED);
}

static void walk_to_publish(void)
{
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", RESULT_AGENT);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
}

START_TEST(a_user_has_so_many_slots)
{
    open_lab((struct committer_limits){.max_active_runs_user = 1});
    lab_repository(&lab, "acme/a", NULL);
    struct id first = submit((struct wish){.repository = "acme/a"});
    struct id second = submit((struct wish){.repository = "acme/a"});
    struct id other = submit((struct wish){.repository = "acme/a", .actor = "bob"});
    expect_waits(&second, "user_concurrency_limit", "1 of 1 runs of user ada are active");
    ck_assert(started(&other)); /* It passes the one that waits. */
    lab_cancel(&lab, &first);
    ck_assert(started(&second));
}
END_TEST

START_TEST(a_type_of_task_has_so_many_slots)
{
    static const struct task_type_limit types[] = {{"upgrade", 1}, {"style", 5}};
    open_lab((struct committer_limits){.task_types = types, .task_type_count = COUNT_OF(types)});
    lab_repository(&lab, "acme/a", NULL);
    lab_repository(&lab, "acme/b", NULL);
    struct id first = submit((struct wish){.repository = "acme/a", .type = "upgrade"});
    struct id second = submit((struct wish){.repository = "acme/b", .type = "upgrade"});
    struct id other = submit((struct wish){.repository = "acme/b", .type = "style"});
    struct id free = submit((struct wish){.repository = "acme/b"});
    expect_waits(&second, "task_type_concurrency_limit", "1 of 1 runs of type upgrade are active");
    ck_assert(started(&other));
    ck_assert(started(&free));
    lab_cancel(&lab, &first);
    ck_assert(started(&second));
}
END_TEST

START_TEST(a_workspace_has_so_many_slots)
{
    open_lab((struct committer_limits){.max_active_runs_workspace = 1});
    lab_repository(&lab, "acme/a", NULL);
    struct id first = submit((struct wish){.repository = "acme/a"});
    struct id second = submit((struct wish){.repository = "acme/a"});
    expect_waits(&second, "workspace_concurrency_limit",
                 "1 of 1 runs of this workspace are active");
    lab_cancel(&lab, &first);
    ck_assert(started(&second));
}
END_TEST

START_TEST(a_run_that_asks_a_person_holds_no_sandbox)
{
    open_lab((struct committer_limits){.sandboxes = 1});
    lab_repository(&lab, "acme/a", "\"policy\":{\"approval\":\"always\"}");
    struct id first = submit((struct wish){.repository = "acme/a"});
    struct id second = submit((struct wish){.repository = "acme/a"});
    expect_waits(&second, "sandbox_pool_limit", "1 of 1 sandboxes of this server are in use");
    walk_to_publish();
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_AWAITING_APPROVAL);
    ck_assert(started(&second));
}
END_TEST

START_TEST(a_spent_budget_rejects_what_comes_and_defers_what_waits)
{
    open_lab((struct committer_limits){.cost_per_day_microusd = 500000,
                                       .cost_per_run_microusd = 500000});
    lab_repository(&lab, "acme/one", "\"limits\":{\"maxActiveRuns\":1}");
    struct id first = submit((struct wish){.repository = "acme/one"});
    struct id second = submit((struct wish){.repository = "acme/one"});
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", RESULT_AGENT); /* 0.50 USD, under way: it counts. */
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = "acme/one";
    cmd->task.description = "One more";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_DENIED);
    ck_assert_str_eq(cmd->base.err.code, "cost_budget_exceeded");
    ck_assert_int_gt(cmd->base.err.retry_ms, 0);
    ck_assert_int_le(cmd->base.err.retry_ms, US_PER_DAY / US_PER_MS + 1);
    command_free(&cmd->base);
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_COMPLETED);
    ck_assert_str_eq(lab_run(&lab, &second).deferred_reason, "cost_budget_exceeded");
    ck_assert_ptr_nonnull(strstr(lab_run(&lab, &second).deferred_detail, "0.50 USD"));
    lab_pass_ms(&lab, US_PER_DAY / US_PER_MS);
    committer_want_admission(lab.committer); /* As once a second. */
    lab_rounds(&lab);
    ck_assert(started(&second));
}
END_TEST

START_TEST(questions_that_nobody_answers_hold_back_new_work)
{
    open_lab((struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"maxOpenApprovals\":1}");
    struct id first = submit(
        (struct wish){.repository = "acme/a", .mode = MODE_SUPERVISED_PR, .risk = RISK_HIGH});
    struct id asks = submit(
        (struct wish){.repository = "acme/a", .mode = MODE_SUPERVISED_PR, .risk = RISK_HIGH});
    expect_waits(&asks, "open_approvals_limit",
                 "1 of 1 questions of acme/a are unanswered or about to be asked");
    walk_to_publish();
    struct id quiet = submit((struct wish){.repository = "acme/a"});
    expect_waits(&quiet, "open_approvals_limit", "1 of 1 questions of acme/a are unanswered");
    lab_cancel(&lab, &first);
    ck_assert(started(&asks));
    ck_assert(started(&quiet));
}
END_TEST

START_TEST(open_pull_requests_hold_back_new_work_until_one_is_merged)
{
    open_lab((struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"maxOpenPullRequests\":1}");
    struct id first = submit((struct wish){.repository = "acme/a", .mode = MODE_SUPERVISED_PR});
    struct id second = submit((struct wish){.repository = "acme/a", .mode = MODE_SUPERVISED_PR});
    expect_waits(&second, "open_pull_requests_limit",
                 "1 of 1 pull requests of acme/a are open or being made");
    struct id patch = submit((struct wish){.repository = "acme/a", .mode = MODE_PATCH_ONLY});
    ck_assert(started(&patch)); /* Nothing of it is for people to review. */
    lab_cancel(&lab, &first);
    ck_assert(started(&second));
    lab_cancel(&lab, &second);
    lab_cancel(&lab, &patch);
    struct id third = submit((struct wish){.repository = "acme/a", .mode = MODE_SUPERVISED_PR});
    ck_assert(started(&third));
    walk_to_publish();
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    struct id fourth = submit((struct wish){.repository = "acme/a", .mode = MODE_PATCH_ONLY});
    expect_waits(&fourth, "open_pull_requests_limit", "1 of 1 pull requests of acme/a are open");
    struct cmd_merged *cmd = cmd_merged_new();
    cmd->pull_request_id = lab_run(&lab, &third).pull_request_id;
    cmd->merge_commit = "33";
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    command_free(&cmd->base);
    ck_assert(started(&fourth));
}
END_TEST

START_TEST(work_on_the_same_files_is_done_one_after_the_other)
{
    open_lab((struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"overlap\":\"serialize\"}");
    struct id src = submit((struct wish){.repository = "acme/a", .scope = "[\"src/**\"]"});
    struct id docs = submit((struct wish){.repository = "acme/a", .scope = "[\"docs\"]"});
    struct id both = submit((struct wish){.repository = "acme/a", .scope = "[\"**/*.c\"]"});
    struct id behind = submit((struct wish){.repository = "acme/a", .scope = "[\"lib/a.c\"]"});
    struct id apart = submit((struct wish){.repository = "acme/a", .scope = "[\"web/**/*.js\"]"});
    ck_assert(started(&src));
    ck_assert(started(&docs));
    ck_assert(started(&apart));
    struct run_row run = lab_run(&lab, &both);
    ck_assert_str_eq(run.deferred_reason, "overlaps_active_run");
    ck_assert_ptr_nonnull(strstr(run.deferred_detail, src.text));
    ck_assert_ptr_nonnull(strstr(run.deferred_detail, "is at work on src/**"));
    /* It waits for the one that waits, which would never get its turn else. */
    run = lab_run(&lab, &behind);
    ck_assert_str_eq(run.deferred_reason, "overlaps_active_run");
    ck_assert_ptr_nonnull(strstr(run.deferred_detail, both.text));
    ck_assert_ptr_nonnull(strstr(run.deferred_detail, "is in line before it"));
    lab_cancel(&lab, &src); /* docs may have .c files too. */
    ck_assert(!started(&both));
    lab_cancel(&lab, &docs);
    ck_assert(started(&both));
    ck_assert(!started(&behind));
}
END_TEST

START_TEST(observed_paths_count_and_a_task_without_scope_may_change_anything)
{
    open_lab((struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"overlap\":\"serialize\"}");
    struct id any = submit((struct wish){.repository = "acme/a"});
    struct id docs = submit((struct wish){.repository = "acme/a", .scope = "[\"docs/**\"]"});
    struct id src = submit((struct wish){.repository = "acme/a", .scope = "[\"src/**\"]"});
    ck_assert(!started(&docs));
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent",
             "{\"outcome\":\"ended\",\"report\":\"success\",\"patch\":{\"sha256\":\"bb\","
             "\"files\":1,\"treeHash\":\"cc\",\"paths\":[\"src/a.c\"]}}");
    committer_want_admission(lab.committer);
    lab_rounds(&lab);
    ck_assert(started(&docs)); /* Now it is known what the first one does. */
    ck_assert(!started(&src));
    ck_assert_ptr_nonnull(strstr(lab_run(&lab, &src).deferred_detail, "src/a.c"));
    ck_assert_int_eq(lab_count_events(&lab, &src, EV_TASK_DEFERRED), 1);
    (void)any;
}
END_TEST

START_TEST(a_warning_lets_them_start)
{
    open_lab((struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"overlap\":\"warn\"}");
    lab_repository(&lab, "acme/b", NULL); /* allow */
    submit((struct wish){.repository = "acme/a", .scope = "[\"src/**\"]"});
    struct id warned = submit((struct wish){.repository = "acme/a", .scope = "[\"src/a.c\"]"});
    struct id apart = submit((struct wish){.repository = "acme/a", .scope = "[\"docs\"]"});
    submit((struct wish){.repository = "acme/b"});
    struct id allowed = submit((struct wish){.repository = "acme/b"});
    ck_assert(started(&warned));
    ck_assert_int_eq(lab_count_events(&lab, &warned, EV_TASK_OVERLAP), 1);
    ck_assert_int_eq(lab_count_events(&lab, &apart, EV_TASK_OVERLAP), 0);
    ck_assert(started(&allowed));
    ck_assert_int_eq(lab_count_events(&lab, &allowed, EV_TASK_OVERLAP), 0);
}
END_TEST

START_TEST(the_place_in_line_is_by_rank)
{
    open_lab((struct committer_limits){.max_active_runs = 1});
    lab_repository(&lab, "acme/a", NULL);
    lab_repository(&lab, "acme/b", NULL);
    submit((struct wish){.repository = "acme/a"});
    struct id ids[] = {submit((struct wish){.repository = "acme/a"}),
                       submit((struct wish){.repository = "acme/b"}),
                       submit((struct wish){.repository = "acme/a"})};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct run_row run = lab_run(&lab, &ids[i]);
        struct queue_place place = {run.workspace_id, run.rank, run.id};
        int64_t read_ahead = -1;
        ck_assert_int_eq(capacity_read_ahead(lab.db, &place, &read_ahead, NULL), RC_OK);
        ck_assert_int_eq(read_ahead, (int64_t)i);
        expect_waits(&ids[i], "system_concurrency_limit", "1 of 1 runs of this server are active");
    }
}
END_TEST

/* Around what the merge passes over, what one round looks at, and what two rounds look at. */
static const size_t before_it[] = {1, 99, 100, 101, 199, 200, 201, 301};

START_TEST(a_run_starts_however_many_before_it_wait_for_reasons_of_their_own)
{
    size_t before = before_it[_i];
    open_lab((struct committer_limits){0});
    lab_repository(&lab, "acme/a", "\"limits\":{\"maxActiveRuns\":1}");
    struct id first = submit((struct wish){.repository = "acme/a"});
    struct id base = submit((struct wish){.repository = "acme/a", .priority = 500});
    submit_all((struct wish){.repository = "acme/a", .after = &base}, before);
    ck_assert(!started(&base));
    lab_cancel(&lab, &first);
    for (size_t rounds = before / 100; rounds > 0 && !started(&base); rounds--)
        lab_pass_ms(&lab, 1000);
    ck_assert(started(&base));
}
END_TEST

START_TEST(the_walk_goes_on_from_line_to_line)
{
    open_lab((struct committer_limits){.max_active_runs_user = 1});
    lab_repository(&lab, "acme/a", NULL);
    lab_repository(&lab, "acme/b", NULL);
    struct id at_work = submit((struct wish){.repository = "acme/a", .actor = "bob"});
    submit_all((struct wish){.repository = "acme/a"}, 160);
    submit_all((struct wish){.repository = "acme/b"}, 160);
    struct id behind[] = {submit((struct wish){.repository = "acme/a", .actor = "bob"}),
                          submit((struct wish){.repository = "acme/b", .actor = "bob"})};
    for (size_t i = 0; i < COUNT_OF(behind); i++) {
        lab_cancel(&lab, &at_work);
        for (int rounds = 0; rounds < 2; rounds++)
            lab_pass_ms(&lab, 1000);
        ck_assert(started(&behind[0]) + started(&behind[1]) == (int)i + 1);
        at_work = started(&behind[0]) ? behind[0] : behind[1];
    }
}
END_TEST

START_TEST(a_finished_task_is_asked_again_what_a_new_one_is)
{
    open_lab((struct committer_limits){.cost_per_day_microusd = 500000,
                                       .cost_per_run_microusd = 500000});
    lab_repository(&lab, "acme/a", NULL);
    struct id first = submit((struct wish){.repository = "acme/a"});
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", "{\"outcome\":\"turn_limit\",\"report\":\"error\",\"costUsd\":0.5}");
    struct cmd_retry *cmd = cmd_retry_new();
    cmd->task_id = lab_run(&lab, &first).task_id;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_DENIED);
    ck_assert_str_eq(cmd->base.err.code, "cost_budget_exceeded");
    lab.now_us += US_PER_DAY;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    ck_assert_int_eq(cmd->run_no, 2);
    ck_assert_int_eq(lab_run(&lab, &first).status, RUN_FAILED);
    command_free(&cmd->base);
}
END_TEST

Suite *admit_suite(void)
{
    Suite *suite = suite_create("admit");
    TCase *tc = tcase_create("admit");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, a_user_has_so_many_slots);
    tcase_add_test(tc, a_type_of_task_has_so_many_slots);
    tcase_add_test(tc, a_workspace_has_so_many_slots);
    tcase_add_test(tc, a_run_that_asks_a_person_holds_no_sandbox);
    tcase_add_test(tc, a_spent_budget_rejects_what_comes_and_defers_what_waits);
    tcase_add_test(tc, questions_that_nobody_answers_hold_back_new_work);
    tcase_add_test(tc, open_pull_requests_hold_back_new_work_until_one_is_merged);
    tcase_add_test(tc, work_on_the_same_files_is_done_one_after_the_other);
    tcase_add_test(tc, observed_paths_count_and_a_task_without_scope_may_change_anything);
    tcase_add_test(tc, a_warning_lets_them_start);
    tcase_add_test(tc, the_place_in_line_is_by_rank);
    tcase_add_loop_test(tc, a_run_starts_however_many_before_it_wait_for_reasons_of_their_own, 0,
                        (int)COUNT_OF(before_it));
    tcase_add_test(tc, the_walk_goes_on_from_line_to_line);
    tcase_add_test(tc, a_finished_task_is_asked_again_what_a_new_one_is);
    suite_add_tcase(suite, tc);
    return suite;
}
