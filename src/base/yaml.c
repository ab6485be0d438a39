/*
 * yaml.c - YAML events into the tree of js.h.
 *
 * Containers that are still open stand on a stack of at most JS_DEPTH_MAX; a
 * value that ends is hung into the one on top.  A mapping alternates between
 * waiting for a key (level.key is NULL) and for its value.
 */
#include "base/yaml.h"
#include "base/js_peek.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { EVENTS_MAX = 3 * YAML_VALUES_MAX }; /* A container has a key, a begin and an end. */

struct level {
    struct js *node;
    char *key; /* A mapping's key that waits for its value. */
};

struct reader {
    yaml_parser_t parser;
    struct level stack[JS_DEPTH_MAX];
    size_t depth;
    size_t events;
    size_t documents;
    struct js *root;
    struct err *err;
};

static void reader_release(struct reader *reader)
{
    for (size_t i = 0; i < reader->depth; i++) {
        js_free(reader->stack[i].node);
        mem_free(reader->stack[i].key);
    }
    js_free(reader->root);
    yaml_parser_delete(&reader->parser);
}

static enum rc refuse(struct reader *reader, yaml_mark_t at, const char *why)
{
    return err_set(reader->err, RC_MALFORMED, "INVALID_YAML", "line %zu, column %zu: %s",
                   at.line + 1, at.column + 1, why);
}

/* What libyaml itself found wrong.  Bad bytes have an offset instead of a mark. */
static enum rc refuse_syntax(struct reader *reader, struct str input)
{
    const yaml_parser_t *parser = &reader->parser;
    assert(parser->error != YAML_MEMORY_ERROR);
    const char *why = parser->problem != NULL ? parser->problem : "not valid YAML";
    if (parser->error != YAML_READER_ERROR)
        return refuse(reader, parser->problem_mark, why);
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < parser->problem_offset && i < input.len; i++) {
        mark.column++;
        if (input.at[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return refuse(reader, mark, why);
}

static bool one_of(const char *text, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(text, *names) == 0)
            return true;
    }
    return false;
}

static const char *skip(const char *at, const char *set)
{
    return at + strspn(at, set);
}

static const char digits[] = "0123456789";

/* [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+; gives the base, or 0. */
static int int_base(const char *text)
{
    const char *at = *text == '-' || *text == '+' ? text + 1 : text;
    if (*at && *skip(at, digits) == '\0')
        return 10;
    if (text[0] != '0' || text[1] == '\0' || text[2] == '\0')
        return 0;
    if (text[1] == 'o' && *skip(text + 2, "01234567") == '\0')
        return 8;
    return text[1] == 'x' && *skip(text + 2, "0123456789abcdefABCDEF") == '\0' ? 16 : 0;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_real(const char *text)
{
    const char *at = *text == '-' || *text == '+' ? text + 1 : text;
    const char *whole = skip(at, digits), *end = whole;
    if (*whole == '.')
        end = skip(whole + 1, digits);
    if (whole == at && end <= whole + 1)
        return false;
    if (*end == 'e' || *end == 'E') {
        end++;
        if (*end == '-' || *end == '+')
            end++;
        if (*end < '0' || *end > '9')
            return false;
        end = skip(end, digits);
    }
    return *end == '\0';
}

/* NULL when the number does not fit. */
static struct js *number_value(const char *text, int base)
{
    errno = 0;
    if (base == 0) {
        double real = strtod(text, NULL);
        return js_new_real(real); /* NULL for an infinite one. */
    }
    long long value = strtoll(base == 8 ? text + 2 : text, NULL, base);
    return errno == ERANGE ? NULL : js_new_int(value);
}

static struct js *plain_value(const char *text, size_t len)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    if (one_of(text, nulls))
        return js_new_null();
    if (one_of(text, trues) || one_of(text, falses))
        return js_new_bool(one_of(text, trues));
    int base = int_base(text);
    if (base || is_real(text))
        return number_value(text, base);
    return js_new_string(text, len);
}

/* Hangs a finished value where it belongs; takes ownership. */
static void attach(struct reader *reader, struct js *value)
{
    struct level *top = reader->depth ? &reader->stack[reader->depth - 1] : NULL;
    if (top == NULL) {
        reader->root = value;
    } else if (js_type(top->node) == JS_ARRAY) {
        js_push(top->node, value);
    } else {
        bool fresh = js_put(top->node, top->key, value);
        assert(fresh); /* take_key has checked it. */
        mem_free(top->key);
        top->key = NULL;
    }
}

