/*
 * prs_gitlab.h - for prs_gitlab.c: pr_ops.view of GitLab.
 */
#ifndef FORGE_PRS_GITLAB_H
#define FORGE_PRS_GITLAB_H
#include "forge/prs.h"

MUST_USE enum rc gitlab_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                             struct pr_view *ret_view, struct err *err);
#endif
