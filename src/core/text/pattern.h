/*
 * pattern.h - the part of regular expressions that names and hosts need, matched in linear time.
 *
 *     ^ at the start, $ at the end, characters, ., [a-z_] and [^...], \ before any of these, and
 *     behind each *, +, ? or {2} {2,} {2,5}
 *
 * Without ^ or $ the pattern may stand anywhere in the text, as JSON Schema has it.  Groups,
 * alternatives and classes like \d are refused.  The pattern is ASCII; a character beyond it is
 * one character of the text, which . and [^...] take.  Pure.
 */
#ifndef CORE_TEXT_PATTERN_H
#define CORE_TEXT_PATTERN_H
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATTERN_ATOMS_MAX = 256 };

struct pattern {
    struct pattern_atom {
        uint32_t set[4]; /* A bit per ASCII character. */
        bool others;     /* Characters beyond ASCII. */
        bool optional, repeated;
    } atoms[PATTERN_ATOMS_MAX];
    size_t count;
    bool at_start, at_end;
};

/* RC_INVALID: err names what is not supported. */
MUST_USE enum rc pattern_read(const char *text, struct pattern *ret_pattern, struct err *err);
bool pattern_matches(const struct pattern *pattern, const char *text);
#endif
