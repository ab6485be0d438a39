/*
 * test_listener.c - where it can be, and that it pauses when no descriptor is left.
 */
#include "base/arena.h"
#include "base/fd.h"
#include "net/listener.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/drover-listener-XXXXXX";
static char path[64];
static struct listener listener = {.fd = -1};
static struct err err;

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/s", dir);
}

static void teardown(void)
{
    listener_close(&listener);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

/* poll as its users do it; false: it said that nobody has knocked. */
static bool look(int *ret_timeout_ms)
{
    struct pollfd want = listener_want(&listener, ret_timeout_ms);
    return poll(&want, 1, 0) == 1;
}

START_TEST(who_knocks_is_let_in)
{
    struct stat status;
    int timeout_ms;
    ck_assert_int_eq(file_write_new(path, "x", 1, 0600, &err), RC_OK); /* It is replaced. */
    ck_assert_msg(listener_at_path(path, &listener, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0666);
    ck_assert(!look(&timeout_ms));
    ck_assert_int_eq(timeout_ms, -1);
    ck_assert_int_eq(listener_accept(&listener), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(listener.paused_until_us, 0);
    CLEANUP(fd_closep) int visitor = tiny_connect(path);
    ck_assert(look(&timeout_ms));
    CLEANUP(fd_closep) int fd = listener_accept(&listener);
    ck_assert(visitor >= 0 && fd >= 0);
}
END_TEST

START_TEST(without_descriptors_it_rests_and_lets_in_later)
{
    struct rlimit before, none;
    int timeout_ms;
    ck_assert_msg(listener_at_path(path, &listener, &err) == RC_OK, "%s", err.text);
    CLEANUP(fd_closep) int visitor = tiny_connect(path);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int refused = listener_accept(&listener);
    int why = errno;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(refused, -1);
    ck_assert_int_eq(why, EMFILE);
    ck_assert(!look(&timeout_ms)); /* The visitor still waits, but poll must not tell. */
    ck_assert_int_gt(timeout_ms, 0);
    ck_assert_int_le(timeout_ms, LISTENER_PAUSE_MS + 1);
    listener.paused_until_us = 1; /* Long ago. */
    ck_assert(look(&timeout_ms));
    ck_assert_int_eq(timeout_ms, -1);
    CLEANUP(fd_closep) int fd = listener_accept(&listener);
    ck_assert(visitor >= 0 && fd >= 0);
    ck_assert_int_eq(listener.paused_until_us, 0);
}
END_TEST

START_TEST(a_long_path_is_no_hindrance_but_a_long_name_is)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *deep = dir;
    for (int i = 0; i < 10; i++)
        deep = arena_printf(&arena, "%s/a-name-that-is-rather-long", deep);
    ck_assert_int_eq(dir_make(deep, 0700, NULL), RC_OK);
    const char *good = arena_printf(&arena, "%s/s", deep);
    ck_assert_msg(listener_at_path(good, &listener, &err) == RC_OK, "%s", err.text);
    ck_assert(file_exists(good));
    struct listener other = {.fd = -1};
    const char *bad = arena_printf(&arena, "%s/%0250d", dir, 1);
    ck_assert_int_eq(listener_at_path(bad, &other, &err), RC_TOO_LARGE);
    ck_assert_int_eq(listener_at_path("/tmp/nowhere/at/all/s", &other, &err), RC_IO);
    ck_assert_int_eq(other.fd, -1);
}
END_TEST

START_TEST(a_port_has_one_door)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    ck_assert_msg(listener_at_port(0, &listener, &err) == RC_OK, "%s", err.text);
    ck_assert_int_eq(getsockname(listener.fd, (struct sockaddr *)&address, &size), 0);
    ck_assert_uint_eq(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
    struct listener other = {.fd = -1};
    ck_assert_int_eq(listener_at_port(ntohs(address.sin_port), &other, &err), RC_IO);
    ck_assert_int_eq(other.fd, -1);
}
END_TEST

Suite *listener_suite(void)
{
    Suite *suite = suite_create("listener");
    TCase *tests = tcase_create("listener");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, who_knocks_is_let_in);
    tcase_add_test(tests, without_descriptors_it_rests_and_lets_in_later);
    tcase_add_test(tests, a_long_path_is_no_hindrance_but_a_long_name_is);
    tcase_add_test(tests, a_port_has_one_door);
    suite_add_tcase(suite, tests);
    return suite;
}
