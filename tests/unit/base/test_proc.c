/*
 * test_proc.c - child processes.
 *
 * That a process has gone is seen on a pipe whose writing end only it holds:
 * the end of the pipe is the end of the process.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "tests/unit/suites.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 }; /* Less than the children sleep, and than check waits. */

static struct err err;
static struct buf out, err_out;
static struct proc_result result;

static void set_up(void)
{
    buf_init(&out, 1 << 20);
    buf_init(&err_out, 1 << 20);
    memset(&result, 0, sizeof result);
}

static void tear_down(void)
{
    buf_release(&out);
    buf_release(&err_out);
}

static enum rc run_shell(const char *script, struct str input, const struct proc_limits *limits)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return proc_run(&(struct proc_spec){.argv = argv}, input, &out, &err_out, limits, &result,
                    &err);
}

static const struct proc_limits patient = {.timeout_ms = PATIENCE_MS};

/* Spawns a shell whose descriptor 1 is the pipe's writing end, which we then let go. */
static struct proc spawn_shell(const char *script, int *ret_pipe_fd)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct proc_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = ends[1], .stderr_fd = -1};
    struct proc proc;
    ck_assert_msg(proc_spawn(&spec, &proc, &err) == RC_OK, "%s", err.text);
    ck_assert_int_gt(proc.pid, 0);
    fd_close(ends[1]);
    *ret_pipe_fd = ends[0];
    return proc;
}

/* Waits for n bytes, or with n = 0 for the end. */
static void await_bytes(int fd, size_t n)
{
    char byte;
    struct pollfd look = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&look, 1, PATIENCE_MS), 1);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(read(fd, &byte, 1), 1);
    if (n == 0)
        ck_assert_int_eq(read(fd, &byte, 1), 0);
}

static void await_end(int fd)
{
    await_bytes(fd, 0);
    fd_close(fd);
}

START_TEST(output_and_status_are_collected)
{
    ck_assert_int_eq(run_shell("echo out; echo err >&2; exit 7", STR(""), &patient), RC_OK);
    ck_assert_int_eq(result.exit.code, 7);
    ck_assert_int_eq(result.exit.signal, 0);
    ck_assert(!result.timed_out && !result.cancelled);
    ck_assert_str_eq(buf_text(&out), "out\n");
    ck_assert_str_eq(buf_text(&err_out), "err\n");
}
END_TEST

START_TEST(a_signal_is_told_apart_from_a_status)
{
    ck_assert_int_eq(run_shell("kill -SEGV $$", STR(""), &patient), RC_OK);
    ck_assert_int_eq(result.exit.code, -1);
    ck_assert_int_eq(result.exit.signal, SIGSEGV);
}
END_TEST

