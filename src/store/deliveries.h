/*
 * deliveries.h - receipts of what forges' webhooks have sent: each delivery of a repository once,
 * however often and by whichever way it arrives.
 *
 * The payload is an artifact (store/artifacts.h) of which only the hash is here.  A receipt is kept
 * longer than any forge lists its deliveries, so that none is taken for missed and applied again.
 */
#ifndef STORE_DELIVERIES_H
#define STORE_DELIVERIES_H
#include "core/pr/forge_event.h"
#include "store/artifacts.h"
#include "store/db.h"
#include "store/scan.h"

#define DELIVERY_BY_WEBHOOK "webhook"   /* It arrived by itself. */
#define DELIVERY_RECOVERED  "recovered" /* It was fetched, because it had not arrived. */

#define DELIVERY_APPLIED "applied" /* What it is about was looked at. */
#define DELIVERY_IGNORED "ignored" /* It is about nothing that drover acts upon. */
#define DELIVERY_INVALID "invalid" /* It lacks what such an event has: detail says what. */
#define DELIVERY_LOST    "lost"    /* The forge lists it, and does not have it any more. */

enum { DELIVERY_ID_MAX = 200, DELIVERY_EVENT_MAX = 100 };

struct delivery_row {
    struct id id;
    struct id repository_id;
    const char *repository; /* Name, joined on reading. */
    const char *forge;
    const char *delivery_id;
    const char *event; /* issues.labeled */
    enum forge_subject subject;
    int64_t number;     /* 0: none */
    const char *ref;    /* The commit or the branch that it is about; or NULL */
    const char *actor;  /* or NULL */
    const char *via;    /* webhook, recovered */
    const char *status; /* applied, ignored, invalid, lost */
    const char *detail; /* or NULL */
    const char *payload_sha256;
    int64_t payload_bytes;
    int64_t sent_us; /* As the forge says; 0: not known */
    int64_t received_us;
};

/* *ret_new is false when there is a receipt of this delivery of the repository already: it stays as
   it is. */
MUST_USE enum rc deliveries_insert(struct db *db, const struct delivery_row *row, bool *ret_new,
                                   struct err *err);
/* RC_NOT_FOUND: it has not arrived. */
MUST_USE enum rc deliveries_find(struct db *db, const struct id *repository_id,
                                 const char *delivery_id, struct id *ret_id, struct err *err);
struct delivery_filter {
    const char *repository, *status, *via, *event; /* NULL: any */
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};
MUST_USE enum rc deliveries_list(struct db *db, const struct delivery_filter *filter,
                                 struct arena *arena, struct delivery_row **ret_rows,
                                 size_t *ret_count, struct err *err);
/* Deletes receipts of before then, at most `limit`, and their payloads unless something else has
   the same content. */
struct delivery_prune {
    int64_t before_us;
    int64_t limit;
};
MUST_USE enum rc deliveries_prune(const struct artifact_source *source,
                                  const struct delivery_prune *prune, struct arena *arena,
                                  int64_t *ret_count, struct err *err);
#endif
