/*
 * compute_process.c - the life of one sandboxed command, as one poll loop.
 *
 *     drover ── bwrap (outer) ── init of the pid namespace (inner) ── command ── ...
 *
 * The outer one is our child; its exit status is the command's.  The inner one leads the session of
 * the command, so TERM goes to its group; it ignores the signal itself, being an init.  KILL of the
 * outer one ends the inner one too, and with it the kernel ends the whole namespace, daemons with
 * sessions of their own included.  The inner pidfd is readable when that is done.
 *
 * bwrap reports on a pipe: {"child-pid": N} at the start, {"exit-code": N} at the end if the
 * command was executed at all.  Without the second report the sandbox itself has failed.
 *
 * Without a sandbox the command is our child, and its process group is all that can be reached.
 */
#include "work/agent/compute_process.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "core/text/redact.h"
#include "work/sandbox/gateway.h"
#include "work/sandbox/guard.h"
#include "work/sandbox/inside.h"
#include "work/sandbox/run_user.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 64 * 1024,
    DRAIN_CHUNKS_MAX = 64, /* After the end: more than the largest pipe holds. */
    STATUS_BYTES_MAX = 8192,
    GONE_WAIT_MS = 5000, /* For the kernel to end what was killed. */
    TAIL_BYTES = 400,
};

struct session {
    const struct compute_spec *spec;
    struct proc proc;
    int out_fd, err_fd, status_fd, log_fd;
    struct gateway *gateway; /* To the hosts of view.egress, or NULL. */
    struct guard guard;
    int inner_fd;             /* pidfd of the sandbox's init, -1: unknown. */
    pid_t inner_pid;          /* Leads the command's process group. */
    struct buf status;        /* What bwrap reported. */
    struct redactor out, err; /* Between the streams and all that is made of them. */
    struct buf line;          /* The line being gathered. */
    bool line_skipped;        /* It has become too long. */
    bool stopping;            /* TERM was sent. */
    bool killed;
    bool truncation_logged; /* In the log. */
    bool log_failed;
    int64_t begin_us, output_us, kill_us, guard_us;
    char tail[TAIL_BYTES]; /* The last of stderr, for a sandbox that failed. */
    size_t tail_len;
    struct compute_result result;
};

static void session_release(struct session *session)
{
    proc_release(&session->proc);
    gateway_stop(session->gateway);
    guard_release(&session->guard);
    fd_close(session->out_fd);
    fd_close(session->err_fd);
    fd_close(session->status_fd);
    fd_close(session->log_fd);
    fd_close(session->inner_fd);
    buf_release(&session->status);
    redact_release(&session->out);
    redact_release(&session->err);
    buf_release(&session->line);
}

/* ---- looking the program up ---- */

static const char *variable(const char *const *env, const char *name, const char *otherwise)
{
    size_t len = strlen(name);
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        if (strncmp(env[i], name, len) == 0 && env[i][len] == '=')
            return env[i] + len + 1;
    }
    return otherwise;
}

/* Before the start, so that a missing program can be distinguished from one that failed. */
static enum rc find_program(const struct compute_spec *spec, struct arena *arena,
                            struct program *ret_program, struct err *err)
{
    const char *search = variable(spec->env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    const struct program_query query = {spec->view.argv[0], spec->view.cwd, search};
    struct program program;
    enum rc rc = program_find(&query, arena, &program, err);
    /* One that the agent may have changed is shown with the directory that it lies in. */
    if (rc == RC_OK && !sandbox_view_has(&spec->view, program.path))
        rc = program_examine(&program, search, arena, err);
    if (rc == RC_OK)
        *ret_program = program;
    return rc;
}

/* ---- start ---- */

static enum rc make_pipe(int *ret_ours, int *ret_theirs, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make a pipe: %s", strerror(errno));
    *ret_ours = ends[0];
    *ret_theirs = ends[1];
    return fd_set_nonblocking(ends[0], err);
}

static enum rc open_file(const char *path, int flags, int *ret_fd, struct err *err)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot open %.300s: %s", path, strerror(errno));
    *ret_fd = fd;
    return RC_OK;
}

