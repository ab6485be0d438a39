/*
 * event.c - facts in their CloudEvents 1.0 form.
 */
#include "core/event.h"
#include "base/js.h"
#include "base/js_peek.h"
#include "base/js_sound.h"
#include "core/cloud_event.h"
#include "core/event_types.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DATASCHEMA_FORMAT "urn:drover:schema:%s:%lld"
enum { DATASCHEMA_BYTES = 256, PLACE_BYTES = 32, SEQUENCE_DIGITS = 10 };

static const char *const severity_names[] = {
    [SEVERITY_DEBUG] = "debug",
    [SEVERITY_INFO] = "info",
    [SEVERITY_WARNING] = "warning",
    [SEVERITY_ERROR] = "error",
};

static void write_own(struct jw *jw, const struct event *event)
{
    char urn[DATASCHEMA_BYTES];
    jw_ktime(jw, "time", event->time_us);
    jw_kstr(jw, "datacontenttype", "application/json");
    snprintf(urn, sizeof urn, DATASCHEMA_FORMAT, event->type, (long long)event->version);
    jw_kstr(jw, "dataschema", urn);
}

static void write_attribute(struct jw *jw, const char *name, const struct js *value)
{
    if (js_type(value) == JS_BOOL)
        jw_kbool(jw, name, js_bool(value, false));
    else if (js_type(value) == JS_INT)
        jw_kint(jw, name, js_int(value, 0));
    else
        jw_kstr(jw, name, js_str(value, ""));
}

/* As it was appended; with a time of its own, the time when it was stored is recordedtime.  Is its
   data binary? */
static bool write_given(struct jw *jw, const struct event *event)
{
    CLEANUP(js_freep) struct js *attributes = NULL;
    const struct js *value;
    const char *name;
    if (event->attributes.len > 0 &&
        js_parse(event->attributes.at, event->attributes.len, &attributes, NULL) != RC_OK)
        attributes = NULL; /* It was written by us. */
    jw_ktime(jw, js_get(attributes, "time") != NULL ? "recordedtime" : "time", event->time_us);
    for (size_t it = 0; js_next(attributes, &it, &name, &value);)
        if (!text_same(name, EVENT_BINARY_MARK))
            write_attribute(jw, name, value);
    return js_get(attributes, EVENT_BINARY_MARK) != NULL;
}

/* A string: integers of CloudEvents have 32 bits. */
static void write_place(struct jw *jw, const char *name, int64_t place, int digits)
{
    char text[PLACE_BYTES];
    (void)snprintf(text, sizeof text, "%0*lld", digits, (long long)place);
    jw_kstr(jw, name, text);
}

static bool has_data(const struct event *event)
{
    return event->source == NULL || !str_is(event->data, "null");
}

const char *event_dataschema(const char *type, int64_t version, struct arena *arena)
{
    return arena_printf(arena, DATASCHEMA_FORMAT, type, (long long)version);
}

void event_write(struct jw *jw, const struct event *event)
{
    bool binary = false;
    assert(!text_empty(event->type));
    jw_begin(jw, '{');
    jw_kstr(jw, "specversion", "1.0");
    jw_kstr(jw, "id", event->source != NULL ? event->source_id : event->id.text);
    jw_kstr(jw, "source", event->source != NULL ? event->source : "drover");
    jw_kstr(jw, "type", event->type);
    jw_optstr(jw, "subject", event->subject);
    if (event->source != NULL)
        binary = write_given(jw, event);
    else
        write_own(jw, event);
    jw_optstr(jw, "traceparent", event->traceparent);
    jw_optstr(jw, "workspaceid", event->workspace_id.text);
    jw_optstr(jw, "taskid", event->task_id.text);
    jw_optstr(jw, "runid", event->run_id.text);
    jw_optstr(jw, "attemptid", event->attempt_id.text);
    jw_optstr(jw, "correlationid", event->correlation_id.text);
    jw_optstr(jw, "causationid", event->causation_id.text);
    jw_optstr(jw, "actortype", event->actor.type);
    jw_optstr(jw, "actorid", event->actor.id);
    if (event->source == NULL)
        jw_kstr(jw, "severity", severity_name(event_severity_of(event)));
    jw_optstr(jw, "tags", event->tags);
    if (event->run_seq > 0)
        /* The documented extension: its order as text is the order of events. */
        write_place(jw, "sequence", event->run_seq, SEQUENCE_DIGITS);
    if (event->source == NULL)
        jw_kint(jw, "eventversion", event->version);
    if (event->seq > 0)
        write_place(jw, "logseq", event->seq, 1);
    if (has_data(event))
        jw_kraw(jw, binary ? "data_base64" : "data", event->data.len > 0 ? event->data : STR("{}"));
    jw_end(jw, '}');
}

