/*
 * fields.c - reads a JSON object field by field and refuses by name.
 */
#include "base/fields.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX_DEFAULT = 4096 };

static void fail_as(struct fields *fields, const char *code, const char *key, const char *fmt,
                    va_list args)
{
    if (fields->rc != RC_OK)
        return;
    char field[ERR_FIELD_MAX], text[ERR_TEXT_MAX];
    const char *dot = *fields->path && *key ? "." : "";
    (void)snprintf(field, sizeof field, "%s%s%s", fields->path, dot, key);
    (void)vsnprintf(text, sizeof text, fmt, args);
    fields->rc = err_field(fields->err, RC_INVALID, code, field, "%s", text);
}

PRINTF_LIKE(4, 5)
static void fail(struct fields *fields, const char *code, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_as(fields, code, key, fmt, args);
    va_end(args);
}

void fields_fail(struct fields *fields, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_as(fields, "INVALID_FIELD", key, fmt, args);
    va_end(args);
}

void fields_open(struct fields *fields, const struct js *object, const char *path, struct err *err)
{
    memset(fields, 0, sizeof *fields);
    fields->object = object;
    fields->path = path;
    fields->err = err;
    if (js_type(object) != JS_OBJECT)
        fields_fail(fields, "", "%s must be an object, not %s", *path ? path : "the document",
                    js_type_name(js_type(object)));
}

/* Notes that key is known.  NULL: nothing to read, whether absent or failed. */
static const struct js *ask(struct fields *fields, const char *key, enum field_need need)
{
    if (fields->rc != RC_OK)
        return NULL;
    assert(fields->asked_count < FIELDS_MAX);
    fields->asked[fields->asked_count++] = key;
    const struct js *value = js_get(fields->object, key);
    if (js_type(value) != JS_NULL)
        return value;
    if (need == FIELD_REQUIRED)
        fail(fields, "MISSING_FIELD", key, "%s is required", key);
    return NULL;
}

static const struct js *ask_typed(struct fields *fields, const char *key, enum field_need need,
                                  enum js_type type)
{
    const struct js *value = ask(fields, key, need);
    if (value == NULL || js_type(value) == type)
        return value;
    fields_fail(fields, key, "%s must be %s, not %s", key, js_type_name(type),
                js_type_name(js_type(value)));
    return NULL;
}

static bool text_fits(struct fields *fields, const char *key, const struct field_text *limits,
                      const char *text)
{
    size_t min = limits != NULL ? limits->min : 0;
    size_t max = limits != NULL && limits->max ? limits->max : TEXT_MAX_DEFAULT;
    size_t len = strlen(text);
    if (len >= min && len <= max)
        return true;
    if (len == 0)
        fields_fail(fields, key, "%s must not be empty", key);
    else if (len < min)
        fields_fail(fields, key, "%s must have at least %zu bytes, not %zu", key, min, len);
    else
        fields_fail(fields, key, "%s must have at most %zu bytes, not %zu", key, max, len);
    return false;
}

void fields_string(struct fields *fields, const char *key, enum field_need need,
                   const struct field_text *limits, const char **ret_text)
{
    const struct js *value = ask_typed(fields, key, need, JS_STRING);
    if (value != NULL && text_fits(fields, key, limits, js_str(value, "")))
        *ret_text = js_str(value, "");
}

void fields_int(struct fields *fields, const char *key, enum field_need need,
                const struct field_range *limits, int64_t *ret_value)
{
    const struct js *value = ask_typed(fields, key, need, JS_INT);
    if (value == NULL)
        return;
    int64_t number = js_int(value, 0);
    if (limits != NULL && (number < limits->min || number > limits->max))
        fields_fail(fields, key, "%s must be between %" PRId64 " and %" PRId64 ", not %" PRId64,
                    key, limits->min, limits->max, number);
    else
        *ret_value = number;
}

