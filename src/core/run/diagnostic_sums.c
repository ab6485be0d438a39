#include "core/run/diagnostic_sums.h"
#include "base/clock.h"
#include <string.h>

static struct tool_sum *tool_of(struct diagnostic_sums *sums, const char *name)
{
    char cut[SUMMED_TOOL_BYTES];
    text_copy(cut, sizeof cut, name);
    for (size_t i = 0; i < sums->tool_count; i++)
        if (strcmp(sums->tools[i].name, cut) == 0)
            return &sums->tools[i];
    if (sums->tool_count == SUMMED_TOOLS_MAX)
        return &sums->others;
    struct tool_sum *tool = &sums->tools[sums->tool_count++];
    text_copy(tool->name, sizeof tool->name, cut);
    return tool;
}

/* A call counts once, when it ended. */
static void add_tool(struct diagnostic_sums *sums, const struct event *event)
{
    static const char *const failures[] = {EV_TOOL_CALL_FAILED, EV_TOOL_CALL_DENIED,
                                           EV_TOOL_CALL_TIMED_OUT};
    bool failed = false;
    for (size_t i = 0; i < COUNT_OF(failures); i++)
        failed |= strcmp(event->type, failures[i]) == 0;
    if (!failed && strcmp(event->type, EV_TOOL_CALL_COMPLETED) != 0)
        return;
    CLEANUP(js_freep) struct js *data = NULL;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK)
        return;
    const char *name = js_get_str(data, "toolName", js_get_str(data, "name", "?"));
    struct tool_sum *tool = tool_of(sums, name);
    tool->calls++;
    tool->failed += failed;
}

void diagnostic_sums_add(struct diagnostic_sums *sums, const struct event *event)
{
    const struct event_type *type = event_type_find(event->type);
    sums->events++;
    if (sums->first_us == 0 || event->time_us < sums->first_us)
        sums->first_us = event->time_us;
    if (event->time_us > sums->last_us)
        sums->last_us = event->time_us;
    if (type == NULL)
        return;
    sums->by_type[event_type_index(type)]++;
    add_tool(sums, event);
}

/* ---- as JSON ---- */

static void write_tool(struct jw *jw, const char *key, const struct tool_sum *tool)
{
    jw_key(jw, key);
    jw_begin(jw, '{');
    jw_kint(jw, "calls", tool->calls);
    jw_kint(jw, "failed", tool->failed);
    jw_end(jw, '}');
}

void diagnostic_sums_write(struct jw *jw, const struct diagnostic_sums *sums)
{
    jw_kint(jw, "events", sums->events);
    jw_ktime(jw, "firstAt", sums->first_us);
    jw_ktime(jw, "lastAt", sums->last_us);
    jw_key(jw, "types");
    jw_begin(jw, '{');
    for (size_t i = 0; i < EVENT_TYPE_COUNT; i++)
        if (sums->by_type[i] > 0)
            jw_kint(jw, event_type_at(i)->type, sums->by_type[i]);
    jw_end(jw, '}');
    jw_key(jw, "tools");
    jw_begin(jw, '{');
    for (size_t i = 0; i < sums->tool_count; i++)
        write_tool(jw, sums->tools[i].name, &sums->tools[i]);
    jw_end(jw, '}');
    if (sums->others.calls > 0)
        write_tool(jw, "otherTools", &sums->others);
}

static struct tool_sum read_tool(const struct js *value)
{
    return (struct tool_sum){.calls = js_get_int(value, "calls", 0),
                             .failed = js_get_int(value, "failed", 0)};
}

static int64_t read_time(const struct js *object, const char *key)
{
    int64_t time_us = 0;
    return time_parse(js_get_str(object, key, ""), &time_us) ? time_us : 0;
}

void diagnostic_sums_read(const struct js *object, struct diagnostic_sums *ret_sums)
{
    struct diagnostic_sums *sums = ret_sums;
    const char *key;
    const struct js *value;
    *sums = (struct diagnostic_sums){.events = js_get_int(object, "events", 0),
                                     .first_us = read_time(object, "firstAt"),
                                     .last_us = read_time(object, "lastAt"),
                                     .others = read_tool(js_get(object, "otherTools"))};
    for (size_t at = 0; js_next(js_get(object, "types"), &at, &key, &value);) {
        const struct event_type *type = event_type_find(key);
        if (type != NULL)
            sums->by_type[event_type_index(type)] = js_int(value, 0);
    }
    for (size_t at = 0; js_next(js_get(object, "tools"), &at, &key, &value);) {
        if (sums->tool_count == SUMMED_TOOLS_MAX)
            break;
        struct tool_sum *tool = &sums->tools[sums->tool_count++];
        *tool = read_tool(value);
        text_copy(tool->name, sizeof tool->name, key);
    }
}
