/*
 * schema_value.c - keywords that check one value: its type, size and content.
 */
#include "base/js_bytes.h"
#include "base/jw.h"
#include "base/suggest.h"
#include "core/config/schema_parts.h"
#include "core/text/pattern.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 80, LIST_BYTES_MAX = 600, NUMBER_BYTES = 40 };

/* ---- text of values ---- */

/* As JSON, cut when it is long. */
static void add_value(struct buf *to, const struct js *value)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, (size_t)SHOWN_BYTES * 8);
    struct jw jw = jw_to(&text);
    js_write(&jw, value);
    size_t cut = 0;
    for (size_t step = 1; step > 0 && cut + step <= SHOWN_BYTES; cut += step)
        step = utf8_len(buf_text(&text) + cut, text.len - cut);
    bool long_one = cut < text.len;
    buf_add(to, buf_text(&text), long_one ? cut : text.len);
    if (long_one)
        buf_adds(to, "...");
}

static const char *number_text(const struct js *value, char to[NUMBER_BYTES])
{
    if (js_type(value) == JS_INT)
        (void)snprintf(to, NUMBER_BYTES, "%lld", (long long)js_int(value, 0));
    else
        (void)snprintf(to, NUMBER_BYTES, "%.15g", js_num(value, 0));
    return to;
}

/* ---- types ---- */

static const struct {
    const char *name, *shown;
} types[] = {
    {"null", "null"},        {"boolean", "a boolean"}, {"integer", "an integer"},
    {"number", "a number"},  {"string", "a string"},   {"array", "an array"},
    {"object", "an object"},
};

bool schema_type_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool has_type(const struct js *value, const char *name)
{
    switch (js_type(value)) {
    case JS_NULL:
        return strcmp(name, "null") == 0;
    case JS_BOOL:
        return strcmp(name, "boolean") == 0;
    case JS_INT:
        return strcmp(name, "integer") == 0 || strcmp(name, "number") == 0;
    case JS_REAL: /* 1.0 is an integer. */
        return strcmp(name, "number") == 0 ||
               (strcmp(name, "integer") == 0 && floor(js_num(value, 0)) == js_num(value, 0));
    case JS_STRING:
        return strcmp(name, "string") == 0;
    case JS_ARRAY:
        return strcmp(name, "array") == 0;
    case JS_OBJECT:
        return strcmp(name, "object") == 0;
    }
    return false;
}

static void add_type(struct buf *to, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(types[i].name, name) == 0)
            buf_addf(to, "%s%s", to->len > 0 ? " or " : "", types[i].shown);
    }
}

bool check_type(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    bool single = js_type(argument) == JS_STRING;
    CLEANUP(buf_release) struct buf wanted;
    buf_init(&wanted, LIST_BYTES_MAX);
    for (size_t i = 0; i < (single ? 1 : js_count(argument)); i++) {
        const char *name = js_str(single ? argument : js_at(argument, i), "");
        if (has_type(spot->value, name))
            return true;
        add_type(&wanted, name);
    }
    return schema_fault(checker, spot->place, "must be %s, not %s", buf_text(&wanted),
                        js_type_name(js_type(spot->value)));
}

/* ---- equality ---- */

static bool same_members(const struct js *a, const struct js *b)
{
    size_t at = 0;
    const char *key;
    const struct js *member;
    if (js_count(a) != js_count(b))
        return false;
    while (js_next(a, &at, &key, &member)) {
        const struct js *other = js_get(b, key);
        if (other == NULL || !schema_same(member, other))
            return false;
    }
    return true;
}

static bool same_elements(const struct js *a, const struct js *b)
{
    if (js_count(a) != js_count(b))
        return false;
    for (size_t i = 0; i < js_count(a); i++) {
        if (!schema_same(js_at(a, i), js_at(b, i)))
            return false;
    }
    return true;
}

static bool is_number(const struct js *value)
{
    return js_type(value) == JS_INT || js_type(value) == JS_REAL;
}

/* Less, equal, greater: below, at and above 0. */
static int compare(const struct js *a, const struct js *b)
{
    if (js_type(a) == JS_INT && js_type(b) == JS_INT) {
        int64_t left = js_int(a, 0), right = js_int(b, 0);
        return (left > right) - (left < right);
    }
    double left = js_num(a, 0), right = js_num(b, 0);
    return (left > right) - (left < right);
}

