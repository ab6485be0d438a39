#include "api/mcp/mcp_parts.h"
#include "core/config/schema_text.h"
#include <assert.h>

enum { TICK_MS = 1000, PROBLEM_BYTES_MAX = 8 * 1024 };

void mcp_need_tick(struct mcp *mcp)
{
    loop_pace(mcp->tick, TICK_MS);
}

extern const struct schema_text mcp_texts[]; /* Made by tools/embed; ends with an empty one. */

struct str mcp_text(const char *name)
{
    const struct schema_text *each = mcp_texts;
    while (each->name != NULL && !text_same(each->name, name))
        each++;
    assert(each->name != NULL);
    return each->json;
}

bool mcp_no_cursor(struct rpc *rpc)
{
    if (js_get(rpc->message.params, "cursor") == NULL)
        return true;
    rpc_fail(rpc, MCP_INVALID_PARAMS, "params.cursor is not one that this list has returned",
             (struct str){0});
    return false;
}

void mcp_fail_problem(struct rpc *rpc, const struct http_request *inner)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(buf_release) struct buf text;
    struct str body = buf_str(&inner->answer.body);
    buf_init(&text, PROBLEM_BYTES_MAX);
    if (js_parse(body.at, body.len, &tree, NULL) == RC_OK)
        buf_addf(&text, "%s: %s", js_get_str(tree, "code", "ERROR"),
                 js_get_str(tree, "detail", ""));
    rpc_fail(rpc, inner->answer.status < 500 ? MCP_INVALID_PARAMS : MCP_INTERNAL_ERROR,
             buf_text(&text), tree != NULL ? body : (struct str){0});
}

void mcp_write_text(struct jw *jw, struct str text)
{
    jw_key(jw, "content");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "text");
    jw_key(jw, "text");
    jw_strn(jw, text.at, text.len);
    jw_end(jw, '}');
    jw_end(jw, ']');
}

void mcp_tool_error(struct rpc *rpc, const char *text)
{
    struct jw *jw = rpc_result(rpc);
    mcp_write_text(jw, str_of(text));
    jw_kbool(jw, "isError", true);
    rpc_done(rpc);
}
