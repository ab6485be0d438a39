/*
 * uri.h - templates of URIs: drover://runs/{runId}/timeline.
 *
 * A variable stands for one segment: bytes up to the next slash, percent-encoded.  Pure.
 */
#ifndef CORE_MCP_URI_H
#define CORE_MCP_URI_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

enum { MCP_URI_VARS_MAX = 2, MCP_URI_BYTES_MAX = 1024 };

/* Does the URI fit the template?  values: its variables in order, still encoded; the rest NULL. */
bool mcp_uri_match(const char *pattern, const char *uri, struct str values[MCP_URI_VARS_MAX]);
#endif
