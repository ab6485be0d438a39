/*
 * role.h - what a token may be good for.
 *
 *     viewer     reads everything but tokens
 *     operator   reads, submits, cancels, retries, decides; uses queues
 *     worker     the job protocol and artifacts: what runs steps
 *     agent      reads about its own run, makes sub-tasks; never stored, made for one run
 *     admin      everything
 *
 * The table of routes lists the roles that each accepts (api/routes.c).
 */
#ifndef CORE_ROLE_H
#define CORE_ROLE_H
#include "base/rc.h"
#include <stdbool.h>

/* Also stored, by name: a new one means a CHECK in store/migrations.c. */
enum role {
    ROLE_NOBODY,
    ROLE_VIEWER,
    ROLE_OPERATOR,
    ROLE_WORKER,
    ROLE_AGENT,
    ROLE_ADMIN,
    ROLE_COUNT
};

const char *role_name(enum role role);
/* Roles that a token can be made for; NULL-terminated. */
extern const char *const role_token_names[];
/* One of these. */
MUST_USE bool role_parse(const char *name, enum role *ret_role);
#endif
