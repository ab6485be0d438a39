/*
 * mcp_link.h - the messages of an MCP client on their way to a drover server's /mcp.
 *
 *     line --> waiting --> under way --> answered        a POST for each message; what comes back,
 *                 \            \                         JSON or an event stream, goes out as lines
 *                  \--cancelled-\-> connection closed    notifications/cancelled: no answer
 *
 *  1. A request gets one response: the server's, or an error of this program; none if cancelled.
 *  2. No message waits for the answer to another, but for `initialize`: its answer holds the
 *     version and the session that the messages of that era name in their headers.
 *  3. Messages under way, those that wait and their bytes are bounded; what exceeds the bounds is
 *     refused at once.
 */
#ifndef CLI_MCP_LINK_H
#define CLI_MCP_LINK_H
#include "base/buf.h"
#include "base/rc.h"
#include "cli/command.h"
#include <poll.h>

struct mcp_link;

struct mcp_link_options {
    struct cli *cli; /* Where the server is; asked again when it cannot be reached. */
    struct buf *out; /* Gets the lines for the client. */
};
MUST_USE enum rc mcp_link_new(const struct mcp_link_options *options, struct mcp_link **ret_link,
                              struct err *err);
void mcp_link_free(struct mcp_link *link); /* Cancels what is under way; NULL is fine. */

void mcp_link_take(struct mcp_link *link, struct str line); /* A message of the client. */
/* The client sent what is no message: an error goes out. */
void mcp_link_refuse(struct mcp_link *link, const char *text);

/* As of http_multi.h. */
void mcp_link_step(struct mcp_link *link);
void mcp_link_wait(struct mcp_link *link, struct pollfd *looks, size_t count);
#endif
