/*
 * js_bytes.h - texts of JSON that may hold U+0000, which js_parse refuses: for documents that are
 * only looked at.
 */
#ifndef BASE_JS_BYTES_H
#define BASE_JS_BYTES_H
#include "base/js.h"
#include "base/str.h"

/* As js_parse; js_str of such a text ends at its first U+0000. */
MUST_USE enum rc js_parse_bytes(const char *bytes, size_t len, struct js **ret_tree,
                                struct err *err);
struct str js_bytes(const struct js *value); /* All of a string; empty: of another type. */
#endif
