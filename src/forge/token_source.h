/*
 * token_source.h - tokens for a repository at its forge, from the keys that this server holds.
 *
 * `credentials` of a repository's configuration names them: a variable of the environment that
 * holds a token, or an App, for which a token is made that is valid for this repository alone and
 * not for long (github/app_token.h).  A variable that this server does not have may be one of the
 * worker's own.
 */
#ifndef FORGE_TOKEN_SOURCE_H
#define FORGE_TOKEN_SOURCE_H
#include "core/config/repo_config.h"
#include "forge/port/call.h"

enum forge_access {
    ACCESS_READ,   /* Fetch, and read the API. */
    ACCESS_WRITE,  /* Push, open, comment, merge. */
    ACCESS_REVIEW, /* As the reviewing identity, where one is configured; else as ACCESS_WRITE. */
    ACCESS_AGENT,  /* To read, for an agent: never one that can write. */
    ACCESS_COUNT
};
const char *forge_access_name(enum forge_access access);
bool forge_access_parse(const char *name, enum forge_access *ret_access);

enum { FORGE_TOKEN_BYTES = 2048 };

struct forge_token {
    char text[FORGE_TOKEN_BYTES]; /* "": there is none here. */
    int64_t expires_us;           /* Wall clock; 0: not known. */
};
void forge_token_wipe(struct forge_token *token); /* For CLEANUP. */

/* Does the configuration name a credential for its forge at all? */
bool token_source_named(const struct repo_config *config);
/* Does it name one for an identity that reviews what another one wrote? */
bool token_source_reviews(const struct repo_config *config);
/* Does it name one that agents may have: an App, or credentials.agent? */
bool token_source_for_agents(const struct repo_config *config);
/* The name of what a token is made from, for people and for the governor: never a secret.  NULL:
   none is named. */
const char *token_source_name(const struct repo_config *config, enum forge_access access,
                              struct arena *arena);

/* Any thread.  Cached where making one costs a call; `how` has deadline and cancel flag of that
   call.  RC_OK with "": the configuration names none, or this process does not have the variable.
   RC_UNREACHABLE, RC_TIMEOUT, RC_LIMIT: the forge cannot make one now.  RC_UNAUTHORIZED,
   RC_INVALID: the key is not good. */
MUST_USE enum rc token_source_get(const struct repo_config *config, enum forge_access access,
                                  const struct git *how, struct forge_token *ret_token,
                                  struct err *err);
/* The forge has refused a token that token_source_get gave: the hash of it, as its holder may be
   another process.  The next one is made anew, where one can be made. */
void token_source_refused(const char *sha256);
/* For those who call this server: RC_UNREACHABLE, TOKEN_UNAVAILABLE where the forge, and not this
   server, could not answer, RC_CONFLICT, TOKEN_REFUSED where it refused; else rc and err as they
   are. */
enum rc token_source_unavailable(enum rc rc, struct err *err);
#endif
