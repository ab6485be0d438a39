/*
 * event_text.h - an event of the log as JSON for an answer.  One that cannot be sent (its row was
 * changed by hand, or is damaged) is passed over: logged, and left out.
 */
#ifndef API_EVENT_TEXT_H
#define API_EVENT_TEXT_H
#include "core/event.h"

/* false: it is left out, *to is empty. */
bool event_text(const struct event *event, struct buf *to);
#endif
