/*
 * view.h - for prs_github.c: a pull request as GraphQL shows it, in one query where it
 * fits into one.
 */
#ifndef FORGE_GITHUB_VIEW_H
#define FORGE_GITHUB_VIEW_H
#include "forge/port/prs.h"

MUST_USE enum rc github_view(struct forge_call *call, const struct pr_ref *ref, struct arena *arena,
                             struct pr_view *ret_view, struct err *err);
#endif
