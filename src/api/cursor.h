/*
 * cursor.h - where a listing continues: opaque to clients, safe in a URL.
 *
 *     base64url(kind letter + key of the last row)       without padding
 *
 * The kind prevents that a listing accepts the cursor of another kind of listing.  Pure.
 */
#ifndef API_CURSOR_H
#define API_CURSOR_H
#include "base/arena.h"
#include "base/rc.h"
#include <stdbool.h>

enum { CURSOR_KEY_MAX = 256, CURSOR_TEXT_MAX = (CURSOR_KEY_MAX + 1) * 4 / 3 + 4 };

enum cursor_kind {
    CURSOR_NONE,
    CURSOR_ID = 'i',
    CURSOR_SEQ = 's',
    CURSOR_NAME = 'n',
    CURSOR_CONSUMER = 'c' /* Not of a listing: consumers.c */
};

const char *cursor_encode(enum cursor_kind kind, const char *key, struct arena *arena);
/* false: not made by cursor_encode, or of another kind. */
MUST_USE bool cursor_decode(enum cursor_kind kind, const char *text, struct arena *arena,
                            const char **ret_key);
#endif