/* As deep as the shallower of the two trees, which were limited when read. */
bool schema_same(const struct js *a, const struct js *b)
{
    if (is_number(a) && is_number(b))
        return compare(a, b) == 0;
    if (js_type(a) != js_type(b))
        return false;
    switch (js_type(a)) {
    case JS_BOOL:
        return js_bool(a, false) == js_bool(b, false);
    case JS_STRING:
        return str_same(js_bytes(a), js_bytes(b));
    case JS_ARRAY:
        return same_elements(a, b);
    case JS_OBJECT:
        return same_members(a, b);
    default:
        return true;
    }
}

/* Names as they are written, other values as JSON. */
static void add_choice(struct buf *to, const struct js *value)
{
    if (to->len > 0)
        buf_adds(to, ", ");
    if (js_type(value) == JS_STRING)
        buf_adds(to, js_str(value, ""));
    else
        add_value(to, value);
}

static bool fault_choice(struct checker *checker, const struct spot *spot, const struct js *choices)
{
    if (schema_mute(checker) || !schema_step(checker, js_count(choices) / WORK_CHOICES))
        return false;
    const char *text = js_str(spot->value, NULL);
    struct suggest suggest = suggest_for(text != NULL ? text : "");
    CLEANUP(buf_release) struct buf allowed;
    CLEANUP(buf_release) struct buf shown;
    buf_init(&allowed, LIST_BYTES_MAX);
    buf_init(&shown, LIST_BYTES_MAX);
    for (size_t i = 0; i < js_count(choices); i++) {
        const struct js *choice = js_at(choices, i);
        add_choice(&allowed, choice);
        if (text != NULL && js_type(choice) == JS_STRING)
            suggest_offer(&suggest, js_str(choice, ""));
    }
    add_value(&shown, spot->value);
    if (suggest.closest != NULL)
        return schema_fault(checker, spot->place, "%s is not known; allowed: %s (did you mean %s?)",
                            buf_text(&shown), buf_text(&allowed), suggest.closest);
    return schema_fault(checker, spot->place, "%s is not known; allowed: %s", buf_text(&shown),
                        buf_text(&allowed));
}

bool check_enum(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    for (size_t i = 0; i < js_count(argument); i++) {
        if (schema_same(spot->value, js_at(argument, i)))
            return true;
    }
    return fault_choice(checker, spot, argument);
}

bool check_const(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (schema_same(spot->value, argument))
        return true;
    CLEANUP(buf_release) struct buf wanted;
    buf_init(&wanted, LIST_BYTES_MAX);
    add_value(&wanted, argument);
    return schema_fault(checker, spot->place, "must be %s", buf_text(&wanted));
}

/* ---- numbers ---- */

/* "between 1 and 9" where the schema has both ends. */
static bool fault_range(struct checker *checker, const struct spot *spot, const char *how,
                        const struct js *limit)
{
    char low[NUMBER_BYTES], high[NUMBER_BYTES], given[NUMBER_BYTES];
    const struct js *minimum = js_get(spot->schema, "minimum");
    const struct js *maximum = js_get(spot->schema, "maximum");
    number_text(spot->value, given);
    if (minimum != NULL && maximum != NULL)
        return schema_fault(checker, spot->place, "must be between %s and %s, not %s",
                            number_text(minimum, low), number_text(maximum, high), given);
    return schema_fault(checker, spot->place, "must be %s %s, not %s", how, number_text(limit, low),
                        given);
}

bool check_minimum(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return !is_number(spot->value) || compare(spot->value, argument) >= 0 ||
           fault_range(checker, spot, "at least", argument);
}

bool check_maximum(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return !is_number(spot->value) || compare(spot->value, argument) <= 0 ||
           fault_range(checker, spot, "at most", argument);
}

bool check_above(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return !is_number(spot->value) || compare(spot->value, argument) > 0 ||
           fault_range(checker, spot, "more than", argument);
}

bool check_below(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return !is_number(spot->value) || compare(spot->value, argument) < 0 ||
           fault_range(checker, spot, "less than", argument);
}

/* 0.0075 is a multiple of 0.0001 for people, although their binary forms are not. */
static bool is_multiple(const struct js *value, const struct js *factor)
{
    if (js_type(value) == JS_INT && js_type(factor) == JS_INT)
        return js_int(value, 0) % js_int(factor, 1) == 0;
    double number = js_num(value, 0), unit = js_num(factor, 1);
    double times = number / unit, part = round(1 / unit);
    /* A unit that divides 1 divides every whole number: 0.5, 0.01, 1e-8. */
    if (number == floor(number) && part >= 1 && fabs(part * unit - 1) <= 1e-15)
        return true;
    if (fabs(times) > 1e15)
        return fmod(number, unit) == 0;
    return fabs(times - round(times)) <= 1e-9 * fmax(1, fabs(times));
}

