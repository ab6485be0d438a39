/*
 * event_body.h - the data of an event, while it is written: one JSON object.
 *
 *     CLEANUP(event_body_release) struct event_body body;
 *     event_body_open(&body);
 *     jw_kstr(&body.jw, "taskId", task_id);
 *     event.data = event_body_close(&body);
 */
#ifndef CONTROL_COMMIT_EVENT_BODY_H
#define CONTROL_COMMIT_EVENT_BODY_H
#include "base/buf.h"
#include "base/jw.h"

struct event_body {
    struct buf buf;
    struct jw jw;
};

void event_body_open(struct event_body *body);        /* Begins the object. */
struct str event_body_close(struct event_body *body); /* Ends it; lives as long as the body. */
void event_body_release(struct event_body *body);     /* For CLEANUP. */
#endif
