/*
 * uri_reference.h - what a reference means at a place (RFC 3986, section 5).  Pure.
 */
#ifndef CORE_TEXT_URI_REFERENCE_H
#define CORE_TEXT_URI_REFERENCE_H
#include "base/arena.h"
#include "base/str.h"

/* Without the fragment; base "" takes the reference as it is.  In the arena. */
const char *uri_resolve(const char *base, const char *reference, struct arena *arena);
/* What follows #, with its percent-encoding undone; "" without one; NULL: it cannot be undone. */
const char *uri_fragment(const char *reference, struct arena *arena);
#endif
