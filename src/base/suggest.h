/*
 * suggest.h - suggests a known name for one that is misspelled.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H
#include <stddef.h>

/* The best candidate so far; start from suggest_for(word). */
struct suggest {
    const char *word;
    const char *closest; /* NULL: nothing is close enough. */
    size_t distance;     /* Only what is closer than this counts. */
};

struct suggest suggest_for(const char *word);
void suggest_offer(struct suggest *suggest, const char *name);
#endif