/* False: the data has none. */
static bool repository_of(const struct event *event, char to[EVENT_KEY_BYTES])
{
    static const char member[] = "\"repositoryId\"";
    CLEANUP(js_freep) struct js *data = NULL;
    struct id id;
    if (event->data.len == 0 ||
        memmem(event->data.at, event->data.len, member, sizeof member - 1) == NULL ||
        js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK ||
        !id_parse(js_get_str(data, "repositoryId", ""), &id))
        return false;
    text_copy(to, EVENT_KEY_BYTES, id.text);
    return true;
}

const char *event_partition_key(const struct event *event, char to[EVENT_KEY_BYTES])
{
    const char *key = "drover";
    if (!id_is_none(&event->run_id))
        key = event->run_id.text;
    else if (!id_is_none(&event->task_id))
        key = event->task_id.text;
    else if (repository_of(event, to))
        return to;
    else if (!text_empty(event->subject))
        key = event->subject;
    else if (event->source != NULL)
        key = event->source;
    text_copy(to, EVENT_KEY_BYTES, key);
    return to;
}

enum severity event_severity(const char *type)
{
    const struct event_type *entry = event_type_find(type);
    return entry != NULL ? entry->severity : SEVERITY_INFO;
}

/* In other loggers, and in syslog. */
static const struct severity_word {
    const char *word;
    enum severity severity;
} severity_words[] = {
    {"debug", SEVERITY_DEBUG}, {"trace", SEVERITY_DEBUG},     {"info", SEVERITY_INFO},
    {"notice", SEVERITY_INFO}, {"warning", SEVERITY_WARNING}, {"warn", SEVERITY_WARNING},
    {"error", SEVERITY_ERROR}, {"err", SEVERITY_ERROR},       {"critical", SEVERITY_ERROR},
    {"crit", SEVERITY_ERROR},  {"alert", SEVERITY_ERROR},     {"emergency", SEVERITY_ERROR},
    {"emerg", SEVERITY_ERROR}, {"fatal", SEVERITY_ERROR},
};

/* Where it says so itself: a member of the attributes, or of the data of a line of the log. */
static struct str given_severity(const struct event *event)
{
    if (event->source == NULL)
        return text_same(event->type, EV_LOG_WRITTEN) ? js_peek(event->data, "level")
                                                      : (struct str){0};
    return event->attributes.len > 0 ? js_peek(event->attributes, "severity") : (struct str){0};
}

enum severity event_severity_of(const struct event *event)
{
    struct str given = given_severity(event);
    if (given.len < 2 || given.at[0] != '"')
        return event_severity(event->type);
    for (size_t i = 0; i < COUNT_OF(severity_words); i++) {
        size_t len = strlen(severity_words[i].word);
        if (given.len == len + 2 && strncasecmp(given.at + 1, severity_words[i].word, len) == 0)
            return severity_words[i].severity;
    }
    return event_severity(event->type);
}

const char *event_unsendable(const struct event *event, struct str json)
{
    for (const unsigned char *at = (const unsigned char *)event->type; *at; at++)
        if (*at < ' ' || *at == 0x7f)
            return "its type has control characters";
    if (json.len == 0 || memchr(json.at, '\n', json.len) != NULL)
        return "its data is more than one line";
    if (event->data.len > 0 && !js_sound(event->data))
        return "its data is not JSON";
    return NULL;
}

const char *severity_name(enum severity severity)
{
    assert((size_t)severity < COUNT_OF(severity_names));
    return severity_names[severity];
}

bool severity_parse(const char *name, enum severity *ret_severity)
{
    for (size_t i = 0; i < COUNT_OF(severity_names); i++) {
        if (text_same(name, severity_names[i])) {
            *ret_severity = (enum severity)i;
            return true;
        }
    }
    return false;
}

static struct str segment_of(const char *dotted)
{
    return (struct str){dotted, strcspn(dotted, ".")};
}

bool event_type_match(const char *pattern, const char *type)
{
    for (;;) {
        struct str want = segment_of(pattern);
        struct str have = segment_of(type);
        if (str_is(want, ">") && pattern[want.len] == '\0')
            return have.len > 0;
        if (str_is(want, "*") ? have.len == 0 : !str_same(want, have))
            return false;
        pattern += want.len;
        type += have.len;
        if (*pattern == '\0' || *type == '\0')
            return *pattern == *type;
        pattern++;
        type++;
    }
}

bool event_pattern_valid(const char *pattern)
{
    for (;;) {
        struct str segment = segment_of(pattern);
        pattern += segment.len;
        bool last = *pattern == '\0';
        bool special = str_is(segment, "*") || (last && str_is(segment, ">"));
        if (segment.len == 0 || (!special && strcspn(segment.at, "*>") < segment.len))
            return false;
        if (last)
            return true;
        pattern++;
    }
}
