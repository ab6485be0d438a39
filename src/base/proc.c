/*
 * proc.c - child processes.
 *
 * A child is the leader of a session and group of its own.  Until it is reaped
 * its pid cannot be used again, so the group may be signalled; reaping is the
 * last thing that happens, and right before it what is left of the group
 * is killed.  After that pid is 0 and nothing is signalled any more.
 */
#include "base/proc.h"
#include "base/clock.h"
#include "base/fd.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 50,         /* Between checks of the cancel flag. */
    GRACE_MS = 500,       /* Between TERM and KILL for proc_run. */
    KILL_WAIT_MS = 10000, /* For a killed child to end: it may hang in the kernel. */
    TRACER_TRIES = 10000, /* A millisecond each. */
    DRAIN_MAX = 1 << 20,  /* Read from a pipe after the end: pipes hold no more by default. */
};

/* ---- spawn ---- */

/* What a spawn needs to set up and give back. */
struct launch {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int moved[3]; /* Copies of sources that stand in the way of 0, 1 or 2. */
};

static void launch_release(struct launch *launch)
{
    for (size_t i = 0; i < COUNT_OF(launch->moved); i++)
        fd_close(launch->moved[i]);
    (void)posix_spawn_file_actions_destroy(&launch->actions);
    (void)posix_spawnattr_destroy(&launch->attributes);
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    int failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (!failed)
        failed = posix_spawnattr_setsigmask(attributes, &none);
    if (!failed)
        failed = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                                          POSIX_SPAWN_SETSIGMASK);
    return failed;
}

/*
 * Puts source at target (0, 1 or 2).  A source that is itself one of the three
 * might be overwritten before its turn, so it is copied out of the way first.
 * dup2 onto itself clears close-on-exec in a file action.
 */
static int set_stdio(struct launch *launch, int target, int source)
{
    if (source < 0)
        return posix_spawn_file_actions_addopen(&launch->actions, target, "/dev/null",
                                                target == 0 ? O_RDONLY : O_WRONLY, 0);
    if (source <= 2 && source != target) {
        launch->moved[target] = fcntl(source, F_DUPFD_CLOEXEC, 3);
        if (launch->moved[target] < 0)
            return errno;
        source = launch->moved[target];
    }
    return posix_spawn_file_actions_adddup2(&launch->actions, source, target);
}

static int set_actions(struct launch *launch, const struct proc_spec *spec)
{
    posix_spawn_file_actions_t *actions = &launch->actions;
    int failed = set_stdio(launch, 0, spec->stdin_fd);
    if (!failed)
        failed = set_stdio(launch, 1, spec->stdout_fd);
    if (!failed)
        failed = set_stdio(launch, 2, spec->stderr_fd);
    for (const int *fd = spec->keep_fds; !failed && fd != NULL && *fd >= 0; fd++) {
        assert(*fd > 2);
        failed = posix_spawn_file_actions_adddup2(actions, *fd, *fd);
    }
    if (!failed && spec->keep_fds == NULL)
        failed = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (!failed && spec->cwd != NULL)
        failed = posix_spawn_file_actions_addchdir_np(actions, spec->cwd);
    return failed;
}

/* Where PATH has the program; the name itself when it has none, or is a path.  posix_spawnp would
   try an exec in every directory, while this thread waits. */
static const char *find_program(const char *name, const char *path, char to[PATH_MAX])
{
    if (strchr(name, '/') != NULL)
        return name;
    for (;;) {
        size_t len = strcspn(path, ":");
        int written = snprintf(to, PATH_MAX, "%.*s/%s", (int)len, path, name);
        if (len > 0 && written < PATH_MAX && access(to, X_OK) == 0)
            return to;
        if (path[len] == '\0')
            return name;
        path += len + 1;
    }
}

