/*
 * sandbox.h - the walls round everything that an agent wrote or may have written.
 *
 * With bubblewrap a command gets namespaces of its own (user, pid, ipc, uts, cgroup, and net
 * unless the network is allowed), no capabilities, the file system read-only, a private /tmp,
 * /var/tmp and /run of bounded size, and of drover's data directory only what it is given.  It
 * dies with drover.
 *
 * Where drover is root the command has a user of its own instead of a namespace of users
 * (tenant.h): what other users may not read, it cannot.  Where drover is not, the command can
 * still read what drover's user may read elsewhere, home directories included: run drover as a
 * user of its own.
 *
 * With limits the command starts through `drover inside` (inside.h), which sets them, and the
 * kernel refuses system calls that no agent needs (filter.h).  With walls bubblewrap sees to that:
 * a process inside that may call what it likes, such as the first one, would do so for the agent,
 * which may have the same user.
 *
 * Without bubblewrap there are no walls; the command still has a process group of its own.
 */
#ifndef WORK_SANDBOX_H
#define WORK_SANDBOX_H
#include "base/arena.h"
#include "base/rc.h"
#include "core/repo_config.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum sandbox_kind { SANDBOX_NONE, SANDBOX_BUBBLEWRAP };
enum { SANDBOX_BINDS_MAX = 12 };

/* What this machine can do; looked at once, read-only afterwards. */
struct sandbox {
    enum sandbox_kind kind;
    bool setpriv;           /* Without walls: setpriv can still tie a child's life to ours. */
    bool drops;             /* Commands run under users of their own. */
    bool filter;            /* System calls can be refused. */
    char program[PATH_MAX]; /* This one, as `drover inside`; "": it cannot be started again. */
    const char *data_dir;   /* Hidden, but for the binds. Absolute, without links. Not owned. */
};

struct sandbox_bind {
    const char *path; /* Absolute; the same inside. */
    bool writable;
};

struct sandbox_view {
    const char *const *argv; /* The command, NULL-terminated. */
    const char *cwd;
    struct sandbox_bind binds[SANDBOX_BINDS_MAX]; /* Up to the first without a path. */
    const struct mount_config *mounts;            /* Of the configuration: sandbox_check them. */
    size_t mount_count;
    bool network;
    const char *tenant;                   /* The run: with drops it decides the user. */
    const struct resource_config *limits; /* NULL: none, as for drover's own git. */
    const char *proxy; /* A socket that a port inside leads to, HTTP_PROXY; or NULL. */
    int passwd_fd;     /* With drops: becomes /etc/passwd; 0: nobody asks. */
    int filter_fd; /* Of filter.h, with walls and limits where there is one; 0: there is none. */
    int status_fd; /* bubblewrap tells here what became of the command; -1: nobody asks. */
};

/* Tries what works here; *ret_why says what kept the best of it from working, or is empty. */
void sandbox_probe(struct sandbox *sandbox, const char *data_dir, struct err *ret_why);
const char *sandbox_name(const struct sandbox *sandbox); /* "bubblewrap" or "none" */

/* RC_INVALID: a mount does not exist, is no plain path, or would open what must stay closed. */
MUST_USE enum rc sandbox_check(const struct sandbox *sandbox, const struct sandbox_view *view,
                               struct err *err);
/* Before the start: with drops, what the view may write of drover's data goes to its user. */
MUST_USE enum rc sandbox_hand_over(const struct sandbox *sandbox, const struct sandbox_view *view,
                                   struct err *err);
/* Opens what becomes view->filter_fd where there has to be one; else *ret_fd stays as it is. */
MUST_USE enum rc sandbox_filter(const struct sandbox *sandbox, const struct sandbox_view *view,
                                int *ret_fd, struct err *err);
/* The argv that runs view->argv behind the walls. */
const char **sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct arena *arena);
#endif
