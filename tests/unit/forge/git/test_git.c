/*
 * test_git.c - git with an environment of its own: what it refuses, hides and survives.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "forge/git/git.h"
#include "tests/unit/git_host.h"
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

static struct kit kit;

static void setup(void)
{
    kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct git quick(void)
{
    return (struct git){.deadline_us = clock_mono_us() + 20 * US_PER_SECOND};
}

static const struct {
    const char *before, *after;
} redactions[] = {
    {"fatal: https://me:pw@host/x.git gone", "fatal: https://*****@host/x.git gone"},
    {"ssh://git@host/x and https://t0k3n@h/y", "ssh://***@host/x and https://*****@h/y"},
    {"https://host/a@b.git", "https://host/a@b.git"},
    {"no address at all @ here", "no address at all @ here"},
    {"://", "://"},
};

START_TEST(passwords_in_addresses_are_blanked)
{
    char text[200];
    text_copy(text, sizeof text, redactions[_i].before);
    git_redact(text);
    ck_assert_str_eq(text, redactions[_i].after);
}
END_TEST

START_TEST(only_hashes_are_hashes)
{
    ck_assert(git_hash_valid("0123456789abcdef0123456789abcdef01234567"));
    ck_assert(!git_hash_valid("0123456789abcdef0123456789abcdef0123456"));
    ck_assert(!git_hash_valid("0123456789ABCDEF0123456789abcdef01234567"));
    ck_assert(!git_hash_valid("--upload-pack=x"));
    ck_assert(!git_hash_valid(NULL));
}
END_TEST

START_TEST(a_refusal_says_why)
{
    struct git git = quick();
    struct err err = {0};
    struct git_call call = {.git_dir = kit.origin, .args = GIT_ARGS("rev-parse", "--verify", "no")};
    ck_assert_int_eq(git_run(&git, &call, &err), RC_IO);
    ck_assert_str_eq(err.code, "GIT_FAILED");
    ck_assert_ptr_nonnull(strstr(err.text, "git rev-parse: "));
}
END_TEST

/* A git in front of the real one writes down how it was called. */
static void watch_git(void)
{
    kit_sh(&kit,
           "mkdir bin; real=$(command -v git)\n"
           "printf '#!/bin/sh\\necho \"$@\" >>%s/argv\\nexec %%s \"$@\"\\n' $real >bin/git\n"
           "chmod +x bin/git; git init -q --bare m.git",
           kit.dir);
    char *path = arena_printf(&kit.arena, "%s/bin:%s", kit.dir, getenv("PATH"));
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

START_TEST(the_address_of_a_remote_is_in_no_argv_and_no_error)
{
    watch_git();
    struct git git = quick();
    struct err err = {0};
    struct git_call call = {
        .git_dir = arena_printf(&kit.arena, "%s/m.git", kit.dir),
        .args = GIT_ARGS("fetch", "--quiet", "origin"),
        .origin = "http://user:hunter2@127.0.0.1:1/x.git",
    };
    ck_assert_int_eq(git_run(&git, &call, &err), RC_IO);
    ck_assert_ptr_null(strstr(err.text, "hunter2"));
    const char *argv = kit_sh(&kit, "cat argv m.git/config");
    ck_assert_ptr_nonnull(strstr(argv, "fetch"));
    ck_assert_ptr_null(strstr(argv, "hunter2"));
}
END_TEST

/* ---- over HTTP ---- */

static struct git_host host;

static enum rc over_http(const char *token, const char *url, const char *const *args,
                         struct err *err)
{
    struct git git = quick();
    git.credential = token;
    struct git_call call = {
        .git_dir = arena_printf(&kit.arena, "%s/m.git", kit.dir), .args = args, .origin = url};
    return git_run(&git, &call, err);
}

static const char *with_user(const char *url)
{
    return arena_printf(&kit.arena, "http://me@%s", url + strlen("http://"));
}

START_TEST(a_credential_opens_the_origin_and_shows_nowhere)
{
    struct err err = {0};
    watch_git();
    git_host_start(&host, &kit);
    kit_sh(&kit, "git --git-dir=origin.git config http.receivepack true");
    const char *url = git_host_url(&host, "origin.git");
    const char *const *fetch = GIT_ARGS("fetch", "--quiet", "origin", "main:main");
    const char *const *push = GIT_ARGS("push", "--quiet", "origin", "main:refs/heads/pushed");
    ck_assert_msg(over_http(GIT_HOST_TOKEN, url, fetch, &err) == RC_OK, "%s", err.text);
    ck_assert_msg(over_http(GIT_HOST_TOKEN "\n", with_user(url), push, &err) == RC_OK, "%s",
                  err.text);
    ck_assert_int_gt(host.let_in, 0);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-parse pushed"),
                     kit_sh(&kit, "git --git-dir=m.git rev-parse main"));
    git_host_stop(&host);
    ck_assert_str_ne(kit_sh(&kit, "cat argv"), "");
    ck_assert_str_eq(kit_sh(&kit, "grep -rl %s argv m.git || true", GIT_HOST_TOKEN), "");
}
END_TEST

