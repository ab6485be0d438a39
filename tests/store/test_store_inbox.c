/*
 * test_store_inbox.c - every kind of item is read from the rows that make it, and leaves with them.
 */
#include "base/clock.h"
#include "store/accounts.h"
#include "store/approvals.h"
#include "store/batches.h"
#include "store/inbox.h"
#include "store/issue_states.h"
#include "store/pull_requests.h"
#include "store/questions.h"
#include "store/sagas.h"
#include "store/sinks.h"
#include "store/trains.h"
#include "tests/store/fixture.h"

#define NOW (100 * US_PER_DAY)

static struct inbox_filter everything(void)
{
    struct inbox_filter filter = {.now_us = NOW};
    for (int i = 0; i < INBOX_KIND_COUNT; i++)
        filter.kinds[i] = true;
    return filter;
}

/* The only item there is. */
static struct inbox_row only(struct fixture *fixture, enum inbox_kind kind)
{
    struct fixture f = *fixture;
    const struct inbox_filter filter = everything();
    struct inbox_row *rows = NULL;
    size_t count = 0;
    bool more = true;
    must(inbox_list(f.db, &filter, &f.arena, &rows, &count, &more, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert(!more);
    ck_assert_int_eq(rows[0].kind, kind);
    *fixture = f;
    return rows[0];
}

static void assert_none(struct fixture *fixture, const char *repository)
{
    struct fixture f = *fixture;
    struct inbox_filter filter = everything();
    struct inbox_row *rows = NULL;
    size_t count = 1;
    bool more = true;
    filter.repository = repository;
    must(inbox_list(f.db, &filter, &f.arena, &rows, &count, &more, &f.err));
    ck_assert_msg(count == 0, "%s %s", inbox_kind_name(rows[0].kind), rows[0].key);
    *fixture = f;
}

/* A task that waits for another. */
static void put_behind(struct fixture *fixture, const struct task_row *task)
{
    struct fixture f = *fixture;
    struct task_row behind = *task;
    behind.id = fixture_id(&f);
    behind.latest_run_id = (struct id){""};
    behind.status = TASK_DEFERRED;
    must(tasks_insert(f.db, &behind, &task->id, 1, &f.err));
    *fixture = f;
}

START_TEST(approvals_and_questions_that_wait)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct approval_row approval = {.id = fixture_id(&f),
                                    .task_id = task.id,
                                    .run_id = run.id,
                                    .kind = "patch",
                                    .status = "pending",
                                    .requested_us = NOW - 5,
                                    .expires_us = NOW + 9,
                                    .question = "why not"};
    assert_none(&f, NULL);
    must(approvals_insert(f.db, &approval, &f.err));
    put_behind(&f, &task);
    put_behind(&f, &task);
    struct inbox_row row = only(&f, INBOX_APPROVAL);
    ck_assert_str_eq(row.key, approval.id.text);
    ck_assert_id_eq(row.run_id, run.id);
    ck_assert_str_eq(row.repository, "acme/billing");
    ck_assert_str_eq(row.reason, "why not");
    ck_assert_str_eq(row.detail, "patch");
    ck_assert_int_eq(row.since_us, NOW - 5);
    ck_assert_int_eq(row.expires_us, NOW + 9);
    ck_assert_int_eq(row.behind, 2);
    ck_assert_int_eq(row.priority, task.priority);
    assert_none(&f, "acme/other");
    approval.status = "approved";
    must(approvals_save(f.db, &approval, &f.err));
    struct question_row question = {.id = fixture_id(&f),
                                    .task_id = task.id,
                                    .run_id = run.id,
                                    .asked_by = "agent",
                                    .text = "which?",
                                    .status = "pending",
                                    .requested_us = NOW - 7};
    must(questions_insert(f.db, &question, &f.err));
    row = only(&f, INBOX_QUESTION);
    ck_assert_str_eq(row.reason, "which?");
    ck_assert_int_eq(row.since_us, NOW - 7);
    question.status = "answered";
    must(questions_save(f.db, &question, &f.err));
    assert_none(&f, NULL);
}
END_TEST

START_TEST(a_repository_in_quarantine_with_the_runs_that_wait_for_it)
{
    FIXTURE(f);
    struct repository_row repository;
    struct task_row task = fixture_task(&f);
    (void)fixture_run(&f, &task);
    must(repositories_get(f.db, &f.repository_id, &f.arena, &repository, &f.err));
    repository.quarantined_us = NOW - 3;
    repository.quarantine_reason = "planted hooks";
    must(repositories_save_quarantine(f.db, &repository, &f.err));
    struct inbox_row row = only(&f, INBOX_QUARANTINE);
    ck_assert_str_eq(row.argument, "acme/billing");
    ck_assert_str_eq(row.reason, "planted hooks");
    ck_assert_int_eq(row.since_us, NOW - 3);
    ck_assert_int_eq(row.behind, 1);
    assert_none(&f, "acme/other");
    repository.quarantined_us = 0;
    must(repositories_save_quarantine(f.db, &repository, &f.err));
    assert_none(&f, NULL);
}
END_TEST

START_TEST(money_and_accounts_that_hold_runs_back)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct account_row account;
    const struct account_key key = {fixture_id(&f), f.workspace_id, "main", NOW};
    must(accounts_take(f.db, &key, &f.arena, &account, &f.err));
    account.parked_until_us = NOW + 5;
    account.parked_us = NOW - 4;
    account.reason = "limit reached";
    must(accounts_save(f.db, &account, &f.err));
    assert_none(&f, NULL); /* No run waits for it. */
    run.deferred_reason = "provider_quota_parked";
    must(runs_save(f.db, &run, &f.err));
    struct inbox_row row = only(&f, INBOX_ACCOUNT);
    ck_assert_str_eq(row.argument, "main");
    ck_assert_str_eq(row.reason, "limit reached");
    ck_assert_int_eq(row.behind, 1);
    account.parked_until_us = NOW;
    must(accounts_save(f.db, &account, &f.err));
    assert_none(&f, NULL);
    run.deferred_reason = "cost_budget_exceeded";
    run.deferred_detail = "10 of 10 USD";
    must(runs_save(f.db, &run, &f.err));
    must(runs_save_more(f.db, &run, &f.err));
    row = only(&f, INBOX_COST_LIMIT);
    ck_assert_int_eq(row.behind, 1);
    ck_assert_int_eq(row.since_us, run.queued_us);
    assert_none(&f, "acme/billing"); /* It is the server's. */
}
END_TEST

