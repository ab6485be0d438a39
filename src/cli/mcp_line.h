/*
 * mcp_line.h - messages for the client of `drover mcp`: whole ones only, each on one line.
 */
#ifndef CLI_MCP_LINE_H
#define CLI_MCP_LINE_H
#include "base/buf.h"
#include "base/js.h"
#include "base/str.h"

/* Reads what a server sent.  *ret_text is the same JSON, or a corrected form in room where a strict
   parser would refuse the original.  RC_MALFORMED: no JSON. */
MUST_USE enum rc mcp_line_parse(struct str json, struct buf *room, struct js **ret_tree,
                                struct str *ret_text);

/* JSON has line breaks between its tokens only: they become blanks. */
void mcp_line_add(struct buf *out, struct str json);

/* An error as the answer to the request of that id, or of one whose id is not known (empty). */
void mcp_line_error(struct buf *out, struct str id, int code, const char *text);
/* The error object of a server that did not name the request. */
void mcp_line_error_object(struct buf *out, struct str id, const struct js *error);
#endif
