/*
 * forge_limits.h - what forges have left of their rate limits: one row for each host, credential
 * and kind of call, and what each repository has used of it in its window.
 */
#ifndef STORE_FORGE_LIMITS_H
#define STORE_FORGE_LIMITS_H
#include "core/pr/governor.h"
#include "store/db.h"

enum { FORGE_LIMITS_LISTED_MAX = 200, FORGE_SHARES_MAX = 1000 };

struct forge_limit_row {
    const char *host;
    const char *credential; /* Its name, never a secret; "": none. */
    const char *resource;   /* core, graphql, search */
    struct quota quota;
    int64_t updated_us;
};
struct forge_limit_key {
    const char *host, *credential, *resource;
};
/* For a caller that will change it: locked, and inserted when it is missing. */
MUST_USE enum rc forge_limits_take(struct db *db, const struct forge_limit_key *key, int64_t now_us,
                                   struct arena *arena, struct forge_limit_row *ret_row,
                                   struct err *err);
MUST_USE enum rc forge_limits_save(struct db *db, const struct forge_limit_row *row,
                                   struct err *err);
/* By host, credential and resource; at most FORGE_LIMITS_LISTED_MAX. */
MUST_USE enum rc forge_limits_list(struct db *db, struct arena *arena,
                                   struct forge_limit_row **ret_rows, size_t *ret_count,
                                   struct err *err);

struct forge_share_row {
    const char *host, *credential, *resource;
    const char *repository;
    int64_t window_us; /* The end of the window that it counts for; 0: not known. */
    int64_t used;
};
/* Those of the window; at most FORGE_SHARES_MAX. */
MUST_USE enum rc forge_shares_list(struct db *db, const struct forge_limit_key *key,
                                   int64_t window_us, struct arena *arena,
                                   struct forge_share_row **ret_rows, size_t *ret_count,
                                   struct err *err);
/* Adds to what it has used in this window; another window begins from 0. */
MUST_USE enum rc forge_shares_add(struct db *db, const struct forge_share_row *row,
                                  struct err *err);
#endif
