/*
 * suggest.c - the distance of Damerau and Levenshtein, row by row.
 */
#include "base/suggest.h"
#include <stdbool.h>
#include <string.h>

enum { WORD_BYTES_MAX = 64 };

/* How many letters must be changed, added, left out or swapped with their neighbour; of long words
   the first 64 bytes count. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_BYTES_MAX + 1];
    size_t a_len = strnlen(a, WORD_BYTES_MAX), b_len = strnlen(b, WORD_BYTES_MAX);
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[b_len];
}

struct suggest suggest_for(const char *word)
{
    /* Farther away is no likeness. */
    return (struct suggest){.word = word, .distance = strlen(word) < 4 ? 2 : 3};
}

void suggest_offer(struct suggest *suggest, const char *name)
{
    size_t far = edit_distance(suggest->word, name);
    if (far >= suggest->distance)
        return;
    suggest->distance = far;
    suggest->closest = name;
}
