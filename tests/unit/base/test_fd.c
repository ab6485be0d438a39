/* test_fd.c - files and directories, hostile ones included. */
#include "base/fd.h"
#include "tests/unit/suites.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static struct err err;
static char *base; /* A fresh directory for each test. */

static void set_up(void)
{
    const char *parent = getenv("TMPDIR");
    base = arena_printf(&arena, "%s/fd-test-XXXXXX", parent != NULL ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(base));
    ck_assert_int_eq(chmod(base, 0777), 0);
}

static void tear_down(void)
{
    ck_assert_msg(dir_remove(base, &err) == RC_OK, "%s", err.text);
    ck_assert(!file_exists(base));
    arena_release(&arena);
}

static char *under(const char *name)
{
    return arena_printf(&arena, "%s/%s", base, name);
}

static void put_file(const char *path, const char *text)
{
    ck_assert_msg(file_write_durable(path, text, strlen(text), 0644, &err) == RC_OK, "%s",
                  err.text);
}

static void put_dir(const char *path)
{
    ck_assert_msg(dir_make(path, 0755, &err) == RC_OK, "%s", err.text);
}

static void put_link(const char *target, const char *path)
{
    ck_assert_int_eq(symlink(target, path), 0);
}

START_TEST(a_file_reads_back_as_written)
{
    char *path = under("file");
    ck_assert_int_eq(file_write_durable(path, "a\0b", 3, 0600, &err), RC_OK);
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100);
    buf_adds(&buf, ">");
    ck_assert_int_eq(file_read(path, &buf, &err), RC_OK);
    ck_assert(str_same(buf_str(&buf), (struct str){">a\0b", 4}));
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
}
END_TEST

START_TEST(an_empty_file_is_a_file)
{
    char *path = under("empty");
    ck_assert_int_eq(file_write_durable(path, NULL, 0, 0644, &err), RC_OK);
    ck_assert(file_exists(path));
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 0);
    ck_assert_int_eq(file_read(path, &buf, &err), RC_OK);
    ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(writing_replaces_whole_files_and_leaves_nothing_beside)
{
    char *path = under("file");
    put_file(path, "old and long");
    put_file(path, "new");
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100);
    ck_assert_int_eq(file_read(path, &buf, &err), RC_OK);
    ck_assert_str_eq(buf_text(&buf), "new");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(base), 0);
}
END_TEST

START_TEST(a_failed_write_leaves_nothing_beside)
{
    put_dir(under("target/x"));
    ck_assert_int_eq(file_write_durable(under("target"), "x", 1, 0600, &err), RC_IO);
    ck_assert_str_eq(err.code, "IO_ERROR");
    ck_assert_int_eq(file_write_durable(under("no/such/dir"), "x", 1, 0600, &err), RC_NOT_FOUND);
    ck_assert_int_eq(rmdir(under("target/x")), 0);
    ck_assert_int_eq(rmdir(under("target")), 0);
    ck_assert_int_eq(rmdir(base), 0);
}
END_TEST

START_TEST(a_bare_file_name_is_written_where_we_are)
{
    char before[4096];
    ck_assert_ptr_nonnull(getcwd(before, sizeof before));
    ck_assert_int_eq(chdir(base), 0);
    put_file("bare", "x");
    ck_assert_int_eq(chdir(before), 0);
    ck_assert(file_exists(under("bare")));
}
END_TEST

START_TEST(reading_refuses_what_is_too_large_and_keeps_the_buffer)
{
    char *path = under("file");
    put_file(path, "0123456789");
    CLEANUP(buf_release) struct buf exact;
    buf_init(&exact, 10);
    ck_assert_int_eq(file_read(path, &exact, &err), RC_OK);
    CLEANUP(buf_release) struct buf small;
    buf_init(&small, 11);
    buf_adds(&small, "ab");
    ck_assert_int_eq(file_read(path, &small, &err), RC_TOO_LARGE);
    ck_assert_str_eq(err.code, "FILE_TOO_LARGE");
    ck_assert_str_eq(buf_text(&small), "ab");
    ck_assert(!small.overflow);
}
END_TEST

START_TEST(reading_a_large_file_takes_several_reads)
{
    CLEANUP(buf_release) struct buf large;
    buf_init(&large, 1 << 20);
    for (int i = 0; i < 50000; i++)
        buf_addf(&large, "%d,", i);
    char *path = under("large");
    ck_assert_int_eq(file_write_durable(path, large.data, large.len, 0644, &err), RC_OK);
    CLEANUP(buf_release) struct buf back;
    buf_init(&back, 1 << 20);
    ck_assert_int_eq(file_read(path, &back, &err), RC_OK);
    ck_assert(str_same(buf_str(&large), buf_str(&back)));
}
END_TEST

