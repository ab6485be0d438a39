/*
 * test_logins.c - login files into a run's home and back, and what a hostile home cannot do.
 */
#include "base/buf.h"
#include "base/fd.h"
#include "base/proc.h"
#include "tests/unit/suites.h"
#include "work/sandbox/logins.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST  "{\"accessToken\":\"a1\",\"refreshToken\":\"r1\"}"
#define SECOND "{\"accessToken\":\"a2\",\"refreshToken\":\"r2\"}"
#define THIRD  "{\"accessToken\":\"a3\",\"refreshToken\":\"r3\"}"

static char dir[] = "/tmp/drover-logins-XXXXXX";
static struct arena arena;
static struct err err;
static struct logins logins;

static const char *at(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

static void put(const char *name, const char *text)
{
    ck_assert_int_eq(file_write_durable(at(name), text, strlen(text), 0640, NULL), RC_OK);
}

static const char *get(const char *name)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1 << 20);
    return file_read(at(name), &text, NULL) == RC_OK ? arena_strdup(&arena, buf_text(&text)) : NULL;
}

#define LOGIN   "account/.config/cursor/auth.json"
#define IN_HOME "home/.config/cursor/auth.json"

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(dir_make(at("account/.config/cursor"), 0700, NULL), RC_OK);
    ck_assert_int_eq(dir_make(at("home"), 0700, NULL), RC_OK);
    put(LOGIN, FIRST);
    put("account/.config/cursor/other", "private");
    logins = (struct logins){at("home"), at("account"), agent_profile_find("cursor-agent")->logins};
}

static void teardown(void)
{
    arena_release(&arena);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static void take(void)
{
    ck_assert_msg(logins_take(&logins, true, &err) == RC_OK, "%s", err.text);
}

START_TEST(only_the_files_of_the_login_come_along)
{
    struct stat status;
    ck_assert(!logins_taken(&logins));
    take();
    ck_assert(logins_taken(&logins));
    ck_assert_str_eq(get(IN_HOME), FIRST);
    ck_assert_int_eq(stat(at(IN_HOME), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    ck_assert_ptr_null(get("home/.config/cursor/other"));
    take(); /* As after a crash in the middle. */
    ck_assert_int_eq(logins_forget(logins.home, &err), RC_OK);
    ck_assert(!logins_taken(&logins));
}
END_TEST

START_TEST(what_was_refreshed_goes_back_every_time)
{
    struct stat status;
    take();
    put(IN_HOME, SECOND);
    logins_give_back(&logins, "run");
    ck_assert_str_eq(get(LOGIN), SECOND);
    ck_assert_int_eq(stat(at(LOGIN), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0640);
    put(IN_HOME, THIRD);
    logins_give_back(&logins, "run");
    ck_assert_str_eq(get(LOGIN), THIRD);
    logins_give_back(&logins, "run");
    ck_assert_str_eq(get(LOGIN), THIRD);
}
END_TEST

START_TEST(a_login_that_changed_elsewhere_is_left_alone)
{
    take();
    put(LOGIN, THIRD); /* By its owner, or by another run. */
    logins_give_back(&logins, "run");
    ck_assert_str_eq(get(LOGIN), THIRD);
    put(IN_HOME, SECOND);
    logins_give_back(&logins, "run");
    ck_assert_str_eq(get(LOGIN), THIRD);
}
END_TEST

START_TEST(nothing_goes_back_that_was_never_taken)
{
    ck_assert_int_eq(dir_make(at("home/.config/cursor"), 0700, NULL), RC_OK);
    put(IN_HOME, SECOND);
    logins_give_back(&logins, "run");
    ck_assert_str_eq(get(LOGIN), FIRST);
}
END_TEST

/* Each leaves the account as it was. */
static const struct {
    const char *what, *script;
} plants[] = {
    {"a link to another file", "rm $F; echo '" SECOND "' >$D/secret; ln -s $D/secret $F"},
    {"a link on the way", "mkdir $D/trap; echo '" SECOND "' >$D/trap/auth.json; "
                          "rm -r $D/home/.config/cursor; ln -s $D/trap $D/home/.config/cursor"},
    {"a link in the place of the home", "mv $D/home $D/was; echo '" SECOND "' "
                                        ">$D/was/.config/cursor/auth.json; ln -s was $D/home"},
    {"a pipe", "rm $F; mkfifo $F"},
    {"a directory", "rm $F; mkdir $F"},
    {"no file", "rm $F"},
    {"a large file", "head -c 100000 /dev/zero | tr '\\0' ' ' >$F; echo '" SECOND "' >>$F"},
    {"no JSON", "echo evil >$F"},
    {"an empty login", "echo '{\"accessToken\":\"\",\"refreshToken\":\"\"}' >$F"},
};

START_TEST(a_hostile_home_gives_nothing)
{
    take();
    const char *command = arena_printf(&arena, "D=%s; F=$D/home/.config/cursor/auth.json; %s", dir,
                                       plants[_i].script);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.timeout_ms = 20000};
    struct proc_result result;
    ck_assert_int_eq(proc_run(&spec, (struct str){0}, NULL, NULL, &limits, &result, &err), RC_OK);
    ck_assert_int_eq(result.exit.code, 0);
    logins_give_back(&logins, "run");
    ck_assert_msg(text_same(get(LOGIN), FIRST), "%s", plants[_i].what);
}
END_TEST

START_TEST(tokens_are_secrets)
{
    CLEANUP(arena_release) struct arena texts = {0};
    struct secrets secrets;
    secrets_init(&secrets);
    put(LOGIN, "{\"accessToken\":\"a-long-token\",\"refreshToken\":\"r\"}");
    logins_secrets(&logins, &texts, &secrets);
    ck_assert_uint_eq(secrets.value_count, 1);
    ck_assert(str_is(secrets.values[0].text, "a-long-token"));
}
END_TEST

Suite *logins_suite(void)
{
    Suite *suite = suite_create("logins");
    TCase *tests = tcase_create("logins");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, only_the_files_of_the_login_come_along);
    tcase_add_test(tests, what_was_refreshed_goes_back_every_time);
    tcase_add_test(tests, a_login_that_changed_elsewhere_is_left_alone);
    tcase_add_test(tests, nothing_goes_back_that_was_never_taken);
    tcase_add_loop_test(tests, a_hostile_home_gives_nothing, 0, (int)COUNT_OF(plants));
    tcase_add_test(tests, tokens_are_secrets);
    suite_add_tcase(suite, tests);
    return suite;
}
