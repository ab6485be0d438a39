/*
 * role.c - names of roles.
 */
#include "core/role.h"
#include "base/str.h"
#include <assert.h>

static const char *const names[ROLE_COUNT] = {
    [ROLE_NOBODY] = "nobody", [ROLE_VIEWER] = "viewer", [ROLE_OPERATOR] = "operator",
    [ROLE_WORKER] = "worker", [ROLE_AGENT] = "agent",   [ROLE_ADMIN] = "admin",
};

const char *const role_token_names[] = {"viewer", "operator", "worker", "admin", NULL};

const char *role_name(enum role role)
{
    assert(role < ROLE_COUNT);
    return names[role];
}

bool role_parse(const char *name, enum role *ret_role)
{
    for (int role = ROLE_VIEWER; role < ROLE_COUNT; role++) {
        if (role != ROLE_AGENT && text_same(names[role], name)) {
            *ret_role = (enum role)role;
            return true;
        }
    }
    return false;
}
