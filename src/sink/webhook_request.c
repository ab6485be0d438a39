#include "sink/webhook_request.h"
#include "base/clock.h"
#include "base/hash.h"
#include "core/cloud_event.h"
#include "core/mcp/base64.h"
#include <assert.h>
#include <string.h>

enum {
    KEY_BYTES_MIN = 16,
    SIGNATURE_TEXT_MAX = WEBHOOK_KEYS_MAX * 64,
    VALUE_BYTES_MAX = 3 * 4096,
};

enum rc webhook_key_decode(const char *text, struct arena *arena, struct str *ret_key,
                           struct err *err)
{
    static const char prefix[] = "whsec_";
    struct str key = str_of(text);
    if (text_starts(text, prefix))
        key = base64_bytes(str_of(text + sizeof prefix - 1), arena);
    if (key.at == NULL)
        return err_set(err, RC_INVALID, "INVALID_SECRET",
                       "the secret begins with %s and is not base64 behind that", prefix);
    if (key.len < KEY_BYTES_MIN)
        return err_set(err, RC_INVALID, "INVALID_SECRET",
                       "the secret has %zu bytes; give it at least %d", key.len, KEY_BYTES_MIN);
    *ret_key = key;
    return RC_OK;
}

/* ---- headers ---- */

static void add_field(struct webhook_request *request, const char *name, const char *value)
{
    size_t count = 0;
    while (request->headers[count].name != NULL)
        count++;
    assert(count < WEBHOOK_FIELDS_MAX);
    request->headers[count] = (struct http_field){name, value};
}

static void sign(const struct webhook_spec *spec, const char *id, struct arena *arena,
                 struct webhook_request *request)
{
    const char *seconds = arena_printf(arena, "%lld", (long long)(spec->now_us / US_PER_SECOND));
    CLEANUP(buf_release) struct buf content;
    CLEANUP(buf_release) struct buf signatures;
    buf_init(&content, request->body.len + 256);
    buf_init(&signatures, SIGNATURE_TEXT_MAX);
    add_field(request, "webhook-id", id);
    add_field(request, "webhook-timestamp", seconds);
    if (spec->keys->count == 0)
        return;
    buf_addf(&content, "%s.%s.", id, seconds);
    buf_add(&content, request->body.at, request->body.len);
    for (size_t i = 0; i < spec->keys->count; i++) {
        unsigned char digest[SHA256_BYTES];
        struct str key = spec->keys->items[i];
        hmac_sha256((struct hmac_key){key.at, key.len}, content.data, content.len, digest);
        buf_adds(&signatures, i > 0 ? " v1," : "v1,");
        base64_add(&signatures, (struct str){(const char *)digest, sizeof digest});
    }
    assert(!content.overflow && !signatures.overflow);
    add_field(request, "webhook-signature", arena_strdup(arena, buf_text(&signatures)));
}

/* ---- binary ---- */

/* As the binding says: a space, a quote, a percent sign and all that is not printable ASCII. */
static const char *escape(const char *text, struct arena *arena)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, VALUE_BYTES_MAX);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at > ' ' && *at < 0x7f && *at != '"' && *at != '%')
            buf_addc(&to, (char)*at);
        else
            buf_addf(&to, "%%%02X", (unsigned)*at);
    }
    return to.overflow ? NULL : arena_strdup(arena, buf_text(&to));
}

static enum rc add_attribute(struct webhook_request *request, const char *name,
                             const struct js *value, struct arena *arena, struct err *err)
{
    const char *text = js_type(value) == JS_STRING ? js_str(value, "") : js_text(value, arena);
    bool is_type = text_same(name, "datacontenttype");
    const char *escaped = is_type ? arena_strdup(arena, text) : escape(text, arena);
    if (escaped == NULL || request->headers[WEBHOOK_FIELDS_MAX - 6].name != NULL)
        return err_set(err, RC_INVALID, "EVENT_TOO_LARGE",
                       "the attributes of the event do not fit into headers: use mode: structured");
    add_field(request, is_type ? "Content-Type" : arena_printf(arena, "ce-%s", name), escaped);
    return RC_OK;
}

/* The data as it is: bytes, a text of a type that is not JSON, or JSON. */
static struct str binary_body(const struct js *event, struct arena *arena)
{
    const char *coded = js_get_str(event, "data_base64", NULL);
    const struct js *data = js_get(event, "data");
    if (coded != NULL)
        return base64_bytes(str_of(coded), arena);
    if (data == NULL)
        return (struct str){0};
    if (js_type(data) == JS_STRING &&
        !cloud_event_is_json(js_get_str(event, "datacontenttype", NULL)))
        return str_of(arena_strdup(arena, js_str(data, "")));
    return str_of(js_text(data, arena));
}

static enum rc make_binary(const struct sink_record *record, struct arena *arena,
                           struct webhook_request *request, struct err *err)
{
    CLEANUP(js_freep) struct js *event = NULL;
    const struct js *value;
    const char *name;
    enum rc rc = js_parse(record->json.at, record->json.len, &event, err);
    for (size_t it = 0; rc == RC_OK && js_next(event, &it, &name, &value);) {
        if (!text_same(name, "data") && !text_same(name, "data_base64"))
            rc = add_attribute(request, arena_strdup(arena, name), value, arena, err);
    }
    if (rc == RC_OK)
        request->body = binary_body(event, arena);
    if (rc == RC_OK && request->body.len == 0)
        add_field(request, "Content-Length", "0");
    else if (rc == RC_OK && js_get(event, "datacontenttype") == NULL)
        add_field(request, "Content-Type",
                  js_get(event, "data_base64") != NULL ? "application/octet-stream"
                                                       : "application/json");
    return rc;
}

/* ---- all of them ---- */

static void make_batch(const struct webhook_spec *spec, struct arena *arena,
                       struct webhook_request *request)
{
    size_t len = 2;
    for (size_t i = 0; i < spec->count; i++)
        len += spec->records[i].json.len + 1;
    char *body = arena_alloc(arena, len), *at = body;
    *at++ = '[';
    for (size_t i = 0; i < spec->count; i++) {
        if (i > 0)
            *at++ = ',';
        at = mempcpy(at, spec->records[i].json.at, spec->records[i].json.len);
    }
    *at++ = ']';
    request->body = (struct str){body, (size_t)(at - body)};
    add_field(request, "Content-Type", "application/cloudevents-batch+json; charset=utf-8");
}

enum rc webhook_request_make(const struct webhook_spec *spec, struct arena *arena,
                             struct webhook_request *ret_request, struct err *err)
{
    struct webhook_request request = {0};
    const char *id = spec->records[0].event->id.text;
    enum rc rc = RC_OK;
    assert(spec->count == 1 || (spec->count > 1 && spec->mode == WEBHOOK_BATCH));
    if (spec->mode == WEBHOOK_BATCH) {
        make_batch(spec, arena, &request);
        id = arena_printf(arena, "%s-%zu", id, spec->count);
    } else if (spec->mode == WEBHOOK_BINARY) {
        rc = make_binary(&spec->records[0], arena, &request, err);
    } else {
        request.body = spec->records[0].json;
        add_field(&request, "Content-Type", "application/cloudevents+json; charset=utf-8");
    }
    if (rc != RC_OK)
        return rc;
    sign(spec, id, arena, &request);
    *ret_request = request;
    return RC_OK;
}
