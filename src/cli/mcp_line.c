#include "cli/mcp_line.h"
#include "base/jw.h"

enum rc mcp_line_parse(struct str json, struct buf *room, struct js **ret_tree,
                       struct str *ret_text)
{
    if (js_parse(json.at, json.len, ret_tree, NULL) == RC_OK) {
        *ret_text = json;
        return RC_OK;
    }
    enum rc rc = js_parse_lenient(json.at, json.len, ret_tree, NULL);
    if (rc != RC_OK)
        return rc;
    buf_clear(room);
    struct jw jw = jw_to(room);
    js_write(&jw, *ret_tree);
    *ret_text = buf_str(room);
    return RC_OK;
}

void mcp_line_add(struct buf *out, struct str json)
{
    size_t start = out->len;
    buf_add(out, json.at, json.len);
    for (size_t i = start; i < out->len; i++) {
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
    }
    buf_addc(out, '\n');
}

static struct jw begin(struct buf *out, struct str id)
{
    struct jw jw = jw_to(out);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "jsonrpc", "2.0");
    jw_kraw(&jw, "id", id); /* Empty: null, as JSON-RPC has it. */
    jw_key(&jw, "error");
    return jw;
}

void mcp_line_error(struct buf *out, struct str id, int code, const char *text)
{
    struct jw jw = begin(out, id);
    jw_begin(&jw, '{');
    jw_kint(&jw, "code", code);
    jw_kstr(&jw, "message", text);
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    buf_addc(out, '\n');
}

void mcp_line_error_object(struct buf *out, struct str id, const struct js *error)
{
    struct jw jw = begin(out, id);
    js_write(&jw, error);
    jw_end(&jw, '}');
    buf_addc(out, '\n');
}
