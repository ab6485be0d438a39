/*
 * app_token.h - tokens of a GitHub App for one repository, made from its key.
 *
 *   key file -> JWT (10 minutes) -> installation of the repository -> token for that repository
 *
 * A token is valid for one repository and for reading or for writing, and ends after an hour.  The
 * process keeps those that it has made, in memory alone, and makes another one
 * APP_TOKEN_RENEW_US before the end.  One thread at a time makes one; others that want the same
 * wait for it.
 */
#ifndef FORGE_GITHUB_APP_TOKEN_H
#define FORGE_GITHUB_APP_TOKEN_H
#include "base/clock.h"
#include "core/config/repo_config.h"
#include "forge/port/call.h"

#define APP_TOKEN_RENEW_US (15 * US_PER_MINUTE)
enum { APP_TOKEN_BYTES = 1024, APP_TOKENS_KEPT_MAX = 256 };

struct app_token_want {
    const struct app_config *app;
    const char *url;               /* Of the repository. */
    const char *api;               /* As configured, or NULL. */
    bool write;                    /* false: to read. */
    const struct clock *clock;     /* NULL: the real one. */
    const struct forge_gate *gate; /* or NULL */
};

struct app_token {
    char text[APP_TOKEN_BYTES];
    int64_t expires_us; /* Wall clock. */
};

/*
 * Any thread.  `how` has deadline and cancel flag; its credential is not used.
 * RC_INVALID: KEY_FILE_OPEN (others may read the key file), KEY_INVALID.  RC_NOT_FOUND,
 * APP_NOT_INSTALLED: the repository has no installation of the App.  RC_DENIED, FORGE_DENIED: the
 * installation lacks a permission; err names it.  Others as in host/rest.h.
 */
MUST_USE enum rc app_token_get(const struct app_token_want *want, const struct git *how,
                               struct app_token *ret_token, struct err *err);
/* A JWT of the App itself, for what is not about one repository: nine minutes.  It can make tokens
   for all its repositories, so it stays with the server.  clock: NULL is the real one. */
MUST_USE enum rc app_token_jwt(const struct app_config *app, const struct clock *clock,
                               struct buf *into, struct err *err);
/* The forge has refused the token with this hash: it is made anew when next wanted. */
void app_token_forget(const char *sha256);
void app_tokens_clear(void); /* Wipes all, for the end of the process and for tests. */
#endif
