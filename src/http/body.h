/*
 * body.h - the body of a request while it arrives: in memory, or in a file when it is too
 * large for that (http/spool.h).
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H
#include "http/http.h"

/* The head is complete.  The refusals of spool_begin. */
MUST_USE enum rc http_body_begin(struct http_request *request, const struct http_head *head,
                                 const struct http_body_plan *plan, struct err *err);
/* Adds a part.  RC_TOO_LARGE: with it, the body has more than bytes_max.  The refusals of
   spool_add. */
MUST_USE enum rc http_body_add(struct http_request *request, struct str content, int64_t bytes_max,
                               struct err *err);
/* The body is complete. */
MUST_USE enum rc http_body_end(struct http_request *request, struct err *err);
void http_body_drop(struct http_request *request);
#endif
