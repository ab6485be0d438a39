/*
 * checkout.h - the git checkout in which a command was called.
 *
 * git is asked with the caller's own environment and settings: it is the caller's checkout.
 */
#ifndef CLI_CHECKOUT_H
#define CLI_CHECKOUT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/rc.h"
#include <stdbool.h>

enum { CHECKOUT_REMOTES_MAX = 16 };

/* Paths are absolute and without links. */
struct checkout {
    const char *top; /* NULL in a bare repository. */
    /* What all linked worktrees share: TOP/.git, or another directory. */
    const char *common_dir;
    const char *remotes[CHECKOUT_REMOTES_MAX + 1]; /* Addresses, origin first. */
    bool bare;
};

/* RC_NOT_FOUND: this is no checkout, with git's own words where it refuses one. */
MUST_USE enum rc checkout_find(struct arena *arena, struct checkout *ret_checkout, struct err *err);

/* One git in the directory (NULL: here).  *ret_status is its exit status; when that is not 0 its
   message is in err.  RC_NOT_FOUND: there is no git. */
struct checkout_call {
    const char *dir;
    const char *const *args; /* Without "git"; NULL-terminated. */
    struct str input;
    struct buf *out; /* NULL drops it. */
};
MUST_USE enum rc checkout_ask(const struct checkout_call *call, int *ret_status, struct err *err);
/* The first line that it prints, in the arena; NULL when it fails. */
const char *checkout_line(const char *dir, const char *const *args, struct arena *arena);
#define CHECKOUT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Do two addresses name one repository?  "git@host:acme/x.git" and "https://host/acme/x" do. */
bool checkout_same_address(const char *a, const char *b);
/* Is a repository with this address the checkout itself: the directory, or its git directory? */
bool checkout_is_at(const struct checkout *checkout, const char *url);
#endif