START_TEST(reading_what_is_no_file_fails_and_never_hangs)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100);
    ck_assert_int_eq(file_read(under("absent"), &buf, &err), RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "FILE_NOT_FOUND");
    ck_assert_int_eq(file_read(base, &buf, &err), RC_IO);
    ck_assert_int_eq(mkfifo(under("fifo"), 0600), 0);
    ck_assert_int_eq(file_read(under("fifo"), &buf, &err), RC_IO);
    put_file(under("file"), "x");
    ck_assert_int_eq(file_read(under("file/below"), &buf, &err), RC_NOT_FOUND);
    ck_assert(!file_exists(under("absent")));
    ck_assert(file_exists(base));
    put_link("absent", under("dangling"));
    ck_assert(!file_exists(under("dangling")));
}
END_TEST

START_TEST(directories_are_made_with_their_parents)
{
    put_dir(under("a/b/c"));
    put_dir(under("a/b/c/"));
    put_dir(under("a//b///d"));
    ck_assert(file_exists(under("a/b/c")) && file_exists(under("a/b/d")));
    put_link("a", under("link"));
    put_dir(under("link/e"));
    ck_assert(file_exists(under("a/e")));
    put_file(under("file"), "x");
    ck_assert_int_eq(dir_make(under("file"), 0755, &err), RC_IO);
    ck_assert_int_eq(dir_make(under("file/x"), 0755, &err), RC_IO);
    ck_assert_int_ne(dir_make("", 0755, &err), RC_OK);
    ck_assert_int_eq(dir_make("/", 0755, &err), RC_OK);
}
END_TEST

START_TEST(whole_trees_are_removed)
{
    for (int i = 0; i < 50; i++) {
        char *dir = arena_printf(&arena, "%s/tree/d%d/sub/sub/.hidden", base, i);
        put_dir(dir);
        put_file(arena_printf(&arena, "%s/file", dir), "x");
        put_file(arena_printf(&arena, "%s/tree/d%d/f", base, i), "x");
    }
    ck_assert_int_eq(mkfifo(under("tree/fifo"), 0600), 0);
    ck_assert_msg(dir_remove(under("tree"), &err) == RC_OK, "%s", err.text);
    ck_assert(!file_exists(under("tree")));
    ck_assert_int_eq(dir_remove(under("tree"), &err), RC_OK);
    ck_assert_int_eq(dir_remove(under("no/such/parent"), &err), RC_OK);
}
END_TEST

START_TEST(links_are_removed_and_never_followed)
{
    put_dir(under("outside/dir"));
    put_file(under("outside/dir/precious"), "x");
    put_dir(under("tree/sub"));
    put_link("../outside", under("tree/link"));
    put_link("../../outside/dir", under("tree/sub/link"));
    put_link("..", under("tree/sub/up"));
    put_link(base, under("tree/sub/absolute"));
    put_link("sub", under("tree/inner"));
    ck_assert_int_eq(dir_remove(under("tree"), &err), RC_OK);
    ck_assert(!file_exists(under("tree")));
    ck_assert(file_exists(under("outside/dir/precious")));

    put_link("outside", under("to-dir"));
    ck_assert_int_eq(dir_remove(under("to-dir/"), &err), RC_OK);
    ck_assert(!file_exists(under("to-dir")));
    ck_assert(file_exists(under("outside/dir/precious")));

    ck_assert_int_eq(dir_remove(under("outside/dir/precious"), &err), RC_OK);
    ck_assert(!file_exists(under("outside/dir/precious")));
}
END_TEST

START_TEST(removing_refuses_what_was_not_meant)
{
    static const char *const rows[] = {"", "/", "//", ".", "..", "./", "x/..", "x/.", "../"};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_int_eq(dir_remove(rows[i], &err), RC_INVALID);
        ck_assert_str_eq(err.code, "INVALID_PATH");
    }
    char longest[8192];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(dir_remove(longest, &err), RC_INVALID);
}
END_TEST

