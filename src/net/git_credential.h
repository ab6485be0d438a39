/*
 * git_credential.h - git's protocol for credentials (gitcredentials(7)), for the git of agents: it
 * asks `drover credential`, which asks the server in the name of the run.
 */
#ifndef NET_GIT_CREDENTIAL_H
#define NET_GIT_CREDENTIAL_H
#include "base/arena.h"
#include "base/str.h"

#define GIT_CREDENTIAL_USER "x-access-token" /* Hosts that know tokens take any user. */

/* What git wants to log in to. */
struct git_login {
    const char *protocol, *host; /* https, github.com:443 */
    const char *path;            /* acme/billing.git; NULL: git does not say. */
};

/* Reads the lines KEY=VALUE that git writes; in the arena. */
struct git_login git_login_parse(struct str lines, struct arena *arena);
/* Is it the very repository of the address? */
bool git_login_fits(const struct git_login *login, const char *url);
/* "https://github.com", for credential.<scope>.helper; NULL: the address is not one of HTTP. */
const char *git_login_scope(const char *url, struct arena *arena);
#endif
