/*
 * effective.h - the configuration that counts: the server's defaults, the repository's, the task's.
 */
#ifndef CONTROL_EFFECTIVE_H
#define CONTROL_EFFECTIVE_H
#include "control/config_book.h"
#include "control/cx.h"
#include "store/repositories.h"

/*
 * What a task takes as its snapshot.  overrides: JSON, or empty.  RC_INVALID,
 * CONFIGURATION_CONFLICT: the layers do not go together; the defaults of the server may have
 * changed since the repository was configured.
 */
MUST_USE enum rc effective_config(struct cx *cx, const struct repository_row *repository,
                                  struct str overrides, struct str *ret_document);

/*
 * For limits that count as they stand now.  A repository that the defaults do not fit any more
 * keeps its own limits, so that it cannot hold up the others.  NULL: no limits that anybody knows;
 * else the caller's to put back.
 */
struct known_config *effective_now(struct cx *cx, const struct repository_row *repository);
#endif
