/*
 * test_store_trains.c - trains and their cars.
 */
#include "store/pull_requests.h"
#include "store/trains.h"
#include "tests/store/fixture.h"

static struct train_row new_train(struct fixture *f, const char *branch)
{
    return (struct train_row){.id = fixture_id(f),
                              .workspace_id = f->workspace_id,
                              .repository_id = f->repository_id,
                              .target_branch = branch,
                              .created_us = 5,
                              .updated_us = 5};
}

static struct train_car_row new_car(struct fixture *fixture, const struct train_row *train)
{
    struct fixture f = *fixture;
    struct task_row task = fixture_task(fixture);
    struct run_row run = fixture_run(fixture, &task);
    const struct pull_request_row pr = {
        .id = fixture_id(fixture),
        .number = 7,
        .repository_id = f.repository_id,
        .task_id = task.id,
        .run_id = run.id,
        .branch = "drover/x",
        .target_branch = train->target_branch,
        .url = arena_printf(&fixture->arena, "/o#%s", run.id.text),
        .status = "open",
        .head_commit = "head",
    };
    must(pull_requests_insert(f.db, &pr, &f.err));
    return (struct train_car_row){
        .id = fixture_id(fixture),
        .train_id = train->id,
        .pull_request_id = pr.id,
        .run_id = run.id,
        .task_id = task.id,
        .number = 7,
        .branch = pr.branch,
        .head_commit = pr.head_commit,
        .state = CAR_WAITING,
        .entered_us = 6,
        .updated_us = 6,
    };
}