static const char *const bad_tokens[] = {NULL, "", "not-the-t0ken"};

START_TEST(without_the_right_credential_the_origin_stays_closed)
{
    struct err err = {0};
    watch_git();
    git_host_start(&host, &kit);
    const char *const *fetch = GIT_ARGS("fetch", "--quiet", "origin");
    const char *url = git_host_url(&host, "origin.git");
    ck_assert_int_eq(over_http(bad_tokens[_i], url, fetch, &err), RC_UNAUTHORIZED);
    ck_assert_str_eq(err.code, "GIT_UNAUTHORIZED");
    ck_assert_ptr_null(strstr(err.text, "not-the-t0ken"));
    ck_assert_int_eq(host.let_in, 0);
    git_host_stop(&host);
}
END_TEST

static enum rc give_the_right_one(void *ctx, const char *refused, const char **ret_credential)
{
    int *asked = ctx;
    ck_assert_str_eq(refused, "not-the-t0ken");
    ++*asked;
    *ret_credential = GIT_HOST_TOKEN;
    return RC_OK;
}

START_TEST(a_refused_credential_is_replaced_once)
{
    struct err err = {0};
    int asked = 0;
    const struct git_renewal renewal = {.renew = give_the_right_one, .ctx = &asked};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, 1000);
    buf_adds(&out, "before ");
    git_host_start(&host, &kit);
    struct git git = quick();
    git.credential = "not-the-t0ken";
    git.renewal = &renewal;
    const struct git_call call = {.args = GIT_ARGS("ls-remote", "origin", "refs/heads/main"),
                                  .origin = git_host_url(&host, "origin.git"),
                                  .out = &out};
    ck_assert_msg(git_run(&git, &call, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(asked, 1);
    ck_assert(text_starts(buf_text(&out), "before ") && text_ends(buf_text(&out), "/main\n"));
    git_host_stop(&host);
}
END_TEST

START_TEST(a_host_that_sends_us_elsewhere_does_not_pass_the_credential_on)
{
    struct err err = {0};
    struct git_host other;
    watch_git();
    git_host_start(&host, &kit);
    git_host_start(&other, &kit);
    atomic_store(&host.elsewhere, tiny_server_url(other.server));
    ck_assert_int_ne(over_http(GIT_HOST_TOKEN, git_host_url(&host, "origin.git"),
                               GIT_ARGS("fetch", "--quiet", "origin"), &err),
                     RC_OK);
    ck_assert_int_gt(other.turned_away, 0);
    ck_assert_int_eq(other.let_in + other.strangers, 0);
    git_host_stop(&other);
    git_host_stop(&host);
}
END_TEST

START_TEST(helpers_that_run_commands_are_refused)
{
    struct git git = quick();
    struct err err = {0};
    struct git_call call = {
        .git_dir = kit.origin,
        .args = GIT_ARGS("ls-remote", "origin"),
        .origin = arena_printf(&kit.arena, "ext::sh -c touch%% %s/broken", kit.dir),
    };
    ck_assert_int_eq(git_run(&git, &call, &err), RC_IO);
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/broken", kit.dir)));
}
END_TEST

/* A checkout may be an origin, and its configuration is that of whoever owns it. */
START_TEST(objects_that_an_origin_lacks_are_not_fetched)
{
    struct git git = quick();
    kit_sh(&kit,
           "cd %s\n"
           "git config core.repositoryFormatVersion 1\n"
           "git config extensions.partialClone elsewhere\n"
           "git config remote.elsewhere.promisor true\n"
           "git config remote.elsewhere.url %s\n"
           "git config remote.elsewhere.uploadPack 'touch %s/was-run; false'\n",
           kit.origin, kit.origin, kit.dir);
    struct git_call call = {
        .git_dir = kit.origin,
        .args = GIT_ARGS("cat-file", "-e", "0123456789abcdef0123456789abcdef01234567")};
    ck_assert_int_eq(git_run(&git, &call, NULL), RC_IO);
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/was-run", kit.dir)));
}
END_TEST

START_TEST(configuration_of_the_user_does_not_count)
{
    kit_sh(&kit, "mkdir h; printf '[alias]\\n\\tx = !touch %s/broken\\n' >h/.gitconfig", kit.dir);
    ck_assert_int_eq(setenv("HOME", arena_printf(&kit.arena, "%s/h", kit.dir), 1), 0);
    struct git git = quick();
    struct err err = {0};
    struct git_call call = {.git_dir = kit.origin, .args = GIT_ARGS("x")};
    ck_assert_int_eq(git_run(&git, &call, &err), RC_IO);
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/broken", kit.dir)));
}
END_TEST

START_TEST(a_git_that_hangs_is_stopped)
{
    kit_sh(&kit, "mkdir bin; printf '#!/bin/sh\\nexec sleep 60\\n' >bin/git; chmod +x bin/git");
    char *path = arena_printf(&kit.arena, "%s/bin:%s", kit.dir, getenv("PATH"));
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    struct git git = {.deadline_us = clock_mono_us() + 100 * US_PER_MS};
    struct err err = {0};
    struct git_call call = {.args = GIT_ARGS("version")};
    ck_assert_int_eq(git_run(&git, &call, &err), RC_TIMEOUT);
    atomic_int cancel = 1;
    git = (struct git){.cancel = &cancel};
    ck_assert_int_eq(git_run(&git, &call, &err), RC_CANCELLED);
}
END_TEST

START_TEST(an_answer_that_is_too_long_is_refused)
{
    struct git git = quick();
    struct err err = {0};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, 8);
    struct git_call call = {.git_dir = kit.origin, .args = GIT_ARGS("log"), .out = &out};
    ck_assert_int_eq(git_run(&git, &call, &err), RC_TOO_LARGE);
}
END_TEST

