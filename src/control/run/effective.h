/*
 * effective.h - the effective configuration: the server's defaults, the repository's, the task's.
 */
#ifndef CONTROL_RUN_EFFECTIVE_H
#define CONTROL_RUN_EFFECTIVE_H
#include "control/commit/config_book.h"
#include "control/commit/context.h"
#include "store/repositories.h"

/*
 * The snapshot for a new task.  overrides: JSON, or empty.  RC_INVALID, CONFIGURATION_CONFLICT: the
 * layers contradict each other; the defaults of the server may have changed since the repository
 * was configured.
 */
MUST_USE enum rc effective_config(struct context *ctx, const struct repository_row *repository,
                                  struct str overrides, struct str *ret_document);

/*
 * The current configuration, for limits that apply at once.  A repository that conflicts with the
 * defaults keeps its own limits, so that it cannot hold up the others.  NULL: it cannot be decoded,
 * there are no limits; else the caller puts it back (config_book_put).
 */
struct known_config *effective_now(struct context *ctx, const struct repository_row *repository);
#endif
