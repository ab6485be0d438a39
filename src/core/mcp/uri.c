#include "core/mcp/uri.h"
#include <string.h>

bool mcp_uri_match(const char *pattern, const char *uri, struct str values[MCP_URI_VARS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < MCP_URI_VARS_MAX; i++)
        values[i] = (struct str){0};
    while (*pattern) {
        if (*pattern != '{') {
            if (*pattern++ != *uri++)
                return false;
            continue;
        }
        const char *end = strchr(pattern, '}');
        size_t len = strcspn(uri, "/?#");
        if (end == NULL || len == 0 || count == MCP_URI_VARS_MAX)
            return false;
        values[count++] = (struct str){uri, len};
        uri += len;
        pattern = end + 1;
    }
    return *uri == '\0';
}
