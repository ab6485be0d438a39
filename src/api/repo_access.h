/*
 * repo_access.h - a repository for handlers that call its forge: its effective configuration, and
 * git with a time limit.
 *
 * For queries on a pool thread: the forge answers from a disk or from another machine.
 */
#ifndef API_REPO_ACCESS_H
#define API_REPO_ACCESS_H
#include "api/call.h"
#include "api/forge_gate.h"
#include "core/config/repo_config.h"
#include "forge/port/call.h"
#include "store/repositories.h"

/* Must stay where it is once it is open. */
struct repo_access {
    struct repository_row repository;
    struct repo_config *config;
    struct forge_call forge;          /* Ends with the server, or after a minute. */
    struct server_forge server_forge; /* Token and governor of that call. */
    struct js *document;              /* What config points into. */
};
void repo_access_release(struct repo_access *repo_access); /* For CLEANUP; start from {0}. */

/* By name; RC_NOT_FOUND, REPO_NOT_FOUND: there is none, or not any more. */
MUST_USE enum rc repo_access_open(struct call *call, struct db *db, const char *name,
                                  struct repo_access *repo_access, struct err *err);
/* By id, also one that was removed. */
MUST_USE enum rc repo_access_open_id(struct call *call, struct db *db, const struct id *id,
                                     struct repo_access *repo_access, struct err *err);
#endif
