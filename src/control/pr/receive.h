/*
 * receive.h - a delivery of a forge's webhook: recorded once, and what it is about is looked at, in
 * one transaction.
 *
 * It says where to look, not what is true (core/pr/forge_event.h), so deliveries that are late, out
 * of order or forged by the holder of the secret can make drover read, and nothing else.
 */
#ifndef CONTROL_PR_RECEIVE_H
#define CONTROL_PR_RECEIVE_H
#include "control/commit/command.h"
#include "control/commit/context.h"
#include "store/deliveries.h"
#include "store/repositories.h"
#include "store/syncs.h"

struct delivery {
    const char *forge;
    const char *event; /* As in the header. */
    const char *delivery_id;
    const char *via;       /* DELIVERY_BY_WEBHOOK, DELIVERY_RECOVERED */
    const struct js *body; /* NULL: it is lost, or no JSON object. */
    const char *lost;      /* Why the forge does not have it any more; NULL: it has. */
    const char *payload_sha256;
    int64_t payload_bytes;
    int64_t sent_us; /* 0: not known */
    /* A webhook may serve several repositories: one that names another than this is ignored.  NULL:
       whose it is was checked. */
    const struct sync_row *of;
};

/* *ret_row is the receipt; *ret_new is false when the delivery was there already, and then nothing
   is looked at. */
MUST_USE enum rc receive_delivery(struct context *ctx, const struct repository_row *repository,
                                  const struct delivery *delivery, struct delivery_row *ret_row,
                                  bool *ret_new);

/* From POST /v1/webhooks/{forge}, after its signature was checked against this repository. */
struct cmd_receive {
    struct command base;
    struct id repository_id;
    struct delivery delivery; /* body is base.tree. */
    struct delivery_row row;  /* The answer. */
    bool is_new;
};
struct cmd_receive *cmd_receive_new(void);
#endif
