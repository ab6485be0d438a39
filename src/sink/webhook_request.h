/*
 * webhook_request.h - events as HTTP requests: the CloudEvents HTTP binding, signed as Standard
 * Webhooks says.
 *
 *   structured   Content-Type: application/cloudevents+json        the whole event
 *   binary       ce-id, ce-type, ... and Content-Type of the data  the data alone
 *   batch        Content-Type: application/cloudevents-batch+json  an array of events
 *
 *   webhook-id         the id of the event in the log; the same when it is sent again
 *   webhook-timestamp  when this request was made, in seconds
 *   webhook-signature  "v1," and the base64 of HMAC-SHA256(key, "ID.TIMESTAMP.BODY"), once for
 *                      each key, with a space between them
 *
 * A key that begins with "whsec_" is base64 behind that, any other one is taken as it is.
 */
#ifndef SINK_WEBHOOK_REQUEST_H
#define SINK_WEBHOOK_REQUEST_H
#include "base/arena.h"
#include "net/http_client.h"
#include "sink/sink.h"

enum { WEBHOOK_KEYS_MAX = 2, WEBHOOK_FIELDS_MAX = 64 };

enum webhook_mode { WEBHOOK_STRUCTURED, WEBHOOK_BINARY, WEBHOOK_BATCH };

struct webhook_keys {
    struct str items[WEBHOOK_KEYS_MAX];
    size_t count; /* 0: requests are not signed. */
};
/* The bytes of a key, in the arena.  RC_INVALID: not base64 behind "whsec_", or too short. */
MUST_USE enum rc webhook_key_decode(const char *text, struct arena *arena, struct str *ret_key,
                                    struct err *err);

struct webhook_request {
    struct http_field headers[WEBHOOK_FIELDS_MAX + 1]; /* Up to one without a name. */
    struct str body;
};
struct webhook_spec {
    enum webhook_mode mode;
    const struct webhook_keys *keys;
    int64_t now_us;
    const struct sink_record *records;
    size_t count; /* More than one with WEBHOOK_BATCH only. */
};
/* Lives in the arena, but for the body of a structured one, which is the record's.  RC_INVALID: the
   event has more attributes than fit into headers. */
MUST_USE enum rc webhook_request_make(const struct webhook_spec *spec, struct arena *arena,
                                      struct webhook_request *ret_request, struct err *err);
#endif
