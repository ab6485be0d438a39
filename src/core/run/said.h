/*
 * said.h - what people have said to an agent before its attempt, as the end of its prompt or of its
 * feedback: messages, and answers to its questions, from the assignment (messages, answers).
 */
#ifndef CORE_RUN_SAID_H
#define CORE_RUN_SAID_H
#include "base/buf.h"
#include "base/js.h"

enum { SAID_BYTES_MAX = 1024 * 1024 };

/* Markdown; nothing at all when people have said nothing. */
void said_write(const struct js *assignment, struct buf *into);
#endif
