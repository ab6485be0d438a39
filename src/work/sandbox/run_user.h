/*
 * run_user.h - the user that the commands of a run have where drover runs as root.
 *
 * No limit on processes applies to root, and root reads every file, so root's agents run under user
 * ids that no other program has: numbers from a high range, one for each run.  What a run may write
 * belongs to its user; everything else it accesses with the permissions for others.
 */
#ifndef WORK_SANDBOX_RUN_USER_H
#define WORK_SANDBOX_RUN_USER_H
#include "base/rc.h"
#include <sys/types.h>

enum { RUN_USER_FIRST = 2000000000, RUN_USER_COUNT = 100000000 };

/* The same for the same name (a run's id); NULL is a name too. */
uid_t run_user_of(const char *name);

/* Hands a directory over with all that is in it; links are handed over as links.  Its top comes
   last, so one that belongs to the user is done: it is not walked again. */
MUST_USE enum rc run_user_give(const char *path, uid_t user, struct err *err);

/* A readable passwd file that lists this user too, for programs that look up their own name.
   The caller closes it. */
MUST_USE enum rc run_user_passwd(uid_t user, const char *home, int *ret_fd, struct err *err);
#endif