START_TEST(input_is_passed_whole)
{
    CLEANUP(buf_release) struct buf input;
    buf_init(&input, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_addf(&input, "%d\n", i);
    ck_assert_int_eq(run_shell("cat", buf_str(&input), &patient), RC_OK);
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert(str_same(buf_str(&input), buf_str(&out)));
}
END_TEST

START_TEST(a_child_that_ignores_its_input_does_no_harm)
{
    CLEANUP(buf_release) struct buf input;
    buf_init(&input, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_adds(&input, "0123456");
    ck_assert_int_eq(run_shell("exec <&-; echo done", buf_str(&input), &patient), RC_OK);
    ck_assert_str_eq(buf_text(&out), "done\n");
}
END_TEST

START_TEST(without_input_the_child_reads_the_end_at_once)
{
    ck_assert_int_eq(run_shell("cat; echo end", STR(""), &patient), RC_OK);
    ck_assert_str_eq(buf_text(&out), "end\n");
}
END_TEST

START_TEST(one_buffer_for_both_keeps_the_order)
{
    const char *const argv[] = {"sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2", NULL};
    ck_assert_int_eq(
        proc_run(&(struct proc_spec){.argv = argv}, STR(""), &out, &out, &patient, &result, &err),
        RC_OK);
    ck_assert_str_eq(buf_text(&out), "1\n2\n3\n4\n");
}
END_TEST

START_TEST(output_may_be_discarded)
{
    const char *const argv[] = {"sh", "-c", "echo 1; echo 2 >&2; echo 3", NULL};
    struct proc_spec spec = {.argv = argv};
    ck_assert_int_eq(proc_run(&spec, STR(""), NULL, NULL, NULL, &result, &err), RC_OK);
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert_int_eq(proc_run(&spec, STR(""), NULL, &err_out, NULL, &result, &err), RC_OK);
    ck_assert_str_eq(buf_text(&err_out), "2\n");
}
END_TEST

START_TEST(what_overflows_the_buffer_is_read_and_dropped)
{
    buf_release(&out);
    buf_init(&out, 1000);
    ck_assert_int_eq(run_shell("head -c 3000000 /dev/zero; echo done >&2", STR(""), &patient),
                     RC_OK);
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert_uint_eq(out.len, 1000);
    ck_assert(out.overflow);
    ck_assert_str_eq(buf_text(&err_out), "done\n");
}
END_TEST

START_TEST(a_missing_program_or_directory_is_not_found)
{
    const char *const absent[] = {"no-such-program-anywhere", NULL};
    ck_assert_int_eq(
        proc_run(&(struct proc_spec){.argv = absent}, STR(""), &out, NULL, &patient, &result, &err),
        RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "NO_PROGRAM");
    ck_assert_ptr_nonnull(strstr(err.text, "no-such-program-anywhere"));
    const char *const argv[] = {"true", NULL};
    struct proc_spec spec = {.argv = argv, .cwd = "/no/such/dir"};
    ck_assert_int_eq(proc_run(&spec, STR(""), &out, NULL, &patient, &result, &err), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "/no/such/dir"));
    const char *const forbidden[] = {"/dev/null", NULL};
    ck_assert_int_eq(proc_run(&(struct proc_spec){.argv = forbidden}, STR(""), &out, NULL, &patient,
                              &result, &err),
                     RC_IO);
    ck_assert_str_eq(err.code, "SPAWN_FAILED");
}
END_TEST

START_TEST(the_environment_is_the_one_given)
{
    ck_assert_int_eq(setenv("SECRET_OF_OURS", "x", 1), 0);
    const char *const argv[] = {"env", NULL};
    const char *const env[] = {"ONLY=this", NULL};
    struct proc_spec spec = {.argv = argv, .env = env};
    ck_assert_int_eq(proc_run(&spec, STR(""), &out, NULL, &patient, &result, &err), RC_OK);
    ck_assert_str_eq(buf_text(&out), "ONLY=this\n");
    buf_clear(&out);
    spec.env = NULL;
    ck_assert_int_eq(proc_run(&spec, STR(""), &out, NULL, &patient, &result, &err), RC_OK);
    ck_assert(text_starts(buf_text(&out), "PATH="));
    ck_assert_ptr_eq(strchr(buf_text(&out), '\n'), buf_text(&out) + out.len - 1);
}
END_TEST

START_TEST(the_child_starts_in_its_directory)
{
    const char *const argv[] = {"pwd", NULL};
    struct proc_spec spec = {.argv = argv, .cwd = "/usr"};
    ck_assert_int_eq(proc_run(&spec, STR(""), &out, NULL, &patient, &result, &err), RC_OK);
    ck_assert_str_eq(buf_text(&out), "/usr\n");
}
END_TEST

START_TEST(signals_are_as_after_boot)
{
    ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    ck_assert(signal(SIGTERM, SIG_IGN) != SIG_ERR);
    sigset_t all;
    sigfillset(&all);
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
    const char *const argv[] = {"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status", NULL};
    ck_assert_int_eq(
        proc_run(&(struct proc_spec){.argv = argv}, STR(""), &out, NULL, &patient, &result, &err),
        RC_OK);
    unsigned long long blocked = 1, ignored = 1;
    ck_assert_int_eq(sscanf(buf_text(&out), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    ck_assert_uint_eq(blocked, 0);
    ck_assert_uint_eq(ignored & 0x7fffffff, 0); /* 32 and 33 are the C library's own. */
}
END_TEST

START_TEST(only_the_descriptors_asked_for_are_inherited)
{
    int leaky = open("/dev/null", O_RDONLY); /* Without close-on-exec, as a careless library. */
    int moved = fcntl(leaky, F_DUPFD, 20);
    int kept = fcntl(leaky, F_DUPFD_CLOEXEC, 30);
    ck_assert(moved >= 20 && kept >= 30);
    const char *const argv[] = {
        "sh", "-c", "for n in $(seq 0 99); do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; done",
        NULL};
    struct proc_spec spec = {.argv = argv};
    ck_assert_int_eq(proc_run(&spec, STR("x"), &out, &err_out, &patient, &result, &err), RC_OK);
    ck_assert_str_eq(buf_text(&out), "0 1 2 ");
    buf_clear(&out);
    fd_close(leaky);
    fd_close(moved);
    const int keep[] = {kept, -1};
    spec.keep_fds = keep;
    ck_assert_int_eq(proc_run(&spec, STR("x"), &out, &err_out, &patient, &result, &err), RC_OK);
    char want[32];
    snprintf(want, sizeof want, " %d ", kept);
    ck_assert_ptr_nonnull(strstr(buf_text(&out), want));
    ck_assert_int_ne(fcntl(kept, F_GETFD) & FD_CLOEXEC, 0);
    fd_close(kept);
}
END_TEST

/* Every arrangement of three pipes over the descriptors 0, 1 and 2 themselves. */
START_TEST(standard_descriptors_may_be_crossed)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int saved[3], file[3];
    for (int i = 0; i < 3; i++) {
        char path[] = "/tmp/proc-test-XXXXXX";
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
        file[i] = mkostemp(path, O_CLOEXEC);
        ck_assert_int_ge(file[i], 0);
        ck_assert_int_eq(unlink(path), 0);
    }
    char seen[COUNT_OF(orders)][3][8];
    const char *const argv[] = {"sh", "-c", "echo 0 >&0; echo 1; echo 2 >&2", NULL};
    for (size_t o = 0; o < COUNT_OF(orders); o++) {
        for (int i = 0; i < 3; i++) {
            (void)!ftruncate(file[i], 0);
            (void)lseek(file[i], 0, SEEK_SET);
            (void)dup3(file[i], i, O_CLOEXEC);
        }
        struct proc_spec spec = {.argv = argv,
                                 .stdin_fd = orders[o][0],
                                 .stdout_fd = orders[o][1],
                                 .stderr_fd = orders[o][2]};
        CLEANUP(proc_release) struct proc proc = {0};
        struct proc_exit end;
        enum rc rc = proc_spawn(&spec, &proc, &err);
        if (rc == RC_OK)
            rc = proc_wait(&proc, PATIENCE_MS, &end);
        for (int i = 0; i < 3; i++) {
            ssize_t got = pread(file[orders[o][i]], seen[o][i], 7, 0);
            seen[o][i][rc == RC_OK && got > 0 ? got : 0] = '\0';
        }
    }
    for (int i = 0; i < 3; i++) {
        (void)dup2(saved[i], i);
        fd_close(saved[i]);
        fd_close(file[i]);
    }
    for (size_t o = 0; o < COUNT_OF(orders); o++) {
        ck_assert_str_eq(seen[o][0], "0\n");
        ck_assert_str_eq(seen[o][1], "1\n");
        ck_assert_str_eq(seen[o][2], "2\n");
    }
}
END_TEST

START_TEST(a_timeout_stops_the_whole_group)
{
    const struct proc_limits limits = {.timeout_ms = 100};
    int64_t begin_us = clock_mono_us();
    ck_assert_int_eq(run_shell("sleep 100 & sleep 100; wait", STR(""), &limits), RC_OK);
    ck_assert(result.timed_out && !result.cancelled);
    ck_assert_int_eq(result.exit.code, -1);
    ck_assert_int_eq(result.exit.signal, SIGTERM);
    int64_t took_us = clock_mono_us() - begin_us;
    ck_assert_int_ge(took_us, 100 * US_PER_MS);
    ck_assert_int_lt(took_us, PATIENCE_MS * US_PER_MS);
}
END_TEST

static atomic_int cancel;

static void *cancel_when_told(void *arg)
{
    const int *fd = arg;
    char byte;
    if (read(*fd, &byte, 1) == 1)
        atomic_store(&cancel, 1);
    return NULL;
}

/* Cancels when the script writes into $1. */
static void run_until_ready(const char *script)
{
    cancel = 0;
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_when_told, &ends[0]), 0);
    char ready[32];
    snprintf(ready, sizeof ready, "/dev/fd/%d", ends[1]);
    const char *const argv[] = {"sh", "-c", script, "sh", ready, NULL};
    const int keep[] = {ends[1], -1};
    struct proc_spec spec = {.argv = argv, .keep_fds = keep};
    const struct proc_limits limits = {.timeout_ms = PATIENCE_MS, .cancel = &cancel};
    ck_assert_int_eq(proc_run(&spec, STR(""), &out, NULL, &limits, &result, &err), RC_OK);
    fd_close(ends[1]);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    fd_close(ends[0]);
    ck_assert(result.cancelled && !result.timed_out);
}

