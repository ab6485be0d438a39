/*
 * principal.h - on whose behalf a command takes and settles leases: a lease belongs to the
 * principal that took it, and no other can renew, report or release it.
 *
 *   <token id>      a token of the store
 *   admin/<hash>    admin.token, by its hash: every node has its own
 *   node/<name>     the workers in the process of a node
 *
 * A token's id is a UUID and holds no slash: the three cannot be mistaken for each other.
 */
#ifndef CONTROL_COMMIT_PRINCIPAL_H
#define CONTROL_COMMIT_PRINCIPAL_H
#include "base/id.h"
#include <stdbool.h>

enum { PRINCIPAL_BYTES = 80 };
struct principal {
    char text[PRINCIPAL_BYTES]; /* "": none; such a principal holds no lease. */
};

struct principal principal_of_token(const struct id *token_id);
struct principal principal_of_admin(const char *sha256); /* Of the token. */
struct principal principal_of_node(const char *node);

/* May a call in the name of `worker` renew a lease that was taken as `taken_by`?  A worker renews
   the leases of its slots, "<worker>/<slot>", in one call. */
bool worker_may_renew(const char *worker, const char *taken_by);
#endif