START_TEST(tasks_and_batches_that_a_budget_has_stopped_lately)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    task.status = TASK_FAILED;
    task.error_code = "max_budget_exceeded";
    task.error_message = "5 USD are spent";
    task.ended_us = NOW - US_PER_DAY;
    must(tasks_save(f.db, &task, &f.err));
    put_behind(&f, &task);
    struct inbox_row row = only(&f, INBOX_BUDGET);
    ck_assert_str_eq(row.argument, task.id.text);
    ck_assert_str_eq(row.detail, "max_budget_exceeded");
    ck_assert_int_eq(row.behind, 1);
    assert_none(&f, "acme/other");
    task.ended_us = NOW - 4 * US_PER_DAY;
    must(tasks_save(f.db, &task, &f.err));
    assert_none(&f, NULL);
    task.ended_us = NOW;
    task.error_code = "agent_error";
    must(tasks_save(f.db, &task, &f.err));
    assert_none(&f, NULL);
    struct batch_row batch = {.id = fixture_id(&f),
                              .workspace_id = f.workspace_id,
                              .name = "bump",
                              .task = STR("{}"),
                              .status = BATCH_STOPPED,
                              .reason_code = "batch_budget_exceeded",
                              .reason = "too dear",
                              .updated_us = NOW - 9};
    must(batches_insert(f.db, &batch, &f.err));
    row = only(&f, INBOX_BATCH);
    ck_assert_str_eq(row.title, "bump");
    ck_assert_str_eq(row.reason, "too dear");
}
END_TEST

