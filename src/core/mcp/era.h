/*
 * era.h - which version of the protocol a message is of, and whether its headers agree with it.
 *
 *   legacy   2025-06-18, 2025-11-25: the client opens with `initialize`
 *   modern   2026-07-28: every request carries its version and the client's capabilities in _meta,
 *            and the headers MCP-Protocol-Version, Mcp-Method and Mcp-Name repeat what is in the
 *            body, so that proxies can route without reading it
 *
 * A message is modern if its _meta names a version, or its header names a modern one.  Pure.
 */
#ifndef CORE_MCP_ERA_H
#define CORE_MCP_ERA_H
#include "core/mcp/message.h"
#include <stdbool.h>

enum mcp_era { MCP_LEGACY, MCP_MODERN };

#define MCP_VERSION_MODERN "2026-07-28"
/* All that are served, newest first; NULL-terminated. */
extern const char *const mcp_versions[];

/* The headers of a request; NULL: not sent. */
struct mcp_headers {
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
};

struct mcp_verdict {
    enum mcp_era era;
    const char *version;   /* One of mcp_versions; NULL: a legacy client that names none. */
    enum mcp_error code;   /* Of a refusal. */
    const char *requested; /* The version that is not served; else NULL. */
};

/* RC_INVALID: refuse it with verdict.code and HTTP status 400; verdict.era is set. */
MUST_USE enum rc mcp_era_decide(const struct mcp_message *message,
                                const struct mcp_headers *headers, struct mcp_verdict *ret_verdict,
                                struct err *err);

/* The version that `initialize` agrees on: the client's if it is served, else the newest legacy. */
const char *mcp_era_agree(const char *wanted);

/* What Mcp-Name repeats; NULL: the method has none. */
const char *mcp_message_name(const struct mcp_message *message);
/* A text as the value of a header: as it is, or in base64 where a header could not hold it.  May
   be text itself, else in the arena. */
const char *mcp_header_of(const char *text, struct arena *arena);
/* Is a header's value, in its base64 form too (=?base64?...?=), this text? */
bool mcp_header_is(const char *header, const char *text, struct arena *arena);
#endif
