/*
 * test_trains.c - trains as commands and jobs move them: workers are this file, time is virtual.
 */
#include "base/random.h"
#include "control/pr/train.h"
#include "control/pr/train_flow.h"
#include "control/queue/settle.h"
#include "control/watch/due.h"
#include "core/event_types.h"
#include "store/timers.h"
#include "store/trains.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

#define BASE "1111111111111111111111111111111111111111"
#define TIP  "2222222222222222222222222222222222222222"
#define HASH "3333333333333333333333333333333333333333"
#define TREE "4444444444444444444444444444444444444444"

static struct lab lab;
static int64_t opened;

/* Jobs that this worker holds. */
enum { HELD_MAX = 64 };
static struct job_row held[HELD_MAX];
static size_t held_count;

static void setup_with(const char *train)
{
    lab_open(&lab, NULL);
    opened = 0;
    held_count = 0;
    lab_repository(&lab, "acme/billing", arena_printf(&lab.arena, "\"train\":%s", train));
}

static void setup(void)
{
    setup_with("{\"ahead\":1}");
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct pull_request_row open_pr(void)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    struct run_row run = lab_run(&lab, &run_id);
    struct err err = {0};
    struct random random = random_seeded((uint64_t)++opened);
    struct pull_request_row row = {
        .id = id_new(lab.now_us, &random),
        .number = opened,
        .repository_id = run.repository_id,
        .task_id = run.task_id,
        .run_id = run_id,
        .branch = arena_printf(&lab.arena, "b%lld", (long long)opened),
        .target_branch = "main",
        .url = arena_printf(&lab.arena, "/o#%lld", (long long)opened),
        .title = "Fix it",
        .status = "open",
        .head_commit = HASH,
    };
    ck_assert_int_eq(pull_requests_insert(lab.db, &row, &err), RC_OK);
    return row;
}

static enum rc add_as(const struct pull_request_row *pr, bool urgent, const char *code)
{
    struct cmd_train_add *cmd = cmd_train_add_new();
    cmd->pull_request_id = pr->id;
    cmd->urgent = urgent;
    enum rc rc = lab_call(&lab, &cmd->base);
    ck_assert_str_eq(cmd->base.err.code, code);
    command_free(&cmd->base);
    return rc;
}

static struct pull_request_row add(void)
{
    struct pull_request_row pr = open_pr();
    ck_assert_int_eq(add_as(&pr, false, ""), RC_OK);
    return pr;
}

static enum rc take_out(const struct pull_request_row *pr, const char *code)
{
    struct cmd_train_remove *cmd = cmd_train_remove_new();
    cmd->pull_request_id = pr->id;
    cmd->base.actor = (struct actor){"user", "ada"};
    enum rc rc = lab_call(&lab, &cmd->base);
    ck_assert_str_eq(cmd->base.err.code, code);
    command_free(&cmd->base);
    return rc;
}

static struct train_row train_now(void)
{
    struct train_row *rows;
    size_t count;
    struct err err = {0};
    const struct train_filter filter = {.limit = 10};
    ck_assert_int_eq(trains_list(lab.db, &filter, &lab.arena, &rows, &count, &err), RC_OK);
    ck_assert_uint_eq(count, 1);
    return rows[0];
}

/* One letter for each car that is there, in order of arrival. */
static const char *cars_now(void)
{
    static const char letters[] = "WTGRlLXCO";
    struct train_row train = train_now();
    struct train_car_row *rows;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(train_cars_live(lab.db, &train.id, &lab.arena, &rows, &count, &err), RC_OK);
    char *text = arena_array(&lab.arena, count + 1, 1);
    for (size_t i = 0; i < count; i++)
        text[i] = letters[rows[i].state];
    return text;
}

static struct train_car_row last_ended(void)
{
    struct train_row train = train_now();
    struct train_car_row *rows;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(train_cars_ended(lab.db, &train.id, 1, &lab.arena, &rows, &count, &err),
                     RC_OK);
    ck_assert_uint_eq(count, 1);
    return rows[0];
}

