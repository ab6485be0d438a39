/*
 * assign.h - words like backoff.baseMs=500 applied to a JSON document.
 *
 *     maxLength=10000       JSON where it is that ...
 *     ordering=key          ... else a text
 *     backoff.baseMs=500    a member of a member; objects on the way are made
 *     ttlMs=                removes it, and objects that become empty with it
 */
#ifndef CLI_ASSIGN_H
#define CLI_ASSIGN_H
#include "base/arena.h"
#include "base/js.h"
#include "base/rc.h"

/* *ret_text is the document with the words applied in their order, in the arena. */
MUST_USE enum rc cli_assign(const struct js *document, const char *const *words, size_t count,
                            struct arena *arena, const char **ret_text, struct err *err);
#endif
