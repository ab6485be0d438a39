/*
 * site.h - the place where a worker works: its directories, what agents must not see, and its host.
 */
#ifndef WORK_JOB_SITE_H
#define WORK_JOB_SITE_H
#include "base/rc.h"
#include "work/job/scratch_book.h"

/* Absolute and without links: the sandbox hides directories by name.  Owned. */
struct site_dirs {
    char *work;                   /* Mirrors, worktrees. */
    char *data;                   /* The directory around it, hidden from agents. */
    char **hidden;                /* NULL-terminated: what else is hidden from them; hidden.h */
    struct scratch_book *scratch; /* Opened by the worker. */
};

/* Makes the directories where they are missing.  hidden: as hidden_list() takes them. */
MUST_USE enum rc site_dirs_make(const char *work_dir, const char *const *hidden,
                                struct site_dirs *ret_dirs, struct err *err);
void site_dirs_release(struct site_dirs *dirs);

const char *site_host(void); /* Its name; static. */
#endif
