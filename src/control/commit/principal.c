#include "control/commit/principal.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { HASH_DIGITS = 16 }; /* Enough to distinguish admin.tokens. */

static struct principal principal_named(const char *kind, const char *name)
{
    struct principal principal;
    int len = snprintf(principal.text, sizeof principal.text, "%s%s", kind, name);
    assert(len > 0 && (size_t)len < sizeof principal.text); /* Cut short, two would be one. */
    return principal;
}

struct principal principal_of_token(const struct id *token_id)
{
    return principal_named("", token_id->text);
}

struct principal principal_of_admin(const char *sha256)
{
    char digits[HASH_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%s", sha256);
    return principal_named("admin/", digits);
}

struct principal principal_of_node(const char *node)
{
    return principal_named("node/", node);
}

bool worker_may_renew(const char *worker, const char *taken_by)
{
    if (worker == NULL || taken_by == NULL)
        return false;
    size_t len = strlen(worker);
    return strncmp(worker, taken_by, len) == 0 && (taken_by[len] == '\0' || taken_by[len] == '/');
}