static const char *status_of(const struct pull_request_row *pr)
{
    struct pull_request_row now;
    struct err err = {0};
    lab_pass_ms(&lab, 1);
    ck_assert_int_eq(pull_requests_get(lab.db, &pr->id, &lab.arena, &now, &err), RC_OK);
    return now.status;
}

static size_t jobs_waiting(void)
{
    struct job_row *jobs;
    size_t count = lab_lease(&lab, "drover.train", "node-1/0", &jobs);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_lt(held_count, HELD_MAX);
        held[held_count++] = jobs[i];
    }
    return count;
}

/* The newest of this kind with so many cars. */
static struct job_row take(const char *act, size_t cars)
{
    (void)jobs_waiting();
    for (size_t i = held_count; i-- > 0;) {
        struct js *payload = NULL;
        struct job_row job = held[i];
        ck_assert_int_eq(js_parse(job.payload.at, job.payload.len, &payload, NULL), RC_OK);
        bool is = text_same(js_get_str(payload, "act", ""), act) &&
                  js_count(js_get(payload, "cars")) == cars;
        js_free(payload);
        if (!is)
            continue;
        memmove(&held[i], &held[i + 1], (--held_count - i) * sizeof held[0]);
        return job;
    }
    ck_abort_msg("no job to %s %zu cars", act, cars);
}

/* The next job, which is of this kind and has so many cars; completed with the result, in which
   quotes are single ones. */
static void work(const char *act, size_t cars, const char *result)
{
    struct job_row job = take(act, cars);
    char *text = arena_strdup(&lab.arena, result);
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    struct job_answer answer = lab_claim(&lab, &job, text);
    ck_assert_msg(answer.ok, "%s %s", answer.code, answer.message);
    lab_check(&lab);
}

#define PASSED "{'outcome':'passed','at':0,'base':'" BASE "','commit':'" HASH "','tree':'" TREE "'}"
#define FAILED                                                                       \
    "{'outcome':'failed','at':0,'base':'" BASE "','commit':'" HASH "','tree':'" TREE \
    "','detail':'unit: failed'}"
#define LANDED(count) "{'outcome':'landed','at':" #count ",'commit':'" TIP "'}"

START_TEST(what_is_green_lands_and_is_merged)
{
    struct pull_request_row first = add(), second = add();
    ck_assert_str_eq(cars_now(), "TW");
    work("test", 1, PASSED);
    ck_assert_str_eq(cars_now(), "lT");
    ck_assert_str_eq(train_now().base_commit, BASE);
    work("land", 1, LANDED(1));
    ck_assert_str_eq(status_of(&first), "merged");
    ck_assert_str_eq(train_now().base_commit, TIP);
    work("test", 2, PASSED); /* It was made before the landing: it names both. */
    work("land", 1, LANDED(1));
    ck_assert_str_eq(status_of(&second), "merged");
    struct train_row train = train_now();
    ck_assert_int_eq(train.rounds, 1);
    ck_assert_int_eq(train.verifications, 2);
    ck_assert_int_eq(train.landed, 2);
    ck_assert_ptr_null(train.base_commit);
    ck_assert_uint_eq(jobs_waiting(), 0);
    ck_assert_int_eq(lab_count_events(&lab, &first.run_id, EV_PR_MERGED), 1);
    ck_assert(last_ended().told);
}
END_TEST

START_TEST(the_one_that_fails_is_named_and_the_others_continue)
{
    struct pull_request_row bad = add(), good = add();
    work("test", 1, FAILED);
    struct train_car_row car = last_ended();
    ck_assert_int_eq(car.state, CAR_REJECTED);
    ck_assert_str_eq(car.pull_request_id.text, bad.id.text);
    ck_assert_str_eq(car.detail, "unit: failed");
    ck_assert_str_eq(status_of(&bad), "open");
    work("test", 1, PASSED);
    work("land", 1, LANDED(1));
    ck_assert_str_eq(status_of(&good), "merged");
    ck_assert_int_eq(add_as(&bad, false, ""), RC_OK); /* Once it is repaired. */
    ck_assert_str_eq(cars_now(), "T");
}
END_TEST

