/*
 * str.h - text helpers, and a slice for bytes that are not ours.
 */
#ifndef BASE_STR_H
#define BASE_STR_H
#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A slice: not NUL-terminated, not owned. */
struct str {
    const char *at;
    size_t len;
};
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

struct str str_of(const char *text); /* NULL gives the empty slice. */
bool str_same(struct str a, struct str b);
bool str_is(struct str a, const char *text);
char *str_dup(struct arena *arena, struct str s); /* NUL-terminated copy. */

/* Takes one line off the front, without its line feed; false at the end. */
bool str_take_line(struct str *rest, struct str *ret_line);

bool text_same(const char *a, const char *b); /* NULL equals only NULL. */
bool text_empty(const char *text);            /* NULL or "". */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* One word of a POSIX shell: as it is when it is plain, else in single quotes.  NULL gives ''. */
char *shell_quote(const char *text, struct arena *arena);

/* Copies with truncation; the result is always terminated. */
void text_copy(char *to, size_t to_bytes, const char *from);

/* Decimal integers and nothing else: no spaces, no sign for u64, no overflow. */
MUST_USE bool text_to_i64(const char *text, int64_t *ret_value);
MUST_USE bool text_to_double(const char *text, double *ret_value);

/* The directory itself, or something in it; slashes at the end of dir do not count. */
bool path_is_inside(const char *path, const char *dir);

/* The shell's globs on paths: * and ? stop at '/', ** does not, [a-z] classes. */
bool glob_match(const char *pattern, const char *path);
bool glob_is_plain(const char *pattern); /* A name: nothing in it stands for something else. */
/* The same as glob_match; a plain name of a directory covers all that is in it too. */
bool glob_covers(const char *pattern, const char *path);

/* Lower-case letters, digits and single dashes, at most max-1 long: for branch names. */
void text_slug(char *to, size_t to_bytes, const char *from);

/* Valid UTF-8 without NUL? */
bool text_utf8_valid(const char *text, size_t len);
/* Bytes of the UTF-8 character at the front; 0 at the end, at NUL and where it is not valid. */
size_t utf8_len(const char *text, size_t len);

/* Hex of bytes; to must hold 2*len+1. */
void hex_encode(char *to, const unsigned char *bytes, size_t len);
#endif
