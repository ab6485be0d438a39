/*
 * js.c - reading JSON, over jansson.
 *
 * struct js is jansson's json_t behind a cast; no other file depends on that.
 * Depth is measured before jansson sees the text, so that what is too deep
 * costs no memory and has a line and a column.
 */
#include "base/js.h"
#include "base/js_bytes.h"
#include "base/js_mend.h"
#include "base/jw.h"
#include "base/mem.h"
#include <assert.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>

static void *take_memory(size_t bytes)
{
    return mem_grow(NULL, bytes);
}

/* jansson would otherwise seed its hashes in whichever thread uses it first. */
static void prepare(void)
{
    json_set_alloc_funcs(take_memory, mem_free);
    json_object_seed(0);
}

static void prepare_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare);
}

static const json_t *in(const struct js *value)
{
    return (const json_t *)value;
}

static const struct js *out(const json_t *value)
{
    return (const struct js *)value;
}

static struct js *made(json_t *value)
{
    return (struct js *)value;
}

/* False when brackets nest deeper than JS_DEPTH_MAX; the position is where they do. */
static bool depth_allowed(const char *bytes, size_t len, int *ret_line, int *ret_column)
{
    int depth = 0, line = 1, column = 0;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        column++;
        if (c == '\n') {
            line++;
            column = 0;
        } else if (quoted && c == '\\') {
            i++;
            column++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '[' || c == '{') && ++depth > JS_DEPTH_MAX) {
            *ret_line = line;
            *ret_column = column;
            return false;
        } else if (!quoted && (c == ']' || c == '}')) {
            depth--;
        }
    }
    return true;
}

static enum rc parse(const char *bytes, size_t len, size_t flags, struct js **ret_tree,
                     struct err *err)
{
    prepare_once();
    if (len == 0)
        return err_set(err, RC_MALFORMED, "INVALID_JSON",
                       "line 1, column 1: a JSON value is expected, but there is nothing");
    int line = 0, column = 0;
    if (!depth_allowed(bytes, len, &line, &column))
        return err_set(err, RC_MALFORMED, "INVALID_JSON",
                       "line %d, column %d: nested deeper than %d levels", line, column,
                       JS_DEPTH_MAX);
    json_error_t problem;
    json_t *tree = json_loadb(bytes, len, flags | JSON_DECODE_ANY, &problem);
    if (tree == NULL)
        return err_set(err, RC_MALFORMED, "INVALID_JSON", "line %d, column %d: %s", problem.line,
                       problem.column, problem.text);
    *ret_tree = made(tree);
    return RC_OK;
}

enum rc js_parse(const char *bytes, size_t len, struct js **ret_tree, struct err *err)
{
    return parse(bytes, len, JSON_REJECT_DUPLICATES, ret_tree, err);
}

enum rc js_parse_bytes(const char *bytes, size_t len, struct js **ret_tree, struct err *err)
{
    return parse(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, ret_tree, err);
}

enum rc js_parse_lenient(const char *bytes, size_t len, struct js **ret_tree, struct err *err)
{
    if (parse(bytes, len, 0, ret_tree, NULL) == RC_OK)
        return RC_OK;
    CLEANUP(buf_release) struct buf mended;
    buf_init(&mended, 6 * len + 16); /* Every byte may become one of three, an escape is six. */
    js_mend((struct str){bytes, len}, &mended);
    return parse(buf_text(&mended), mended.len, 0, ret_tree, err);
}

void js_free(struct js *tree)
{
    json_decref((json_t *)tree);
}

void js_freep(struct js **tree)
{
    js_free(*tree);
}

enum js_type js_type(const struct js *value)
{
    if (value == NULL)
        return JS_NULL;
    switch (json_typeof(in(value))) {
    case JSON_OBJECT:
        return JS_OBJECT;
    case JSON_ARRAY:
        return JS_ARRAY;
    case JSON_STRING:
        return JS_STRING;
    case JSON_INTEGER:
        return JS_INT;
    case JSON_REAL:
        return JS_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JS_BOOL;
    case JSON_NULL:
        break;
    }
    return JS_NULL;
}

const char *js_type_name(enum js_type type)
{
    static const char *const names[] = {
        [JS_NULL] = "null",       [JS_BOOL] = "a boolean",  [JS_INT] = "an integer",
        [JS_REAL] = "a number",   [JS_STRING] = "a string", [JS_ARRAY] = "an array",
        [JS_OBJECT] = "an object"};
    assert((size_t)type < COUNT_OF(names));
    return names[type];
}

const struct js *js_get(const struct js *object, const char *key)
{
    return out(json_object_get(in(object), key));
}

const struct js *js_path(const struct js *value, const char *dotted)
{
    for (;;) {
        size_t len = strcspn(dotted, ".");
        value = out(json_object_getn(in(value), dotted, len));
        if (dotted[len] == '\0')
            return value;
        dotted += len + 1;
    }
}

