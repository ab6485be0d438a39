/*
 * secrets_encoded.h - known texts in another spelling: base64 (both alphabets, wherever they begin
 * in what was encoded) and percent-encoding, or with the escapes of JSON.
 *
 * Base64 writes six bits a character.  A text may begin at any of three places within the bytes
 * that become four characters, so it has three spellings, and at their ends stand characters
 * that hold bits of the neighbours as well:
 *
 *   place    characters             the first one of the text alone begins with
 *     0      AAAAAA AABBBB BBBBCC   its bit 0
 *     1      ppAAAA AAAABB BBBBBB   its bit 4
 *     2      ppppAA AAAAAA BBBBBB   its bit 2
 *
 * Nothing is stored of them but a bit for their first three characters, in a table that shows
 * whether a text may begin at a place: a line costs one lookup for each of its characters,
 * independent of the number of texts.
 */
#ifndef CORE_TEXT_SECRETS_ENCODED_H
#define CORE_TEXT_SECRETS_ENCODED_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENCODED_HASH_BITS = 15 };

bool encoded_is_code(char c); /* Is it a character of one of the alphabets? */
/* How many characters from here on may be base64, escapes included. */
size_t encoded_run(struct str line, size_t at);
/* The fewest that the shortest text takes: SECRETS_VALUE_MIN bytes, without those at its ends. */
enum { ENCODED_RUN_MIN = 10 };

/* Zeroed it is empty. */
struct encoded_starts {
    uint64_t bits[1 << (ENCODED_HASH_BITS - 6)]; /* By a hash of three characters. */
};
/* Texts of two bytes and less are left out. */
void encoded_add(struct encoded_starts *starts, struct str text);
/* May the base64 of a text that was added begin here? */
bool encoded_may_begin(const struct encoded_starts *starts, struct str line, size_t at);

struct encoded_place {
    struct str line;
    size_t at;   /* Search here, */
    size_t from; /* and take nothing that lies before. */
};
/* Where a text stands in a line. */
struct encoded_span {
    size_t begin, end;
};
/* The base64 of the text, found at its first whole character; the line may end before the text
   does.  The span takes in the padding and the characters that it shares with its neighbours. */
bool encoded_find(struct str text, const struct encoded_place *place,
                  struct encoded_span *ret_span);

/* A text of which only the beginning is known: what follows is given byte by byte, as long as
   `goes_on` takes it, and counted. */
struct encoded_rest {
    bool (*goes_on)(void *ctx, char c);
    void *ctx;
    size_t max, count;
};
bool encoded_find_prefix(struct str prefix, const struct encoded_place *place,
                         struct encoded_rest *rest, struct encoded_span *ret_span);

/* Bytes of the line's front that spell the text: as it is, percent-encoded or escaped as in JSON,
   in any mixture; 0: they do not. */
size_t spelled_len(struct str text, struct str line);
/* The first byte that the line's front spells; -1: none. */
int spelled_first(struct str line);
/* The text that its percent-encoding stands for. */
char *percent_decoded(struct str text, struct arena *arena);
#endif
