/*
 * http_head.h - the head of an HTTP/1.x request, read strictly before the HTTP library sees it.
 *
 *     METHOD SP target SP HTTP/1.x CRLF  (name ":" value CRLF)*  CRLF
 *
 * libevent is lenient where requests can be smuggled: it takes a repeated or signed
 * Content-Length, folded lines and a space before the colon.  Here they are refused.  Pure.
 */
#ifndef EDGE_HTTP_HEAD_H
#define EDGE_HTTP_HEAD_H
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_PATCH,
    HTTP_OPTIONS,
    HTTP_TRACE,
    HTTP_METHOD_COUNT
};
const char *http_method_name(enum http_method method);

struct http_head {
    enum http_method method;
    struct str target;        /* As sent: path and query, or an absolute URI. */
    struct str authorization; /* Empty: none. */
    int64_t content_length;   /* -1: none. */
    bool chunked;
};

struct http_head_limits {
    size_t bytes_max;  /* The whole head. */
    size_t target_max; /* Its target. */
    size_t fields_max; /* How many header lines. */
};

/* Where the head ends (behind its empty line), or 0 when the end is not there yet. */
size_t http_head_length(struct str bytes);

/*
 * head: exactly as long as http_head_length said.  0 and *ret_head, or the HTTP status to refuse
 * with (400, 414, 417, 431, 501, 505) and why in err.
 */
MUST_USE int http_head_parse(struct str head, const struct http_head_limits *limits,
                             struct http_head *ret_head, struct err *err);
#endif
