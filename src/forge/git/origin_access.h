/*
 * origin_access.h - may the user that drover runs as use an origin on this machine?
 *
 * drover's own git does not ask who owns a repository (safe.directory), the file system does:
 *     read      to fetch
 *     write     to the git directory, for branches and pull requests
 *     share     what drover writes into a repository of another user belongs to drover, and that
 *               user's git cannot add to it, unless core.sharedRepository says otherwise
 */
#ifndef FORGE_GIT_ORIGIN_ACCESS_H
#define FORGE_GIT_ORIGIN_ACCESS_H
#include "forge/git/git.h"

/* RC_OK also for what is not there, and for addresses elsewhere.  RC_DENIED, ORIGIN_NOT_READABLE,
   ORIGIN_NOT_WRITABLE or ORIGIN_NOT_SHARED: err has who may not do what, and what to do. */
MUST_USE enum rc origin_access(const struct git *git, const char *url, struct err *err);
/* For a failure with an origin: RC_CONFLICT with the reason of origin_access where that is one,
   else rc and err as they are. */
MUST_USE enum rc origin_explain(const struct git *git, const char *url, enum rc rc,
                                struct err *err);
#endif
