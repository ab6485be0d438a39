/*
 * compute_process.c - the life of one sandboxed command, as one poll loop.
 *
 *     drover ── bwrap (outer) ── init of the pid namespace (inner) ── command ── ...
 *
 * The outer one is our child; its exit status is the command's.  The inner one leads the session of
 * the command, so signals go to its group; it ignores them itself, being an init.  KILL of the
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
#include "work/sandbox/freeze.h"
#include "work/sandbox/gateway.h"
#include "work/sandbox/guard.h"
#include "work/sandbox/inside.h"
#include "work/sandbox/run_user.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
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
    FAILURE_BYTES_MAX = 400,
};

/* How far its end has come: compute_process.h. */
enum stage { STAGE_RUNS, STAGE_ASKED, STAGE_INTERRUPTED, STAGE_TERMINATED, STAGE_KILLED };

struct session {
    const struct compute_spec *spec;
    struct proc proc;
    struct input input;
    int out_fd, err_fd, status_fd;
    struct gateway *gateway; /* To the hosts of view.egress, or NULL. */
    struct guard guard;
    int inner_fd;      /* pidfd of the sandbox's init, -1: unknown. */
    pid_t inner_pid;   /* Leads the command's process group. */
    struct buf status; /* What bwrap reported. */
    struct output output;
    enum stage stage;
    int64_t stage_us; /* When the next stage begins; of KILLED: when it began. */
    enum compute_hold hold;
    int64_t hold_us; /* Held since. */
    struct freeze freeze;
    int64_t begin_us, output_us, guard_us, freeze_us;
    int64_t wall_us; /* When wall_ms ends, INT64_MAX: never. */
    struct compute_result result;
};

static void session_release(struct session *session)
{
    proc_release(&session->proc);
    gateway_stop(session->gateway);
    guard_release(&session->guard);
    fd_close(session->input.fd);
    fd_close(session->out_fd);
    fd_close(session->err_fd);
    fd_close(session->status_fd);
    fd_close(session->inner_fd);
    buf_release(&session->status);
    output_release(&session->output);
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
    if (rc == RC_NOT_FOUND && strchr(query.name, '/') == NULL)
        return err_set(err, rc, "NO_PROGRAM",
                       "There is no program %.200s in the PATH of the server or worker that ran "
                       "this. Install it there, or start drover anew with a PATH that has it",
                       query.name);
    /* One that the agent may have changed is shown with the directory that it lies in. */
    if (rc == RC_OK && !sandbox_view_has(&spec->view, program.path))
        rc = program_examine(&program, search, arena, err);
    if (rc == RC_OK)
        *ret_program = program;
    return rc;
}

/* ---- start ---- */

/* ours: which of the two ends, 0 reads and 1 writes. */
static enum rc make_pipe(int ours, int *ret_ours, int *ret_theirs, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make a pipe: %s", strerror(errno));
    *ret_ours = ends[ours];
    *ret_theirs = ends[1 - ours];
    return fd_set_nonblocking(ends[ours], err);
}

