/*
 * deliveries.h - webhooks of a forge: how a delivery is signed, and which ones were sent.
 */
#ifndef FORGE_PORT_DELIVERIES_H
#define FORGE_PORT_DELIVERIES_H
#include "forge/port/call.h"

enum { DELIVERIES_LISTED_MAX = 500 };

struct delivery_head { /* Of a request; NULL: it has no such header. */
    const char *event;
    const char *id;        /* Its delivery id. */
    const char *signature; /* Or the token, where the forge sends that. */
};
/* Names of the headers. */
struct delivery_headers {
    const char *event, *id, *signature;
};

/* One that the forge has sent, or has tried to. */
struct forge_delivery {
    const char *id; /* As in the header of the request: the same for a redelivery. */
    const char *event;
    int64_t sent_us;
    bool answered;      /* With 2xx. */
    const char *handle; /* To fetch it by. */
};

struct delivery_ops {
    struct delivery_headers headers;
    /* Is it signed with this secret?  Takes the same time wherever they differ. */
    bool (*signed_with)(const char *secret, const char *signature, struct str body);
    /* NULL where the forge has no list of deliveries.  The newest first, back to since_us. */
    enum rc (*list)(struct forge_call *call, const char *url, int64_t since_us, struct arena *arena,
                    struct forge_delivery **ret_items, size_t *ret_count, struct err *err);
    enum rc (*payload)(struct forge_call *call, const char *url, const struct forge_delivery *item,
                       struct buf *into, struct err *err);
    /* For call->repository.  NULL where the forge has no Apps with webhooks. */
    enum rc (*number)(struct forge_call *call, const char *url, int64_t *ret_number,
                      struct err *err);
};
#endif
