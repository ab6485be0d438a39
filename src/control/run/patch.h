/*
 * patch.h - the patch that a run goes on with: its agent's, or that of a candidate.
 */
#ifndef CONTROL_RUN_PATCH_H
#define CONTROL_RUN_PATCH_H
#include "control/run/flow.h"
#include "store/patches.h"

/* Stores the patch, supersedes the one that the run had, and appends agent.patch.created; also
   agent.patch.superseded and agent.patch.updated where it had one.  paths: its files as a JSON
   array, or empty.  result: of the agent, for what it left out of the patch; or NULL. */
MUST_USE enum rc patch_adopt(struct context *ctx, struct flow *flow, const struct patch_row *patch,
                             struct str paths, const struct js *result);
/* The run's patch is in its pull request: agent.patch.published. */
MUST_USE enum rc patch_published(struct context *ctx, struct flow *flow);
#endif
