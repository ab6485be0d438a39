/*
 * test_throttle.c - whom the rates hold up, and for how long.
 */
#include "api/api.h"
#include "api/routes.h"
#include "api/throttle.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

#define T0 INT64_C(1000000)

static struct arena arena;
static struct throttle *throttle;

static void setup(void)
{
    arena = (struct arena){0};
}

static void teardown(void)
{
    throttle_free(throttle);
    arena_release(&arena);
}

static void make(const char *json)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct rate_rule *rules = NULL;
    size_t count = 0;
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, &err), RC_OK);
    enum rc rc = rate_rules_decode(tree, "rates", &arena, &rules, &count, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    throttle = throttle_new(rules, count);
}

static const struct route *route_at(enum http_method method, const char *path)
{
    struct route_match match;
    size_t count = 0;
    const struct route *routes = routes_all(&count);
    router_find(routes, count, method, str_of(path), &match);
    ck_assert_ptr_nonnull(match.route);
    return match.route;
}

static int64_t ask(enum role role, const char *name, const char *path, int64_t now_us)
{
    struct identity who = {.role = role};
    text_copy(role == ROLE_AGENT ? who.run_id.text : who.name,
              role == ROLE_AGENT ? sizeof who.run_id.text : sizeof who.name, name);
    return throttle_wait_us(throttle, &who, route_at(HTTP_POST, path), now_us);
}

START_TEST(each_actor_has_a_bucket_of_its_own)
{
    make("[{\"route\":\"POST /v1/tasks\",\"perSecond\":10,\"burst\":2}]");
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/tasks", T0), 0);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/tasks", T0), 0);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/tasks", T0), 100000);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "bob", "/v1/tasks", T0), 0);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/jobs", T0), 0);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/tasks", T0 + 40000), 60000);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/tasks", T0 + 100000), 0);
}
END_TEST

START_TEST(a_rule_for_all_routes_counts_them_together)
{
    make("[{\"route\":\"*\",\"perSecond\":1}]");
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/tasks", T0), 0);
    ck_assert_int_eq(ask(ROLE_OPERATOR, "ann", "/v1/jobs", T0), 1000000);
}
END_TEST

/* Of a call on behalf of another one only a rule for its own route counts. */
START_TEST(a_call_behind_another_is_counted_by_its_own_rule_only)
{
    make("[{\"route\":\"POST /v1/tasks\",\"perSecond\":1},{\"route\":\"*\",\"perSecond\":1}]");
    struct identity who = {.role = ROLE_OPERATOR, .name = "ann"};
    const struct route *tasks = route_at(HTTP_POST, "/v1/tasks");
    const struct route *jobs = route_at(HTTP_POST, "/v1/jobs");
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(throttle_inner_us(throttle, &who, jobs, T0), 0);
    ck_assert_int_eq(throttle_inner_us(throttle, &who, tasks, T0), 0);
    ck_assert_int_eq(throttle_inner_us(throttle, &who, tasks, T0), 1000000);
    ck_assert_int_eq(throttle_wait_us(throttle, &who, tasks, T0), 1000000); /* The same bucket. */
    ck_assert_int_eq(throttle_wait_us(throttle, &who, jobs, T0), 0);
}
END_TEST

START_TEST(the_first_rule_that_fits_decides)
{
    make("[{\"route\":\"*\",\"perSecond\":1000,\"actor\":\"token:ci\"},"
         " {\"route\":\"POST /v1/jobs/lease\",\"perSecond\":100,\"actor\":\"role:worker\"},"
         " {\"route\":\"*\",\"perSecond\":2,\"actor\":\"role:agent\"},"
         " {\"route\":\"*\",\"perSecond\":1}]");
    static const struct {
        enum role role;
        const char *name, *path;
        int64_t burst;
    } rows[] = {
        {ROLE_OPERATOR, "ci", "/v1/tasks", 1000},  {ROLE_OPERATOR, "ann", "/v1/tasks", 1},
        {ROLE_WORKER, "w", "/v1/jobs/lease", 100}, {ROLE_WORKER, "w", "/v1/jobs/fail", 1},
        {ROLE_AGENT, "ci", "/v1/tasks", 2},        {ROLE_AGENT, "other", "/v1/tasks", 2},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t passed = 0;
        while (ask(rows[i].role, rows[i].name, rows[i].path, T0) == 0)
            passed++;
        ck_assert_int_eq(passed, rows[i].burst);
    }
}
END_TEST

/* Far more actors than there are places: old ones are forgotten, nobody is held up for them. */
START_TEST(what_has_no_token_is_counted_by_its_address)
{
    static const struct bucket_rule rule = {.per_second = 1, .burst = 2};
    const struct caps_key here = {CAPS_SOURCE, "192.0.2.1"}, there = {CAPS_SOURCE, "192.0.2.2"};
    const struct caps_key token = {CAPS_TOKEN, "192.0.2.1"}; /* A token of that name is another. */
    struct throttle *counted = throttle_new(NULL, 0);
    int64_t now_us = 1000000000;
    ck_assert_int_eq(throttle_source_us(counted, &rule, &here, now_us), 0);
    ck_assert_int_eq(throttle_source_us(counted, &rule, &here, now_us), 0);
    ck_assert_int_eq(throttle_source_us(counted, &rule, &here, now_us), 1000000);
    ck_assert_int_eq(throttle_source_us(counted, &rule, &there, now_us), 0);
    ck_assert_int_eq(throttle_source_us(counted, &rule, &token, now_us), 0);
    ck_assert_int_eq(throttle_source_us(counted, &rule, &here, now_us + 1000000), 0);
    throttle_free(counted);
}
END_TEST

START_TEST(the_number_of_buckets_is_bounded)
{
    make("[{\"route\":\"*\",\"perSecond\":1}]");
    for (int i = 0; i < 20000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", i);
        ck_assert_int_eq(ask(ROLE_OPERATOR, name, "/v1/tasks", T0 + i), 0);
        ck_assert_int_gt(ask(ROLE_OPERATOR, name, "/v1/tasks", T0 + i), 0);
    }
}
END_TEST

Suite *throttle_suite(void)
{
    Suite *suite = suite_create("throttle");
    TCase *tc = tcase_create("throttle");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_actor_has_a_bucket_of_its_own);
    tcase_add_test(tc, a_rule_for_all_routes_counts_them_together);
    tcase_add_test(tc, a_call_behind_another_is_counted_by_its_own_rule_only);
    tcase_add_test(tc, the_first_rule_that_fits_decides);
    tcase_add_test(tc, what_has_no_token_is_counted_by_its_address);
    tcase_add_test(tc, the_number_of_buckets_is_bounded);
    suite_add_tcase(suite, tc);
    return suite;
}
