/*
 * cloud_event.c - see cloud_event.h.
 *
 *   {"specversion": "1.0", "id", "source", "type"           required
 *    "subject", "time", "datacontenttype", "dataschema",     optional
 *    "traceparent", "taskid", "runid", "correlationid",      extensions
 *    "causationid", NAME: VALUE,
 *    "data" or "data_base64"}                                the data
 *
 * The name of an extension is of lower-case letters and digits, its value a text, a bool or a
 * 32-bit number.  Texts hold no control characters: types and ids end up in lines of streams.
 */
#include "core/cloud_event.h"
#include "base/clock.h"
#include "base/jw.h"
#include "core/event.h"
#include "core/event_tags.h"
#include "core/traceparent.h"
#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    /* All of them, every byte escaped. */
    ATTRIBUTES_BYTES_MAX = 2 * (CLOUD_EVENT_EXTENSIONS_MAX + 2) * (CLOUD_EVENT_TEXT_MAX + 64),
    CONTENT_TYPE_MAX = 100,
    TIME_MAX = 40,
};

/* First segments of types, and sources. */
static const char *const reserved[] = {"agent", "conductor", "drover"};

/* Extensions that the server sets itself. */
static const char *const set_here[] = {"workspaceid", "attemptid",    "actortype", "actorid",
                                       "sequence",    "eventversion", "logseq",    "recordedtime"};

struct decoding {
    struct arena *arena;
    struct cloud_event event;
    struct jw attributes;
    size_t extensions;
    const char *time;
    bool has_data;
    struct err *err;
};

static bool is_reserved(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (strlen(reserved[i]) == name.len && strncasecmp(name.at, reserved[i], name.len) == 0)
            return true;
    return false;
}

bool cloud_event_is_reserved(const char *type)
{
    return is_reserved((struct str){type, strcspn(type, ".")});
}

static bool is_set_here(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(set_here); i++)
        if (text_same(name, set_here[i]))
            return true;
    return false;
}

/* ---- texts ---- */

static bool has_control(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == 0x7f)
            return true;
    return false;
}

static bool is_visible(const char *text) /* ASCII, without blanks. */
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at <= ' ' || *at >= 0x7f)
            return false;
    return true;
}

static bool is_type(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at >= 0x80 || (!isalnum(*at) && strchr("._-/:~+", *at) == NULL))
            return false;
    return isalnum((unsigned char)*text) != 0;
}

static bool is_name(const char *text)
{
    return !has_control(text);
}

static bool is_time(const char *text)
{
    int64_t us;
    return time_parse(text, &us);
}

/* ---- attributes ---- */

static const struct attribute {
    const char *name;
    bool (*fits)(const char *text);
    size_t max;
    size_t at; /* In struct decoding. */
    bool required;
    const char *form; /* For people. */
} attributes[] = {
    {"id", is_name, CLOUD_EVENT_NAME_MAX, offsetof(struct decoding, event.id), true,
     "a text without control characters"},
    {"source", is_visible, CLOUD_EVENT_NAME_MAX, offsetof(struct decoding, event.source), true,
     "a URI reference, such as https://ci.example.com/builds"},
    {"type", is_type, EVENT_TYPE_MAX, offsetof(struct decoding, event.type), true,
     "of letters, digits and . _ - / : ~ +, such as com.example.build.finished"},
    {"subject", is_name, CLOUD_EVENT_TEXT_MAX, offsetof(struct decoding, event.subject), false,
     "a text without control characters"},
    {"traceparent", traceparent_valid, TRACEPARENT_LEN,
     offsetof(struct decoding, event.traceparent), false, "one of the W3C Trace Context"},
    {"time", is_time, TIME_MAX, offsetof(struct decoding, time), false,
     "a time, such as 2026-07-03T12:00:00Z"},
    {"datacontenttype", is_name, CONTENT_TYPE_MAX, offsetof(struct decoding, event.data_type),
     false, "a media type, such as application/json"},
    {"dataschema", is_visible, CLOUD_EVENT_TEXT_MAX, offsetof(struct decoding, event.data_schema),
     false, "a URI"},
    {"tags", is_name, EVENT_TAGS_BYTES - 1, offsetof(struct decoding, event.tags), false,
     "a text without control characters, with commas between tags"},
};

static enum rc invalid(const struct decoding *decoding, const char *name, const char *form,
                       size_t max)
{
    return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                     "%.40s must be %s, of 1 to %zu bytes", name, form, max);
}

static const struct attribute *find_attribute(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(attributes); i++)
        if (text_same(attributes[i].name, name))
            return &attributes[i];
    return NULL;
}

