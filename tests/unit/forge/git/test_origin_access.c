/*
 * test_origin_access.c - origins of other users: what drover's user may not do, and what is said.
 *
 * Runs as nobody where the tests are root: to root nothing is denied.
 */
#include "forge/git/origin_access.h"
#include "tests/unit/suites.h"
#include "tests/unit/work_kit.h"
#include <string.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static struct kit kit;

static void setup(void)
{
    kit_open(&kit);
    kit_sh(&kit, "git clone -q origin.git w && chmod 755 .");
}

static void teardown(void)
{
    if (geteuid() == NOBODY)
        ck_assert_int_eq(seteuid(0), 0);
    kit_close(&kit);
}

static const char *at(const char *name)
{
    return arena_printf(&kit.arena, "%s/%s", kit.dir, name);
}

static enum rc ask(const char *name, struct err *err)
{
    const struct git git = {0};
    return origin_access(&git, at(name), err);
}

static const struct {
    const char *before, *origin;
    enum rc as_owner, as_other;
    const char *code; /* For another user. */
} cases[] = {
    {"chmod -R go-rwx w", "w", RC_OK, RC_DENIED, "ORIGIN_NOT_READABLE"},
    {"chmod -R go-rwx w/.git", "w", RC_OK, RC_DENIED, "ORIGIN_NOT_READABLE"},
    {"chmod -R go+rX w", "w", RC_OK, RC_DENIED, "ORIGIN_NOT_WRITABLE"},
    {"chmod -R go+rX origin.git", "origin.git", RC_OK, RC_DENIED, "ORIGIN_NOT_WRITABLE"},
    {"chmod -R go+rwX w", "w", RC_OK, RC_DENIED, "ORIGIN_NOT_SHARED"},
    {"git -C w config core.sharedRepository world; chmod -R go+rwX w", "w", RC_OK, RC_OK, NULL},
    {"git -C w config core.sharedRepository umask; chmod -R go+rwX w", "w", RC_OK, RC_DENIED,
     "ORIGIN_NOT_SHARED"},
    {"chmod -R go+rwX w; git -C w worktree add -q -b x ../linked", "linked", RC_OK, RC_DENIED,
     "ORIGIN_NOT_SHARED"},
    {"true", "nothing", RC_OK, RC_OK, NULL},
};

START_TEST(a_user_may_use_an_origin_or_is_told_why_not)
{
    struct err err = {0};
    kit_sh(&kit, "%s", cases[_i].before);
    ck_assert_msg(ask(cases[_i].origin, &err) == cases[_i].as_owner, "%s", err.text);
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(seteuid(NOBODY), 0);
    enum rc rc = ask(cases[_i].origin, &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_msg(rc == cases[_i].as_other, "%d: %s", rc, err.text);
    if (cases[_i].code != NULL) {
        ck_assert_str_eq(err.code, cases[_i].code);
        ck_assert_msg(strstr(err.text, "drover runs as user nobody") != NULL, "%s", err.text);
        ck_assert_msg(strstr(err.text, "Run drover as root") != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(a_failure_is_explained_where_there_is_a_reason)
{
    struct err err = {0};
    const struct git git = {0};
    const enum rc rc = err_set(&err, RC_IO, "GIT_FAILED", "git push: Permission denied");
    ck_assert_int_eq(origin_explain(&git, at("w"), rc, &err), RC_IO);
    ck_assert_str_eq(err.code, "GIT_FAILED");
    ck_assert_int_eq(origin_explain(&git, "https://example.org/x.git", rc, &err), RC_IO);
    if (geteuid() != 0)
        return;
    kit_sh(&kit, "chmod -R go+rX w");
    ck_assert_int_eq(seteuid(NOBODY), 0);
    enum rc explained = origin_explain(&git, at("w"), rc, &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(explained, RC_CONFLICT);
    ck_assert_str_eq(err.code, "ORIGIN_NOT_WRITABLE");
}
END_TEST

Suite *origin_access_suite(void)
{
    Suite *suite = suite_create("origin_access");
    TCase *tests = tcase_create("origin_access");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_user_may_use_an_origin_or_is_told_why_not, 0,
                        (int)COUNT_OF(cases));
    tcase_add_test(tests, a_failure_is_explained_where_there_is_a_reason);
    suite_add_tcase(suite, tests);
    return suite;
}