START_TEST(cancelling_stops_the_child)
{
    run_until_ready("echo before; echo x >$1; exec sleep 100");
    ck_assert_int_eq(result.exit.signal, SIGTERM);
    ck_assert_str_eq(buf_text(&out), "before\n");
}
END_TEST

START_TEST(a_child_that_ignores_term_is_killed)
{
    run_until_ready("trap '' TERM; echo x >$1; while :; do sleep 100; done");
    ck_assert_int_eq(result.exit.code, -1);
    ck_assert_int_eq(result.exit.signal, SIGKILL);
}
END_TEST

START_TEST(last_words_after_term_are_kept)
{
    run_until_ready("trap 'echo bye; exit 3' TERM; echo x >$1; sleep 100 & wait");
    ck_assert_int_eq(result.exit.code, 3);
    ck_assert_int_eq(result.exit.signal, 0);
    ck_assert_str_eq(buf_text(&out), "bye\n");
}
END_TEST

START_TEST(what_is_cancelled_already_is_not_started)
{
    cancel = 1;
    const struct proc_limits limits = {.timeout_ms = -1, .cancel = &cancel};
    const char *const argv[] = {"no-such-program-anywhere", NULL};
    ck_assert_int_eq(
        proc_run(&(struct proc_spec){.argv = argv}, STR(""), &out, NULL, &limits, &result, &err),
        RC_OK);
    ck_assert(result.cancelled);
    ck_assert_int_eq(result.exit.code, -1);
}
END_TEST

