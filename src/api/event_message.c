#include "api/event_message.h"
#include "core/mcp/base64.h"
#include "http/fields.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char prefix[] = "ce-";

enum cloud_event_mode event_message_mode(const struct http_request *request)
{
    return cloud_event_mode(http_header(request, "Content-Type"),
                            http_header(request, "ce-specversion") != NULL);
}

/* ---- attributes ---- */

/* "a \"b\"" as older versions of the standard have it: what it stands for. */
static const char *unquote(const char *value, struct arena *arena)
{
    size_t len = strlen(value);
    if (len < 2 || value[0] != '"' || value[len - 1] != '"')
        return value;
    char *text = arena_strndup(arena, value + 1, len - 2), *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '\\' && at[1] != '\0')
            at++;
        *to++ = *at;
    }
    *to = '\0';
    return text;
}

static enum rc add_attribute(struct call *call, struct js *event, const char *header,
                             const char *value, struct err *err)
{
    struct arena *arena = &call->http.arena;
    char *name = arena_strdup(arena, header + strlen(prefix));
    const char *text;
    for (char *at = name; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    if (text_same(name, "datacontenttype"))
        return err_field(err, RC_INVALID, "INVALID_FIELD", "datacontenttype",
                         "datacontenttype is the header Content-Type in this mode");
    if (text_starts(name, "data") && (name[4] == '\0' || name[4] == '_'))
        return err_field(err, RC_INVALID, "INVALID_FIELD", name,
                         "the data is the body of the request in this mode");
    if (!url_decode(str_of(unquote(value, arena)), false, arena, &text))
        return err_field(err, RC_INVALID, "INVALID_FIELD", name,
                         "the header ce-%.40s is not percent-encoded UTF-8", name);
    if (!js_put(event, name, js_new_string(text, strlen(text))))
        return err_field(err, RC_INVALID, "INVALID_FIELD", name,
                         "the header ce-%.40s is there "
                         "twice",
                         name);
    return RC_OK;
}

/* ---- data ---- */

/* Of such types bytes that are UTF-8 are a text. */
static bool is_text_type(const char *type)
{
    size_t len = strcspn(type, "; \t");
    return strncasecmp(type, "text/", 5) == 0 ||
           (len > 4 && strncasecmp(type + len - 4, "/xml", 4) == 0) ||
           (len > 4 && strncasecmp(type + len - 4, "+xml", 4) == 0);
}

static struct js *coded(struct str bytes)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 2 * bytes.len + 8);
    base64_add(&text, bytes);
    return js_new_string(buf_text(&text), text.len);
}

static enum rc add_data(struct call *call, struct js *event, struct err *err)
{
    const char *type = http_header(&call->http, "Content-Type");
    struct str body = http_body(&call->http);
    struct js *data = NULL;
    bool put = true;
    if (type != NULL)
        put = js_put(event, "datacontenttype", js_new_string(type, strlen(type)));
    if (!put)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "datacontenttype",
                         "Content-Type is not UTF-8");
    if (body.len == 0)
        return RC_OK;
    if (body.len > CLOUD_EVENT_DATA_MAX)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "data",
                         "the data has %zu bytes; it may have %d", body.len, CLOUD_EVENT_DATA_MAX);
    if (type != NULL && cloud_event_is_json(type)) {
        enum rc rc = js_parse(body.at, body.len, &data, err);
        if (rc != RC_OK)
            return rc;
    } else if (type != NULL && is_text_type(type)) {
        data = js_new_string(body.at, body.len); /* NULL: not UTF-8. */
    }
    if (data != NULL)
        put = js_put(event, "data", data);
    else
        put = js_put(event, "data_base64", coded(body));
    return put ? RC_OK : err_set(err, RC_INVALID, "INVALID_FIELD", "the data is there twice");
}

static enum rc read_binary(struct call *call, struct js **ret_tree, struct err *err)
{
    CLEANUP(js_freep) struct js *event = js_new_object();
    const char *at = NULL, *name, *value;
    enum rc rc = RC_OK;
    while (rc == RC_OK && http_field_next(&call->http, &at, &name, &value)) {
        if (strncasecmp(name, prefix, strlen(prefix)) == 0)
            rc = add_attribute(call, event, name, value, err);
    }
    if (rc == RC_OK)
        rc = add_data(call, event, err);
    if (rc != RC_OK)
        return rc;
    *ret_tree = event;
    event = NULL;
    return RC_OK;
}

enum rc event_message_read(struct call *call, struct js **ret_tree, struct err *err)
{
    if (event_message_mode(&call->http) == EVENT_BINARY)
        return read_binary(call, ret_tree, err);
    return call_json(call, ret_tree, err);
}
