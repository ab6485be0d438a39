/*
 * desk.h - a repository as those see it who ask its forge for something: its configuration as it
 * counts now, and git with a limit of time.
 *
 * For queries on a pool thread: the forge answers from a disk or from another machine.
 */
#ifndef EDGE_DESK_H
#define EDGE_DESK_H
#include "core/repo_config.h"
#include "edge/api.h"
#include "forge/git.h"
#include "store/repositories.h"

struct desk {
    struct repository_row repository;
    struct repo_config *config;
    struct git git;      /* Ends with the server, or after a minute. */
    struct js *document; /* What config points into. */
};
void desk_release(struct desk *desk); /* For CLEANUP; start from {0}. */

/* By name; RC_NOT_FOUND, REPO_NOT_FOUND: there is none, or not any more. */
MUST_USE enum rc desk_open(struct call *call, struct db *db, const char *name, struct desk *desk,
                           struct err *err);
/* By id, also one that was removed. */
MUST_USE enum rc desk_open_id(struct call *call, struct db *db, const struct id *id,
                              struct desk *desk, struct err *err);
#endif
