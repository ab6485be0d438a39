/*
 * base64.h - base64 with its padding (RFC 4648, section 4): content of resources, headers that hold
 * other text than ASCII, keys of webhooks.  Pure.
 */
#ifndef CORE_MCP_BASE64_H
#define CORE_MCP_BASE64_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

void base64_add(struct buf *into, struct str bytes);
/* The bytes that it stands for, in the arena and followed by NUL; at is NULL: not base64. */
struct str base64_bytes(struct str coded, struct arena *arena);
/* The text that it stands for, in the arena; NULL: not base64, or not UTF-8 without NUL. */
const char *base64_text(struct str coded, struct arena *arena);
#endif
