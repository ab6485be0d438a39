/*
 * site.h - the place where a worker works: its directories and its host.
 */
#ifndef WORK_SITE_H
#define WORK_SITE_H
#include "base/rc.h"

/* Absolute and without links: the sandbox hides directories by name.  Owned. */
struct site_dirs {
    char *work; /* Mirrors, worktrees. */
    char *data; /* The directory around it, hidden from agents. */
};

/* Makes the directories where they are missing. */
MUST_USE enum rc site_dirs_make(const char *work_dir, struct site_dirs *ret_dirs, struct err *err);
void site_dirs_release(struct site_dirs *dirs);

const char *site_host(void); /* Its name; static. */
#endif