static enum rc open_stdin(const char *path, int *ret_fd, struct err *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
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

/* With a user of its own the command must own its pipes: many programs open /dev/stdout. */
static enum rc make_user_ends(const struct session *session, struct ends *ends, struct err *err)
{
    const struct compute_spec *spec = session->spec;
    if (!has_walls(session) || !spec->sandbox->drops)
        return RC_OK;
    uid_t user = run_user_of(spec->view.run_user);
    if (fchown(ends->out, user, (gid_t)user) != 0 || fchown(ends->err, user, (gid_t)user) != 0 ||
        (session->input.fd >= 0 && fchown(ends->in, user, (gid_t)user) != 0))
        return err_set(err, RC_IO, "IO_ERROR", "cannot hand a pipe over: %s", strerror(errno));
    return run_user_passwd(user, variable(spec->env, "HOME", "/"), &ends->passwd, err);
}

static enum rc make_ends(struct session *session, struct ends *ends, struct err *err)
{
    const struct compute_spec *spec = session->spec;
    enum rc rc = output_open(&session->output, spec->log_path, spec->log_bytes_max, err);
    if (rc == RC_OK && spec->input.bytes != NULL)
        rc = make_pipe(1, &session->input.fd, &ends->in, err);
    else if (rc == RC_OK && spec->stdin_path != NULL)
        rc = open_stdin(spec->stdin_path, &ends->in, err);
    if (rc == RC_OK)
        rc = make_pipe(0, &session->out_fd, &ends->out, err);
    if (rc == RC_OK)
        rc = make_pipe(0, &session->err_fd, &ends->err, err);
    if (rc == RC_OK && has_walls(session))
        rc = make_pipe(0, &session->status_fd, &ends->status, err);
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
    sandbox_kept(spec->sandbox, &view, kept);
    rc = proc_spawn(&child, &session->proc, err);
    if (rc == RC_OK)
        start_guard(session);
    return rc;
}

/* ---- input and output ---- */

static void begin_stop(struct session *session, enum compute_end why);

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
    output_add(&session->output, fd == &session->out_fd ? STREAM_OUT : STREAM_ERR, chunk,
               (size_t)got);
    if (session->output.refused)
        begin_stop(session, COMPUTE_CUT_OFF);
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

/* ---- holding ---- */

static struct freeze_scope freeze_scope(const struct session *session)
{
    return (struct freeze_scope){.top = session->guard.top, .top_too = !has_walls(session)};
}

/* The clocks continue where they stood. */
static void shift_clocks(struct session *session, int64_t now_us)
{
    int64_t idle_us = session->hold_us - session->output_us;
    session->output_us = now_us - (idle_us > 0 ? idle_us : 0);
    if (session->wall_us != INT64_MAX)
        session->wall_us += now_us - session->hold_us;
}

static void set_hold(struct session *session, enum compute_hold hold)
{
    int64_t now_us = clock_mono_us();
    if (hold == session->hold || session->stage != STAGE_RUNS)
        return;
    if (session->hold == COMPUTE_FREE)
        session->hold_us = now_us;
    else if (hold == COMPUTE_FREE)
        shift_clocks(session, now_us);
    if (hold == COMPUTE_PAUSED)
        freeze_begin(&session->freeze, now_us);
    else
        freeze_end(&session->freeze, freeze_scope(session));
    session->hold = hold;
}

/* ---- stopping ---- */

static bool inner_alive(const struct session *session)
{
    struct pollfd look = {.fd = session->inner_fd, .events = POLLIN};
    return session->inner_fd >= 0 && poll(&look, 1, 0) == 0;
}

static void signal_group(const struct session *session, int signal)
{
    if (inner_alive(session))
        (void)kill(-session->inner_pid, signal);
    else
        proc_kill_group(&session->proc, signal);
}

static void enter_stage(struct session *session, enum stage stage, int64_t last_ms)
{
    session->stage = stage;
    session->stage_us = clock_mono_us() + last_ms * US_PER_MS;
}

static void interrupt(struct session *session, int64_t last_ms)
{
    signal_group(session, SIGINT);
    enter_stage(session, STAGE_INTERRUPTED, last_ms);
}

static void terminate(struct session *session)
{
    input_close(&session->input);
    signal_group(session, SIGTERM);
    enter_stage(session, STAGE_TERMINATED, COMPUTE_GRACE_MS);
}

static void kill_all(struct session *session)
{
    enter_stage(session, STAGE_KILLED, 0);
    if (session->inner_fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, session->inner_fd, SIGKILL, NULL, 0);
    proc_kill_group(&session->proc, SIGKILL);
}

/* Before TERM: less where the worker itself ends, nothing where it could not report what the
   command prints. */
static int64_t patience_ms(const struct compute_spec *spec)
{
    enum stop_reason reason = spec->stop != NULL ? stop_asked(spec->stop) : STOP_NONE;
    if (reason == STOP_LOST)
        return 0;
    return reason == STOP_SHUTDOWN ? spec->interrupt_ms / 3 : spec->interrupt_ms;
}

static void begin_stop(struct session *session, enum compute_end why)
{
    const struct compute_reader *reader = &session->spec->reader;
    int64_t interrupt_ms = patience_ms(session->spec);
    if (session->stage != STAGE_RUNS)
        return;
    set_hold(session, COMPUTE_FREE); /* What is stopped takes no signal. */
    session->result.end = why;
    if (interrupt_ms == 0)
        terminate(session);
    else if (reader->interrupt != NULL && reader->interrupt(reader->ctx))
        enter_stage(session, STAGE_ASKED, interrupt_ms / 2); /* The other half after SIGINT. */
    else
        interrupt(session, interrupt_ms);
}

static void next_stage(struct session *session)
{
    switch (session->stage) {
    case STAGE_ASKED:
        interrupt(session, patience_ms(session->spec) / 2);
        break;
    case STAGE_INTERRUPTED:
        terminate(session);
        break;
    case STAGE_TERMINATED:
        kill_all(session);
        break;
    case STAGE_RUNS:
    case STAGE_KILLED:
        break;
    }
}

/* ---- the loop ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* All was told to it: it is to end by itself. */
static bool lingers(const struct session *session)
{
    return session->input.ended && session->spec->linger_ms > 0;
}

/* When to act even if no descriptor is ready. */
static int64_t next_us(const struct session *session)
{
    const struct compute_spec *spec = session->spec;
    int64_t next = earlier(earlier(session->guard_us, session->freeze_us), session->input.look_us);
    if (session->stage == STAGE_KILLED)
        return earlier(next, session->stage_us + GONE_WAIT_MS * US_PER_MS);
    if (session->stage != STAGE_RUNS)
        return earlier(next, session->stage_us);
    if (session->hold != COMPUTE_FREE)
        return next;
    if (spec->idle_ms > 0)
        next = earlier(next, session->output_us + spec->idle_ms * US_PER_MS);
    if (lingers(session))
        next = earlier(next, session->output_us + spec->linger_ms * US_PER_MS);
    return earlier(next, session->wall_us);
}

/* A command over a limit gets KILL without any warning: during the grace it would use even more. */
static void end_over_limit(struct session *session, const char *limit, const char *text)
{
    if (session->stage == STAGE_RUNS) {
        session->result.end = COMPUTE_OVER_LIMIT;
        session->result.limit = limit;
    }
    output_note(&session->output, text);
    kill_all(session);
}

static void report_refusals(struct session *session)
{
    const struct compute_reader *reader = &session->spec->reader;
    char text[GATEWAY_TEXT_BYTES];
    while (gateway_next_refusal(session->gateway, text)) {
        output_note(&session->output, text);
        if (reader->note != NULL)
            reader->note(reader->ctx, text);
    }
}

static void check_clocks(struct session *session)
{
    const struct compute_spec *spec = session->spec;
    int64_t now = clock_mono_us();
    bool killed = session->stage == STAGE_KILLED;
    session->guard_us = killed ? INT64_MAX : guard_tick(&session->guard, now);
    if (session->guard.limit != NULL && !killed)
        end_over_limit(session, session->guard.limit, session->guard.text);
    report_refusals(session);
    bool free = session->hold == COMPUTE_FREE;
    int64_t idle_ms = (now - session->output_us) / US_PER_MS;
    if (spec->stop != NULL && stop_asked(spec->stop) != STOP_NONE)
        begin_stop(session, COMPUTE_STOPPED);
    else if (free && now >= session->wall_us)
        begin_stop(session, COMPUTE_TIMED_OUT);
    else if (free && lingers(session) && idle_ms >= spec->linger_ms)
        begin_stop(session, COMPUTE_ENDED); /* Some do not end with their stdin. */
    else if (free && spec->idle_ms > 0 && idle_ms >= spec->idle_ms)
        begin_stop(session, COMPUTE_IDLE_TIMED_OUT);
    session->freeze_us = freeze_tick(&session->freeze, freeze_scope(session), now);
    if (session->stage != STAGE_RUNS && now >= session->stage_us)
        next_stage(session);
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
    return session->stage == STAGE_KILLED &&
           clock_mono_us() >= session->stage_us + GONE_WAIT_MS * US_PER_MS;
}

/* One turn of the loop, at most until until_us; false once the child has ended. */
static bool turn(struct session *session, int64_t until_us)
{
    const struct stop *stop = session->spec->stop;
    check_clocks(session);
    input_feed(&session->input);
    bool runs = session->stage == STAGE_RUNS;
    struct pollfd looks[] = {
        {.fd = session->proc.pid_fd, .events = POLLIN},
        {.fd = session->out_fd, .events = POLLIN},
        {.fd = session->err_fd, .events = POLLIN},
        {.fd = session->status_fd, .events = POLLIN},
        /* Once requested it would stay readable. */
        {.fd = stop != NULL && runs ? stop->event_fd : -1, .events = POLLIN},
        {.fd = session->input.fd, .events = input_events(&session->input)},
        {.fd = session->spec->wake_fd > 0 ? session->spec->wake_fd : -1, .events = POLLIN},
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
    if (looks[5].revents & (POLLERR | POLLNVAL))
        input_close(&session->input);
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
    return exit.code != INSIDE_FAILED || !output_ended_with(&session->output, INSIDE_SAYS);
}

static void note_output(struct session *session)
{
    struct compute_result *result = &session->result;
    const struct output *output = &session->output;
    CLEANUP(arena_release) struct arena arena = {0};
    result->log_bytes = output->log_bytes;
    result->log_truncated = output->log_truncated;
    result->lines_skipped = output->lines_skipped;
    text_copy(result->last_words, sizeof result->last_words,
              output_last_words(output, &arena, sizeof result->last_words - 1));
}

static enum rc finish(struct session *session, struct err *err)
{
    if (session->stage != STAGE_RUNS && session->stage != STAGE_KILLED)
        kill_all(session); /* What outlived the command itself. */
    struct proc_exit exit = {.code = -1};
    if (proc_wait(&session->proc, 0, &exit) != RC_OK) /* Killed, and it hangs in the kernel. */
        return err_set(err, RC_IO, "IO_ERROR", "lost track of the command");
    struct pollfd gone = {.fd = session->inner_fd, .events = POLLIN};
    if (session->inner_fd >= 0 && poll(&gone, 1, GONE_WAIT_MS) == 0)
        return err_set(err, RC_IO, "IO_ERROR", "the sandbox does not end");
    drain(session, &session->out_fd);
    drain(session, &session->err_fd);
    input_look(&session->input);
    output_end(&session->output);
    if (session->output.refused)
        begin_stop(session, COMPUTE_CUT_OFF);
    while (session->status_fd >= 0 && session->status.len < STATUS_BYTES_MAX) {
        size_t before = session->status.len;
        take_status(session);
        if (session->status.len == before)
            break;
    }
    report_refusals(session);
    note_exit(session, exit);
    note_output(session);
    session->result.duration_us = clock_mono_us() - session->begin_us;
    if (!has_run(session, exit) && session->result.end == COMPUTE_ENDED && exit.signal == 0)
        return err_set(err, RC_IO, "SANDBOX_FAILED", "The command could not be started: %.*s",
                       FAILURE_BYTES_MAX, session->result.last_words);
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
        .inner_fd = -1,
        .guard_us = INT64_MAX,
        .freeze_us = INT64_MAX,
        .result = {.exit_code = -1},
    };
    struct session *session = &whole->session;
    buf_init(&session->status, STATUS_BYTES_MAX);
    input_init(&session->input, spec->input, -1);
    output_init(&session->output, &whole->spec.reader, spec->secrets);
    session->begin_us = session->output_us = clock_mono_us();
    session->wall_us = spec->wall_ms > 0 ? session->begin_us + spec->wall_ms * US_PER_MS
                                         : INT64_MAX;
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

void compute_hold(struct compute_session *session, enum compute_hold hold)
{
    set_hold(&session->session, hold);
}

bool compute_input_taken(const struct compute_session *session)
{
    const struct input *input = &session->session.input;
    return input->taken && input->of.bytes->len == 0;
}

bool compute_is_paused(const struct compute_session *session)
{
    return freeze_holds(&session->session.freeze);
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