/* The command's ends; ours are in the session. */
struct ends {
    int in, out, err, status, filter, passwd;
};

static void ends_close(struct ends *ends)
{
    fd_close(ends->in);
    fd_close(ends->out);
    fd_close(ends->err);
    fd_close(ends->status);
    fd_close(ends->filter);
    fd_close(ends->passwd);
}

static bool has_walls(const struct session *session)
{
    return session->spec->sandbox->kind == SANDBOX_BUBBLEWRAP;
}

/* With a user of its own the command must own its output: many programs open /dev/stdout. */
static enum rc make_user_ends(const struct session *session, struct ends *ends, struct err *err)
{
    const struct compute_spec *spec = session->spec;
    if (!has_walls(session) || !spec->sandbox->drops)
        return RC_OK;
    uid_t user = run_user_of(spec->view.run_user);
    if (fchown(ends->out, user, (gid_t)user) != 0 || fchown(ends->err, user, (gid_t)user) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot hand a pipe over: %s", strerror(errno));
    return run_user_passwd(user, variable(spec->env, "HOME", "/"), &ends->passwd, err);
}

static enum rc make_ends(struct session *session, struct ends *ends, struct err *err)
{
    const struct compute_spec *spec = session->spec;
    enum rc rc = open_file(spec->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
                           &session->log_fd, err);
    if (rc == RC_OK && spec->stdin_path != NULL)
        rc = open_file(spec->stdin_path, O_RDONLY | O_NOFOLLOW, &ends->in, err);
    if (rc == RC_OK)
        rc = make_pipe(&session->out_fd, &ends->out, err);
    if (rc == RC_OK)
        rc = make_pipe(&session->err_fd, &ends->err, err);
    if (rc == RC_OK && has_walls(session))
        rc = make_pipe(&session->status_fd, &ends->status, err);
    if (rc == RC_OK)
        rc = sandbox_filter(spec->sandbox, &ends->filter, err);
    if (rc == RC_OK)
        rc = make_user_ends(session, ends, err);
    return rc;
}

/* Where hosts are listed and the network is off: the proxy to them, its socket beside the log. */
static enum rc start_gateway(struct session *session, struct arena *arena, const char **ret_path,
                             struct err *err)
{
    const struct compute_spec *spec = session->spec;
    *ret_path = NULL;
    const char *const *egress = spec->view.egress;
    if (egress == NULL || egress[0] == NULL || spec->view.network || !has_walls(session))
        return RC_OK;
    const char *path = arena_printf(arena, "%s.proxy", spec->log_path);
    enum rc rc = gateway_start(&(struct gateway_options){.rules = egress, .socket_path = path},
                               &session->gateway, err);
    if (rc == RC_OK)
        *ret_path = path;
    return rc;
}

static void start_guard(struct session *session)
{
    const struct sandbox_view *view = &session->spec->view;
    struct guard *guard = &session->guard;
    guard_init(guard, view->limits, session->begin_us);
    for (size_t i = 0; i < SANDBOX_BINDS_MAX && view->binds[i].path != NULL; i++) {
        if (view->binds[i].writable && guard->dir_count < GUARD_DIRS_MAX)
            guard->dirs[guard->dir_count++] = view->binds[i].path;
    }
    if (!has_walls(session))
        guard->top = session->proc.pid;
}

static enum rc start(struct session *session, struct err *err)
{
    const struct compute_spec *spec = session->spec;
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(ends_close) struct ends ends = {-1, -1, -1, -1, -1, -1};
    struct sandbox_view view = spec->view;
    enum rc rc = sandbox_check(spec->sandbox, &view, err);
    if (rc == RC_OK)
        rc = sandbox_hand_over(spec->sandbox, &view, err);
    if (rc == RC_OK)
        rc = make_ends(session, &ends, err);
    if (rc == RC_OK)
        rc = start_gateway(session, &arena, &view.proxy, err);
    if (rc != RC_OK)
        return rc;
    /* The command must not inherit descriptors that drover itself inherited either. */
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    view.status_fd = ends.status;
    view.filter_fd = ends.filter;
    view.passwd_fd = ends.passwd;
    CLEANUP(bwrap_copies_close) struct bwrap_copies copies = {.count = 0};
    view.copies = &copies;
    int kept[SANDBOX_KEPT_MAX];
    struct proc_spec child = {
        .argv = sandbox_argv(spec->sandbox, &view, &arena),
        .env = spec->env,
        .cwd = has_walls(session) ? "/" : view.cwd,
        .stdin_fd = ends.in,
        .stdout_fd = ends.out,
        .stderr_fd = ends.err,
        .keep_fds = has_walls(session) ? kept : NULL,
    };
    sandbox_kept(&view, kept);
    rc = proc_spawn(&child, &session->proc, err);
    if (rc == RC_OK)
        start_guard(session);
    return rc;
}

/* ---- output ---- */

/* A line of our own among those of the command. */
static void report_log(struct session *session, const char *text)
{
    char line[400];
    int len = snprintf(line, sizeof line, "\n[%s]\n", text);
    if (!session->log_failed && fd_write_all(session->log_fd, line, (size_t)len, NULL) == RC_OK)
        session->result.log_bytes += len;
}

static void log_bytes(struct session *session, const char *bytes, size_t len)
{
    struct compute_result *result = &session->result;
    int64_t room = session->spec->log_bytes_max - result->log_bytes;
    if ((int64_t)len > room) {
        result->log_truncated = true;
        len = room > 0 ? (size_t)room : 0;
    }
    if (session->log_failed)
        return;
    if (fd_write_all(session->log_fd, bytes, len, NULL) != RC_OK) {
        session->log_failed = result->log_truncated = true; /* The disk is full: no more log. */
        return;
    }
    result->log_bytes += (int64_t)len;
    if (result->log_truncated && !session->truncation_logged) {
        session->truncation_logged = true;
        report_log(session, "output truncated here");
    }
}

static void begin_stop(struct session *session, enum compute_end why);

static void line_end(struct session *session)
{
    const struct compute_reader *reader = &session->spec->reader;
    if (session->line_skipped)
        session->result.lines_skipped++;
    else if (reader->line != NULL && !reader->line(reader->ctx, buf_str(&session->line)))
        begin_stop(session, COMPUTE_CUT_OFF);
    session->line_skipped = false;
    buf_clear(&session->line);
}

static void split_lines(struct session *session, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) : len;
        if (session->line.len + part > COMPUTE_LINE_MAX)
            session->line_skipped = true;
        if (!session->line_skipped)
            buf_add(&session->line, bytes, part);
        if (end == NULL)
            return;
        line_end(session);
        bytes += part + 1;
        len -= part + 1;
    }
}

