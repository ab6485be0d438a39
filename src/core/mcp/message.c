#include "core/mcp/message.h"
#include "base/js_peek.h"
#include <string.h>

static enum rc refuse(struct err *err, const char *text)
{
    return err_set(err, RC_INVALID, "INVALID_REQUEST", "%s", text);
}

static enum rc read_id(const struct js *tree, struct str body, struct str *ret_id, struct err *err)
{
    const struct js *id = js_get(tree, "id");
    enum js_type type = js_type(id);
    if (type != JS_STRING && type != JS_INT && type != JS_REAL)
        return refuse(err, "id must be a string or a number");
    struct str raw = js_peek(body, "id");
    while (raw.len > 0 && strchr(" \t\r\n", raw.at[raw.len - 1]) != NULL)
        raw.len--;
    if (raw.len == 0 || raw.len > MCP_ID_BYTES_MAX)
        return refuse(err, "id must have at most 256 bytes");
    *ret_id = raw;
    return RC_OK;
}

static bool has(const struct js *object, const char *key)
{
    const char *name;
    const struct js *value;
    for (size_t it = 0; js_next(object, &it, &name, &value);) {
        if (strcmp(name, key) == 0)
            return true;
    }
    return false;
}

static enum rc read_call(const struct js *tree, struct mcp_message *message, struct err *err)
{
    const struct js *params = js_get(tree, "params");
    message->method = js_get_str(tree, "method", NULL);
    if (message->method == NULL || strlen(message->method) > MCP_METHOD_BYTES_MAX)
        return refuse(err, "method must be a string of at most 128 bytes");
    if (params == NULL)
        return RC_OK;
    if (js_type(params) != JS_OBJECT)
        return refuse(err, "params must be an object");
    message->params = params;
    message->meta = js_get(params, "_meta");
    if (message->meta != NULL && js_type(message->meta) != JS_OBJECT)
        return refuse(err, "params._meta must be an object");
    return RC_OK;
}

enum rc mcp_message_read(const struct js *tree, struct str body, struct mcp_message *ret_message,
                         struct err *err)
{
    struct mcp_message message = {0};
    if (js_type(tree) == JS_ARRAY)
        return refuse(err, "send one message at a time: an array of messages is not taken");
    if (js_type(tree) != JS_OBJECT)
        return refuse(err, "a message must be an object");
    if (strcmp(js_get_str(tree, "jsonrpc", ""), "2.0") != 0)
        return refuse(err, "jsonrpc must be \"2.0\"");
    bool call = has(tree, "method");
    enum rc rc = RC_OK;
    if (has(tree, "id"))
        rc = read_id(tree, body, &message.id, err);
    else if (!call)
        rc = refuse(err, "a message needs a method, or an id with a result or an error");
    ret_message->id = message.id;
    if (rc == RC_OK && call) {
        message.kind = message.id.len > 0 ? MCP_REQUEST : MCP_NOTIFICATION;
        rc = read_call(tree, &message, err);
    } else if (rc == RC_OK) {
        message.kind = MCP_RESPONSE;
        message.result = js_get(tree, "result");
        if (message.result == NULL && js_type(js_get(tree, "error")) != JS_OBJECT)
            rc = refuse(err, "a response needs a result or an error");
    }
    if (rc == RC_OK)
        *ret_message = message;
    return rc;
}
