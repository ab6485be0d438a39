/*
 * tokens.h - commands that make and revoke tokens, and note when they were used.
 */
#ifndef CONTROL_WATCH_TOKENS_H
#define CONTROL_WATCH_TOKENS_H
#include "base/hash.h"
#include "control/commit/command.h"
#include "store/tokens.h"

/* RC_CONFLICT: a live token has the name, or there are as many as there may be. */
struct cmd_token_create {
    struct command base;
    const char *name;
    enum role role;
    const char *queues;             /* See token_row. */
    const char *writes, *agent;     /* See token_row. */
    int64_t expires_us;             /* 0: never */
    char sha256[SHA256_TEXT_BYTES]; /* Of the secret, which the caller keeps. */
    struct token_row row;           /* The answer. */
};
struct cmd_token_create *cmd_token_create_new(void);

struct cmd_token_revoke { /* RC_NOT_FOUND.  Twice is fine. */
    struct command base;
    struct id id;
};
struct cmd_token_revoke *cmd_token_revoke_new(void);

/* The first use of a day (UTC) is recorded in the audit log. */
struct cmd_token_used {
    struct command base;
    struct id id;
    enum role role;
    const char *name; /* Its actor. */
    int64_t used_us;
};
struct cmd_token_used *cmd_token_used_new(void);
#endif
