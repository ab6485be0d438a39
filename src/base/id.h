/*
 * id.h - UUIDv7 as text.  The zeroed id means "none".
 */
#ifndef BASE_ID_H
#define BASE_ID_H
#include "base/random.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { ID_TEXT_BYTES = 37 };
struct id {
    char text[ID_TEXT_BYTES]; /* Lower case, NUL-terminated; "" is none. */
};

/* Time order is kept to the microsecond (12 bits of sub-millisecond in rand_a, RFC 9562 §6.2).  The
   other 62 bits cannot be guessed when the numbers are the kernel's (random_from_os). */
struct id id_new(int64_t now_us, struct random *random);
/* Not behind any id of that moment or a later one: for ranges of ids. */
struct id id_first_at(int64_t time_us);
/* Any well-formed UUID; upper case is folded. */
MUST_USE bool id_parse(const char *text, struct id *ret_id);
bool id_is_none(const struct id *id);
bool id_same(const struct id *a, const struct id *b);
/* The text, or NULL for none: for nullable columns and optional members. */
const char *id_or_null(const struct id *id);
/* For rows that are read: NULL, "" and texts that are no UUID give none. */
struct id id_of(const char *text);
/* The same for what was an id when it was stored: only its form is looked at, since every row has
   several.  Need not end with NUL. */
struct id id_of_stored(struct str text);
#endif
