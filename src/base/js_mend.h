/*
 * js_mend.h - JSON of other programs, made readable where a strict parser would refuse all of it
 * for the sake of one value.
 *
 *     in strings   half a surrogate pair, \u0000, bytes that are not UTF-8     U+FFFD
 *                  control characters                                          a space
 *     numbers      more than 18 digits                                         18 nines
 *                  exponents of more than two digits                           their first two
 *     values       nested deeper than JS_DEPTH_MAX                             null
 *
 * Everything else is copied, errors included.  One pass; every byte becomes three at most.
 */
#ifndef BASE_JS_MEND_H
#define BASE_JS_MEND_H
#include "base/buf.h"
#include "base/str.h"

void js_mend(struct str text, struct buf *into);
#endif
