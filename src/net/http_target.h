/*
 * http_target.h - one HTTP server, and how a request to it is set up on an easy handle of libcurl.
 *
 * Shared by http_client.c, which makes one call after the other, and http_multi.c, which has many
 * under way.  Other folders use those.
 */
#ifndef NET_HTTP_TARGET_H
#define NET_HTTP_TARGET_H
#include "net/curl_lib.h"
#include "net/http_client.h"
#include "net/url.h"

struct http_target {
    char url[URL_TEXT_BYTES];
    char *socket_path; /* or NULL */
    bool loopback;
    char *authorization; /* The whole header line, or NULL. */
    int64_t timeout_ms, connect_timeout_ms;
};

/* Loads libcurl as well. */
MUST_USE enum rc http_target_init(struct http_target *target,
                                  const struct http_client_options *options, struct err *err);
void http_target_release(struct http_target *target);

/* The lines of a request's head; owned by the caller until the transfer has ended. */
void http_lines_add(struct curl_slist **lines, const char *line);
bool http_fields_name(const struct http_field *fields, const char *name); /* Is it in the list? */

struct http_setup {
    CURL *easy;
    const char *path;
    const struct http_field *headers; /* or NULL */
    struct curl_slist **lines;        /* Appended to. */
    char *curl_error;                 /* CURL_ERROR_SIZE bytes, for as long as the transfer. */
};
/* Resets the handle and sets what all requests have in common. */
MUST_USE enum rc http_target_prepare(const struct http_target *target,
                                     const struct http_setup *setup, struct err *err);

/* A body that is sent at most once: a connection that ends without an answer may have delivered
   it. */
struct http_once {
    struct str body;
    size_t at;
};
void http_once_set(CURL *easy, struct http_once *once); /* Lives as long as the transfer. */

int http_status_of(CURL *easy); /* 0: no answer. */
/* Why a transfer failed below HTTP. */
struct http_fall {
    const char *url; /* Of the server. */
    CURL *easy;
    CURLcode code;
    const char *curl_error;
};
MUST_USE enum rc http_fall_decode(const struct http_fall *fall, struct err *err);
#endif