START_TEST(a_lock_is_held_by_one_and_waited_for)
{
    char *path = arena_printf(&kit.arena, "%s/lock", kit.dir);
    struct git git = {.deadline_us = clock_mono_us() + 60 * US_PER_MS};
    struct err err = {0};
    int first = -1, second = -1;
    ck_assert_int_eq(git_lock(&git, path, &first, &err), RC_OK);
    ck_assert_int_eq(git_lock(&git, path, &second, &err), RC_TIMEOUT);
    ck_assert_int_eq(second, -1);
    fd_close(first);
    git.deadline_us = clock_mono_us() + 60 * US_PER_MS;
    ck_assert_int_eq(git_lock(&git, path, &second, &err), RC_OK);
    atomic_int cancel = 1;
    git = (struct git){.cancel = &cancel};
    ck_assert_int_eq(git_lock(&git, path, &first, &err), RC_CANCELLED);
    fd_close(second);
}
END_TEST

Suite *git_suite(void)
{
    Suite *suite = suite_create("git");
    TCase *tests = tcase_create("git");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, passwords_in_addresses_are_blanked, 0, (int)COUNT_OF(redactions));
    tcase_add_test(tests, only_hashes_are_hashes);
    tcase_add_test(tests, a_refusal_says_why);
    tcase_add_test(tests, the_address_of_a_remote_is_in_no_argv_and_no_error);
    tcase_add_test(tests, a_credential_opens_the_origin_and_shows_nowhere);
    tcase_add_loop_test(tests, without_the_right_credential_the_origin_stays_closed, 0,
                        (int)COUNT_OF(bad_tokens));
    tcase_add_test(tests, a_refused_credential_is_replaced_once);
    tcase_add_test(tests, a_host_that_sends_us_elsewhere_does_not_pass_the_credential_on);
    tcase_add_test(tests, helpers_that_run_commands_are_refused);
    tcase_add_test(tests, objects_that_an_origin_lacks_are_not_fetched);
    tcase_add_test(tests, configuration_of_the_user_does_not_count);
    tcase_add_test(tests, a_git_that_hangs_is_stopped);
    tcase_add_test(tests, an_answer_that_is_too_long_is_refused);
    tcase_add_test(tests, a_lock_is_held_by_one_and_waited_for);
    suite_add_tcase(suite, tests);
    return suite;
}
