/*
 * sink.c - the kinds of sinks, and their configuration.
 */
#include "sink/sink.h"
#include "base/arena.h"
#include "base/clock.h"
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES_MAX = 128 };

/* To add one: its struct sink_ops as in sink/sink_file.c, declared in sink/sink.h, a row here, its
   members in docs/CONFIGURATION.md, a test as tests/unit/sink/test_sink_file.c. */
static const struct sink_ops *const kinds[] = {&sink_file, &sink_webhook, &sink_kafka, &sink_nats,
                                               &sink_rabbitmq};

bool sink_name_valid(const char *name)
{
    size_t len = strlen(name);
    for (const char *at = name; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL)
            return false;
    }
    return len > 0 && len <= SINK_NAME_MAX;
}

static void read_types(struct fields *fields, struct arena *arena, const char **ret_types)
{
    const struct js *array = NULL;
    fields_strings(fields, "types", FIELD_OPTIONAL, SINK_PATTERNS_MAX,
                   &(struct field_text){1, PATTERN_BYTES_MAX}, &array);
    for (size_t i = 0; i < js_count(array) && i < SINK_PATTERNS_MAX; i++) {
        ret_types[i] = arena_strdup(arena, js_str(js_at(array, i), ""));
        if (!event_pattern_valid(ret_types[i]))
            fields_fail(fields, "types", "no type of event matches \"%s\": " EVENT_PATTERN_RULE,
                        ret_types[i]);
    }
}

static void read_from(struct fields *fields, struct sink_from *ret_from)
{
    const struct js *value = NULL;
    int64_t number;
    fields_any(fields, "from", FIELD_OPTIONAL, &value);
    const char *text = js_str(value, "");
    if (value == NULL || js_type(value) == JS_NULL || text_same(text, "start"))
        *ret_from = (struct sink_from){SINK_FROM_START, 0};
    else if (text_same(text, "end"))
        *ret_from = (struct sink_from){SINK_FROM_END, 0};
    else if (js_type(value) == JS_INT && js_int(value, 0) > 0)
        *ret_from = (struct sink_from){SINK_FROM_SEQ, js_int(value, 0)};
    else if (time_parse(text, &number))
        *ret_from = (struct sink_from){SINK_FROM_TIME, number};
    else
        fields_fail(fields, "from",
                    "from must be start, end, the sequence of an event (1 or more), or a time such "
                    "as 2026-01-31T12:00:00Z");
}

static void read_name(struct fields *fields, const char *given, const char **ret_name)
{
    const char *name = given;
    fields_string(fields, "name", given != NULL ? FIELD_OPTIONAL : FIELD_REQUIRED,
                  &(struct field_text){1, SINK_NAME_MAX}, &name);
    if (name != NULL && !sink_name_valid(name))
        fields_fail(fields, "name", "name may hold letters, digits and ._- only");
    if (given != NULL && !text_same(given, name))
        fields_fail(fields, "name", "name must be %s, or be left out", given);
    *ret_name = name;
}

enum rc sink_config_decode(const struct js *document, const char *path, const char *name,
                           struct arena *arena, struct sink_config *ret_config, struct err *err)
{
    const char *types[COUNT_OF(kinds) + 1] = {NULL};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        types[i] = kinds[i]->type;
    struct sink_config config = {0};
    struct fields fields;
    int kind = 0;
    fields_open(&fields, document, path, err);
    read_name(&fields, name, &name);
    fields_choice(&fields, "type", FIELD_REQUIRED, types, &kind);
    read_types(&fields, arena, config.types);
    read_from(&fields, &config.from);
    config.ops = kinds[kind];
    config.settings = config.ops->decode(&fields, arena);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    config.name = arena_strdup(arena, name);
    *ret_config = config;
    return RC_OK;
}

enum rc sink_config_apart(const struct sink_config *config, const struct sink_config *other,
                          const char *path, struct err *err)
{
    if (config->ops == other->ops && config->ops->same(config->settings, other->settings))
        return err_field(err, RC_INVALID, "INVALID_FIELD", path,
                         "the sinks %s and %s write to the same place", other->name, config->name);
    return RC_OK;
}

/* Two sinks with one name would share a cursor. */
static enum rc check_distinct(const struct sink_config *config, const struct sink_config *earlier,
                              const char *path, struct err *err)
{
    if (text_same(config->name, earlier->name))
        return err_field(err, RC_INVALID, "INVALID_FIELD", path, "there are two sinks called %s",
                         config->name);
    return sink_config_apart(config, earlier, path, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sink_config *)a)->name, ((const struct sink_config *)b)->name);
}

enum rc sink_configs_decode(const struct js *array, const char *path, struct arena *arena,
                            struct sink_configs *ret_configs, struct err *err)
{
    size_t count = js_count(array);
    assert(count <= SINKS_MAX); /* fields_array has checked it. */
    struct sink_config *items = arena_array(arena, count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        const char *where = arena_printf(arena, "%s[%zu]", path, i);
        enum rc rc = sink_config_decode(js_at(array, i), where, NULL, arena, &items[i], err);
        for (size_t j = 0; rc == RC_OK && j < i; j++)
            rc = check_distinct(&items[i], &items[j], where, err);
        if (rc != RC_OK)
            return rc;
    }
    qsort(items, count, sizeof *items, by_name);
    *ret_configs = (struct sink_configs){items, count};
    return RC_OK;
}

bool sink_wants(const struct sink_config *config, const char *event_type)
{
    for (size_t i = 0; config->types[i] != NULL; i++) {
        if (event_type_match(config->types[i], event_type))
            return true;
    }
    return config->types[0] == NULL;
}