START_TEST(one_that_does_not_merge_is_named)
{
    struct pull_request_row first = add(), second = add();
    work("test", 1, PASSED);
    work("land", 1, LANDED(1));
    work("test", 2,
         "{'outcome':'conflict','at':1,'base':'" BASE "','detail':'both change: a.txt'}");
    struct train_car_row car = last_ended();
    ck_assert_int_eq(car.state, CAR_CONFLICT);
    ck_assert_str_eq(car.pull_request_id.text, second.id.text);
    ck_assert_str_eq(car.detail, "both change: a.txt");
    ck_assert_str_eq(status_of(&first), "merged");
}
END_TEST

START_TEST(a_push_by_a_person_costs_one_round)
{
    (void)add();
    (void)add();
    work("test", 1, PASSED);
    work("land", 1, "{'outcome':'moved','at':0,'base':'" BASE "','tip':'" TIP "','merged':[]}");
    ck_assert_str_eq(cars_now(), "TW");
    struct train_row train = train_now();
    ck_assert_int_eq(train.rounds, 2);
    ck_assert_str_eq(train.base_commit, TIP);
    ck_assert_uint_eq(jobs_waiting(), 1); /* The test of the second was given up. */
}
END_TEST

START_TEST(a_test_that_sees_the_push_first_counts_no_round_of_its_own)
{
    (void)add();
    (void)add();
    work("test", 1, PASSED);
    struct job_row land = take("land", 1);
    work("test", 2, "{'outcome':'moved','at':0,'base':'" BASE "','tip':'" TIP "','merged':[]}");
    ck_assert_str_eq(cars_now(), "lW");
    ck_assert(
        lab_claim(&lab, &land, "{\"outcome\":\"moved\",\"at\":0,\"tip\":\"" TIP "\",\"merged\":[]}")
            .ok);
    ck_assert_str_eq(cars_now(), "TW");
    ck_assert_int_eq(train_now().rounds, 2);
}
END_TEST

START_TEST(what_the_target_has_already_has_landed)
{
    struct pull_request_row pr = add(), other = add();
    work("test", 1, "{'outcome':'moved','at':0,'base':'" BASE "','tip':'" TIP "','merged':[0]}");
    ck_assert_str_eq(status_of(&pr), "merged");
    ck_assert_str_eq(status_of(&other), "open");
    ck_assert_str_eq(cars_now(), "T");
}
END_TEST

START_TEST(an_urgent_one_goes_first_and_what_was_tested_is_given_up)
{
    (void)add();
    struct job_row old = take("test", 1);
    struct pull_request_row urgent = open_pr();
    ck_assert_int_eq(add_as(&urgent, true, ""), RC_OK);
    ck_assert_str_eq(cars_now(), "WT");
    struct job_answer late = lab_claim(&lab, &old, "{\"outcome\":\"passed\",\"at\":0}");
    ck_assert(!late.ok);
    ck_assert_str_eq(late.code, "LEASE_LOST");
    ck_assert_str_eq(cars_now(), "WT");
    work("test", 1, PASSED);
    ck_assert_str_eq(cars_now(), "Tl");
}
END_TEST

START_TEST(raising_one_that_waits_moves_it)
{
    (void)add();
    struct pull_request_row second = add();
    ck_assert_int_eq(add_as(&second, false, ""), RC_OK); /* The same again changes nothing. */
    ck_assert_str_eq(cars_now(), "TW");
    ck_assert_int_eq(add_as(&second, true, ""), RC_OK);
    ck_assert_str_eq(cars_now(), "WT");
}
END_TEST

START_TEST(one_can_leave_until_it_lands)
{
    struct pull_request_row first = add(), second = add();
    ck_assert_int_eq(take_out(&second, ""), RC_OK);
    ck_assert_str_eq(last_ended().detail, "taken out by ada");
    ck_assert_int_eq(take_out(&second, "NOT_IN_TRAIN"), RC_NOT_FOUND);
    work("test", 1, PASSED);
    ck_assert_int_eq(take_out(&first, "TRAIN_LANDING"), RC_CONFLICT);
    lab_pass_ms(&lab, 1);
    work("land", 1, "{'outcome':'gone','at':0,'detail':'closed'}");
    ck_assert_int_eq(last_ended().state, CAR_LEFT);
    ck_assert_str_eq(last_ended().detail, "closed");
    ck_assert_str_eq(status_of(&first), "open");
}
END_TEST

