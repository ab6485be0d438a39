/*
 * local.h - for the files of the forge that is a repository on disk.
 */
#ifndef FORGE_LOCAL_LOCAL_H
#define FORGE_LOCAL_LOCAL_H
#include "forge/port/forge.h"

extern const struct forge_ops forge_local;
extern const struct issue_ops issues_local;
extern const struct pr_ops prs_local;
extern const struct people_ops people_local;

/* Functions of forge_local that stand in files of their own. */
MUST_USE enum rc local_merge(const struct forge_ops *forge, struct forge_call *call,
                             const struct forge_merge *merge, char ret_commit[GIT_HASH_BYTES],
                             struct err *err);
MUST_USE enum rc local_close(const struct forge_ops *forge, struct forge_call *call,
                             const struct forge_closing *closing, struct err *err);
MUST_USE enum rc local_move_branch(const struct forge_ops *forge, struct forge_call *call,
                                   const struct branch_move *move, struct err *err);
MUST_USE enum rc local_survey(const struct forge_ops *forge, struct forge_call *call,
                              const char *url, struct arena *arena, struct forge_traces *ret_traces,
                              struct err *err);
MUST_USE enum rc local_examine(const struct forge_ops *forge, struct forge_call *call,
                               const char *url, const struct forge_known *known, size_t count,
                               struct arena *arena, struct forge_examined *ret, struct err *err);
#endif