START_TEST(a_train_that_cannot_go_on_while_cars_are_in_it)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct train_row train = {.id = fixture_id(&f),
                              .workspace_id = f.workspace_id,
                              .repository_id = f.repository_id,
                              .target_branch = "main",
                              .error_code = "train_failed",
                              .error_message = "protected"};
    must(trains_insert(f.db, &train, &f.err));
    assert_none(&f, NULL);
    const struct pull_request_row pr = {.id = fixture_id(&f),
                                        .number = 7,
                                        .repository_id = f.repository_id,
                                        .task_id = task.id,
                                        .run_id = run.id,
                                        .branch = "drover/x",
                                        .target_branch = "main",
                                        .url = "/o#7",
                                        .status = "open",
                                        .head_commit = "head"};
    must(pull_requests_insert(f.db, &pr, &f.err));
    struct train_car_row car = {.id = fixture_id(&f),
                                .train_id = train.id,
                                .pull_request_id = pr.id,
                                .run_id = run.id,
                                .task_id = task.id,
                                .branch = "drover/x",
                                .head_commit = "head",
                                .state = CAR_WAITING,
                                .entered_us = NOW - 8};
    must(train_cars_insert(f.db, &car, &f.err));
    struct inbox_row row = only(&f, INBOX_TRAIN);
    ck_assert_str_eq(row.key, "acme/billing main");
    ck_assert_str_eq(row.argument, "acme/billing");
    ck_assert_str_eq(row.reason, "protected");
    ck_assert_int_eq(row.behind, 1);
    ck_assert_int_eq(row.since_us, NOW - 8);
}
END_TEST

static void bury(struct fixture *fixture, const char *queue, int64_t died_us)
{
    struct fixture f = *fixture;
    struct job_row job = fixture_job(&f, queue), stored;
    must(jobs_insert(f.db, &job, &f.err));
    must(jobs_get(f.db, &job.id, &f.arena, &stored, &f.err));
    stored.life = (struct job_life){JOB_DEAD_LETTER, 3, 0, 0, 1, 3, 0, DEAD_MAX_ATTEMPTS, "o"};
    stored.updated_us = died_us;
    must(jobs_save(f.db, &stored, &f.err));
    *fixture = f;
}

START_TEST(dead_letters_by_queue)
{
    FIXTURE(f);
    const struct inbox_filter filter = everything();
    struct inbox_row *rows = NULL;
    size_t count = 0;
    bool more = true;
    bury(&f, "mail", NOW - 5);
    bury(&f, "mail", NOW - 9);
    bury(&f, "build", NOW - 7);
    must(inbox_list(f.db, &filter, &f.arena, &rows, &count, &more, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].key, "mail");
    ck_assert_int_eq(rows[0].count, 2);
    ck_assert_int_eq(rows[0].since_us, NOW - 9);
    ck_assert_str_eq(rows[1].key, "build");
}
END_TEST

START_TEST(a_saga_that_is_stuck_and_a_sink_that_fails)
{
    FIXTURE(f);
    struct saga_row saga = {.id = fixture_id(&f),
                            .name = "release",
                            .life = {.status = SAGA_STUCK, .phase = SAGA_COMPENSATION},
                            .job_id = fixture_id(&f),
                            .definition = STR("[]"),
                            .error_message = "cannot undo",
                            .updated_us = NOW - 2};
    must(sagas_insert(f.db, &saga, &f.err));
    struct inbox_row row = only(&f, INBOX_SAGA);
    ck_assert_str_eq(row.argument, saga.job_id.text);
    ck_assert_str_eq(row.reason, "cannot undo");
    saga.life.status = SAGA_COMPENSATED;
    must(sagas_save(f.db, &saga, &f.err));
    struct sink_row sink = {
        .name = "ci", .created_us = 5, .breaker_open = true, .last_error = "refused"};
    must(sinks_insert(f.db, &sink, &f.err));
    row = only(&f, INBOX_SINK);
    ck_assert_str_eq(row.argument, "ci");
    ck_assert_str_eq(row.reason, "refused");
    const struct sink_dead_letter letter = {.sink = "ci",
                                            .seq = 4,
                                            .event_id = fixture_id(&f),
                                            .event_type = "x",
                                            .code = "HTTP_400",
                                            .message = "no",
                                            .created_us = NOW - 3};
    sink.breaker_open = false;
    sink.cursor_seq = 4;
    must(sinks_save(f.db, &(struct lease_proof){f.db}, &sink, &letter, &f.err));
    row = only(&f, INBOX_SINK_LETTERS);
    ck_assert_int_eq(row.count, 1);
    ck_assert_int_eq(row.since_us, NOW - 3);
}
END_TEST