static enum rc take_attribute(struct decoding *decoding, const struct attribute *attribute,
                              const struct js *value)
{
    const char *text = js_str(value, "");
    if (*text == '\0' || strlen(text) > attribute->max || !attribute->fits(text))
        return invalid(decoding, attribute->name, attribute->form, attribute->max);
    memcpy((char *)decoding + attribute->at, &text, sizeof text);
    return RC_OK;
}

static enum rc take_id(struct decoding *decoding, const char *name, const struct js *value,
                       struct id *to)
{
    if (id_parse(js_str(value, ""), to))
        return RC_OK;
    return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name, "%s must be a UUID", name);
}

/* With its padding (RFC 4648, section 4). */
static bool is_base64(const char *text)
{
    size_t len = strlen(text);
    size_t used = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    return len % 4 == 0 && len - used <= 2 && strspn(text + used, "=") == len - used;
}

static enum rc take_data(struct decoding *decoding, const char *name, const struct js *value)
{
    bool binary = text_same(name, "data_base64");
    if (decoding->has_data)
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "an event has data or data_base64, not both");
    if (binary && (js_type(value) != JS_STRING || !is_base64(js_str(value, ""))))
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "data_base64 must be a text of base64, with its padding");
    decoding->has_data = true;
    decoding->event.is_binary = binary;
    decoding->event.value = binary ? NULL : value;
    struct str data = str_of(js_text(value, decoding->arena));
    if (data.len > CLOUD_EVENT_DATA_MAX)
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "%s has %zu bytes of JSON; it may have %d", name, data.len,
                         CLOUD_EVENT_DATA_MAX);
    decoding->event.data = data;
    return RC_OK;
}

/* ---- extensions ---- */

static bool is_extension(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    return len > 0 && len <= CLOUD_EVENT_EXTENSION_NAME_MAX && name[len] == '\0';
}

static bool write_value(struct jw *jw, const char *name, const struct js *value)
{
    const char *text = js_str(value, NULL);
    int64_t number = js_int(value, INT64_MAX);
    if (text != NULL && strlen(text) <= CLOUD_EVENT_TEXT_MAX && !has_control(text))
        jw_kstr(jw, name, text);
    else if (js_type(value) == JS_BOOL)
        jw_kbool(jw, name, js_bool(value, false));
    else if (js_type(value) == JS_INT && number >= INT32_MIN && number <= INT32_MAX)
        jw_kint(jw, name, number);
    else
        return false;
    return true;
}

static enum rc take_extension(struct decoding *decoding, const char *name, const struct js *value)
{
    if (is_set_here(name))
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "%s is set by the server; leave it out", name);
    if (!is_extension(name))
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "%.40s is no name of an attribute: those are 1 to %d lower-case letters "
                         "and digits",
                         name, CLOUD_EVENT_EXTENSION_NAME_MAX);
    if (++decoding->extensions > CLOUD_EVENT_EXTENSIONS_MAX)
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "an event may have %d extensions", CLOUD_EVENT_EXTENSIONS_MAX);
    if (!write_value(&decoding->attributes, name, value))
        return err_field(decoding->err, RC_INVALID, "INVALID_FIELD", name,
                         "%s must be a text of at most %d bytes without control characters, a bool "
                         "or a 32-bit number",
                         name, CLOUD_EVENT_TEXT_MAX);
    return RC_OK;
}

/* ---- modes ---- */

static bool type_is(const char *type, const char *wanted)
{
    size_t len = strlen(wanted);
    return strncasecmp(type, wanted, len) == 0 && strchr("; \t", type[len]) != NULL;
}

enum cloud_event_mode cloud_event_mode(const char *content_type, bool has_headers)
{
    static const char family[] = "application/cloudevents";
    const char *type = content_type != NULL ? content_type : "";
    if (type_is(type, "application/cloudevents-batch+json"))
        return EVENT_BATCHED;
    if (type_is(type, "application/cloudevents+json"))
        return EVENT_STRUCTURED;
    if (strncasecmp(type, family, strlen(family)) == 0)
        return EVENT_MODE_NONE;
    if (has_headers)
        return EVENT_BINARY;
    return *type == '\0' || type_is(type, "application/json") ? EVENT_STRUCTURED : EVENT_MODE_NONE;
}

bool cloud_event_is_json(const char *content_type)
{
    if (content_type == NULL)
        return true;
    size_t len = strcspn(content_type, "; \t");
    const char *slash = memchr(content_type, '/', len);
    if (slash == NULL)
        return false;
    const char *end = content_type + len;
    return (end - slash == 5 && strncasecmp(slash, "/json", 5) == 0) ||
           (end - slash > 6 && strncasecmp(end - 5, "+json", 5) == 0);
}