static void keep_tail(struct session *session, const char *bytes, size_t len)
{
    if (len > sizeof session->tail) {
        bytes += len - sizeof session->tail;
        len = sizeof session->tail;
    }
    size_t keep = sizeof session->tail - len;
    if (session->tail_len > keep) {
        memmove(session->tail, session->tail + session->tail_len - keep, keep);
        session->tail_len = keep;
    }
    memcpy(session->tail + session->tail_len, bytes, len);
    session->tail_len += len;
}

static void take_out(void *ctx, const char *bytes, size_t len)
{
    log_bytes(ctx, bytes, len);
    split_lines(ctx, bytes, len);
}

static void take_err(void *ctx, const char *bytes, size_t len)
{
    log_bytes(ctx, bytes, len);
    keep_tail(ctx, bytes, len);
}

/* One read from a stream; false when there was nothing more. */
static bool take_output(struct session *session, int *fd)
{
    char chunk[CHUNK_BYTES];
    if (*fd < 0)
        return false;
    ssize_t got = read(*fd, chunk, sizeof chunk);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        fd_closep(fd);
        return false;
    }
    session->output_us = clock_mono_us();
    redact_add(fd == &session->out_fd ? &session->out : &session->err, chunk, (size_t)got);
    return true;
}

/* ---- what bwrap reports ---- */