static bool waits_for_key(const struct reader *reader)
{
    if (reader->depth == 0)
        return false;
    const struct level *top = &reader->stack[reader->depth - 1];
    return js_type(top->node) == JS_OBJECT && top->key == NULL;
}

static enum rc take_key(struct reader *reader, const char *text, yaml_mark_t at)
{
    struct level *top = &reader->stack[reader->depth - 1];
    if (js_get(top->node, text) != NULL)
        return refuse(reader, at, "the key is there twice");
    top->key = mem_strdup(text);
    return RC_OK;
}

static enum rc take_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (event->data.scalar.anchor != NULL)
        return refuse(reader, event->start_mark, "anchors are not supported");
    if (event->data.scalar.tag != NULL)
        return refuse(reader, event->start_mark, "tags are not supported");
    if (!text_utf8_valid(text, len))
        return refuse(reader, event->start_mark, "the text holds a NUL or is not UTF-8");
    if (waits_for_key(reader))
        return take_key(reader, text, event->start_mark);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct js *value = plain ? plain_value(text, len) : js_new_string(text, len);
    if (value == NULL)
        return refuse(reader, event->start_mark, "the number is out of range");
    attach(reader, value);
    return RC_OK;
}

static enum rc open_container(struct reader *reader, const yaml_event_t *event)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = mapping ? event->data.mapping_start.anchor
                                        : event->data.sequence_start.anchor;
    const yaml_char_t *tag = mapping ? event->data.mapping_start.tag
                                     : event->data.sequence_start.tag;
    if (anchor != NULL)
        return refuse(reader, event->start_mark, "anchors are not supported");
    if (tag != NULL)
        return refuse(reader, event->start_mark, "tags are not supported");
    if (waits_for_key(reader))
        return refuse(reader, event->start_mark, "a key must be a plain value");
    if (reader->depth == JS_DEPTH_MAX)
        return refuse(reader, event->start_mark, "nested too deeply");
    struct level *top = &reader->stack[reader->depth++];
    *top = (struct level){.node = mapping ? js_new_object() : js_new_array()};
    return RC_OK;
}

static enum rc take_event(struct reader *reader, const yaml_event_t *event)
{
    if (++reader->events > EVENTS_MAX)
        return refuse(reader, event->start_mark, "the document has too many values");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return open_container(reader, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        assert(reader->depth > 0);
        reader->depth--;
        attach(reader, reader->stack[reader->depth].node);
        return RC_OK;
    case YAML_ALIAS_EVENT:
        return refuse(reader, event->start_mark, "aliases are not supported");
    case YAML_DOCUMENT_START_EVENT:
        if (++reader->documents > 1)
            return refuse(reader, event->start_mark, "only one document is allowed");
        return RC_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return RC_OK;
    }
    return RC_OK;
}

/* Ends with the stream, an error, or EVENTS_MAX events. */
static enum rc take_all(struct reader *reader, struct str input)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return refuse_syntax(reader, input);
        yaml_event_type_t type = event.type;
        yaml_mark_t mark = event.start_mark;
        enum rc rc = take_event(reader, &event);
        yaml_event_delete(&event);
        if (rc != RC_OK)
            return rc;
        if (type == YAML_STREAM_END_EVENT)
            return reader->root != NULL ? RC_OK : refuse(reader, mark, "the document is empty");
    }
}

/*
 * libyaml mishandles some JSON (surrogate pairs, tabs, long keys), so what
 * looks like JSON is tried as such first.
 */
static bool parsed_as_json(struct str input, struct js **ret_tree)
{
    size_t i = 0;
    while (i < input.len && strchr(" \t\r\n", input.at[i]) != NULL && input.at[i] != '\0')
        i++;
    if (i == input.len || (input.at[i] != '{' && input.at[i] != '['))
        return false;
    if (js_peek_count(input) > YAML_VALUES_MAX)
        return false;
    return js_parse(input.at, input.len, ret_tree, NULL) == RC_OK;
}

enum rc yaml_parse(const char *bytes, size_t len, struct js **ret_tree, struct err *err)
{
    struct str input = {len ? bytes : "", len};
    if (parsed_as_json(input, ret_tree))
        return RC_OK;
    CLEANUP(reader_release) struct reader reader = {.err = err};
    int ok = yaml_parser_initialize(&reader.parser);
    assert(ok);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)input.at, input.len);
    enum rc rc = take_all(&reader, input);
    if (rc != RC_OK)
        return rc;
    *ret_tree = reader.root;
    reader.root = NULL;
    return RC_OK;
}
