#include "core/mcp/level.h"
#include "base/str.h"
#include <assert.h>

static const char *const names[MCP_LEVEL_COUNT] = {"debug", "info",     "notice", "warning",
                                                   "error", "critical", "alert",  "emergency"};

const char *mcp_level_name(enum mcp_level level)
{
    assert(level < MCP_LEVEL_COUNT);
    return names[level];
}

bool mcp_level_parse(const char *name, enum mcp_level *ret_level)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_same(names[i], name)) {
            *ret_level = (enum mcp_level)i;
            return true;
        }
    }
    return false;
}
