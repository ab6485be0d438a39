/*
 * test_cli_checkout.c - the checkout that a command is called in, and which addresses are the same.
 */
#include "base/fd.h"
#include "base/proc.h"
#include "base/str.h"
#include "cli/checkout.h"
#include "tests/unit/suites.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *a, *b;
    bool same;
} addresses[] = {
    {"https://host/acme/x.git", "https://host/acme/x", true},
    {"https://host/acme/x/", "https://HOST/acme/x.git", true},
    {"git@host:acme/x.git", "https://host/acme/x", true},
    {"ssh://git@host:2222/acme/x.git", "git@host:acme/x", true},
    {"https://ann@host/acme/x", "https://host/acme/x", true},
    {"/srv/git/x.git", "/srv/git/x", true},
    {"file:///srv/git/x.git", "/srv/git/x.git/", true},
    {"ann@host:/srv/git/x.git", "/srv/git/x.git", true},
    {"ssh://host/srv/git/x.git", "/srv/git/x.git", true},
    {"https://host/srv/git/x.git", "/srv/git/x.git", false},
    {"host:srv/git/x.git", "/srv/git/x.git", false},
    {"https://host/acme/x", "https://other/acme/x", false},
    {"https://host/acme/x", "https://host/acme/y", false},
    {"https://host/Acme/x", "https://host/acme/x", false},
    {"/srv/git/x.git", "/srv/git/xx.git", false},
    {"", "", false},
    {"/", "https://host/", false},
};

START_TEST(addresses_are_compared_without_what_does_not_count)
{
    ck_assert_msg(checkout_same_address(addresses[_i].a, addresses[_i].b) == addresses[_i].same,
                  "%s %s", addresses[_i].a, addresses[_i].b);
    ck_assert_msg(checkout_same_address(addresses[_i].b, addresses[_i].a) == addresses[_i].same,
                  "%s %s", addresses[_i].b, addresses[_i].a);
}
END_TEST

/* ---- in a directory of its own ---- */

static char dir[PATH_MAX];
static struct arena arena;

static void setup(void)
{
    const char *base = getenv("TMPDIR");
    char *name = arena_printf(&arena, "%s/checkout-XXXXXX", base != NULL ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(name));
    ck_assert_ptr_nonnull(realpath(name, dir));
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(setenv("GIT_CEILING_DIRECTORIES", dir, 1), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
    arena_release(&arena);
}

static void sh(const char *script)
{
    static const char prelude[] =
        "set -e; export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
        "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";
    const char *const argv[] = {"sh", "-c", arena_printf(&arena, "%s%s", prelude, script), NULL};
    const struct proc_spec spec = {.argv = argv};
    const struct proc_limits limits = {.timeout_ms = 60000};
    struct proc_result result;
    struct buf words;
    struct err err = {0};
    buf_init(&words, 4096);
    ck_assert_int_eq(proc_run(&spec, (struct str){0}, NULL, &words, &limits, &result, &err), RC_OK);
    ck_assert_msg(result.exit.code == 0, "%s: %s", script, buf_text(&words));
    buf_release(&words);
}

static const char *in(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

START_TEST(a_checkout_is_found_from_below_with_its_remotes)
{
    struct checkout checkout;
    struct err err = {0};
    sh("git init -q work; mkdir -p work/a/b; cd work; git remote add up https://host/up.git; "
       "git remote add origin ../origin.git; git init -q --bare ../origin.git");
    ck_assert_int_eq(chdir(in("work/a/b")), 0);
    ck_assert_msg(checkout_find(&arena, &checkout, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(checkout.top, in("work"));
    ck_assert_str_eq(checkout.common_dir, in("work/.git"));
    ck_assert(!checkout.bare);
    ck_assert_str_eq(checkout.remotes[0], in("origin.git"));
    ck_assert_str_eq(checkout.remotes[1], "https://host/up.git");
    ck_assert_ptr_null(checkout.remotes[2]);
    ck_assert(checkout_is_at(&checkout, in("work")));
    ck_assert(checkout_is_at(&checkout, in("work/.git")));
    ck_assert(checkout_is_at(&checkout, arena_printf(&arena, "file://%s/", in("work"))));
    ck_assert(!checkout_is_at(&checkout, in("origin.git")));
    ck_assert(!checkout_is_at(&checkout, in("nothing")));
    ck_assert(!checkout_is_at(&checkout, dir));
}
END_TEST

START_TEST(a_linked_worktree_is_its_repository)
{
    struct checkout checkout;
    sh("git init -q work; cd work; git commit -q --allow-empty -m x; "
       "git worktree add -q -b other ../linked");
    ck_assert_int_eq(chdir(in("linked")), 0);
    ck_assert_int_eq(checkout_find(&arena, &checkout, NULL), RC_OK);
    ck_assert_str_eq(checkout.top, in("linked"));
    ck_assert_str_eq(checkout.common_dir, in("work/.git"));
    ck_assert(checkout_is_at(&checkout, in("work")));
    ck_assert(checkout_is_at(&checkout, in("linked")));
}
END_TEST

START_TEST(what_is_no_checkout_is_said)
{
    struct checkout checkout;
    struct err err = {0};
    ck_assert_int_eq(checkout_find(&arena, &checkout, &err), RC_NOT_FOUND);
    ck_assert_msg(strstr(err.text, "not a git repository") != NULL, "%s", err.text);
    sh("git init -q --bare bare.git; git init -q work");
    ck_assert_int_eq(chdir(in("work/.git")), 0);
    ck_assert_int_eq(checkout_find(&arena, &checkout, &err), RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "NOT_A_CHECKOUT");
    ck_assert_int_eq(chdir(in("bare.git")), 0);
    ck_assert_int_eq(checkout_find(&arena, &checkout, &err), RC_OK);
    ck_assert(checkout.bare);
    ck_assert_ptr_null(checkout.top);
}
END_TEST

Suite *cli_checkout_suite(void)
{
    Suite *suite = suite_create("cli_checkout");
    TCase *pure = tcase_create("addresses");
    TCase *tests = tcase_create("checkout");
    tcase_add_loop_test(pure, addresses_are_compared_without_what_does_not_count, 0,
                        (int)COUNT_OF(addresses));
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_checkout_is_found_from_below_with_its_remotes);
    tcase_add_test(tests, a_linked_worktree_is_its_repository);
    tcase_add_test(tests, what_is_no_checkout_is_said);
    suite_add_tcase(suite, pure);
    suite_add_tcase(suite, tests);
    return suite;
}