static void note_inner(struct session *session, int64_t pid)
{
    if (session->inner_fd >= 0 || pid <= 1 || pid > INT_MAX)
        return;
    session->inner_pid = session->guard.top = (pid_t)pid;
    session->inner_fd = (int)syscall(SYS_pidfd_open, session->inner_pid, 0);
}

static void take_status(struct session *session)
{
    char chunk[1024];
    ssize_t got = session->status_fd < 0 ? -1 : read(session->status_fd, chunk, sizeof chunk);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            fd_closep(&session->status_fd);
        return;
    }
    buf_add(&session->status, chunk, (size_t)got);
    const char *begin = buf_text(&session->status);
    const char *end = strchr(begin, '\n');
    struct js *tree = NULL;
    if (session->inner_fd >= 0 || end == NULL)
        return;
    if (js_parse(begin, (size_t)(end - begin), &tree, NULL) == RC_OK)
        note_inner(session, js_get_int(tree, "child-pid", 0));
    js_free(tree);
}

/* ---- stopping ---- */

static bool inner_alive(const struct session *session)
{
    struct pollfd look = {.fd = session->inner_fd, .events = POLLIN};
    return session->inner_fd >= 0 && poll(&look, 1, 0) == 0;
}

static void begin_stop(struct session *session, enum compute_end why)
{
    if (session->stopping)
        return;
    session->stopping = true;
    session->result.end = why;
    session->kill_us = clock_mono_us() + COMPUTE_GRACE_MS * US_PER_MS;
    if (inner_alive(session))
        (void)kill(-session->inner_pid, SIGTERM);
    else
        proc_kill_group(&session->proc, SIGTERM);
}

static void kill_all(struct session *session)
{
    session->killed = true;
    if (session->inner_fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, session->inner_fd, SIGKILL, NULL, 0);
    proc_kill_group(&session->proc, SIGKILL);
}

/* ---- the loop ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When to act even if no descriptor is ready. */
static int64_t next_us(const struct session *session)
{
    const struct compute_spec *spec = session->spec;
    int64_t next = session->guard_us;
    if (session->killed)
        return earlier(next, session->kill_us + GONE_WAIT_MS * US_PER_MS);
    if (session->stopping)
        return earlier(next, session->kill_us);
    if (spec->wall_ms > 0)
        next = earlier(next, session->begin_us + spec->wall_ms * US_PER_MS);
    if (spec->idle_ms > 0)
        next = earlier(next, session->output_us + spec->idle_ms * US_PER_MS);
    return next;
}

/* A command over a limit gets KILL without TERM: during the grace it would use even more. */
static void end_over_limit(struct session *session, const char *limit, const char *text)
{
    begin_stop(session, COMPUTE_OVER_LIMIT);
    if (session->result.end == COMPUTE_OVER_LIMIT)
        session->result.limit = limit;
    report_log(session, text);
    session->kill_us = clock_mono_us();
    kill_all(session);
}

static void report_refusals(struct session *session)
{
    const struct compute_reader *reader = &session->spec->reader;
    char text[GATEWAY_TEXT_BYTES];
    while (gateway_next_refusal(session->gateway, text)) {
        report_log(session, text);
        if (reader->note != NULL)
            reader->note(reader->ctx, text);
    }
}

static void check_clocks(struct session *session)
{
    const struct compute_spec *spec = session->spec;
    int64_t now = clock_mono_us();
    session->guard_us = session->killed ? INT64_MAX : guard_tick(&session->guard, now);
    if (session->guard.limit != NULL && !session->killed)
        end_over_limit(session, session->guard.limit, session->guard.text);
    report_refusals(session);
    if (spec->stop != NULL && stop_asked(spec->stop) != STOP_NONE)
        begin_stop(session, COMPUTE_STOPPED);
    else if (spec->wall_ms > 0 && now >= session->begin_us + spec->wall_ms * US_PER_MS)
        begin_stop(session, COMPUTE_TIMED_OUT);
    else if (spec->idle_ms > 0 && now >= session->output_us + spec->idle_ms * US_PER_MS)
        begin_stop(session, COMPUTE_IDLE_TIMED_OUT);
    if (session->stopping && !session->killed && now >= session->kill_us)
        kill_all(session);
}