START_TEST(a_grandchild_that_holds_the_pipe_does_not_hold_us)
{
    int64_t begin_us = clock_mono_us();
    ck_assert_int_eq(run_shell("sleep 100 & echo done", STR(""), &patient), RC_OK);
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert(!result.timed_out);
    ck_assert_str_eq(buf_text(&out), "done\n");
    ck_assert_int_lt(clock_mono_us() - begin_us, PATIENCE_MS * US_PER_MS);
}
END_TEST

START_TEST(a_grandchild_that_floods_the_pipe_does_not_hold_us)
{
    ck_assert_int_eq(run_shell("yes & exit 4", STR(""), &patient), RC_OK);
    ck_assert_int_eq(result.exit.code, 4);
    ck_assert(!result.timed_out);
}
END_TEST

START_TEST(a_grandchild_in_a_session_of_its_own_does_not_hold_us)
{
    ck_assert_int_eq(run_shell("setsid sleep 2 & echo done", STR(""), &patient), RC_OK);
    ck_assert(!result.timed_out);
    ck_assert_str_eq(buf_text(&out), "done\n");
}
END_TEST

START_TEST(a_child_that_closes_its_output_is_still_awaited)
{
    ck_assert_int_eq(run_shell("exec >&- 2>&-; sleep 0.2; exit 5", STR(""), &patient), RC_OK);
    ck_assert_int_eq(result.exit.code, 5);
}
END_TEST

