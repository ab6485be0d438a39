/*
 * level.h - levels of log messages to clients, by RFC 5424.
 */
#ifndef CORE_MCP_LEVEL_H
#define CORE_MCP_LEVEL_H
#include "base/rc.h"
#include <stdbool.h>

enum mcp_level {
    MCP_LEVEL_DEBUG,
    MCP_LEVEL_INFO,
    MCP_LEVEL_NOTICE,
    MCP_LEVEL_WARNING,
    MCP_LEVEL_ERROR,
    MCP_LEVEL_CRITICAL,
    MCP_LEVEL_ALERT,
    MCP_LEVEL_EMERGENCY,
    MCP_LEVEL_COUNT /* None: nothing is sent. */
};

const char *mcp_level_name(enum mcp_level level);
MUST_USE bool mcp_level_parse(const char *name, enum mcp_level *ret_level);
#endif
