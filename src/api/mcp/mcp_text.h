/*
 * mcp_text.h - the documents of schemas/mcp, which the build makes part of the program
 * (tools/embed).
 */
#ifndef API_MCP_MCP_TEXT_H
#define API_MCP_MCP_TEXT_H
#include "core/config/schema_text.h"

enum { MCP_TEXT_BYTES_MAX = 256 * 1024 };

extern const struct schema_text mcp_texts[]; /* Ends with an empty one. */
struct str mcp_text(const char *name);       /* By its name without .json: it must be there. */
#endif