START_TEST(waiting_times_out_and_then_reaps)
{
    int pipe_fd;
    struct proc proc = spawn_shell("echo; read line; exit 0", &pipe_fd);
    struct proc_exit end = {.code = 77};
    await_bytes(pipe_fd, 1); /* Its input is /dev/null, so it may have ended already. */
    await_end(pipe_fd);
    ck_assert_int_eq(proc_wait(&proc, PATIENCE_MS, &end), RC_OK);
    ck_assert_int_eq(end.code, 0);
    ck_assert_int_eq(proc.pid, 0);
    ck_assert_int_eq(proc.pid_fd, -1);

    proc = spawn_shell("exec sleep 100", &pipe_fd);
    end.code = 77;
    ck_assert_int_eq(proc_wait(&proc, 0, &end), RC_TIMEOUT);
    ck_assert_int_eq(proc_wait(&proc, 50, &end), RC_TIMEOUT);
    ck_assert_int_eq(end.code, 77);
    proc_kill_group(&proc, SIGKILL);
    ck_assert_int_eq(proc_wait(&proc, -1, &end), RC_OK);
    ck_assert_int_eq(end.signal, SIGKILL);
    await_end(pipe_fd);
}
END_TEST

START_TEST(reaping_ends_what_is_left_of_the_group)
{
    int pipe_fd;
    struct proc proc = spawn_shell("sleep 100 & exit 0", &pipe_fd);
    struct proc_exit end;
    ck_assert_int_eq(proc_wait(&proc, PATIENCE_MS, &end), RC_OK);
    ck_assert_int_eq(end.code, 0);
    await_end(pipe_fd);
}
END_TEST

START_TEST(stopping_ends_children_and_grandchildren)
{
    int pipe_fd;
    struct proc proc = spawn_shell(
        "trap '' TERM; (trap '' TERM; echo; sleep 100) & echo; wait; sleep 100", &pipe_fd);
    await_bytes(pipe_fd, 2);
    pid_t pid = proc.pid;
    proc_stop(&proc, 50);
    ck_assert_int_eq(proc.pid, 0);
    await_end(pipe_fd);
    ck_assert_int_eq(kill(pid, 0), -1); /* Reaped. */
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

START_TEST(stopping_with_grace_lets_the_child_clean_up)
{
    int pipe_fd;
    struct proc proc = spawn_shell("trap 'echo x; exit' TERM; echo; while :; do sleep 0.05; done",
                                   &pipe_fd);
    await_bytes(pipe_fd, 1);
    proc_stop(&proc, PATIENCE_MS);
    await_bytes(pipe_fd, 2);
    await_end(pipe_fd);
}
END_TEST

START_TEST(stopping_is_safe_at_any_time)
{
    struct proc none = {0};
    proc_stop(&none, 0);
    proc_kill_group(&none, SIGKILL);
    proc_release(&none);
    proc_release(NULL);
    ck_assert_int_ge(fcntl(0, F_GETFD), 0); /* A zeroed pid_fd is not ours to close. */

    int pipe_fd;
    struct proc proc = spawn_shell("exit 0", &pipe_fd);
    await_end(pipe_fd);
    proc_stop(&proc, 0);
    proc_stop(&proc, 0);
    proc_kill_group(&proc, SIGKILL);
    ck_assert_int_eq(proc.pid, 0);
}
END_TEST

START_TEST(leaving_the_scope_ends_the_child)
{
    int pipe_fd;
    {
        CLEANUP(proc_release) struct proc proc = spawn_shell("echo; sleep 100", &pipe_fd);
        ck_assert_int_gt(proc.pid, 0);
        await_bytes(pipe_fd, 1);
    }
    await_end(pipe_fd);
}
END_TEST

START_TEST(the_child_leads_a_session_of_its_own)
{
    const char *const argv[] = {"sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat", NULL};
    ck_assert_int_eq(
        proc_run(&(struct proc_spec){.argv = argv}, STR(""), &out, NULL, &patient, &result, &err),
        RC_OK);
    int pid = 0, group = 1, session = 2;
    ck_assert_int_eq(sscanf(buf_text(&out), "%d %d %d", &pid, &group, &session), 3);
    ck_assert_int_eq(pid, group);
    ck_assert_int_eq(pid, session);
}
END_TEST

START_TEST(no_descriptor_is_left_open)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd_close(before);
    ck_assert_int_eq(run_shell("cat; echo x >&2", STR("x"), &patient), RC_OK);
    const char *const absent[] = {"no-such-program-anywhere", NULL};
    ck_assert_int_ne(proc_run(&(struct proc_spec){.argv = absent}, STR("x"), &out, &err_out,
                              &patient, &result, &err),
                     RC_OK);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd_close(after);
    ck_assert_int_eq(before, after);
}
END_TEST

