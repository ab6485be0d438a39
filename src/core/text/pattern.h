/*
 * pattern.h - regular expressions of JSON Schema, matched in time linear in the text.
 *
 *     a|b  (ab)  (?:ab)  (?<name>ab)  .  [a-z]  [^a-z]  * + ? {2} {2,} {2,5}  ^  $  \b  \B
 *     \d \D \w \W \s \S  \t \n \r \f \v \0  \xHH  \uHHHH  \u{HHHHH}  \p{L} \p{N} \P{...}
 *
 * Characters are those of Unicode.  Without ^ or $ the pattern may match anywhere in the text.
 * What needs backtracking is refused: \1, (?=...), (?!...), (?<=...), (?<!...).
 *
 * A pattern becomes a program of at most PATTERN_STEPS_MAX steps, and matching keeps the set of
 * steps that the text may have reached (Thompson, Pike): a text of N characters takes at most
 * N x steps moves, whatever the pattern.  Pure.
 */
#ifndef CORE_TEXT_PATTERN_H
#define CORE_TEXT_PATTERN_H
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATTERN_STEPS_MAX = 1000, PATTERN_RANGES_MAX = 500, PATTERN_TEXT_MAX = 4096 };

struct pattern {
    struct pattern_step {
        uint8_t op;
        bool inverted; /* Of a set. */
        int16_t x, y;  /* Of a set: its ranges; else where to go on, relative to this step. */
    } steps[PATTERN_STEPS_MAX];
    struct pattern_range {
        uint32_t first, last;
    } ranges[PATTERN_RANGES_MAX];
    size_t step_count, range_count;
    size_t work; /* Steps that were written: more than there are, where some were copied. */
};

/* RC_INVALID: err names what is not supported. */
MUST_USE enum rc pattern_read(const char *text, struct pattern *ret_pattern, struct err *err);
/* Takes what it costs from *moves: below 0 the match was given up, and is false. */
bool pattern_matches(const struct pattern *pattern, struct str text, int64_t *moves);
#endif
