/*
 * syncs.h - how what changes at the forge of a repository is learnt, and how far: one row per
 * repository whose forge is a server.
 *
 * A delivery is found its repository here: by the provider's id, which survives a renaming and is
 * learnt from the first signed delivery, or by the name in the repository's address.
 */
#ifndef STORE_SYNCS_H
#define STORE_SYNCS_H
#include "core/pr/sync_mode.h"
#include "store/db.h"

struct sync_row {
    struct id repository_id;
    const char *repository; /* Name, joined on reading. */
    const char *forge;
    const char *full_name;   /* acme/billing of its address, in lower case. */
    const char *provider_id; /* NULL: not known yet. */
    const char *known_as;    /* As the last delivery called it; or NULL. */
    /* Names of the server's variables with the webhook's secrets, or NULL.  Here, so that a
       delivery is checked by one query, whether or not its repository is known. */
    const char *secret, *old_secret;
    enum sync_mode mode;
    int64_t mode_since_us;
    int64_t last_delivery_us; /* The last that arrived by itself; 0: none. */
    int64_t missed_us;        /* When one was found last that did not; 0: never. */
    int64_t recovered;        /* Deliveries that were fetched so far. */
    int64_t deliveries_since_us;
    int64_t listed_us;            /* When they were to be listed last; 0: the next time. */
    const char *deliveries_error; /* Why they cannot be listed; or NULL. */
    int64_t changes_since_us;
    const char *etag; /* Of the last list of changes; or NULL. */
    int64_t last_sync_us;
    const char *last_error; /* NULL: the last sync succeeded. */
    int64_t last_error_us;
    int64_t failures; /* In a row. */
    int64_t created_us, updated_us;
};

/* Of a row that is there only the names of the secrets and listed_us change, unless forge or
   full_name do: then it is another repository at the forge, and all begins anew. */
MUST_USE enum rc syncs_put(struct db *db, const struct sync_row *row, struct err *err);
MUST_USE enum rc syncs_get(struct db *db, const struct id *repository_id, struct arena *arena,
                           struct sync_row *ret_row, struct err *err); /* Locks it. */
/* The same without a lock, for queries. */
MUST_USE enum rc syncs_read(struct db *db, const struct id *repository_id, struct arena *arena,
                            struct sync_row *ret_row, struct err *err);
/* All but key, forge, full_name, secrets and created_us. */
MUST_USE enum rc syncs_save(struct db *db, const struct sync_row *row, struct err *err);
MUST_USE enum rc syncs_remove(struct db *db, const struct id *repository_id, struct err *err);

/* Whose deliveries these may be: by id or name, of repositories that are not removed; at most
   SYNCS_FOUND_MAX, since two servers may have a repository of the same name. */
enum { SYNCS_FOUND_MAX = 8 };
struct sync_question {
    const char *forge;
    const char *provider_id, *full_name; /* "": not known. */
};
MUST_USE enum rc syncs_find(struct db *db, const struct sync_question *question,
                            struct arena *arena, struct sync_row **ret_rows, size_t *ret_count,
                            struct err *err);
/* Names of the variables with secrets of a forge's webhooks, each once; SYNCS_SECRETS_MAX. */
enum { SYNCS_SECRETS_MAX = 16 };
MUST_USE enum rc syncs_secrets(struct db *db, const char *forge, struct arena *arena,
                               const char ***ret_names, size_t *ret_count, struct err *err);
/* In order of repository_id, after that one (NULL: from the first). */
MUST_USE enum rc syncs_list(struct db *db, const char *after, int64_t limit, struct arena *arena,
                            struct sync_row **ret_rows, size_t *ret_count, struct err *err);
#endif
