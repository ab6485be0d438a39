/*
 * event_message.h - CloudEvents in a request (HTTP Protocol Binding 1.0), as JSON.
 *
 *   structured   Content-Type: application/cloudevents+json (or application/json): one object
 *   batched      Content-Type: application/cloudevents-batch+json: an array of them
 *   binary       attributes as headers ce-NAME, the body is the data, Content-Type is its type
 */
#ifndef API_EVENT_MESSAGE_H
#define API_EVENT_MESSAGE_H
#include "api/call.h"
#include "core/cloud_event.h"

/* On the loop.  EVENT_MODE_NONE: 415. */
enum cloud_event_mode event_message_mode(const struct http_request *request);
/* An object or, of a batch, an array; not checked further.  RC_MALFORMED, RC_INVALID */
MUST_USE enum rc event_message_read(struct call *call, struct js **ret_tree, struct err *err);
#endif
