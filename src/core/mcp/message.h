/*
 * message.h - one JSON-RPC message of the Model Context Protocol, and the error codes of both.
 *
 *   request       {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {...}}
 *   notification  the same without an id: it is not answered
 *   response      {"jsonrpc": "2.0", "id": "a", "result": {...}}, or with "error"
 *
 * An id is kept as the bytes that were sent, so that "7", 7 and 7.0 come back as they came.  Pure.
 */
#ifndef CORE_MCP_MESSAGE_H
#define CORE_MCP_MESSAGE_H
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"

enum { MCP_ID_BYTES_MAX = 256, MCP_METHOD_BYTES_MAX = 128 };

enum mcp_error {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_RESOURCE_NOT_FOUND = -32002, /* Legacy versions only. */
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define MCP_META_SERVER       "io.modelcontextprotocol/serverInfo"
#define MCP_META_PROGRESS     "progressToken"
#define MCP_EXTENSION_TASKS   "io.modelcontextprotocol/tasks"

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
    enum mcp_kind kind;
    struct str id;           /* As sent, with its quotes; empty: none.  In the body. */
    const char *method;      /* Of a request or notification; in the tree. */
    const struct js *params; /* An object, or NULL. */
    const struct js *meta;   /* params._meta: an object, or NULL. */
    const struct js *result; /* Of a response; NULL: it is an error. */
};

/*
 * tree: the body, parsed.  RC_INVALID: no message of JSON-RPC 2.0, or several in an array, which no
 * version takes that is served here.  ret_message->id is set if there is one, also then.
 */
MUST_USE enum rc mcp_message_read(const struct js *tree, struct str body,
                                  struct mcp_message *ret_message, struct err *err);
#endif
