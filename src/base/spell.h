/*
 * spell.h - suggests a known name for one that is misspelled.
 */
#ifndef BASE_SPELL_H
#define BASE_SPELL_H
#include <stddef.h>

/* The best candidate so far; start from spell_of(word). */
struct spell {
    const char *word;
    const char *closest; /* NULL: nothing is close enough. */
    size_t distance;     /* Only what is closer than this counts. */
};

/* How many letters must be changed, added, left out or swapped with their neighbour; of long words
   the first 64 bytes count. */
size_t spell_distance(const char *a, const char *b);

struct spell spell_of(const char *word);
void spell_offer(struct spell *spell, const char *name);
#endif
