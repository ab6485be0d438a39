/*
 * view.h - pr_ops.view of GitLab.
 */
#ifndef FORGE_GITLAB_VIEW_H
#define FORGE_GITLAB_VIEW_H
#include "forge/port/prs.h"

MUST_USE enum rc gitlab_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                             struct pr_view *ret_view, struct err *err);
#endif
