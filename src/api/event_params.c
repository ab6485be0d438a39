#include "api/event_params.h"
#include "core/agent/addressee.h"
#include "core/event.h"
#include "core/event_tags.h"
#include <string.h>

enum { TYPES_BYTES_MAX = 1000, TAGS_BYTES_MAX = 1000, NAME_BYTES_MAX = 100 };

static void read_types(struct params *params, struct arena *arena, struct event_selector *selector)
{
    const char *text = NULL;
    struct str rest, one;
    size_t count = 0;
    params_text(params, "type", TYPES_BYTES_MAX, &text);
    for (rest = str_of(text); event_tags_next(&rest, &one);) {
        const char *pattern = str_dup(arena, one);
        if (count == SELECTOR_TYPES_MAX) {
            params_fail(params, "type", "type may have %d patterns", SELECTOR_TYPES_MAX);
            return;
        }
        if (one.len > EVENT_TYPE_MAX || !event_pattern_valid(pattern)) {
            params_fail(params, "type", "no type of event matches \"%.60s\": " EVENT_PATTERN_RULE,
                        pattern);
            return;
        }
        selector->types[count++] = pattern;
    }
    if (text != NULL && count == 0)
        params_fail(params, "type", "type has no pattern in it");
}

struct tags {
    struct event_selector *selector;
    size_t count;
};

static void add_tag(struct params *params, const char *name, struct tags *tags, const char *tag)
{
    if (tags->count == SELECTOR_TAGS_MAX)
        params_fail(params, name, "an event is chosen by %d tags at most, with agent and persona",
                    SELECTOR_TAGS_MAX);
    else
        tags->selector->tags[tags->count++] = tag;
}

static void read_tags(struct params *params, struct arena *arena, struct tags *tags)
{
    const char *text = NULL;
    struct str rest, one;
    params_text(params, "tag", TAGS_BYTES_MAX, &text);
    for (rest = str_of(text); event_tags_next(&rest, &one);) {
        if (one.len > EVENT_TAG_MAX)
            params_fail(params, "tag", "a tag has %d bytes at most", EVENT_TAG_MAX);
        else
            add_tag(params, "tag", tags, str_dup(arena, one));
    }
    if (text != NULL && tags->count == 0)
        params_fail(params, "tag", "tag has no tag in it");
}

/* agent and persona: tags of their own. */
static const struct named_tag {
    const char *name;
    bool (*valid)(const char *text);
    const char *rule;
} named_tags[] = {
    {"agent", agent_name_valid, AGENT_NAME_RULE},
    {"persona", persona_name_valid, PERSONA_NAME_RULE},
};

static void read_named(struct params *params, struct arena *arena, struct tags *tags)
{
    for (size_t i = 0; i < COUNT_OF(named_tags); i++) {
        const struct named_tag *named = &named_tags[i];
        const char *text = NULL;
        params_text(params, named->name, NAME_BYTES_MAX, &text);
        if (text == NULL)
            continue;
        if (!named->valid(text))
            params_fail(params, named->name, "%.60s: %s", text, named->rule);
        else
            add_tag(params, named->name, tags, arena_printf(arena, "%s:%s", named->name, text));
    }
}

static void read_severity(struct params *params, enum severity *ret_severity)
{
    const char *name = NULL;
    params_text(params, "severity", NAME_BYTES_MAX, &name);
    if (name != NULL && !severity_parse(name, ret_severity))
        params_fail(params, "severity", "%.16s is not a severity: debug, info, warning, error",
                    name);
}

void event_params_read(struct params *params, struct arena *arena,
                       struct event_selector *ret_selector)
{
    struct event_selector selector = {0};
    struct tags tags = {.selector = &selector};
    read_types(params, arena, &selector);
    read_tags(params, arena, &tags);
    read_named(params, arena, &tags);
    read_severity(params, &selector.min_severity);
    *ret_selector = selector;
}

void event_params_owner(struct params *params, struct id *ret_run, struct id *ret_task)
{
    params_id(params, "runId", ret_run);
    params_id(params, "taskId", ret_task);
    if (!id_is_none(ret_run) && !id_is_none(ret_task))
        params_fail(params, "taskId", "give runId or taskId, not both");
}
