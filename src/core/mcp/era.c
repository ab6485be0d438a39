#include "core/mcp/era.h"
#include "base/str.h"
#include "core/mcp/base64.h"
#include <string.h>

const char *const mcp_versions[] = {MCP_VERSION_MODERN, "2025-11-25", "2025-06-18", NULL};
static const char *const newest_legacy = "2025-11-25";

/* Versions before 2025-06-18 have no header. */
static const char *served(const char *version)
{
    for (size_t i = 0; mcp_versions[i] != NULL; i++) {
        if (text_same(mcp_versions[i], version))
            return mcp_versions[i];
    }
    return NULL;
}

static bool is_modern(const char *version)
{
    return text_same(version, MCP_VERSION_MODERN);
}

const char *mcp_era_agree(const char *wanted)
{
    const char *version = served(wanted);
    return version != NULL && !is_modern(version) ? version : newest_legacy;
}

static const char prefix[] = "=?base64?", suffix[] = "?=";

const char *mcp_header_of(const char *text, struct arena *arena)
{
    size_t len = strlen(text);
    bool plain = len > 0 && text[0] != ' ' && text[len - 1] != ' ';
    for (size_t i = 0; i < len; i++)
        plain = plain && text[i] >= ' ' && text[i] <= '~';
    if (plain && !(text_starts(text, prefix) && text_ends(text, suffix)))
        return text;
    CLEANUP(buf_release) struct buf coded;
    buf_init(&coded, 2 * len + 4);
    base64_add(&coded, (struct str){text, len});
    return arena_printf(arena, "%s%s%s", prefix, buf_text(&coded), suffix);
}

bool mcp_header_is(const char *header, const char *text, struct arena *arena)
{
    size_t len = strlen(header), around = sizeof prefix - 1 + sizeof suffix - 1;
    if (len < around || !text_starts(header, prefix) || !text_ends(header, suffix))
        return text_same(header, text);
    struct str coded = {header + sizeof prefix - 1, len - around};
    return text_same(base64_text(coded, arena), text);
}

/* ---- Headers ---- */

const char *mcp_message_name(const struct mcp_message *message)
{
    static const struct {
        const char *method, *member;
    } names[] = {{"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
                 {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_same(names[i].method, message->method))
            return js_get_str(message->params, names[i].member, NULL);
    }
    return NULL;
}

static enum rc mismatch(struct mcp_verdict *verdict, struct err *err, const char *header,
                        const char *have, const char *want)
{
    verdict->code = MCP_HEADER_MISMATCH;
    if (have == NULL)
        return err_set(err, RC_INVALID, "HEADER_MISMATCH",
                       "Header mismatch: the header %s is missing; send %.100s", header, want);
    return err_set(err, RC_INVALID, "HEADER_MISMATCH",
                   "Header mismatch: %s is %.100s and the body has %.100s", header, have, want);
}

static enum rc check_mirrors(const struct mcp_message *message, const struct mcp_headers *headers,
                             struct mcp_verdict *verdict, struct err *err)
{
    if (!text_same(headers->method, message->method))
        return mismatch(verdict, err, "Mcp-Method", headers->method, message->method);
    const char *name = mcp_message_name(message);
    if (name == NULL)
        return RC_OK;
    struct arena arena = {0};
    bool same = headers->name != NULL && mcp_header_is(headers->name, name, &arena);
    arena_release(&arena);
    return same ? RC_OK : mismatch(verdict, err, "Mcp-Name", headers->name, name);
}

/* ---- The decision ---- */

static enum rc unsupported(struct mcp_verdict *verdict, const char *version, struct err *err)
{
    verdict->code = MCP_UNSUPPORTED_VERSION;
    verdict->requested = version;
    return err_set(err, RC_INVALID, "UNSUPPORTED_VERSION",
                   "Unsupported protocol version: %.40s; served are " MCP_VERSION_MODERN
                   ", 2025-11-25 and 2025-06-18",
                   version);
}

static enum rc malformed(struct mcp_verdict *verdict, const char *key, struct err *err)
{
    verdict->code = MCP_INVALID_PARAMS;
    return err_set(err, RC_INVALID, "INVALID_PARAMS", "params._meta needs \"%s\"", key);
}

static enum rc decide_modern(const struct mcp_message *message, const struct mcp_headers *headers,
                             struct mcp_verdict *verdict, struct err *err)
{
    const char *version = js_get_str(message->meta, MCP_META_VERSION, NULL);
    if (message->kind != MCP_REQUEST) /* Its headers are not defined. */
        return RC_OK;
    if (version == NULL)
        return malformed(verdict, MCP_META_VERSION, err);
    if (!text_same(headers->version, version))
        return mismatch(verdict, err, "MCP-Protocol-Version", headers->version, version);
    if (!is_modern(version))
        return unsupported(verdict, version, err);
    if (js_type(js_get(message->meta, MCP_META_CAPABILITIES)) != JS_OBJECT)
        return malformed(verdict, MCP_META_CAPABILITIES, err);
    return check_mirrors(message, headers, verdict, err);
}

enum rc mcp_era_decide(const struct mcp_message *message, const struct mcp_headers *headers,
                       struct mcp_verdict *ret_verdict, struct err *err)
{
    bool named = js_get(message->meta, MCP_META_VERSION) != NULL;
    *ret_verdict = (struct mcp_verdict){.era = MCP_MODERN, .version = MCP_VERSION_MODERN};
    if (named || is_modern(headers->version))
        return decide_modern(message, headers, ret_verdict, err);
    *ret_verdict = (struct mcp_verdict){.era = MCP_LEGACY, .version = served(headers->version)};
    bool opens = text_same(message->method, "initialize"); /* Its version is in the params. */
    if (opens || headers->version == NULL || ret_verdict->version != NULL)
        return RC_OK;
    return unsupported(ret_verdict, headers->version, err);
}
