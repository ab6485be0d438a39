/*
 * test_guard.c - disk, memory and processes that are in use, and when that is too much.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "tests/unit/suites.h"
#include "work/sandbox/guard.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MB = 1024 * 1024 };

static char dir[] = "/tmp/drover-guard-XXXXXX";
static struct arena arena;
static struct guard guard;

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    guard_release(&guard);
    arena_release(&arena);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static void begin(const struct resource_config *limits)
{
    guard_init(&guard, limits, clock_mono_us());
    guard.dirs[guard.dir_count++] = dir;
}

/* So many looks, without the pauses between them. */
static const char *look(int times)
{
    for (int i = 0; i < times && guard.limit == NULL; i++) {
        guard.processes_us = 0;
        guard.disk_us = guard.limits.disk_bytes > 0 ? 0 : INT64_MAX;
        (void)guard_tick(&guard, clock_mono_us());
    }
    return guard.limit;
}

static int write_file(const char *name, size_t bytes)
{
    int fd = open(arena_printf(&arena, "%s/%s", dir, name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    char *block = arena_alloc(&arena, bytes);
    memset(block, 'x', bytes);
    ck_assert_int_eq(fd_write_all(fd, block, bytes, NULL), RC_OK);
    ck_assert_int_eq(fsync(fd), 0); /* Some file systems count blocks only then. */
    return fd;
}

START_TEST(files_count_wherever_they_are)
{
    begin(&(struct resource_config){.disk_bytes = 3 * MB});
    ck_assert_int_eq(dir_make(arena_printf(&arena, "%s/a/b", dir), 0700, NULL), RC_OK);
    fd_close(write_file("one", MB));
    fd_close(write_file("a/two", MB));
    ck_assert_ptr_null(look(3));
    fd_close(write_file("a/b/three", 3 * MB / 2));
    ck_assert_str_eq(look(3), "disk_limit");
    ck_assert_ptr_nonnull(strstr(guard.text, "allowed"));
}
END_TEST

START_TEST(many_empty_files_count_too)
{
    begin(&(struct resource_config){.disk_bytes = 100 * 1024});
    for (int i = 0; i < 50; i++)
        fd_close(write_file(arena_printf(&arena, "%d", i), 0));
    ck_assert_ptr_null(look(2));
    for (int i = 50; i < 120; i++)
        fd_close(write_file(arena_printf(&arena, "%d", i), 0));
    ck_assert_str_eq(look(2), "disk_limit");
}
END_TEST

START_TEST(a_walk_is_done_in_slices)
{
    begin(&(struct resource_config){.disk_bytes = 100 * MB});
    for (int i = 0; i < 5000; i++)
        ck_assert_int_eq(symlink("x", arena_printf(&arena, "%s/%d", dir, i)), 0);
    guard.disk_us = 0;
    int64_t now = clock_mono_us();
    guard.processes_us = INT64_MAX;
    ck_assert_int_lt(guard_tick(&guard, now), clock_mono_us() + 50 * US_PER_MS);
    ck_assert_uint_gt(guard.walk.depth, 0);
    (void)look(1);
    ck_assert_uint_eq(guard.walk.depth, 0);
    ck_assert_ptr_null(guard.limit);
}
END_TEST

START_TEST(a_link_leads_nowhere)
{
    begin(&(struct resource_config){.disk_bytes = MB});
    ck_assert_int_eq(symlink("/usr", arena_printf(&arena, "%s/usr", dir)), 0);
    ck_assert_ptr_null(look(5));
}
END_TEST

START_TEST(what_is_too_deep_is_too_much)
{
    begin(&(struct resource_config){.disk_bytes = 100 * MB});
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < GUARD_DEPTH_MAX + 10; i++) {
        ck_assert_int_eq(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd_close(at);
        at = next;
    }
    fd_close(at);
    ck_assert_str_eq(look(3), "disk_limit");
}
END_TEST

START_TEST(a_file_without_a_name_counts_while_it_is_open)
{
    begin(&(struct resource_config){.disk_bytes = MB});
    guard.top = getpid();
    int fd = write_file("gone", 2 * MB);
    ck_assert_int_eq(unlink(arena_printf(&arena, "%s/gone", dir)), 0);
    ck_assert_str_eq(look(3), "disk_limit");
    fd_close(fd);
}
END_TEST

START_TEST(memory_in_a_file_of_memory_counts)
{
    begin(&(struct resource_config){.memory_bytes = 200 * MB});
    guard.top = getpid();
    ck_assert_ptr_null(look(2));
    int fd = memfd_create("x", MFD_CLOEXEC);
    char *block = arena_alloc(&arena, 4 * MB);
    for (int i = 0; i < 60; i++)
        ck_assert_int_eq(fd_write_all(fd, block, 4 * MB, NULL), RC_OK);
    ck_assert_str_eq(look(2), "memory_limit");
    fd_close(fd);
}
END_TEST

/* Runs a script that says so when it has done its work, and then waits. */
static void start_script(const char *script, struct proc *ret_proc)
{
    int ends[2];
    char done;
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    const struct proc_spec spec = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = ends[1], .stderr_fd = -1};
    ck_assert_int_eq(proc_spawn(&spec, ret_proc, NULL), RC_OK);
    fd_close(ends[1]);
    ck_assert_int_eq(read(ends[0], &done, 1), 1);
    fd_close(ends[0]);
    guard.top = ret_proc->pid;
}

START_TEST(processes_are_found_from_the_top_down)
{
    CLEANUP(proc_release) struct proc proc = {.pid_fd = -1};
    begin(&(struct resource_config){.processes = 5});
    start_script("(sleep 100; :) & (sleep 100; :) & echo x; wait", &proc);
    ck_assert_ptr_null(look(2));
    guard.limits.processes = 2;
    ck_assert_str_eq(look(1), "process_limit");
}
END_TEST

START_TEST(pages_shared_since_a_fork_count_once)
{
    CLEANUP(proc_release) struct proc proc = {.pid_fd = -1};
    begin(&(struct resource_config){.memory_bytes = 100 * MB});
    start_script("a=$(head -c 40000000 /dev/zero | tr '\\0' x); (sleep 100; :) & "
                 "(sleep 100; :) & (sleep 100; :) & echo x; wait",
                 &proc);
    ck_assert_ptr_null(look(3));
    guard.limits.memory_bytes = 30 * MB;
    ck_assert_str_eq(look(1), "memory_limit");
}
END_TEST

START_TEST(without_limits_nothing_is_too_much)
{
    begin(&(struct resource_config){0});
    guard.top = getpid();
    fd_close(write_file("one", MB));
    ck_assert_ptr_null(look(3));
}
END_TEST

Suite *guard_suite(void)
{
    Suite *suite = suite_create("guard");
    TCase *tests = tcase_create("limits");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, files_count_wherever_they_are);
    tcase_add_test(tests, many_empty_files_count_too);
    tcase_add_test(tests, a_walk_is_done_in_slices);
    tcase_add_test(tests, a_link_leads_nowhere);
    tcase_add_test(tests, what_is_too_deep_is_too_much);
    tcase_add_test(tests, a_file_without_a_name_counts_while_it_is_open);
    tcase_add_test(tests, memory_in_a_file_of_memory_counts);
    tcase_add_test(tests, processes_are_found_from_the_top_down);
    tcase_add_test(tests, pages_shared_since_a_fork_count_once);
    tcase_add_test(tests, without_limits_nothing_is_too_much);
    suite_add_tcase(suite, tests);
    return suite;
}
