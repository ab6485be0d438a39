/*
 * pattern.c - a pattern is a row of atoms, each a set of characters that is there once, perhaps,
 * or again and again.  Matching keeps the set of places in that row that the text may have
 * reached, so that no text takes longer than its length times the row's.
 */
#include "core/text/pattern.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>

enum { ASCII_MAX = 128, DIGITS_MAX = 3 };

struct reader {
    const char *at;
    struct pattern *pattern;
    struct err *err;
};

static enum rc refuse(const struct reader *reader, const char *why)
{
    return err_set(reader->err, RC_INVALID, "INVALID_PATTERN", "%s at \"%.20s\"", why, reader->at);
}

static void set_add(struct pattern_atom *atom, unsigned char c)
{
    atom->set[c / 32] |= UINT32_C(1) << (c % 32);
}

static bool set_has(const struct pattern_atom *atom, unsigned char c)
{
    if (c >= ASCII_MAX)
        return atom->others;
    return (atom->set[c / 32] >> (c % 32) & 1U) != 0;
}

static void set_invert(struct pattern_atom *atom)
{
    for (size_t i = 0; i < COUNT_OF(atom->set); i++)
        atom->set[i] = ~atom->set[i];
    atom->others = !atom->others;
}

/* A character that stands for itself, perhaps behind a backslash. */
static enum rc read_char(struct reader *reader, unsigned char *ret_char)
{
    if (*reader->at == '\\') {
        reader->at++;
        if (*reader->at == '\0' || strchr("^$.[]*+?{}()|\\/-", *reader->at) == NULL)
            return refuse(reader, "\\ must stand before a special character");
    }
    unsigned char c = (unsigned char)*reader->at;
    if (c == '\0' || c >= ASCII_MAX)
        return refuse(reader, "an ASCII character is expected");
    reader->at++;
    *ret_char = c;
    return RC_OK;
}

static enum rc read_class(struct reader *reader, struct pattern_atom *atom)
{
    bool inverted = *++reader->at == '^';
    if (inverted)
        reader->at++;
    while (*reader->at != ']') {
        unsigned char first = 0, last;
        enum rc rc = read_char(reader, &first);
        last = first;
        if (rc == RC_OK && reader->at[0] == '-' && reader->at[1] != ']') {
            reader->at++;
            rc = read_char(reader, &last);
        }
        if (rc != RC_OK)
            return rc;
        if (last < first)
            return refuse(reader, "a range runs backwards");
        for (unsigned c = first; c <= last; c++)
            set_add(atom, (unsigned char)c);
    }
    reader->at++;
    if (inverted)
        set_invert(atom);
    return RC_OK;
}

static enum rc read_atom(struct reader *reader, struct pattern_atom *ret_atom)
{
    *ret_atom = (struct pattern_atom){0};
    if (*reader->at == '[')
        return read_class(reader, ret_atom);
    if (*reader->at == '.') {
        reader->at++;
        set_add(ret_atom, '\n');
        set_add(ret_atom, '\r');
        set_invert(ret_atom);
        return RC_OK;
    }
    if (strchr("*+?{}()|^$", *reader->at) != NULL)
        return refuse(reader, "this is not supported here");
    unsigned char c = 0;
    enum rc rc = read_char(reader, &c);
    if (rc == RC_OK)
        set_add(ret_atom, c);
    return rc;
}

static bool read_count(struct reader *reader, size_t *ret_count)
{
    size_t digits = strspn(reader->at, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX)
        return false;
    *ret_count = strtoul(reader->at, NULL, 10);
    reader->at += digits;
    return true;
}

struct times {
    size_t min, max;
    bool endless;
};

static enum rc read_braces(struct reader *reader, struct times *times)
{
    reader->at++;
    bool good = read_count(reader, &times->min);
    times->max = times->min;
    if (good && *reader->at == ',') {
        reader->at++;
        times->endless = *reader->at == '}';
        good = times->endless || read_count(reader, &times->max);
    }
    if (!good || *reader->at != '}' || times->max < times->min)
        return refuse(reader, "{N}, {N,} or {N,M} is expected");
    reader->at++;
    return RC_OK;
}

static enum rc read_times(struct reader *reader, struct times *ret_times)
{
    *ret_times = (struct times){1, 1, false};
    switch (*reader->at) {
    case '*':
        *ret_times = (struct times){0, 0, true};
        break;
    case '+':
        *ret_times = (struct times){1, 1, true};
        break;
    case '?':
        *ret_times = (struct times){0, 1, false};
        break;
    case '{':
        return read_braces(reader, ret_times);
    default:
        return RC_OK;
    }
    reader->at++;
    return RC_OK;
}

static enum rc add_atom(struct reader *reader, const struct pattern_atom *atom,
                        const struct times *times)
{
    struct pattern *pattern = reader->pattern;
    if (pattern->count + times->max + 1 > PATTERN_ATOMS_MAX)
        return refuse(reader, "the pattern is too long");
    for (size_t i = 0; i < times->max; i++) {
        pattern->atoms[pattern->count] = *atom;
        pattern->atoms[pattern->count++].optional = i >= times->min;
    }
    if (!times->endless)
        return RC_OK;
    pattern->atoms[pattern->count] = *atom;
    pattern->atoms[pattern->count].optional = true;
    pattern->atoms[pattern->count++].repeated = true;
    return RC_OK;
}

enum rc pattern_read(const char *text, struct pattern *ret_pattern, struct err *err)
{
    struct reader reader = {.at = text, .pattern = ret_pattern, .err = err};
    ret_pattern->count = 0;
    ret_pattern->at_start = *text == '^';
    ret_pattern->at_end = false;
    if (ret_pattern->at_start)
        reader.at++;
    while (*reader.at != '\0') {
        if (reader.at[0] == '$' && reader.at[1] == '\0') {
            ret_pattern->at_end = true;
            break;
        }
        struct pattern_atom atom;
        struct times times;
        enum rc rc = read_atom(&reader, &atom);
        if (rc == RC_OK)
            rc = read_times(&reader, &times);
        if (rc == RC_OK)
            rc = add_atom(&reader, &atom, &times);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* If the place before an optional atom is reached, so is the place behind it. */
static void pass_optional(const struct pattern *pattern, bool *reached)
{
    for (size_t i = 0; i < pattern->count; i++) {
        if (reached[i] && pattern->atoms[i].optional)
            reached[i + 1] = true;
    }
}

static void take_char(const struct pattern *pattern, unsigned char c, bool *reached)
{
    for (size_t i = pattern->count; i-- > 0;) {
        bool taken = reached[i] && set_has(&pattern->atoms[i], c);
        if (taken)
            reached[i + 1] = true;
        reached[i] = taken && pattern->atoms[i].repeated;
    }
}

bool pattern_matches(const struct pattern *pattern, const char *text)
{
    bool reached[PATTERN_ATOMS_MAX + 1] = {true};
    size_t end = pattern->count;
    size_t len = strlen(text);
    pass_optional(pattern, reached);
    for (size_t i = 0; i < len;) {
        if (reached[end] && !pattern->at_end)
            return true;
        size_t step = utf8_len(text + i, len - i);
        reached[end] = false;
        take_char(pattern, (unsigned char)text[i], reached);
        i += step > 0 ? step : 1;
        if (!pattern->at_start)
            reached[0] = true;
        pass_optional(pattern, reached);
    }
    return reached[end];
}
