/*
 * pattern_parts.h - what the files of pattern.h share; for no other file.
 *
 *   pattern.c        reading: the program of a pattern
 *   pattern_set.c    reading: characters, escapes and sets of characters
 *   pattern_match.c  running the program over a text
 *   pattern_table.c  which characters are letters and numbers
 */
#ifndef CORE_TEXT_PATTERN_PARTS_H
#define CORE_TEXT_PATTERN_PARTS_H
#include "core/text/pattern.h"

enum pattern_op {
    OP_SET,     /* One character of y ranges from x on. */
    OP_SPLIT,   /* Both ways. */
    OP_GO,      /* The way x. */
    OP_START,   /* Nothing, at the start of the text. */
    OP_END,     /* Nothing, at its end. */
    OP_EDGE,    /* Nothing, between a character of \w and another. */
    OP_NO_EDGE, /* Nothing, elsewhere. */
    OP_MATCH,
};

/* A range whose first is one of these stands for a table; with PATTERN_INVERTED for the rest. */
enum { PATTERN_LETTER = 0x200000, PATTERN_NUMBER = 0x200001, PATTERN_INVERTED = 0x400000 };
enum { UNICODE_MAX = 0x10FFFF };

struct pattern_reader {
    const char *at;
    struct pattern *pattern;
    size_t depth; /* Of groups. */
    struct err *err;
};
enum rc pattern_refuse(const struct pattern_reader *reader, const char *why);
/* A character, . or [...]: adds a step of OP_SET. */
MUST_USE enum rc pattern_read_set(struct pattern_reader *reader);
MUST_USE enum rc pattern_add(struct pattern_reader *reader, struct pattern_step step);

/* The next character of UTF-8 that is valid. */
uint32_t pattern_char(struct str text, size_t *at);
bool pattern_is_word(uint32_t c);

/* In order, without overlaps. */
struct pattern_table {
    const struct pattern_range *ranges;
    size_t count;
};
extern const struct pattern_table pattern_letters, pattern_numbers;
#endif
