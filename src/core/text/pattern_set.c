/*
 * pattern_set.c - characters, escapes and sets of characters in a pattern.
 */
#include "core/text/pattern_parts.h"
#include <stdlib.h>
#include <string.h>

enum { HEX = 16 };

static const struct pattern_range digits[] = {{'0', '9'}};
static const struct pattern_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct pattern_range spaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
static const struct pattern_range line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

bool pattern_is_word(uint32_t c)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (c >= words[i].first && c <= words[i].last)
            return true;
    }
    return false;
}

static enum rc add_range(struct pattern_reader *reader, uint32_t first, uint32_t last)
{
    struct pattern *pattern = reader->pattern;
    if (pattern->range_count == PATTERN_RANGES_MAX)
        return pattern_refuse(reader, "the pattern is too long");
    pattern->ranges[pattern->range_count++] = (struct pattern_range){first, last};
    return RC_OK;
}

/* Or all that is not in them. */
static enum rc add_ranges(struct pattern_reader *reader, const struct pattern_table *table,
                          bool inverted)
{
    uint32_t next = 0;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < table->count; i++) {
        const struct pattern_range *range = &table->ranges[i];
        if (!inverted)
            rc = add_range(reader, range->first, range->last);
        else if (range->first > next)
            rc = add_range(reader, next, range->first - 1);
        next = range->last + 1;
    }
    return rc == RC_OK && inverted ? add_range(reader, next, UNICODE_MAX) : rc;
}

/* ---- escapes ---- */

/* \d and its kind; false: it is none of them. */
static bool find_class(char c, struct pattern_table *ret_table, bool *ret_inverted)
{
    static const struct {
        char lower, upper;
        struct pattern_table table;
    } classes[] = {{'d', 'D', {digits, COUNT_OF(digits)}},
                   {'w', 'W', {words, COUNT_OF(words)}},
                   {'s', 'S', {spaces, COUNT_OF(spaces)}}};
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (c == classes[i].lower || c == classes[i].upper) {
            *ret_table = classes[i].table;
            *ret_inverted = c == classes[i].upper;
            return true;
        }
    }
    return false;
}

/* \p{L}, at the p. */
static enum rc read_property(struct pattern_reader *reader)
{
    static const struct {
        const char *text;
        uint32_t table;
    } names[] = {{"{L}", PATTERN_LETTER},
                 {"{Letter}", PATTERN_LETTER},
                 {"{N}", PATTERN_NUMBER},
                 {"{Number}", PATTERN_NUMBER}};
    uint32_t inverted = *reader->at == 'P' ? PATTERN_INVERTED : 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_starts(reader->at + 1, names[i].text)) {
            reader->at += 1 + strlen(names[i].text);
            return add_range(reader, names[i].table | inverted, 0);
        }
    }
    return pattern_refuse(reader, "of the classes of Unicode \\p{L} and \\p{N} are supported");
}

static bool read_hex(struct pattern_reader *reader, size_t digits_max, uint32_t *ret_char)
{
    char text[9] = {0};
    size_t len = strspn(reader->at, "0123456789abcdefABCDEF");
    if (len > digits_max)
        len = digits_max;
    if (len == 0)
        return false;
    memcpy(text, reader->at, len);
    *ret_char = (uint32_t)strtoul(text, NULL, HEX);
    reader->at += len;
    return *ret_char <= UNICODE_MAX;
}

