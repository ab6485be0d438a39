/*
 * sandbox.h - the walls round everything that an agent wrote or may have written.
 *
 * With bubblewrap a command gets namespaces of its own (user, pid, ipc, uts, cgroup, and net
 * unless the network is allowed), no capabilities, the file system read-only, a private /tmp,
 * /var/tmp and /run, and of drover's data directory only what it is given.  It dies with drover.
 *
 * What it can still do: read what the user that runs drover may read elsewhere, home directories
 * included.  Run drover as a user of its own.
 *
 * Without bubblewrap there are no walls; the command still has a process group of its own.
 */
#ifndef WORK_SANDBOX_H
#define WORK_SANDBOX_H
#include "base/arena.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

enum sandbox_kind { SANDBOX_NONE, SANDBOX_BUBBLEWRAP };
enum { SANDBOX_BINDS_MAX = 12 };

/* What this machine can do; looked at once, read-only afterwards. */
struct sandbox {
    enum sandbox_kind kind;
    bool setpriv;         /* Without walls: setpriv can still tie a child's life to ours. */
    const char *data_dir; /* Hidden, but for the binds. Absolute, without links. Not owned. */
};

struct sandbox_bind {
    const char *path; /* Absolute; the same inside. */
    bool writable;
};

struct sandbox_view {
    const char *const *argv; /* The command, NULL-terminated. */
    const char *cwd;
    struct sandbox_bind binds[SANDBOX_BINDS_MAX]; /* Up to the first without a path. */
    bool network;
    int status_fd; /* bubblewrap tells here what became of the command; -1: nobody asks. */
};

/* Tries whether bubblewrap works here; *ret_why says why not. */
void sandbox_probe(struct sandbox *sandbox, const char *data_dir, struct err *ret_why);
const char *sandbox_name(const struct sandbox *sandbox); /* "bubblewrap" or "none" */

/* The argv that runs view->argv behind the walls. */
const char **sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                          struct arena *arena);
#endif
