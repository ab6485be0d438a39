/*
 * checks.h - for the GitHub forge: one check as GraphQL shows it.
 *
 * The id of a check is "run:ID" for a check run and "status:CONTEXT" for a status.  A check run of
 * GitHub Actions has the id of its job.
 */
#ifndef FORGE_GITHUB_CHECKS_H
#define FORGE_GITHUB_CHECKS_H
#include "forge/port/checks.h"

/* A node of statusCheckRollup.contexts; false: it is neither a check run nor a status. */
MUST_USE bool github_check_of_graphql(const struct js *node, struct arena *arena,
                                      struct check_view *ret_check);
#endif