START_TEST(without_descriptors_nothing_is_started)
{
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {.rlim_cur = 64, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    int taken[64];
    size_t count = 0;
    while (count < COUNT_OF(taken) && (taken[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    ck_assert_uint_lt(count, COUNT_OF(taken));
    enum rc with_input = run_shell("echo", STR("x"), &patient);
    enum rc without = run_shell("echo", STR(""), &patient);
    for (size_t i = 0; i < count; i++)
        fd_close(taken[i]);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(with_input, RC_IO);
    ck_assert_int_eq(without, RC_IO);
    ck_assert_str_eq(err.code, "SPAWN_FAILED");
}
END_TEST

static void add_run_tests(TCase *run)
{
    tcase_add_test(run, output_and_status_are_collected);
    tcase_add_test(run, a_signal_is_told_apart_from_a_status);
    tcase_add_test(run, input_is_passed_whole);
    tcase_add_test(run, a_child_that_ignores_its_input_does_no_harm);
    tcase_add_test(run, without_input_the_child_reads_the_end_at_once);
    tcase_add_test(run, one_buffer_for_both_keeps_the_order);
    tcase_add_test(run, output_may_be_discarded);
    tcase_add_test(run, what_overflows_the_buffer_is_read_and_dropped);
    tcase_add_test(run, a_timeout_stops_the_whole_group);
    tcase_add_test(run, a_child_that_ignores_term_is_killed);
    tcase_add_test(run, last_words_after_term_are_kept);
    tcase_add_test(run, cancelling_stops_the_child);
    tcase_add_test(run, what_is_cancelled_already_is_not_started);
    tcase_add_test(run, a_grandchild_that_holds_the_pipe_does_not_hold_us);
    tcase_add_test(run, a_grandchild_that_floods_the_pipe_does_not_hold_us);
    tcase_add_test(run, a_grandchild_in_a_session_of_its_own_does_not_hold_us);
    tcase_add_test(run, a_child_that_closes_its_output_is_still_awaited);
}

static void add_spawn_tests(TCase *spawn)
{
    tcase_add_test(spawn, a_missing_program_or_directory_is_not_found);
    tcase_add_test(spawn, the_environment_is_the_one_given);
    tcase_add_test(spawn, the_child_starts_in_its_directory);
    tcase_add_test(spawn, signals_are_as_after_boot);
    tcase_add_test(spawn, only_the_descriptors_asked_for_are_inherited);
    tcase_add_test(spawn, standard_descriptors_may_be_crossed);
    tcase_add_test(spawn, the_child_leads_a_session_of_its_own);
    tcase_add_test(spawn, waiting_times_out_and_then_reaps);
    tcase_add_test(spawn, reaping_ends_what_is_left_of_the_group);
    tcase_add_test(spawn, stopping_ends_children_and_grandchildren);
    tcase_add_test(spawn, stopping_with_grace_lets_the_child_clean_up);
    tcase_add_test(spawn, stopping_is_safe_at_any_time);
    tcase_add_test(spawn, leaving_the_scope_ends_the_child);
    tcase_add_test(spawn, no_descriptor_is_left_open);
    tcase_add_test(spawn, without_descriptors_nothing_is_started);
}

Suite *proc_suite(void)
{
    Suite *suite = suite_create("proc");
    TCase *run = tcase_create("run");
    TCase *spawn = tcase_create("spawn");
    tcase_set_timeout(run, 30);
    tcase_set_timeout(spawn, 30);
    tcase_add_checked_fixture(run, set_up, tear_down);
    tcase_add_checked_fixture(spawn, set_up, tear_down);
    add_run_tests(run);
    add_spawn_tests(spawn);
    suite_add_tcase(suite, run);
    suite_add_tcase(suite, spawn);
    return suite;
}