bool check_multiple(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    char factor[NUMBER_BYTES], given[NUMBER_BYTES];
    return !is_number(spot->value) || is_multiple(spot->value, argument) ||
           schema_fault(checker, spot->place, "must be a multiple of %s, not %s",
                        number_text(argument, factor), number_text(spot->value, given));
}

/* ---- sizes ---- */

/* Characters of valid UTF-8. */
static size_t text_chars(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.at[i] & 0xC0U) != 0x80U;
    return count;
}

struct size {
    enum js_type type;
    size_t value;
    const char *one, *many;
};

static struct size size_of_text(const struct js *value)
{
    return (struct size){JS_STRING, text_chars(js_bytes(value)), "character", "characters"};
}

static struct size size_of_array(const struct js *value)
{
    return (struct size){JS_ARRAY, js_count(value), "element", "elements"};
}

static struct size size_of_object(const struct js *value)
{
    return (struct size){JS_OBJECT, js_count(value), "member", "members"};
}

int64_t schema_count(const struct js *argument)
{
    double number = js_num(argument, -1);
    if (js_type(argument) == JS_INT)
        return js_int(argument, -1);
    return number >= 0 && number < (double)((int64_t)1 << 53) && number == floor(number)
               ? (int64_t)number
               : -1;
}

static bool size_at_least(struct checker *checker, const struct spot *spot, struct size size,
                          const struct js *argument)
{
    size_t limit = (size_t)schema_count(argument);
    if (js_type(spot->value) != size.type || size.value >= limit)
        return true;
    if (size.value == 0 && limit == 1)
        return schema_fault(checker, spot->place, "must not be empty");
    return schema_fault(checker, spot->place, "must have at least %zu %s, not %zu", limit,
                        limit == 1 ? size.one : size.many, size.value);
}

static bool size_at_most(struct checker *checker, const struct spot *spot, struct size size,
                         const struct js *argument)
{
    size_t limit = (size_t)schema_count(argument);
    if (js_type(spot->value) != size.type || size.value <= limit)
        return true;
    if (limit == 0)
        return schema_fault(checker, spot->place, "must be empty");
    return schema_fault(checker, spot->place, "must have at most %zu %s, not %zu", limit,
                        limit == 1 ? size.one : size.many, size.value);
}

bool check_min_length(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return size_at_least(checker, spot, size_of_text(spot->value), argument);
}

bool check_max_length(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return size_at_most(checker, spot, size_of_text(spot->value), argument);
}

bool check_min_items(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return size_at_least(checker, spot, size_of_array(spot->value), argument);
}

bool check_max_items(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return size_at_most(checker, spot, size_of_array(spot->value), argument);
}

bool check_min_members(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return size_at_least(checker, spot, size_of_object(spot->value), argument);
}

bool check_max_members(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    return size_at_most(checker, spot, size_of_object(spot->value), argument);
}

/* ---- content ---- */

bool schema_pattern_fits(struct checker *checker, const char *text, struct str value)
{
    struct pattern pattern;
    checker->moves -= (int64_t)strlen(text) + PATTERN_STEPS_MAX / 4; /* It is read anew. */
    if (checker->moves < 0 || pattern_read(text, &pattern, NULL) != RC_OK)
        return false;
    checker->moves -= (int64_t)pattern.work;
    return pattern_matches(&pattern, value, &checker->moves);
}

bool check_pattern(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (js_type(spot->value) != JS_STRING ||
        schema_pattern_fits(checker, js_str(argument, ""), js_bytes(spot->value)))
        return true;
    CLEANUP(buf_release) struct buf shown;
    buf_init(&shown, LIST_BYTES_MAX);
    add_value(&shown, spot->value);
    return schema_fault(checker, spot->place, "%s does not fit %s", buf_text(&shown),
                        js_str(argument, ""));
}

/* Every pair is a step of its own: long arrays end the check and do not block the thread. */
bool check_unique(struct checker *checker, const struct spot *spot, const struct js *argument)
{
    if (js_type(spot->value) != JS_ARRAY || !js_bool(argument, false))
        return true;
    for (size_t i = 1; i < js_count(spot->value); i++) {
        const struct place place = {.parent = spot->place, .index = i};
        for (size_t j = 0; j < i; j++) {
            if (!schema_step(checker, 1))
                return false;
            if (schema_same(js_at(spot->value, i), js_at(spot->value, j)))
                return schema_fault(checker, &place, "is there twice, first at [%zu]", j);
        }
    }
    return true;
}
