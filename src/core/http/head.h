/*
 * head.h - the head of an HTTP/1.x request, read by RFC 9112 and refused where it could be
 * read in two ways.
 *
 *     METHOD SP target SP HTTP/1.x CRLF  (name ":" value CRLF)*  CRLF
 *
 * A proxy in front of drover, or a server behind its gateway, may read a doubtful head in another
 * way than drover does, and then take the rest of one request for the next one.  So there is no
 * leniency: lines end in CR LF, names have no space behind them, no line is folded, and the fields
 * that decide where a request ends and whose it is come once.  Pure.
 */
#ifndef CORE_HTTP_HEAD_H
#define CORE_HTTP_HEAD_H
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

/* All of it points into the head. */
struct http_head {
    enum http_method method;  /* http_head_parse only. */
    struct str path, query;   /* http_head_parse only: of the target, still percent-encoded. */
    struct str verb;          /* The method as sent. */
    struct str target;        /* As sent. */
    struct str host;          /* Empty: none, which only HTTP/1.0 may do, or an empty one. */
    struct str authorization; /* Empty: none. */
    struct str fields;        /* The lines behind the first, each with its end. */
    int64_t content_length;   /* -1: none. */
    bool chunked;
    bool is_1_1;           /* Else HTTP/1.0. */
    bool expects_continue; /* The client waits for 100 before it sends the body. */
    bool closes;           /* The client sends no other request on this connection. */
};

struct http_head_limits {
    size_t bytes_max;  /* The whole head. */
    size_t target_max; /* Its target. */
    size_t fields_max; /* How many header lines. */
};

/* Searches for the end of a head while it arrives.  Zeroed it is at the beginning. */
struct http_scan {
    size_t at;   /* Bytes scanned so far. */
    size_t line; /* Where the line begins that is being scanned. */
};
/* bytes: all of the head so far.  0 and its length, or 0 and length 0: more must come.  Else the
   HTTP status to refuse with. */
MUST_USE int http_scan(struct http_scan *scan, struct str bytes, size_t *ret_length,
                       struct err *err);

/*
 * head: exactly as long as http_scan returned.  0 and *ret_head, or the HTTP status to refuse with
 * (400, 414, 417, 431, 501, 505) and why in err.
 */
MUST_USE int http_head_parse(struct str head, const struct http_head_limits *limits,
                             struct http_head *ret_head, struct err *err);
/* The same for a proxy: any method, and any target that has no bytes which must be encoded. */
MUST_USE int http_head_split(struct str head, const struct http_head_limits *limits,
                             struct http_head *ret_head, struct err *err);

struct http_head_field {
    struct str line; /* With its end. */
    struct str name, value;
};
/* Takes the first field off the front of http_head.fields; false at the end. */
bool http_head_next(struct str *fields, struct http_head_field *ret_field);
/* In any case of letters: */
bool http_name_is(struct str name, const char *wanted);
/* Does the list "a, b" in value hold the word?  In any case of letters. */
bool http_list_has(struct str value, struct str word);
/* A character of a method or of a field's name. */
bool http_is_token(unsigned char c);
#endif
