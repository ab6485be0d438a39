/*
 * compute_process.h - runs one command in the sandbox and watches it until it ends.
 *
 * Its output is streamed to a log file and, line by line, to a reader.  It is stopped when it takes
 * too long, prints nothing for too long, the reader returns false, or a stop is requested: TERM,
 * two seconds of grace, then KILL, to everything that it started.  One that uses more memory, disk
 * or processes than it may is killed at once.  When compute_run returns, nothing of it is left
 * (without a sandbox: its process group has been killed).
 */
#ifndef WORK_AGENT_COMPUTE_PROCESS_H
#define WORK_AGENT_COMPUTE_PROCESS_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/text/secrets.h"
#include "work/job/stop.h"
#include "work/sandbox/sandbox.h"
#include <stdbool.h>
#include <stdint.h>

enum { COMPUTE_LINE_MAX = 256 * 1024, COMPUTE_GRACE_MS = 2000 };

/* All may be NULL. */
struct compute_reader {
    void *ctx;
    /* One line of stdout without its end; false ends the command.  Longer lines are skipped. */
    bool (*line)(void *ctx, struct str line);
    /* Something about the command that a person should know: a connection that was refused. */
    void (*note)(void *ctx, const char *text);
};

struct compute_spec {
    const struct sandbox *sandbox;
    struct sandbox_view view;      /* Descriptors are filled in, and limits if there are none. */
    const char *const *env;        /* NULL-terminated */
    const char *stdin_path;        /* or NULL */
    const char *log_path;          /* stdout and stderr; made anew */
    const struct secrets *secrets; /* Kept out of log and lines; NULL: there are none. */
    int64_t log_bytes_max;         /* What is beyond is dropped, and the log says so. */
    int64_t wall_ms;               /* 0: none */
    int64_t idle_ms;               /* Without output; 0: none */
    const struct stop *stop;       /* NULL: no stop can be requested. */
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
    int64_t lines_skipped; /* Longer than COMPUTE_LINE_MAX. */
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
MUST_USE enum rc compute_finish(struct compute_session *session, struct compute_result *ret_result,
                                struct err *err);
void compute_session_free(struct compute_session *session); /* Kills what still runs. */
void compute_session_freep(struct compute_session **session);
#endif