START_TEST(issues_that_are_escalated_or_stand_at_a_gate)
{
    FIXTURE(f);
    struct issue_row issue = {.id = fixture_id(&f),
                              .workspace_id = f.workspace_id,
                              .issue_id = "42",
                              .life = {.stage = STAGE_GREEN, .priority = 90},
                              .last_event_id = fixture_id(&f)};
    struct issue_row behind = issue;
    behind.id = fixture_id(&f);
    behind.issue_id = "43";
    behind.life.stage = STAGE_WAITING;
    behind.life.depends_on = STR("[\"42\"]");
    must(issue_states_insert(f.db, &issue, &f.err));
    must(issue_states_insert(f.db, &behind, &f.err));
    assert_none(&f, NULL);
    issue.life.gate_us = NOW - 6;
    must(issue_states_save(f.db, &issue, &f.err));
    struct inbox_row row = only(&f, INBOX_GATE);
    ck_assert_str_eq(row.argument, "42");
    ck_assert_int_eq(row.since_us, NOW - 6);
    ck_assert_int_eq(row.behind, 1);
    ck_assert_int_eq(row.priority, 90);
    issue.life.gate_us = 0;
    issue.life.stage = STAGE_ESCALATED;
    issue.life.stage_us = NOW - 5;
    must(issue_states_save(f.db, &issue, &f.err));
    row = only(&f, INBOX_ESCALATION);
    ck_assert_str_eq(row.key, "42");
    ck_assert_int_eq(row.since_us, NOW - 5);
    assert_none(&f, "acme/other");
    issue.life.stage = STAGE_DONE;
    must(issue_states_save(f.db, &issue, &f.err));
    assert_none(&f, NULL);
}
END_TEST

START_TEST(of_one_kind_only_some_are_read_and_it_is_known)
{
    FIXTURE(f);
    struct inbox_filter filter = {.now_us = NOW, .kinds = {[INBOX_QUESTION] = true}};
    struct inbox_row *rows = NULL;
    size_t count = 0;
    bool more = false;
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    for (int i = 0; i <= INBOX_SOURCE_MAX; i++) {
        struct question_row question = {.id = fixture_id(&f),
                                        .task_id = task.id,
                                        .run_id = run.id,
                                        .asked_by = "agent",
                                        .text = "which?",
                                        .status = "pending",
                                        .requested_us = i};
        must(questions_insert(f.db, &question, &f.err));
    }
    must(inbox_list(f.db, &filter, &f.arena, &rows, &count, &more, &f.err));
    ck_assert_uint_eq(count, INBOX_SOURCE_MAX);
    ck_assert(more);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(rows[i].since_us, (int64_t)i);
    filter.kinds[INBOX_QUESTION] = false;
    must(inbox_list(f.db, &filter, &f.arena, &rows, &count, &more, &f.err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

Suite *store_inbox_suite(void);
Suite *store_inbox_suite(void)
{
    Suite *suite = suite_create("store_inbox");
    TCase *tc = tcase_create("inbox");
    case_add(tc, approvals_and_questions_that_wait);
    case_add(tc, a_repository_in_quarantine_with_the_runs_that_wait_for_it);
    case_add(tc, money_and_accounts_that_hold_runs_back);
    case_add(tc, tasks_and_batches_that_a_budget_has_stopped_lately);
    case_add(tc, a_train_that_cannot_go_on_while_cars_are_in_it);
    case_add(tc, dead_letters_by_queue);
    case_add(tc, a_saga_that_is_stuck_and_a_sink_that_fails);
    case_add(tc, issues_that_are_escalated_or_stand_at_a_gate);
    case_add(tc, of_one_kind_only_some_are_read_and_it_is_known);
    suite_add_tcase(suite, tc);
    return suite;
}