static int launch_start(struct launch *launch, const struct proc_spec *spec, pid_t *ret_pid)
{
    int failed = set_attributes(&launch->attributes);
    if (!failed)
        failed = set_actions(launch, spec);
    if (failed)
        return failed;
    const char *path = getenv("PATH");
    if (path == NULL)
        path = "/usr/bin:/bin";
    char path_entry[4096], found[PATH_MAX];
    (void)snprintf(path_entry, sizeof path_entry, "PATH=%s", path);
    const char *const bare[] = {path_entry, NULL};
    const char *const *env = spec->env != NULL ? spec->env : bare;
    /* exec takes non-const pointers for historical reasons and changes nothing. */
    return posix_spawnp(ret_pid, find_program(spec->argv[0], path, found), &launch->actions,
                        &launch->attributes, (char *const *)(uintptr_t)spec->argv,
                        (char *const *)(uintptr_t)env);
}

enum rc proc_spawn(const struct proc_spec *spec, struct proc *ret_proc, struct err *err)
{
    assert(spec->argv != NULL && spec->argv[0] != NULL);
    CLEANUP(launch_release) struct launch launch = {.moved = {-1, -1, -1}};
    (void)posix_spawn_file_actions_init(&launch.actions); /* Both always succeed in glibc. */
    (void)posix_spawnattr_init(&launch.attributes);
    struct proc proc = {.pid_fd = -1};
    int failed = launch_start(&launch, spec, &proc.pid);
    if (failed) {
        bool absent = failed == ENOENT || failed == ENOTDIR;
        return err_set(err, absent ? RC_NOT_FOUND : RC_IO, absent ? "NO_PROGRAM" : "SPAWN_FAILED",
                       "cannot start %.200s%s%.200s: %s", spec->argv[0],
                       spec->cwd != NULL ? " in " : "", spec->cwd != NULL ? spec->cwd : "",
                       strerror(failed));
    }
    proc.pid_fd = (int)syscall(SYS_pidfd_open, proc.pid, 0);
    if (proc.pid_fd < 0) {
        failed = errno;
        (void)kill(-proc.pid, SIGKILL);
        (void)waitpid(proc.pid, NULL, 0);
        return err_set(err, RC_IO, "SPAWN_FAILED", "cannot watch %.200s: %s", spec->argv[0],
                       strerror(failed));
    }
    *ret_proc = proc;
    return RC_OK;
}

/* ---- wait and stop ---- */

static int64_t deadline_of(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : clock_mono_us() + timeout_ms * US_PER_MS;
}

/* For poll: rounded up, so that the deadline has passed when poll times out. */
static int ms_until(int64_t deadline_us)
{
    if (deadline_us == INT64_MAX)
        return -1;
    int64_t left_us = deadline_us - clock_mono_us();
    return left_us <= 0 ? 0 : (int)((left_us + US_PER_MS - 1) / US_PER_MS);
}