static int wait_ms(int64_t until_us)
{
    if (until_us == INT64_MAX)
        return -1;
    int64_t left = (until_us - clock_mono_us() + US_PER_MS - 1) / US_PER_MS;
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/* A killed child that does not end hangs in the kernel: waiting does not help. */
static bool given_up(const struct session *session)
{
    return session->killed && clock_mono_us() >= session->kill_us + GONE_WAIT_MS * US_PER_MS;
}

/* One turn of the loop, at most until until_us; false once the child has ended. */
static bool turn(struct session *session, int64_t until_us)
{
    const struct stop *stop = session->spec->stop;
    check_clocks(session);
    struct pollfd looks[] = {
        {.fd = session->proc.pid_fd, .events = POLLIN},
        {.fd = session->out_fd, .events = POLLIN},
        {.fd = session->err_fd, .events = POLLIN},
        {.fd = session->status_fd, .events = POLLIN},
        /* Once requested it would stay readable. */
        {.fd = stop != NULL && !session->stopping ? stop->event_fd : -1, .events = POLLIN},
    };
    int64_t wake_us = earlier(next_us(session), until_us);
    if (poll(looks, COUNT_OF(looks), wait_ms(wake_us)) <= 0)
        return !given_up(session);
    if (looks[1].revents)
        (void)take_output(session, &session->out_fd);
    if (looks[2].revents)
        (void)take_output(session, &session->err_fd);
    if (looks[3].revents)
        take_status(session);
    return !looks[0].revents && !given_up(session);
}

static void drain(struct session *session, int *fd)
{
    for (int i = 0; i < DRAIN_CHUNKS_MAX && take_output(session, fd); i++)
        ;
}

/* The sandbox reports an exit by signal as 128 + its number. */
static void note_exit(struct session *session, struct proc_exit exit)
{
    struct compute_result *result = &session->result;
    bool by_signal = has_walls(session) && exit.code > 128 && exit.code < 128 + 32;
    result->exit_code = by_signal ? -1 : exit.code;
    result->signal = by_signal ? exit.code - 128 : exit.signal;
    result->exited = result->end == COMPUTE_ENDED && result->signal == 0;
    if (result->end == COMPUTE_ENDED && result->signal == SIGXCPU) {
        result->end = COMPUTE_OVER_LIMIT;
        result->limit = "cpu_limit";
    }
}

/* Or did bubblewrap, or the last step into it, fail? */
static bool has_run(const struct session *session, struct proc_exit exit)
{
    if (has_walls(session) && strstr(buf_text(&session->status), "exit-code") == NULL)
        return false;
    return exit.code != INSIDE_FAILED ||
           memmem(session->tail, session->tail_len, INSIDE_SAYS, strlen(INSIDE_SAYS)) == NULL;
}

static enum rc finish(struct session *session, struct err *err)
{
    if (session->stopping && !session->killed)
        kill_all(session); /* What outlived the command itself. */
    struct proc_exit exit = {.code = -1};
    if (proc_wait(&session->proc, 0, &exit) != RC_OK) /* Killed, and it hangs in the kernel. */
        return err_set(err, RC_IO, "IO_ERROR", "lost track of the command");
    struct pollfd gone = {.fd = session->inner_fd, .events = POLLIN};
    if (session->inner_fd >= 0 && poll(&gone, 1, GONE_WAIT_MS) == 0)
        return err_set(err, RC_IO, "IO_ERROR", "the sandbox does not end");
    drain(session, &session->out_fd);
    drain(session, &session->err_fd);
    redact_end(&session->out);
    redact_end(&session->err);
    while (session->status_fd >= 0 && session->status.len < STATUS_BYTES_MAX) {
        size_t before = session->status.len;
        take_status(session);
        if (session->status.len == before)
            break;
    }
    if (session->line.len > 0 || session->line_skipped)
        line_end(session);
    report_refusals(session);
    note_exit(session, exit);
    session->result.duration_us = clock_mono_us() - session->begin_us;
    if (!has_run(session, exit) && session->result.end == COMPUTE_ENDED && exit.signal == 0)
        return err_set(err, RC_IO, "SANDBOX_FAILED", "The command could not be started: %.*s",
                       (int)session->tail_len, session->tail);
    return RC_OK;
}

/* ---- the whole ---- */

void compute_grant(struct compute_spec *spec, const struct agent_config *agent, const char *run_id)
{
    spec->view.network = agent->network;
    spec->view.mounts = agent->mounts;
    spec->view.mount_count = agent->mount_count;
    spec->view.limits = &agent->resources;
    spec->view.run_user = run_id;
    spec->view.egress = agent->egress;
}

struct compute_session {
    struct compute_spec spec;
    struct program program; /* Of spec.view. */
    struct arena arena;     /* Of the program. */
    struct session session;
};

enum rc compute_begin(const struct compute_spec *spec, struct compute_session **ret_session,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct program program;
    enum rc rc = sandbox_ready(spec->sandbox, err);
    if (rc == RC_OK)
        rc = find_program(spec, &arena, &program, err);
    if (rc != RC_OK)
        return rc;
    static const struct resource_config usual = {.processes = 512, .disk_bytes = INT64_C(10) << 30};
    struct compute_session *whole = mem_alloc(sizeof *whole);
    whole->spec = *spec;
    whole->arena = arena;
    arena = (struct arena){0};
    whole->program = program;
    whole->spec.view.program = &whole->program;
    if (whole->spec.view.limits == NULL)
        whole->spec.view.limits = &usual;
    whole->session = (struct session){
        .spec = &whole->spec,
        .proc = {.pid_fd = -1},
        .out_fd = -1,
        .err_fd = -1,
        .status_fd = -1,
        .log_fd = -1,
        .inner_fd = -1,
        .guard_us = INT64_MAX,
        .result = {.exit_code = -1},
    };
    struct session *session = &whole->session;
    buf_init(&session->status, STATUS_BYTES_MAX);
    buf_init(&session->line, COMPUTE_LINE_MAX);
    redact_init(&session->out, spec->secrets, (struct redact_sink){take_out, session});
    redact_init(&session->err, spec->secrets, (struct redact_sink){take_err, session});
    session->begin_us = session->output_us = clock_mono_us();
    rc = start(session, err);
    if (rc == RC_OK)
        *ret_session = whole;
    else
        compute_session_free(whole);
    return rc;
}

bool compute_turn(struct compute_session *session, int64_t until_us)
{
    return turn(&session->session, until_us);
}

void compute_stop(struct compute_session *session, enum compute_end why)
{
    assert(why != COMPUTE_ENDED);
    begin_stop(&session->session, why);
}

enum rc compute_finish(struct compute_session *session, struct compute_result *ret_result,
                       struct err *err)
{
    enum rc rc = finish(&session->session, err);
    if (rc == RC_OK)
        *ret_result = session->session.result;
    return rc;
}

void compute_session_free(struct compute_session *session)
{
    if (session == NULL)
        return;
    session_release(&session->session);
    arena_release(&session->arena);
    mem_free(session);
}

void compute_session_freep(struct compute_session **session)
{
    compute_session_free(*session);
}

enum rc compute_run(const struct compute_spec *spec, struct compute_result *ret_result,
                    struct err *err)
{
    CLEANUP(compute_session_freep) struct compute_session *session = NULL;
    enum rc rc = compute_begin(spec, &session, err);
    if (rc != RC_OK)
        return rc;
    while (compute_turn(session, INT64_MAX))
        ;
    return compute_finish(session, ret_result, err);
}
