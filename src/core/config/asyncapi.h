/*
 * asyncapi.h - the events of drover as an AsyncAPI 3.0 document: a channel for each context, a
 * message for each type, made from the table of events and the schemas of their data.  Pure.
 */
#ifndef CORE_CONFIG_ASYNCAPI_H
#define CORE_CONFIG_ASYNCAPI_H
#include "base/arena.h"
#include "base/jw.h"

/* version: of the program. */
void asyncapi_write(struct jw *jw, const char *version, struct arena *arena);
#endif
