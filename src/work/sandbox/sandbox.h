/*
 * sandbox.h - confines every command that an agent wrote or may have changed.
 *
 * With bubblewrap a command gets namespaces of its own (user, pid, ipc, uts, cgroup, and net
 * unless the network is allowed), no capabilities, and a root directory that is empty but for an
 * allow-list: system directories read-only (sandbox_files.h), private /tmp, /var/tmp and /run of
 * bounded size, the declared mounts, files that the command line names, and the run's own
 * directories.  Home directories, drover's data and token files are not among them.  The command
 * dies with drover.
 *
 * Where drover is root the command has a user of its own instead of a namespace of users
 * (run_user.h): of what is shown it reads only what other users may read.
 *
 * The command starts through `drover inside` (inside.h), which sets its limits, and the kernel
 * refuses system calls that no agent needs (filter.h).  bubblewrap installs that filter, so that no
 * process inside is without it, not even the first one.
 *
 * Fail closed: where bubblewrap does not work, nothing is started (SANDBOX_UNAVAILABLE), unless the
 * configuration says `sandbox: none`.  Then the command is confined by nothing; it still has a
 * process group of its own.
 */
#ifndef WORK_SANDBOX_SANDBOX_H
#define WORK_SANDBOX_SANDBOX_H
#include "base/arena.h"
#include "base/rc.h"
#include "core/config/repo_config.h"
#include "work/sandbox/bwrap.h"
#include "work/sandbox/program.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum sandbox_kind { SANDBOX_UNAVAILABLE, SANDBOX_NONE, SANDBOX_BUBBLEWRAP };
enum { SANDBOX_BINDS_MAX = 12, SANDBOX_WHY_BYTES = 200, SANDBOX_KEPT_MAX = BWRAP_COPIES_MAX + 5 };

/* What this machine supports; probed once, read-only afterwards. */
struct sandbox {
    enum sandbox_kind kind;
    bool drops;                /* Commands run under users of their own. */
    bool filter;               /* System calls can be refused. */
    char program[PATH_MAX];    /* This one, as `drover inside`; "": it cannot be started again. */
    bool small;                /* Not program is started, but that of inside_program.h. */
    const char *data_dir;      /* Hidden, but for the binds. Absolute, without links. Not owned. */
    const char *const *hidden; /* As in sandbox_options, or NULL. */
    char why[SANDBOX_WHY_BYTES]; /* SANDBOX_UNAVAILABLE: bubblewrap's message. */
};

struct sandbox_options {
    const char *data_dir;
    /* Files and directories that no command may see: tokens, configuration, the data of a server.
       NULL-terminated or NULL; absolute, without links; lives as long as the sandbox. */
    const char *const *hidden;
    bool none; /* The configuration says `sandbox: none`. */
};

struct sandbox_bind {
    const char *path; /* Absolute; the same inside. */
    bool writable;
};

struct sandbox_view {
    const char *const *argv;       /* The command, NULL-terminated. */
    const struct program *program; /* What argv[0] is; NULL: as argv says. */
    const char *cwd;
    struct sandbox_bind binds[SANDBOX_BINDS_MAX]; /* Up to the first without a path. */
    const struct mount_config *mounts;            /* Of the configuration: sandbox_check them. */
    size_t mount_count;
    bool network;
    const char *run_user;                 /* The run: with drops it decides the user. */
    const struct resource_config *limits; /* 0 in it: no such limit. */
    const char *proxy;         /* A socket that a port inside leads to, HTTP_PROXY; or NULL. */
    const char *const *egress; /* With no network: hosts that can be reached still, or NULL. */
    int passwd_fd;             /* With drops: becomes /etc/passwd; 0: there is none. */
    int filter_fd;             /* Of sandbox_filter; 0: there is none. */
    int status_fd;             /* bubblewrap reports the end of the command here; -1: not wanted. */
    struct bwrap_copies *copies; /* Filled by sandbox_argv(); NULL: system files are mounted. */
};

/* Finds out what works here; *ret_why says why the best kind does not work, or is empty. */
void sandbox_probe(struct sandbox *sandbox, const struct sandbox_options *options,
                   struct err *ret_why);
/* Probes for a worker that starts, and logs what its sandbox does not do.
   required: SANDBOX_UNAVAILABLE is an error; else it is logged, and each command fails with it. */
MUST_USE enum rc sandbox_start(struct sandbox *sandbox, const struct sandbox_options *options,
                               bool required, struct err *err);
/* The directory inside where drover itself is; NULL: it is not shown. */
const char *sandbox_path(const struct sandbox *sandbox, struct arena *arena);
const char *sandbox_name(const struct sandbox *sandbox); /* "bubblewrap", "none", "unavailable" */
/* RC_DENIED, SANDBOX_UNAVAILABLE: nothing may be started, and what to do about it. */
MUST_USE enum rc sandbox_ready(const struct sandbox *sandbox, struct err *err);
/* Is the error of sandbox_ready? */
bool sandbox_is_unavailable(const struct err *err);
/* The hidden path that lies in this one or holds it, or NULL.  path: without links. */
const char *sandbox_hides(const struct sandbox *sandbox, const char *path);

/* Does the view show the path by a bind or a mount? */
bool sandbox_view_has(const struct sandbox_view *view, const char *path);
/* RC_INVALID: a mount does not exist, is no plain path, or would show what must stay hidden.
   RC_NOT_FOUND: the same of the program, or the command's user may not execute it. */
MUST_USE enum rc sandbox_check(const struct sandbox *sandbox, const struct sandbox_view *view,
                               struct err *err);
/* Before the start: sandbox_ready, and with drops what the view may write of drover's data goes to
   its user. */
MUST_USE enum rc sandbox_hand_over(const struct sandbox *sandbox, const struct sandbox_view *view,
                                   struct err *err);
/* Opens what becomes view->filter_fd where there has to be one; else *ret_fd stays as it is. */
MUST_USE enum rc sandbox_filter(const struct sandbox *sandbox, int *ret_fd, struct err *err);
/* The argv that runs view->argv in the sandbox; one that fails where there is none. */
const char **sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct arena *arena);
/* The descriptors of the view that bubblewrap inherits, ended by -1, for proc_spec.keep_fds. */
void sandbox_kept(const struct sandbox *sandbox, const struct sandbox_view *view,
                  int ret_kept[SANDBOX_KEPT_MAX]);
#endif
