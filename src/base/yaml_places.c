/*
 * yaml_places.c - follows the events of libyaml with the path of the present value beside it.
 *
 * The path of an open container ends at level.path_len; a member's key or an element's number is
 * added behind it and cut off when the value has ended.
 */
#include "base/yaml_places.h"
#include "base/buf.h"
#include "base/js.h"
#include "base/yaml.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* yaml.c reads no more events either. */
enum { EVENTS_MAX = 3 * YAML_VALUES_MAX, PATH_BYTES_MAX = 64 * 1024 };

struct level {
    bool mapping;
    bool has_key; /* A mapping's key stands, its value comes next. */
    size_t index; /* Of the next element. */
    size_t path_len;
};

struct finder {
    yaml_parser_t parser;
    struct level stack[JS_DEPTH_MAX];
    size_t depth;
    struct buf path;
    struct yaml_place *places;
    size_t count;
};

static void finder_release(struct finder *finder)
{
    yaml_parser_delete(&finder->parser);
    buf_release(&finder->path);
}

/* Does the path lead to the wanted one, or is it that? */
static bool leads_to(struct str path, const char *wanted)
{
    if (strncmp(path.at, wanted, path.len) != 0)
        return false;
    char next = wanted[path.len];
    return path.len == 0 || next == '\0' || next == '.' || next == '[';
}

/* The present path begins here. */
static void note(struct finder *finder, yaml_mark_t at)
{
    struct str path = {buf_text(&finder->path), finder->path.len};
    for (size_t i = 0; i < finder->count; i++) {
        struct yaml_place *place = &finder->places[i];
        bool better = place->line == 0 || path.len > place->known;
        if (!better || !leads_to(path, place->path))
            continue;
        place->line = at.line + 1;
        place->column = at.column + 1;
        place->known = path.len;
    }
}

static struct level *top_of(struct finder *finder)
{
    return finder->depth > 0 ? &finder->stack[finder->depth - 1] : NULL;
}

static bool take_key(struct finder *finder, const yaml_event_t *event)
{
    struct level *top = top_of(finder);
    if (top == NULL || !top->mapping || top->has_key || event->type != YAML_SCALAR_EVENT)
        return false;
    if (finder->path.len > 0)
        buf_addc(&finder->path, '.');
    buf_add(&finder->path, event->data.scalar.value, event->data.scalar.length);
    note(finder, event->start_mark);
    top->has_key = true;
    return true;
}

static void begin_value(struct finder *finder, yaml_mark_t at)
{
    struct level *top = top_of(finder);
    if (top == NULL)
        note(finder, at);
    if (top == NULL || top->mapping)
        return;
    buf_addf(&finder->path, "[%zu]", top->index++);
    note(finder, at);
}

static void end_value(struct finder *finder)
{
    struct level *top = top_of(finder);
    if (top == NULL)
        return;
    top->has_key = false;
    buf_cut(&finder->path, top->path_len);
}

/* False: no further. */
static bool take_event(struct finder *finder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        if (take_key(finder, event))
            return true;
        begin_value(finder, event->start_mark);
        end_value(finder);
        return true;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (finder->depth == JS_DEPTH_MAX)
            return false;
        begin_value(finder, event->start_mark);
        finder->stack[finder->depth++] = (struct level){
            .mapping = event->type == YAML_MAPPING_START_EVENT, .path_len = finder->path.len};
        return true;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        finder->depth--;
        end_value(finder);
        return true;
    case YAML_ALIAS_EVENT:
    case YAML_STREAM_END_EVENT:
        return false;
    default:
        return true;
    }
}

void yaml_locate(struct str text, struct yaml_place *places, size_t count)
{
    CLEANUP(finder_release) struct finder finder = {.places = places, .count = count};
    int ok = yaml_parser_initialize(&finder.parser);
    assert(ok);
    buf_init(&finder.path, PATH_BYTES_MAX);
    for (size_t i = 0; i < count; i++)
        places[i].line = places[i].column = places[i].known = 0;
    yaml_parser_set_encoding(&finder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&finder.parser, (const unsigned char *)text.at, text.len);
    bool more = true;
    for (size_t i = 0; more && i < EVENTS_MAX; i++) {
        yaml_event_t event;
        if (!yaml_parser_parse(&finder.parser, &event))
            return;
        more = take_event(&finder, &event);
        yaml_event_delete(&event);
    }
}

bool yaml_err_place(const struct err *err, struct yaml_place *ret_place, const char **ret_why)
{
    unsigned line = 0, column = 0;
    int used = 0;
    if (sscanf(err->text, "line %9u, column %9u: %n", &line, &column, &used) != 2 || used == 0)
        return false;
    *ret_place = (struct yaml_place){.path = "", .line = line, .column = column};
    *ret_why = err->text + used;
    return true;
}
