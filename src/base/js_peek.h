/*
 * js_peek.h - facts about a JSON document, read without building a tree.
 *
 * Nothing is checked: for bytes that are not JSON the result covers only what could be read.
 */
#ifndef BASE_JS_PEEK_H
#define BASE_JS_PEEK_H
#include "base/str.h"

/* The bytes of one member, for a document that holds much beside it; empty when it is missing.  The
   key has nothing to escape. */
struct str js_peek(struct str object, const char *key);

/* How many values there are at the most: a tree costs many times its text. */
size_t js_peek_count(struct str json);
#endif
