/*
 * test_filter.c - which system calls are refused, and that programs still work.
 */
#include "base/buf.h"
#include "base/proc.h"
#include "tests/unit/suites.h"
#include "work/sandbox/filter.h"
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each test is a process of its own, so the filter ends with it. */
static void setup(void)
{
    struct err err = {0};
    ck_assert_msg(filter_install(&err) == RC_OK, "%s", err.text);
}

static long call_mount(void)
{
    return mount("none", "/mnt", "tmpfs", 0, NULL);
}
static long call_unmount(void)
{
    return umount2("/nowhere", 0);
}
static long call_users(void)
{
    return unshare(CLONE_NEWUSER);
}
static long call_clone_users(void)
{
    return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}
static long call_clone3(void)
{
    return syscall(SYS_clone3, NULL, 0);
}
static long call_keys(void)
{
    return syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}
static long call_bpf(void)
{
    return syscall(SYS_bpf, 0, NULL, 0);
}
static long call_perf(void)
{
    return syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0);
}
static long call_ring(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL);
}
static long call_module(void)
{
    return syscall(SYS_finit_module, -1, "", 0);
}
static long call_packet(void)
{
    return socket(AF_PACKET, SOCK_RAW, 0);
}
static long call_vsock(void)
{
    return socket(AF_VSOCK, SOCK_STREAM, 0);
}
static long call_audit(void)
{
    return socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
}
static long call_type(void)
{
    return ioctl(0, TIOCSTI, "x");
}
static long call_routes(void)
{
    return socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}
static long call_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}
static long call_inet(void)
{
    return socket(AF_INET6, SOCK_DGRAM, 0);
}
static long call_files(void)
{
    return unshare(CLONE_FILES);
}
static long call_clone(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static const struct {
    const char *what;
    long (*call)(void);
    int error; /* 0: it works. */
} calls[] = {
    {"mount", call_mount, EPERM},
    {"umount", call_unmount, EPERM},
    {"unshare users", call_users, EPERM},
    {"clone users", call_clone_users, EPERM},
    {"clone3", call_clone3, ENOSYS},
    {"keyctl", call_keys, EPERM},
    {"bpf", call_bpf, EPERM},
    {"perf", call_perf, EPERM},
    {"io_uring", call_ring, ENOSYS},
    {"module", call_module, EPERM},
    {"packet socket", call_packet, EAFNOSUPPORT},
    {"vsock", call_vsock, EAFNOSUPPORT},
    {"netlink audit", call_audit, EAFNOSUPPORT},
    {"TIOCSTI", call_type, EPERM},
    {"netlink routes", call_routes, 0},
    {"unix socket", call_unix, 0},
    {"inet socket", call_inet, 0},
    {"unshare files", call_files, 0},
    {"clone", call_clone, 0},
};

START_TEST(a_call_is_refused_or_works)
{
    errno = 0;
    long got = calls[_i].call();
    int error = errno;
    if (calls[_i].error == 0)
        ck_assert_msg(got >= 0, "%s: errno %d", calls[_i].what, error);
    else
        ck_assert_msg(got < 0 && error == calls[_i].error, "%s: %ld, errno %d", calls[_i].what, got,
                      error);
}
END_TEST

static const char *const programs[] = {
    "git --version",
    "node -e 'new (require(\"node:worker_threads\").Worker)(\"1\", {eval: true})'",
    "cd $(mktemp -d) && printf 'int main(void){return 0;}' >a.c && "
    "printf 'a: a.c\\n\\tgcc -o a a.c\\n' >Makefile && make -s && ./a",
    "cd $(mktemp -d) && git init -q . && git -c user.name=a -c user.email=a commit -q "
    "--allow-empty -m x && git clone -q . copy",
};

START_TEST(programs_work)
{
    const char *const argv[] = {"/bin/sh", "-c", programs[_i], NULL};
    const struct proc_spec spec = {.argv = argv};
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, 4096);
    struct proc_result result;
    ck_assert_int_eq(proc_run(&spec, (struct str){0}, &words, &words, NULL, &result, NULL), RC_OK);
    ck_assert_msg(result.exit.code == 0, "%s: %s", programs[_i], buf_text(&words));
}
END_TEST

Suite *filter_suite(void)
{
    Suite *suite = suite_create("filter");
    TCase *tests = tcase_create("calls");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, a_call_is_refused_or_works, 0, (int)COUNT_OF(calls));
    tcase_add_loop_test(tests, programs_work, 0, (int)COUNT_OF(programs));
    suite_add_tcase(suite, tests);
    return suite;
}