size_t js_count(const struct js *array_or_object)
{
    const json_t *value = in(array_or_object);
    return json_is_object(value) ? json_object_size(value) : json_array_size(value);
}

const struct js *js_at(const struct js *array, size_t index)
{
    return out(json_array_get(in(array), index));
}

/* The position is jansson's iterator at the member given out last. */
bool js_next(const struct js *object, size_t *position, const char **ret_key,
             const struct js **ret_value)
{
    json_t *value = (json_t *)in(object); /* Iterating changes nothing. */
    void *at = *position ? json_object_iter_next(value, (void *)(uintptr_t)*position)
                         : json_object_iter(value);
    if (at == NULL)
        return false;
    *position = (size_t)(uintptr_t)at;
    *ret_key = json_object_iter_key(at);
    *ret_value = out(json_object_iter_value(at));
    return true;
}

const char *js_str(const struct js *value, const char *fallback)
{
    const char *text = json_string_value(in(value));
    return text != NULL ? text : fallback;
}

struct str js_bytes(const struct js *value)
{
    return (struct str){json_string_value(in(value)), json_string_length(in(value))};
}

int64_t js_int(const struct js *value, int64_t fallback)
{
    return json_is_integer(in(value)) ? json_integer_value(in(value)) : fallback;
}

double js_num(const struct js *value, double fallback)
{
    return json_is_number(in(value)) ? json_number_value(in(value)) : fallback;
}

bool js_bool(const struct js *value, bool fallback)
{
    return json_is_boolean(in(value)) ? json_is_true(in(value)) : fallback;
}

const char *js_get_str(const struct js *object, const char *key, const char *fallback)
{
    return js_str(js_get(object, key), fallback);
}

int64_t js_get_int(const struct js *object, const char *key, int64_t fallback)
{
    return js_int(js_get(object, key), fallback);
}

bool js_get_bool(const struct js *object, const char *key, bool fallback)
{
    return js_bool(js_get(object, key), fallback);
}

/* Recursion is bounded: neither JSON nor YAML makes trees deeper than JS_DEPTH_MAX. */
static void write_value(struct jw *jw, const struct js *value, int depth);

static void write_members(struct jw *jw, const struct js *object, int depth)
{
    size_t position = 0;
    const char *key;
    const struct js *member;
    jw_begin(jw, '{');
    while (js_next(object, &position, &key, &member)) {
        jw_key(jw, key);
        write_value(jw, member, depth);
    }
    jw_end(jw, '}');
}

static void write_elements(struct jw *jw, const struct js *array, int depth)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < js_count(array); i++)
        write_value(jw, js_at(array, i), depth);
    jw_end(jw, ']');
}

static void write_value(struct jw *jw, const struct js *value, int depth)
{
    assert(depth <= JS_DEPTH_MAX);
    switch (js_type(value)) {
    case JS_NULL:
        jw_null(jw);
        break;
    case JS_BOOL:
        jw_bool(jw, js_bool(value, false));
        break;
    case JS_INT:
        jw_int(jw, js_int(value, 0));
        break;
    case JS_REAL:
        jw_real(jw, js_num(value, 0));
        break;
    case JS_STRING:
        jw_strn(jw, js_str(value, ""), json_string_length(in(value)));
        break;
    case JS_ARRAY:
        write_elements(jw, value, depth + 1);
        break;
    case JS_OBJECT:
        write_members(jw, value, depth + 1);
        break;
    }
}

void js_write(struct jw *jw, const struct js *value)
{
    write_value(jw, value, 0);
}

char *js_text(const struct js *value, struct arena *arena)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, SIZE_MAX / 8); /* As large as the tree needs: that was limited when read. */
    struct jw jw = jw_to(&buf);
    js_write(&jw, value);
    return arena_strndup(arena, buf_text(&buf), buf.len);
}

struct js *js_new_null(void)
{
    return made(json_null());
}

struct js *js_new_bool(bool value)
{
    return made(json_boolean(value));
}

struct js *js_new_int(int64_t value)
{
    prepare_once();
    return made(json_integer(value));
}

struct js *js_new_real(double value)
{
    prepare_once();
    return made(json_real(value));
}

struct js *js_new_string(const char *text, size_t len)
{
    prepare_once();
    return text_utf8_valid(text, len) ? made(json_stringn_nocheck(text, len)) : NULL;
}

struct js *js_new_array(void)
{
    prepare_once();
    return made(json_array());
}

struct js *js_new_object(void)
{
    prepare_once();
    return made(json_object());
}

bool js_put(struct js *object, const char *key, struct js *value)
{
    if (js_get(object, key) != NULL) {
        js_free(value);
        return false;
    }
    return json_object_set_new((json_t *)object, key, (json_t *)value) == 0;
}

void js_push(struct js *array, struct js *value)
{
    int failed = json_array_append_new((json_t *)array, (json_t *)value);
    assert(!failed);
}