/* Waits for the end without reaping. */
static bool ended_within(const struct proc *proc, int timeout_ms)
{
    int64_t deadline_us = deadline_of(timeout_ms);
    struct pollfd look = {.fd = proc->pid_fd, .events = POLLIN};
    for (;;) {
        int wait_ms = ms_until(deadline_us);
        int ready = poll(&look, 1, wait_ms);
        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

void proc_kill_group(const struct proc *proc, int signal)
{
    if (proc->pid > 0)
        (void)kill(-proc->pid, signal);
}

/* info->si_pid is 0 when it has not ended. */
static int wait_now(const struct proc *proc, siginfo_t *info)
{
    int failed;
    do
        failed = waitid(P_PIDFD, (id_t)proc->pid_fd, info, WEXITED | WNOHANG);
    while (failed && errno == EINTR);
    return failed;
}

/*
 * Ends the rest of the group, then lets the pid go.  RC_IO when the child has not ended after all
 * (see KILL_WAIT_MS) or another thread has reaped it.  A child that is traced, as by strace -f, has
 * ended before its parent may reap it: first its tracer has to.
 */
static enum rc reap(struct proc *proc, struct proc_exit *ret_exit)
{
    proc_kill_group(proc, SIGKILL);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int failed = wait_now(proc, &info);
    for (int tries = 0; !failed && info.si_pid == 0 && tries < TRACER_TRIES; tries++) {
        if (!ended_within(proc, 0))
            break;
        (void)poll(NULL, 0, 1);
        failed = wait_now(proc, &info);
    }
    fd_closep(&proc->pid_fd);
    proc->pid = 0;
    if (failed || info.si_pid == 0)
        return RC_IO;
    bool exited = info.si_code == CLD_EXITED;
    ret_exit->code = exited ? info.si_status : -1;
    ret_exit->signal = exited ? 0 : info.si_status;
    return RC_OK;
}

enum rc proc_wait(struct proc *proc, int timeout_ms, struct proc_exit *ret_exit)
{
    assert(proc->pid > 0);
    if (!ended_within(proc, timeout_ms))
        return RC_TIMEOUT;
    return reap(proc, ret_exit);
}

static enum rc stop(struct proc *proc, int grace_ms, struct proc_exit *ret_exit)
{
    if (grace_ms > 0) {
        proc_kill_group(proc, SIGTERM);
        (void)ended_within(proc, grace_ms);
    }
    proc_kill_group(proc, SIGKILL);
    (void)ended_within(proc, KILL_WAIT_MS);
    return reap(proc, ret_exit);
}

void proc_stop(struct proc *proc, int grace_ms)
{
    struct proc_exit ignored;
    if (proc->pid > 0)
        (void)stop(proc, grace_ms, &ignored);
}

void proc_release(struct proc *proc)
{
    if (proc != NULL)
        proc_stop(proc, 0);
}

/* ---- run ---- */

struct stream {
    int fd; /* -1 when there is none or it has ended. */
    struct buf *into;
};

struct running {
    struct proc proc;
    struct stream streams[2];
};

static void running_release(struct running *running)
{
    proc_release(&running->proc);
    fd_close(running->streams[0].fd);
    fd_close(running->streams[1].fd);
}

/* One read; gives back its length, 0 when there was nothing or the stream has ended. */
static size_t stream_read(struct stream *stream)
{
    char chunk[16384];
    if (stream->fd < 0)
        return 0;
    ssize_t got = read(stream->fd, chunk, sizeof chunk);
    if (got > 0) {
        buf_add(stream->into, chunk, (size_t)got);
        return (size_t)got;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        fd_closep(&stream->fd);
    return 0;
}

static void stream_drain(struct stream *stream)
{
    size_t total = 0, got;
    do {
        got = stream_read(stream);
        total += got;
    } while (got > 0 && total < DRAIN_MAX);
}

/*
 * A file in memory, read from its start: unlike a pipe it cannot block us when
 * the child does not read, nor raise SIGPIPE when it has gone.
 */
static enum rc make_stdin(struct str bytes, int *ret_fd, struct err *err)
{
    CLEANUP(fd_closep) int fd = memfd_create("stdin", MFD_CLOEXEC);
    if (fd < 0)
        return err_set(err, RC_IO, "SPAWN_FAILED", "cannot make its input: %s", strerror(errno));
    enum rc rc = fd_write_all(fd, bytes.at, bytes.len, err);
    if (rc != RC_OK)
        return rc;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return err_set(err, RC_IO, "SPAWN_FAILED", "cannot make its input: %s", strerror(errno));
    *ret_fd = fd_take(&fd);
    return RC_OK;
}

/* Our end goes into the stream, the child's into ret_fd. */
static enum rc make_stream(struct buf *into, struct stream *stream, int *ret_fd, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, RC_IO, "SPAWN_FAILED", "cannot make a pipe: %s", strerror(errno));
    *stream = (struct stream){.fd = ends[0], .into = into};
    *ret_fd = ends[1];
    return fd_set_nonblocking(ends[0], err);
}

static enum rc start(struct running *running, const struct proc_spec *spec, struct str input,
                     struct buf *const outputs[2], struct err *err)
{
    CLEANUP(fd_closep) int in_fd = -1;
    CLEANUP(fd_closep) int out_fd = -1;
    CLEANUP(fd_closep) int err_fd = -1;
    enum rc rc = RC_OK;
    if (input.len > 0)
        rc = make_stdin(input, &in_fd, err);
    if (rc == RC_OK && outputs[0] != NULL)
        rc = make_stream(outputs[0], &running->streams[0], &out_fd, err);
    bool shared = outputs[0] != NULL && outputs[0] == outputs[1]; /* One pipe keeps the order. */
    if (rc == RC_OK && outputs[1] != NULL && !shared)
        rc = make_stream(outputs[1], &running->streams[1], &err_fd, err);
    if (rc != RC_OK)
        return rc;
    struct proc_spec piped = *spec;
    piped.stdin_fd = spec->run_stdin_fd > 0 ? spec->run_stdin_fd : in_fd;
    piped.stdout_fd = spec->run_stdout_fd > 0 ? spec->run_stdout_fd : out_fd;
    piped.stderr_fd = shared ? out_fd : err_fd;
    return proc_spawn(&piped, &running->proc, err);
}

static bool is_cancelled(const struct proc_limits *limits)
{
    return limits->cancel != NULL && *limits->cancel != 0;
}

/* Collects until the child has ended (true), or until the result has a reason to stop it. */
static bool collect(struct running *running, const struct proc_limits *limits,
                    struct proc_result *result)
{
    int64_t deadline_us = deadline_of(limits->timeout_ms);
    for (;;) {
        int wait_ms = ms_until(deadline_us);
        result->cancelled = is_cancelled(limits);
        result->timed_out = !result->cancelled && wait_ms == 0;
        result->exceeded = limits->exceeds != NULL &&
                           limits->exceeds(limits->exceeds_ctx, &running->proc);
        if (result->cancelled || result->timed_out || result->exceeded)
            return false;
        if ((limits->cancel != NULL || limits->exceeds != NULL) &&
            (wait_ms < 0 || wait_ms > LOOK_MS))
            wait_ms = LOOK_MS;
        struct pollfd looks[] = {
            {.fd = running->proc.pid_fd, .events = POLLIN},
            {.fd = running->streams[0].fd, .events = POLLIN},
            {.fd = running->streams[1].fd, .events = POLLIN},
        };
        if (poll(looks, COUNT_OF(looks), wait_ms) <= 0)
            continue;
        for (size_t i = 0; i < COUNT_OF(running->streams); i++) {
            if (looks[1 + i].revents)
                (void)stream_read(&running->streams[i]);
        }
        if (looks[0].revents)
            return true;
    }
}

enum rc proc_run(const struct proc_spec *spec, struct str stdin_bytes, struct buf *out,
                 struct buf *err_out, const struct proc_limits *limits,
                 struct proc_result *ret_result, struct err *err)
{
    struct proc_limits none = {.timeout_ms = -1};
    if (limits == NULL)
        limits = &none;
    struct proc_result result = {.exit = {.code = -1}, .cancelled = is_cancelled(limits)};
    if (result.cancelled) {
        *ret_result = result;
        return RC_OK;
    }
    CLEANUP(running_release) struct running running = {.streams = {{.fd = -1}, {.fd = -1}}};
    struct buf *const outputs[2] = {out, err_out};
    enum rc rc = start(&running, spec, stdin_bytes, outputs, err);
    if (rc != RC_OK)
        return rc;
    if (limits->data_bytes > 0) { /* It ran for a moment without: it cannot have taken much. */
        const struct rlimit wanted = {(rlim_t)limits->data_bytes, (rlim_t)limits->data_bytes};
        (void)prlimit(running.proc.pid, RLIMIT_DATA, &wanted, NULL); /* Fails when it has ended. */
    }
    /* A grandchild may hold the pipes open for ever: end the group, then read what is there. */
    bool ended = collect(&running, limits, &result);
    rc = stop(&running.proc, ended || result.exceeded ? 0 : GRACE_MS, &result.exit);
    if (rc != RC_OK)
        return err_set(err, rc, "SPAWN_FAILED", "lost track of %.200s", spec->argv[0]);
    for (size_t i = 0; i < COUNT_OF(running.streams); i++)
        stream_drain(&running.streams[i]);
    *ret_result = result;
    return RC_OK;
}