START_TEST(one_that_a_person_closed_leaves_before_anything_lands)
{
    struct pull_request_row first = add(), second = add();
    struct err err = {0};
    first.status = "closed";
    ck_assert_int_eq(pull_requests_save(lab.db, &first, &err), RC_OK);
    work("test", 1, PASSED);
    ck_assert_str_eq(last_ended().detail, "it was closed");
    ck_assert_str_eq(last_ended().pull_request_id.text, first.id.text);
    work("test", 1, PASSED);
    work("land", 1, LANDED(1));
    ck_assert_str_eq(status_of(&second), "merged");
    ck_assert_str_eq(status_of(&first), "closed");
}
END_TEST

START_TEST(a_job_that_fails_for_good_stalls_the_train_for_a_while)
{
    (void)add();
    struct job_row job = take("test", 1);
    ck_assert(lab_fail(&lab, &job, "repository_unreachable", false).ok);
    ck_assert_str_eq(cars_now(), "W");
    ck_assert_str_eq(train_now().error_code, "repository_unreachable");
    ck_assert_uint_eq(jobs_waiting(), 0);
    lab_pass_ms(&lab, 11 * 1000);
    ck_assert_str_eq(cars_now(), "T");
    work("test", 1, PASSED);
    ck_assert_ptr_null(train_now().error_code);
    ck_assert_int_eq(train_now().failures, 0);
}
END_TEST

START_TEST(a_job_that_is_gone_is_made_again)
{
    (void)add();
    struct train_car_row *rows;
    size_t count;
    struct err err = {0};
    struct train_row train = train_now();
    ck_assert_int_eq(train_cars_live(lab.db, &train.id, &lab.arena, &rows, &count, &err), RC_OK);
    struct job_row job;
    ck_assert_int_eq(jobs_get(lab.db, &rows[0].job_id, &lab.arena, &job, &err), RC_OK);
    job.life.state = JOB_CANCELLED; /* By hand. */
    ck_assert_int_eq(jobs_save(lab.db, &job, &err), RC_OK);
    lab_pass_ms(&lab, 3 * 60 * 1000);
    ck_assert_str_eq(cars_now(), "T");
    work("test", 1, PASSED);
}
END_TEST

START_TEST(who_is_not_open_does_not_enter)
{
    struct pull_request_row pr = open_pr(), none = pr;
    struct err err = {0};
    pr.status = "closed";
    ck_assert_int_eq(pull_requests_save(lab.db, &pr, &err), RC_OK);
    ck_assert_int_eq(add_as(&pr, false, "PULL_REQUEST_NOT_OPEN"), RC_CONFLICT);
    none.id = pr.run_id;
    ck_assert_int_eq(add_as(&none, false, "PULL_REQUEST_NOT_FOUND"), RC_NOT_FOUND);
    lab_repository(&lab, "acme/billing", "\"train\":{\"use\":\"off\"}");
    struct pull_request_row open = open_pr();
    ck_assert_int_eq(add_as(&open, false, "TRAIN_OFF"), RC_CONFLICT);
}
END_TEST

START_TEST(a_batch_lands_as_one_and_is_bisected_when_it_fails)
{
    teardown();
    setup_with("{\"verify\":\"batch\",\"batch\":4}");
    struct pull_request_row prs[4];
    for (size_t i = 0; i < 4; i++)
        prs[i] = open_pr();
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(add_as(&prs[i], false, ""), RC_OK);
    work("test", 1, PASSED); /* The first came alone. */
    work("land", 1, LANDED(1));
    work("test", 3, FAILED);
    work("test", 1, PASSED); /* The middle of two: the third is bad, or one before it. */
    work("test", 2, PASSED);
    struct train_car_row car = last_ended();
    ck_assert_str_eq(car.pull_request_id.text, prs[3].id.text);
    work("land", 2, LANDED(2));
    ck_assert_str_eq(status_of(&prs[1]), "merged");
    ck_assert_str_eq(status_of(&prs[2]), "merged");
    ck_assert_str_eq(status_of(&prs[3]), "open");
    ck_assert_int_eq(train_now().verifications, 4);
}
END_TEST