void fields_real(struct fields *fields, const char *key, enum field_need need,
                 const struct field_real *limits, double *ret_value)
{
    const struct js *value = ask(fields, key, need);
    if (value == NULL)
        return;
    enum js_type type = js_type(value);
    double number = js_num(value, 0);
    if (type != JS_REAL && type != JS_INT)
        fields_fail(fields, key, "%s must be a number, not %s", key, js_type_name(type));
    else if (limits != NULL && !(number >= limits->min && number <= limits->max))
        fields_fail(fields, key, "%s must be between %g and %g, not %g", key, limits->min,
                    limits->max, number);
    else
        *ret_value = number;
}

void fields_bool(struct fields *fields, const char *key, enum field_need need, bool *ret_value)
{
    const struct js *value = ask_typed(fields, key, need, JS_BOOL);
    if (value != NULL)
        *ret_value = js_bool(value, false);
}

/* "a, b, c" as far as it fits. */
static void join_names(struct buf *to, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(to, "%s%s", i ? ", " : "", names[i]);
}

void fields_choice(struct fields *fields, const char *key, enum field_need need,
                   const char *const *names, int *ret_index)
{
    const struct js *value = ask_typed(fields, key, need, JS_STRING);
    if (value == NULL)
        return;
    const char *text = js_str(value, "");
    int count = 0;
    for (; names[count] != NULL; count++) {
        if (strcmp(names[count], text) == 0) {
            *ret_index = count;
            return;
        }
    }
    CLEANUP(buf_release) struct buf allowed;
    buf_init(&allowed, ERR_TEXT_MAX);
    join_names(&allowed, names, (size_t)count);
    fields_fail(fields, key, "%s must be one of %s, not \"%.80s\"", key, buf_text(&allowed), text);
}

void fields_object(struct fields *fields, const char *key, enum field_need need,
                   const struct js **ret_object)
{
    const struct js *value = ask_typed(fields, key, need, JS_OBJECT);
    if (value != NULL)
        *ret_object = value;
}

static const struct js *ask_array(struct fields *fields, const char *key, enum field_need need,
                                  size_t count_max)
{
    const struct js *value = ask_typed(fields, key, need, JS_ARRAY);
    if (value == NULL || js_count(value) <= count_max)
        return value;
    fields_fail(fields, key, "%s must have at most %zu entries, not %zu", key, count_max,
                js_count(value));
    return NULL;
}

void fields_array(struct fields *fields, const char *key, enum field_need need, size_t count_max,
                  const struct js **ret_array)
{
    const struct js *value = ask_array(fields, key, need, count_max);
    if (value != NULL)
        *ret_array = value;
}

void fields_strings(struct fields *fields, const char *key, enum field_need need, size_t count_max,
                    const struct field_text *each, const struct js **ret_array)
{
    const struct js *array = ask_array(fields, key, need, count_max);
    if (array == NULL)
        return;
    for (size_t i = 0; i < js_count(array); i++) {
        char entry[ERR_FIELD_MAX];
        (void)snprintf(entry, sizeof entry, "%.60s[%zu]", key, i);
        const struct js *value = js_at(array, i);
        if (js_type(value) != JS_STRING)
            fields_fail(fields, entry, "%s must be a string, not %s", entry,
                        js_type_name(js_type(value)));
        else if (text_fits(fields, entry, each, js_str(value, "")))
            continue;
        return;
    }
    *ret_array = array;
}

void fields_any(struct fields *fields, const char *key, enum field_need need,
                const struct js **ret_value)
{
    const struct js *value = ask(fields, key, need);
    if (value != NULL)
        *ret_value = value;
}

static bool was_asked(const struct fields *fields, const char *key)
{
    for (size_t i = 0; i < fields->asked_count; i++) {
        if (strcmp(fields->asked[i], key) == 0)
            return true;
    }
    return false;
}

enum rc fields_close(struct fields *fields)
{
    size_t position = 0;
    const char *key;
    const struct js *value;
    while (fields->rc == RC_OK && js_next(fields->object, &position, &key, &value)) {
        if (was_asked(fields, key))
            continue;
        CLEANUP(buf_release) struct buf known;
        buf_init(&known, ERR_TEXT_MAX);
        join_names(&known, fields->asked, fields->asked_count);
        fail(fields, "UNKNOWN_FIELD", key, "%.80s is not a known field; known are %s", key,
             buf_text(&known));
    }
    return fields->rc;
}
