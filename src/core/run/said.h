/*
 * said.h - what people have said to an agent before its attempt began, as the last part of its
 * prompt.  Pure.
 */
#ifndef CORE_RUN_SAID_H
#define CORE_RUN_SAID_H
#include "base/buf.h"
#include "base/js.h"

/* At most this is added: the server bounds what it gives out (MESSAGES_UNREAD_BYTES_MAX). */
enum { SAID_BYTES_MAX = 512 * 1024 };

/* payload: an assignment, with `messages` [{author, text}] and `answers` [{question, answer,
   answeredBy}], if there are such. */
void said_write(const struct js *payload, struct buf *into);
#endif