START_TEST(a_branch_has_one_train)
{
    FIXTURE(f);
    struct train_row got, main = new_train(&f, "main"), again = new_train(&f, "main"),
                          other = new_train(&f, "release");
    must_be(RC_NOT_FOUND, trains_of(f.db, &f.repository_id, "main", &f.arena, &got, &f.err));
    must(trains_insert(f.db, &main, &f.err));
    must_be(RC_CONFLICT, trains_insert(f.db, &again, &f.err));
    must(trains_insert(f.db, &other, &f.err));
    must(trains_of(f.db, &f.repository_id, "main", &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, main.id);
    ck_assert_str_eq(got.repository, "acme/billing");
    ck_assert_ptr_null(got.base_commit);
    got.base_commit = "b";
    got.rounds = 2;
    got.verifications = 3;
    got.land_job_id = fixture_id(&f);
    must(trains_save(f.db, &got, &f.err));
    must(trains_get(f.db, &main.id, &f.arena, &main, &f.err));
    ck_assert_str_eq(main.base_commit, "b");
    ck_assert_int_eq(main.rounds, 2);
    ck_assert_id_eq(main.land_job_id, got.land_job_id);
}
END_TEST

START_TEST(trains_are_listed_by_repository_newest_first)
{
    FIXTURE(f);
    struct train_row *rows, first = new_train(&f, "main"), second = new_train(&f, "release");
    size_t count;
    must(trains_insert(f.db, &first, &f.err));
    must(trains_insert(f.db, &second, &f.err));
    const struct {
        struct train_filter filter;
        const struct train_row *want[2];
    } cases[] = {
        {{.limit = 10}, {&second, &first}},
        {{.limit = 1}, {&second}},
        {{.limit = 10, .before = second.id}, {&first}},
        {{.limit = 10, .repository = "acme/billing"}, {&second, &first}},
        {{.limit = 10, .repository = "acme/other"}, {NULL}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t want = 0;
        must(trains_list(f.db, &cases[i].filter, &f.arena, &rows, &count, &f.err));
        for (; want < 2 && cases[i].want[want] != NULL; want++)
            ck_assert_id_eq(rows[want].id, cases[i].want[want]->id);
        ck_assert_uint_eq(count, want);
    }
}
END_TEST

START_TEST(a_pull_request_is_in_one_train_at_a_time)
{
    FIXTURE(f);
    struct train_row train = new_train(&f, "main");
    must(trains_insert(f.db, &train, &f.err));
    struct train_car_row got, car = new_car(&f, &train), again = car;
    again.id = fixture_id(&f);
    must_be(RC_NOT_FOUND, train_cars_of_pr(f.db, &car.pull_request_id, &f.arena, &got, &f.err));
    must(train_cars_insert(f.db, &car, &f.err));
    must_be(RC_CONFLICT, train_cars_insert(f.db, &again, &f.err));
    must(train_cars_of_pr(f.db, &car.pull_request_id, &f.arena, &got, &f.err));
    ck_assert_id_eq(got.id, car.id);
    ck_assert(!train_car_changed(&got, &got));
    struct train_car_row ended = got;
    ended.state = CAR_REJECTED;
    ended.detail = "unit: failed";
    ended.ended_us = 9;
    ck_assert(train_car_changed(&ended, &got));
    must(train_cars_save(f.db, &ended, &f.err));
    must_be(RC_NOT_FOUND, train_cars_of_pr(f.db, &car.pull_request_id, &f.arena, &got, &f.err));
    must(train_cars_insert(f.db, &again, &f.err)); /* It was repaired, and comes again. */
    must(train_cars_peek(f.db, &car.id, &f.arena, &got, &f.err));
    ck_assert_int_eq(got.state, CAR_REJECTED);
    ck_assert_str_eq(got.detail, "unit: failed");
}
END_TEST

START_TEST(cars_are_read_by_arrival_and_by_end)
{
    FIXTURE(f);
    struct train_row train = new_train(&f, "main"), other = new_train(&f, "release");
    must(trains_insert(f.db, &train, &f.err));
    must(trains_insert(f.db, &other, &f.err));
    struct train_car_row cars[4], *rows;
    size_t count;
    for (size_t i = 0; i < COUNT_OF(cars); i++) {
        cars[i] = new_car(&f, i == 3 ? &other : &train);
        must(train_cars_insert(f.db, &cars[i], &f.err));
    }
    must(train_cars_live(f.db, &train.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++)
        ck_assert_id_eq(rows[i].id, cars[i].id);
    cars[2].state = cars[0].state = CAR_LANDED;
    cars[2].ended_us = 10;
    cars[0].ended_us = 11;
    must(train_cars_save(f.db, &cars[2], &f.err));
    must(train_cars_save(f.db, &cars[0], &f.err));
    must(train_cars_live(f.db, &train.id, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    must(train_cars_ended(f.db, &train.id, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_id_eq(rows[0].id, cars[0].id);
    must(train_cars_ended(f.db, &train.id, 1, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(all_trains_are_counted_together)
{
    FIXTURE(f);
    struct train_counts counts;
    must(trains_count(f.db, &counts, &f.err));
    ck_assert_int_eq(counts.cars, 0);
    ck_assert_int_eq(counts.rounds, 0);
    struct train_row one = new_train(&f, "main"), two = new_train(&f, "release");
    one.rounds = 2;
    one.landed = 3;
    two.rounds = 5;
    two.rejected = 1;
    two.verifications = 7;
    must(trains_insert(f.db, &one, &f.err));
    must(trains_insert(f.db, &two, &f.err));
    struct train_car_row car = new_car(&f, &one);
    must(train_cars_insert(f.db, &car, &f.err));
    must(trains_count(f.db, &counts, &f.err));
    ck_assert_int_eq(counts.cars, 1);
    ck_assert_int_eq(counts.rounds, 7);
    ck_assert_int_eq(counts.landed, 3);
    ck_assert_int_eq(counts.rejected, 1);
    ck_assert_int_eq(counts.verifications, 7);
}
END_TEST

START_TEST(cars_that_ended_long_ago_are_deleted_some_at_a_time)
{
    FIXTURE(f);
    struct train_row train = new_train(&f, "main");
    int64_t count = 0;
    must(trains_insert(f.db, &train, &f.err));
    for (int i = 0; i < 6; i++) { /* 0 is live, 1 was not told; 2, 3 and 4 are old. */
        struct train_car_row car = new_car(&f, &train);
        car.state = i == 0 ? CAR_WAITING : CAR_LANDED;
        car.ended_us = i == 0 ? 0 : 10 * i;
        car.told = i > 1;
        must(train_cars_insert(f.db, &car, &f.err));
    }
    const struct car_prune some = {.before_us = 50, .limit = 2};
    must(train_cars_prune(f.db, &some, &count, &f.err));
    ck_assert_int_eq(count, 2);
    must(train_cars_prune(f.db, &some, &count, &f.err));
    ck_assert_int_eq(count, 1);
    must(train_cars_prune(f.db, &some, &count, &f.err));
    ck_assert_int_eq(count, 0);
    struct train_car_row *rows;
    size_t left;
    must(train_cars_ended(f.db, &train.id, 10, &f.arena, &rows, &left, &f.err));
    ck_assert_uint_eq(left, 2);
    ck_assert_int_eq(rows[0].ended_us, 50);
    ck_assert_int_eq(rows[1].ended_us, 10);
    must(train_cars_live(f.db, &train.id, &f.arena, &rows, &left, &f.err));
    ck_assert_uint_eq(left, 1);
}
END_TEST

Suite *store_trains_suite(void);
Suite *store_trains_suite(void)
{
    Suite *suite = suite_create("store_trains");
    TCase *tc = tcase_create("trains");
    case_add(tc, a_branch_has_one_train);
    case_add(tc, trains_are_listed_by_repository_newest_first);
    case_add(tc, a_pull_request_is_in_one_train_at_a_time);
    case_add(tc, cars_are_read_by_arrival_and_by_end);
    case_add(tc, all_trains_are_counted_together);
    case_add(tc, cars_that_ended_long_ago_are_deleted_some_at_a_time);
    suite_add_tcase(suite, tc);
    return suite;
}
