/*
 * repo_access.h - a repository for handlers that call its forge: its effective configuration, and
 * git and the forge's API with a time limit and with a token for this repository.
 *
 * For queries on a pool thread: the forge answers from a disk or from another machine.
 */
#ifndef API_REPO_ACCESS_H
#define API_REPO_ACCESS_H
#include "api/call.h"
#include "core/config/repo_config.h"
#include "forge/forge_call.h"
#include "forge/token_source.h"
#include "store/repositories.h"

struct repo_access {
    enum forge_access wanted; /* Set before it is opened. */
    struct repository_row repository;
    struct repo_config *config;
    struct forge_call forge; /* Ends with the server, or after a minute. */
    struct js *document;     /* What config points into. */
    struct forge_token token;
};
void repo_access_release(struct repo_access *repo_access); /* For CLEANUP; start from {0}. */

/* By name; RC_NOT_FOUND, REPO_NOT_FOUND: there is none, or not any more. */
MUST_USE enum rc repo_access_open(struct call *call, struct db *db, const char *name,
                                  struct repo_access *repo_access, struct err *err);
/* By id, also one that was removed. */
MUST_USE enum rc repo_access_open_id(struct call *call, struct db *db, const struct id *id,
                                     struct repo_access *repo_access, struct err *err);
#endif
