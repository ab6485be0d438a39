/*
 * js_peek.h - one member of a JSON object, without a tree of all the others.
 *
 * For documents that drover has written itself and that hold much beside what is wanted.  Nothing
 * is checked: of bytes that are no JSON the answer may be any of them, or none.
 */
#ifndef BASE_JS_PEEK_H
#define BASE_JS_PEEK_H
#include "base/str.h"

/* The bytes of the value, empty when it is missing.  The key has nothing to escape. */
struct str js_peek(struct str object, const char *key);
#endif