/* Deeper than any path may be long: made by walking down. */
START_TEST(bottomless_trees_are_removed)
{
    put_dir(under("deep"));
    int fd = open(under("deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(mkdirat(fd, "directory", 0755), 0);
        ck_assert_int_eq(mkdirat(fd, "other", 0755), 0);
        int below = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(below, 0);
        fd_close(fd);
        fd = below;
    }
    fd_close(fd);
    ck_assert_msg(dir_remove(under("deep"), &err) == RC_OK, "%s", err.text);
    ck_assert(!file_exists(under("deep")));
}
END_TEST

START_TEST(locked_directories_are_removed_by_their_owner)
{
    /* root may do anything, so this is done as nobody. */
    bool privileged = geteuid() == 0;
    ck_assert(!privileged || seteuid(65534) == 0);
    put_dir(under("locked/a/b/c"));
    put_dir(under("locked/d"));
    put_file(under("locked/a/b/file"), "x");
    put_file(under("locked/d/file"), "x");
    ck_assert_int_eq(chmod(under("locked/a/b/c"), 0), 0);
    ck_assert_int_eq(chmod(under("locked/a/b"), 0), 0);
    ck_assert_int_eq(chmod(under("locked/a"), 0500), 0);
    ck_assert_int_eq(chmod(under("locked/d"), 0), 0);
    ck_assert_int_eq(chmod(under("locked"), 0), 0);
    enum rc rc = dir_remove(under("locked"), &err);
    bool gone = !file_exists(under("locked"));
    ck_assert(!privileged || seteuid(0) == 0);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert(gone);
}
END_TEST

START_TEST(a_tree_of_somebody_else_is_an_error)
{
    if (geteuid() != 0)
        return;
    put_dir(under("theirs/sub"));
    ck_assert_int_eq(chmod(base, 0755), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    enum rc rc = dir_remove(under("theirs"), &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(rc, RC_IO);
    ck_assert_str_eq(err.code, "IO_ERROR");
    ck_assert(file_exists(under("theirs/sub")));
}
END_TEST

START_TEST(no_descriptor_is_left_open)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd_close(before);
    put_dir(under("tree/a/b/c/d"));
    put_file(under("tree/a/b/c/d/file"), "x");
    ck_assert_int_eq(dir_remove(under("tree"), &err), RC_OK);
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 0);
    ck_assert_int_ne(file_read(base, &buf, &err), RC_OK);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd_close(after);
    ck_assert_int_eq(before, after);
}
END_TEST

START_TEST(a_lock_has_one_holder_and_goes_with_its_descriptor)
{
    int first = -1, second = -1;
    ck_assert_int_eq(file_lock(under("lock"), 0, &first, &err), RC_OK);
    ck_assert_int_eq(file_lock(under("lock"), 40, &second, &err), RC_CONFLICT);
    ck_assert_int_eq(second, -1);
    fd_close(first);
    ck_assert_int_eq(file_lock(under("lock"), 0, &second, &err), RC_OK);
    fd_close(second);
}
END_TEST

START_TEST(closing_keeps_errno_and_takes_nothing)
{
    errno = EXDEV;
    fd_close(-1);
    fd_close(1000000);
    ck_assert_int_eq(errno, EXDEV);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int kept = fd;
    int taken = fd_take(&fd);
    ck_assert_int_eq(taken, kept);
    ck_assert_int_eq(fd, -1);
    fd_closep(&taken);
    ck_assert_int_eq(taken, -1);
    ck_assert_int_eq(fcntl(kept, F_GETFD), -1);
}
END_TEST

START_TEST(writes_fail_when_nobody_can_take_them)
{
    ck_assert_int_eq(fd_write_all(-1, "x", 1, &err), RC_IO);
    ck_assert_int_eq(fd_write_all(-1, "", 0, &err), RC_OK);
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(fd_write_all(fd, "x", 1, &err), RC_IO);
    fd_close(fd);
    ck_assert_int_eq(fd_set_nonblocking(-1, &err), RC_IO);
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(fd_set_nonblocking(ends[0], &err), RC_OK);
    char c;
    ck_assert_int_eq(read(ends[0], &c, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    fd_close(ends[0]);
    fd_close(ends[1]);
}
END_TEST

START_TEST(bytes_become_a_file_that_is_read_from_its_beginning)
{
    int fd = -1;
    char bytes[8] = "";
    ck_assert_int_eq(fd_of_bytes("a\0b", 3, &fd, &err), RC_OK);
    ck_assert_int_eq(read(fd, bytes, sizeof bytes), 3);
    ck_assert_mem_eq(bytes, "a\0b", 3);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    fd_close(fd);
}
END_TEST

Suite *fd_suite(void)
{
    Suite *suite = suite_create("fd");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_file_reads_back_as_written);
    tcase_add_test(all, an_empty_file_is_a_file);
    tcase_add_test(all, writing_replaces_whole_files_and_leaves_nothing_beside);
    tcase_add_test(all, a_failed_write_leaves_nothing_beside);
    tcase_add_test(all, a_bare_file_name_is_written_where_we_are);
    tcase_add_test(all, reading_refuses_what_is_too_large_and_keeps_the_buffer);
    tcase_add_test(all, reading_a_large_file_takes_several_reads);
    tcase_add_test(all, reading_what_is_no_file_fails_and_never_hangs);
    tcase_add_test(all, directories_are_made_with_their_parents);
    tcase_add_test(all, whole_trees_are_removed);
    tcase_add_test(all, links_are_removed_and_never_followed);
    tcase_add_test(all, removing_refuses_what_was_not_meant);
    tcase_add_test(all, bottomless_trees_are_removed);
    tcase_add_test(all, locked_directories_are_removed_by_their_owner);
    tcase_add_test(all, a_tree_of_somebody_else_is_an_error);
    tcase_add_test(all, no_descriptor_is_left_open);
    tcase_add_test(all, a_lock_has_one_holder_and_goes_with_its_descriptor);
    tcase_add_test(all, closing_keeps_errno_and_takes_nothing);
    tcase_add_test(all, writes_fail_when_nobody_can_take_them);
    tcase_add_test(all, bytes_become_a_file_that_is_read_from_its_beginning);
    suite_add_tcase(suite, all);
    return suite;
}
