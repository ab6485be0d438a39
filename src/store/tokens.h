/*
 * tokens.h - bearer tokens, as hashes: the secret itself is shown once and stored nowhere.
 */
#ifndef STORE_TOKENS_H
#define STORE_TOKENS_H
#include "core/role.h"
#include "store/db.h"

enum {
    TOKENS_LIVE_MAX = 1000,
    TOKEN_NAME_MAX = 64,
    TOKEN_QUEUES_BYTES_MAX = 200,
    TOKEN_WRITES_BYTES_MAX = 80
};

struct token_row {
    struct id id;
    const char *name; /* The actor, in events. */
    enum role role;
    const char *queues; /* The only ones it is good for, with blanks between; NULL: all. */
    const char *writes; /* Writers of issue events that it may act as, the same; NULL: none. */
    const char *agent;  /* The only one of the registry that it may act for; NULL: any. */
    const char *sha256;
    int64_t created_us;
    int64_t last_used_us; /* To the minute or so; 0: never. */
    int64_t expires_us;   /* 0: never */
    int64_t revoked_us;   /* 0: not */
};

MUST_USE enum rc tokens_insert(struct db *db, const struct token_row *row, struct err *err);
MUST_USE enum rc tokens_get(struct db *db, const struct id *id, struct arena *arena,
                            struct token_row *ret_row, struct err *err);
/* Neither revoked nor expired; at most TOKENS_LIVE_MAX. */
MUST_USE enum rc tokens_live(struct db *db, int64_t now_us, struct arena *arena,
                             struct token_row **ret_rows, size_t *ret_count, struct err *err);
/* All of them, newest first. */
MUST_USE enum rc tokens_list(struct db *db, const struct id *before, int64_t limit,
                             struct arena *arena, struct token_row **ret_rows, size_t *ret_count,
                             struct err *err);
/* RC_CONFLICT, TOO_MANY_TOKENS: as many are valid as may be.  One more would be known nowhere. */
MUST_USE enum rc tokens_check_room(struct db *db, int64_t now_us, struct err *err);
/* RC_NOT_FOUND; the first revocation counts. */
MUST_USE enum rc tokens_revoke(struct db *db, const struct id *id, int64_t now_us, struct err *err);
/* Nothing is kept of it: for those that are made by the thousand. */
MUST_USE enum rc tokens_remove(struct db *db, const struct id *id, struct err *err);
/* Never moves back.  *ret_first: no use since since_us was known. */
MUST_USE enum rc tokens_used(struct db *db, const struct id *id, int64_t used_us, int64_t since_us,
                             bool *ret_first, struct err *err);
#endif