/* Behind \u: four digits, two times four for a pair of surrogates, or any number in braces. */
static bool read_unicode(struct pattern_reader *reader, uint32_t *ret_char)
{
    uint32_t low = 0;
    if (*reader->at == '{') {
        reader->at++;
        return read_hex(reader, 6, ret_char) && *reader->at++ == '}';
    }
    const char *first = reader->at;
    if (!read_hex(reader, 4, ret_char) || reader->at != first + 4)
        return false;
    if (*ret_char < 0xD800 || *ret_char > 0xDBFF || !text_starts(reader->at, "\\u"))
        return true;
    reader->at += 2;
    if (!read_hex(reader, 4, &low) || low < 0xDC00 || low > 0xDFFF)
        return false;
    *ret_char = 0x10000 + ((*ret_char - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* Behind the backslash: one character. */
static enum rc read_escaped(struct pattern_reader *reader, uint32_t *ret_char)
{
    static const char letters[] = "tnrfv0", meant[] = "\t\n\r\f\v";
    char c = *reader->at;
    const char *letter = c != '\0' ? strchr(letters, c) : NULL;
    if (letter != NULL) {
        reader->at++;
        *ret_char = (unsigned char)meant[letter - letters];
        return RC_OK;
    }
    if (c == 'x' || c == 'u') {
        const char *first = ++reader->at;
        bool good = c == 'u' ? read_unicode(reader, ret_char)
                             : read_hex(reader, 2, ret_char) && reader->at == first + 2;
        return good ? RC_OK : pattern_refuse(reader, "hexadecimal digits are expected");
    }
    if (c == '\0' || strchr("^$.[]*+?{}()|\\/-", c) == NULL)
        return pattern_refuse(reader, "this is not supported behind \\");
    reader->at++;
    *ret_char = (unsigned char)c;
    return RC_OK;
}

/* ---- sets ---- */

uint32_t pattern_char(struct str text, size_t *at)
{
    const unsigned char *bytes = (const unsigned char *)text.at + *at;
    size_t len = utf8_len(text.at + *at, text.len - *at);
    *at += len > 0 ? len : 1; /* U+0000 */
    if (len <= 1)
        return *bytes;
    uint32_t c = *bytes & (0xFFU >> (len + 1));
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (bytes[i] & 0x3FU);
    return c;
}

/* One character of a class, or behind a backslash several: then *ret_many. */
static enum rc read_member(struct pattern_reader *reader, uint32_t *ret_char, bool *ret_many)
{
    struct pattern_table table;
    bool inverted;
    *ret_many = false;
    if (*reader->at != '\\') {
        size_t len = 0;
        *ret_char = pattern_char(str_of(reader->at), &len);
        reader->at += len;
        return RC_OK;
    }
    reader->at++;
    *ret_many = true;
    if (find_class(*reader->at, &table, &inverted)) {
        reader->at++;
        return add_ranges(reader, &table, inverted);
    }
    if (*reader->at == 'p' || *reader->at == 'P')
        return read_property(reader);
    *ret_many = false;
    return read_escaped(reader, ret_char);
}

/* "a-z", "a" or "\d". */
static enum rc read_members(struct pattern_reader *reader)
{
    uint32_t first = 0, last;
    bool many;
    if (*reader->at == '\0')
        return pattern_refuse(reader, "] is expected");
    if (text_starts(reader->at, "\\b")) { /* A backspace, in a class. */
        reader->at += 2;
        return add_range(reader, '\b', '\b');
    }
    enum rc rc = read_member(reader, &first, &many);
    if (rc != RC_OK || many)
        return rc;
    last = first;
    if (reader->at[0] == '-' && reader->at[1] != ']' && reader->at[1] != '\0') {
        reader->at++;
        rc = read_member(reader, &last, &many);
        if (rc == RC_OK && (many || last < first))
            rc = pattern_refuse(reader, "a range runs from a character to a later one");
    }
    return rc == RC_OK ? add_range(reader, first, last) : rc;
}

static enum rc read_class(struct pattern_reader *reader, bool *ret_inverted)
{
    *ret_inverted = *++reader->at == '^';
    if (*ret_inverted)
        reader->at++;
    enum rc rc = RC_OK;
    while (rc == RC_OK && *reader->at != ']')
        rc = read_members(reader);
    reader->at++;
    return rc;
}

enum rc pattern_read_set(struct pattern_reader *reader)
{
    struct pattern *pattern = reader->pattern;
    size_t first = pattern->range_count;
    bool inverted = false, many;
    uint32_t c = 0;
    enum rc rc;
    if (*reader->at == '[') {
        rc = read_class(reader, &inverted);
    } else if (*reader->at == '.') {
        const struct pattern_table table = {line_ends, COUNT_OF(line_ends)};
        reader->at++;
        rc = add_ranges(reader, &table, true);
    } else {
        rc = read_member(reader, &c, &many);
        if (rc == RC_OK && !many)
            rc = add_range(reader, c, c);
    }
    if (rc != RC_OK)
        return rc;
    return pattern_add(reader, (struct pattern_step){.op = OP_SET,
                                                     .inverted = inverted,
                                                     .x = (int16_t)first,
                                                     .y = (int16_t)(pattern->range_count - first)});
}
