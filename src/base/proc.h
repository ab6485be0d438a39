/*
 * proc.h - child processes: posix_spawn (never fork: the server is large and
 * threaded), a pidfd to wait on, a session of their own so that the whole group
 * can be stopped.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H
#include "base/buf.h"
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
    pid_t pid;  /* 0: none.  Also the process group and session. */
    int pid_fd; /* Readable when the child has ended. */
};

struct proc_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH. */
    const char *const *env;  /* NULL-terminated; NULL means an empty environment with PATH only. */
    const char *cwd;         /* NULL: stay. */
    int stdin_fd;            /* -1: /dev/null.  The caller keeps ownership of all three. */
    int stdout_fd;           /* -1: /dev/null. */
    int stderr_fd;           /* -1: /dev/null. */
    const int *keep_fds;     /* Further descriptors to inherit, ended by -1; may be NULL. */
    int run_stdin_fd;        /* For proc_run: read in place of stdin_bytes; 0: none. */
    int run_stdout_fd;       /* For proc_run: written in place of `out`; 0: none. */
};

/* How a child ended. */
struct proc_exit {
    int code;   /* Exit status, or -1 when a signal ended it. */
    int signal; /* The signal, or 0. */
};

/* Every other descriptor is close-on-exec; the child starts with default signals. */
MUST_USE enum rc proc_spawn(const struct proc_spec *spec, struct proc *ret_proc, struct err *err);

/*
 * Waits at most timeout_ms (-1: for ever).  RC_TIMEOUT when still running.  Reaps on RC_OK, and
 * kills what is left of the group right before that: afterwards the group has no valid id any more.
 */
MUST_USE enum rc proc_wait(struct proc *proc, int timeout_ms, struct proc_exit *ret_exit);

/* Signals the whole group; does nothing once it is reaped. */
void proc_kill_group(const struct proc *proc, int signal);

/* TERM, at most grace_ms, then KILL to the group; reaps.  Safe on one that has ended. */
void proc_stop(struct proc *proc, int grace_ms);
void proc_release(struct proc *proc); /* For CLEANUP: proc_stop with no grace, close. */

/* Runs to the end and collects. */
struct proc_result {
    struct proc_exit exit;
    bool timed_out;
    bool cancelled;
    bool exceeded; /* limits->exceeds returned true. */
};
struct proc_limits {
    int timeout_ms;           /* -1: none. */
    const atomic_int *cancel; /* Checked every 50 ms when not NULL; non-zero stops the child. */
    int64_t data_bytes;       /* RLIMIT_DATA of the child, set right after its start; 0: none. */
    /* Called every 50 ms when not NULL; true kills the child. */
    bool (*exceeds)(void *ctx, const struct proc *proc);
    void *exceeds_ctx;
};
/*
 * stdin_bytes may be empty; out and err_out may be NULL (discarded), or the same buffer.
 * What overflows them is read and dropped.  Of spec's descriptors only keep_fds and run_*_fd count.
 * RC_OK for every exit status: check it.
 */
MUST_USE enum rc proc_run(const struct proc_spec *spec, struct str stdin_bytes, struct buf *out,
                          struct buf *err_out, const struct proc_limits *limits,
                          struct proc_result *ret_result, struct err *err);
#endif
