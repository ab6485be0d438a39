/*
 * untrusted.h - text by people who are not trusted, made safe to be put between two lines of a
 * prompt that it cannot write itself.
 *
 * The lines hold a boundary that is random in every run.  From the text are taken: the boundary,
 * lines that look like one of the two, control characters, and what people who read it at a forge
 * do not see: HTML comments and invisible characters.
 */
#ifndef CORE_RUN_UNTRUSTED_H
#define CORE_RUN_UNTRUSTED_H
#include "base/arena.h"
#include "base/buf.h"

enum { UNTRUSTED_BOUNDARY_BYTES = 33, UNTRUSTED_NAME_MAX = 64 };

/* From two random numbers. */
char *untrusted_boundary(char to[UNTRUSTED_BOUNDARY_BYTES], const uint64_t random[2]);
const char *untrusted_clean(const char *text, const char *boundary, struct arena *arena);
/* A login as it may stand in a heading: one line, plain characters. */
const char *untrusted_name(const char *login, struct arena *arena);

/* The line that begins or ends it. */
void untrusted_line(struct buf *into, const char *boundary, bool begins);
size_t untrusted_line_bytes(const char *boundary, bool begins);
#endif