/* ---- all of it ---- */

static enum rc take_member(struct decoding *decoding, const char *name, const struct js *value)
{
    const struct attribute *attribute = find_attribute(name);
    if (js_type(value) == JS_NULL || text_same(name, "specversion"))
        return RC_OK;
    if (attribute != NULL)
        return take_attribute(decoding, attribute, value);
    if (text_same(name, "data") || text_same(name, "data_base64"))
        return take_data(decoding, name, value);
    if (text_same(name, "taskid"))
        return take_id(decoding, name, value, &decoding->event.task_id);
    if (text_same(name, "runid"))
        return take_id(decoding, name, value, &decoding->event.run_id);
    if (text_same(name, "correlationid"))
        return take_id(decoding, name, value, &decoding->event.correlation_id);
    if (text_same(name, "causationid"))
        return take_id(decoding, name, value, &decoding->event.causation_id);
    return take_extension(decoding, name, value);
}

static enum rc check_whole(const struct decoding *decoding, const struct js *document)
{
    if (!text_same(js_get_str(document, "specversion", NULL), "1.0"))
        return err_field(
            decoding->err, RC_INVALID, "INVALID_FIELD", "specversion",
            "specversion must be \"1.0\": the body is a CloudEvent as one JSON object");
    for (size_t i = 0; i < COUNT_OF(attributes); i++) {
        const char *text;
        memcpy(&text, (const char *)decoding + attributes[i].at, sizeof text);
        if (attributes[i].required && text == NULL)
            return err_field(decoding->err, RC_INVALID, "MISSING_FIELD", attributes[i].name,
                             "%s is required", attributes[i].name);
    }
    return RC_OK;
}

static enum rc check_reserved(const struct decoding *decoding)
{
    const char *type = decoding->event.type, *source = decoding->event.source;
    bool of_issue = text_starts(type, CLOUD_EVENT_ISSUES) && event_type_find(type) != NULL;
    if (cloud_event_is_reserved(type) && !of_issue)
        return err_field(
            decoding->err, RC_DENIED, "EVENT_RESERVED", "type",
            "types that begin with agent., conductor. or drover. are the server's own, and this is "
            "none of those of issues; begin yours with a name of yours, such as com.example.");
    if (is_reserved(str_of(source)) || text_starts(source, CLOUD_EVENT_RUNS))
        return err_field(decoding->err, RC_DENIED, "EVENT_RESERVED", "source",
                         "the source drover and those that begin with " CLOUD_EVENT_RUNS
                         " are the server's own; name yours, such as https://ci.example.com");
    return RC_OK;
}

enum rc cloud_event_decode(const struct js *document, struct arena *arena,
                           struct cloud_event *ret_event, struct err *err)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, ATTRIBUTES_BYTES_MAX);
    struct decoding decoding = {
        .arena = arena, .event = {.data = STR("null")}, .attributes = jw_to(&buf), .err = err};
    const struct js *value;
    const char *name;
    enum rc rc = RC_OK;
    if (js_type(document) != JS_OBJECT)
        return err_set(err, RC_INVALID, "INVALID_FIELD",
                       "a CloudEvent is one object; send an array of them as "
                       "application/cloudevents-batch+json");
    jw_begin(&decoding.attributes, '{');
    for (size_t it = 0; rc == RC_OK && js_next(document, &it, &name, &value);)
        rc = take_member(&decoding, name, value);
    if (rc == RC_OK)
        rc = check_whole(&decoding, document);
    if (rc == RC_OK)
        rc = check_reserved(&decoding);
    if (rc != RC_OK)
        return rc;
    jw_optstr(&decoding.attributes, "time", decoding.time);
    jw_optstr(&decoding.attributes, "datacontenttype", decoding.event.data_type);
    jw_optstr(&decoding.attributes, "dataschema", decoding.event.data_schema);
    if (decoding.event.is_binary)
        jw_kbool(&decoding.attributes, EVENT_BINARY_MARK, true);
    jw_end(&decoding.attributes, '}');
    assert(!buf.overflow);
    struct event_tags tags = {0};
    event_tags_add(&tags, str_of(decoding.event.tags));
    decoding.event.tags = event_tags_text(&tags, arena);
    if (buf.len > strlen("{}"))
        decoding.event.attributes = str_of(arena_strdup(arena, buf_text(&buf)));
    *ret_event = decoding.event;
    return RC_OK;
}