START_TEST(what_the_forge_merged_in_part_continues)
{
    teardown();
    setup_with("{\"land\":\"api\",\"ahead\":2}");
    struct pull_request_row first = add(), second = add();
    work("test", 1, PASSED);
    work("land", 1, LANDED(1));
    ck_assert_str_eq(status_of(&first), "merged");
    ck_assert_str_eq(cars_now(), "T"); /* Once more, on what the forge has made. */
    work("test", 1, "{'outcome':'passed','at':0,'base':'" TIP "','tree':'" TREE "','reused':true}");
    ck_assert_int_eq(train_now().verifications, 1);
    work("land", 1, LANDED(1));
    ck_assert_str_eq(status_of(&second), "merged");
    ck_assert_int_eq(train_now().rounds, 1);
}
END_TEST

START_TEST(a_merge_is_left_to_the_forge)
{
    teardown();
    setup_with("{\"use\":\"queue\"}");
    struct pull_request_row pr = open_pr();
    ck_assert_int_eq(add_as(&pr, false, ""), RC_OK);
    work("hand", 1, "{'outcome':'handed','at':0}");
    ck_assert_str_eq(status_of(&pr), "open");
    ck_assert_str_eq(cars_now(), "");
}
END_TEST

static size_t ended_cars(void)
{
    struct train_row train = train_now();
    struct train_car_row *rows;
    size_t count;
    struct err err = {0};
    ck_assert_int_eq(train_cars_ended(lab.db, &train.id, 10, &lab.arena, &rows, &count, &err),
                     RC_OK);
    return count;
}

static void prune(void)
{
    struct cmd_due *due = cmd_due_new();
    due->prune = true;
    ck_assert_int_eq(lab_call(&lab, &due->base), RC_OK);
    command_free(&due->base);
}

START_TEST(cars_are_forgotten_after_a_month)
{
    struct pull_request_row pr = add();
    ck_assert_int_eq(take_out(&pr, ""), RC_OK);
    lab_pass_ms(&lab, INT64_C(29) * 24 * 3600 * 1000);
    prune();
    ck_assert_uint_eq(ended_cars(), 1);
    lab_pass_ms(&lab, INT64_C(2) * 24 * 3600 * 1000);
    prune();
    ck_assert_uint_eq(ended_cars(), 0);
}
END_TEST

Suite *trains_suite(void);
Suite *trains_suite(void)
{
    Suite *suite = suite_create("trains");
    TCase *tc = tcase_create("trains");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_green_lands_and_is_merged);
    tcase_add_test(tc, the_one_that_fails_is_named_and_the_others_continue);
    tcase_add_test(tc, one_that_does_not_merge_is_named);
    tcase_add_test(tc, a_push_by_a_person_costs_one_round);
    tcase_add_test(tc, a_test_that_sees_the_push_first_counts_no_round_of_its_own);
    tcase_add_test(tc, what_the_target_has_already_has_landed);
    tcase_add_test(tc, an_urgent_one_goes_first_and_what_was_tested_is_given_up);
    tcase_add_test(tc, raising_one_that_waits_moves_it);
    tcase_add_test(tc, one_can_leave_until_it_lands);
    tcase_add_test(tc, one_that_a_person_closed_leaves_before_anything_lands);
    tcase_add_test(tc, a_job_that_fails_for_good_stalls_the_train_for_a_while);
    tcase_add_test(tc, a_job_that_is_gone_is_made_again);
    tcase_add_test(tc, who_is_not_open_does_not_enter);
    tcase_add_test(tc, a_batch_lands_as_one_and_is_bisected_when_it_fails);
    tcase_add_test(tc, what_the_forge_merged_in_part_continues);
    tcase_add_test(tc, a_merge_is_left_to_the_forge);
    tcase_add_test(tc, cars_are_forgotten_after_a_month);
    suite_add_tcase(suite, tc);
    return suite;
}
