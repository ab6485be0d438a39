/*
 * compute_process.h - runs one command in the sandbox and watches it until it ends.
 *
 * Its output is streamed to a log file and, line by line, to a reader (compute_output.h).  Its
 * stdin is a file, or bytes that the caller adds while it runs.  It is stopped when it takes too
 * long, prints nothing for too long, the reader returns false, or a stop is requested:
 *
 *     runs --> asked --> interrupted --> terminated --> killed
 *              by its    SIGINT          SIGTERM        SIGKILL, to everything that it started
 *              protocol
 *
 * The first two only with interrupt_ms, and the first only if the reader has such a request.  What
 * it prints meanwhile is still read.  One that uses more memory, disk or processes than it may is
 * killed at once.  When compute_run returns, nothing of it is left (without a sandbox: its process
 * group has been killed).
 */
#ifndef WORK_AGENT_COMPUTE_PROCESS_H
#define WORK_AGENT_COMPUTE_PROCESS_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/text/secrets.h"
#include "work/agent/compute_input.h"
#include "work/agent/compute_output.h"
#include "work/job/stop.h"
#include "work/sandbox/sandbox.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    COMPUTE_GRACE_MS = 2000, /* Between TERM and KILL. */
    COMPUTE_WORDS_BYTES = 1000,
};

struct compute_spec {
    const struct sandbox *sandbox;
    struct sandbox_view view;      /* Descriptors are filled in, and limits if there are none. */
    const char *const *env;        /* NULL-terminated */
    const char *stdin_path;        /* or NULL */
    struct compute_input input;    /* In its place. */
    const char *log_path;          /* stdout and stderr; made anew */
    const struct secrets *secrets; /* Kept out of log and lines; NULL: there are none. */
    int64_t log_bytes_max;         /* What is beyond is dropped, and the log says so. */
    int64_t wall_ms;               /* 0: none */
    int64_t idle_ms;               /* Without output; 0: none */
    int64_t interrupt_ms;          /* Before TERM, see above; 0: TERM is the first signal.  A third
                                      of it when the worker shuts down, none for a lost lease. */
    int64_t linger_ms;             /* Without output after the end of `input`: then it is stopped,
                                      and has ended all the same; 0: none */
    const struct stop *stop;       /* NULL: no stop can be requested. */
    int wake_fd;                   /* compute_turn returns when it is readable; 0: none. */
    struct compute_reader reader;
};

/* What the configuration grants every command of a run: network or hosts, mounts, limits; and the
   run's user. */
void compute_grant(struct compute_spec *spec, const struct agent_config *agent, const char *run_id);

enum compute_end {
    COMPUTE_ENDED,          /* By itself. */
    COMPUTE_TIMED_OUT,      /* wall_ms */
    COMPUTE_IDLE_TIMED_OUT, /* idle_ms */
    COMPUTE_CUT_OFF,        /* By the reader. */
    COMPUTE_STOPPED,        /* By spec->stop. */
    COMPUTE_OVER_LIMIT,     /* It used more than it may: see `limit`. */
};

struct compute_result {
    enum compute_end end;
    const char *limit; /* disk_limit, memory_limit, process_limit, cpu_limit; or NULL. */
    bool exited;       /* It ended by itself and with an exit status. */
    int exit_code;
    int signal;
    int64_t duration_us;
    int64_t log_bytes;
    bool log_truncated;
    int64_t lines_skipped;                /* Longer than OUTPUT_LINE_MAX. */
    char last_words[COMPUTE_WORDS_BYTES]; /* The last lines of stderr, or of plain stdout. */
};

/* RC_OK however the command ended.  RC_NOT_FOUND: there is no such program.  RC_INVALID: a mount
   cannot be.  RC_DENIED: there is no sandbox (sandbox_ready).  RC_IO: the sandbox could not be
   built, or the machine has no processes or files left. */
MUST_USE enum rc compute_run(const struct compute_spec *spec, struct compute_result *ret_result,
                             struct err *err);

/* The same in parts, for a caller with other work in between.  What the spec points to must outlive
   the session. */
struct compute_session;
MUST_USE enum rc compute_begin(const struct compute_spec *spec,
                               struct compute_session **ret_session, struct err *err);
/* Waits for an event of the command, at most until until_us (by clock_mono_us).  false: it has
   ended, compute_finish is next. */
bool compute_turn(struct compute_session *session, int64_t until_us);
/* Begins its end; the first reason counts. */
void compute_stop(struct compute_session *session, enum compute_end why);
/* The command has read all that it was told up to now. */
bool compute_input_taken(const struct compute_session *session);
/* Holds it, or lets it go on; one that is being stopped is not held.  While it is held, neither
   wall_ms nor idle_ms counts. */
enum compute_hold {
    COMPUTE_FREE,
    COMPUTE_WAITS,  /* For an answer: it runs, only the clocks stand still. */
    COMPUTE_PAUSED, /* All its processes are stopped. */
};
void compute_hold(struct compute_session *session, enum compute_hold hold);
/* All its processes have been stopped. */
bool compute_is_paused(const struct compute_session *session);
MUST_USE enum rc compute_finish(struct compute_session *session, struct compute_result *ret_result,
                                struct err *err);
void compute_session_free(struct compute_session *session); /* Kills what still runs. */
void compute_session_freep(struct compute_session **session);
#endif
