/*
 * http_client.h - calls to one HTTP server, over libcurl.
 *
 * A client belongs to one thread at a time and keeps its connection between calls.  Redirects are
 * not followed, so that the token stays with the server it was meant for.  An answer that is not
 * 2xx comes back as enum rc with the server's problem+json in struct err.
 */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H
#include "base/buf.h"
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct http_client;

struct http_client_options {
    const char *url;         /* Of the server, in the form of url.h.  Copied. */
    const char *socket_path; /* Its unix socket, reached in place of host and port; or NULL. */
    const char *token;       /* Or NULL.  Copied; never printed. */
    const char *auth;   /* How the header with the token begins; NULL: "Authorization: Bearer " */
    int64_t timeout_ms; /* Of a whole call; 0: 30 s. */
    int64_t connect_timeout_ms; /* 0: 5 s */
};

MUST_USE enum rc http_client_new(const struct http_client_options *options,
                                 struct http_client **ret_client, struct err *err);
void http_client_free(struct http_client *client);
void http_client_freep(struct http_client **client); /* For CLEANUP. */
const char *http_client_url(const struct http_client *client);

struct http_field {
    const char *name; /* NULL ends a list. */
    const char *value;
};

/* Bytes from the start of a file, read while they are sent. */
struct http_file {
    int fd;
    int64_t bytes;
};

struct http_call {
    const char *method;               /* GET, POST, PUT, PATCH, DELETE */
    const char *path;                 /* "/v1/tasks?limit=5", escaped: see url_add_escaped. */
    const struct http_field *headers; /* or NULL */
    struct str body;                  /* JSON, unless Content-Type is in headers; empty: none */
    const struct http_file *file;     /* Sent instead of a body; or NULL */
    int64_t timeout_ms;               /* 0: the client's */
    const atomic_int *stop; /* or NULL; not 0: RC_CANCELLED within a second, unless answered */
    struct buf *head;       /* or NULL; gets the head of the answer: see http_head_field. */
    bool any_status;        /* Any answer is RC_OK, with its status. */
    /* A body that may have arrived is not sent again.  Otherwise libcurl does that by itself when a
       kept connection ends without an answer. */
    bool once;
};

struct http_reply {
    int status;
    char content_type[128]; /* "" when the server sent none. */
};

/*
 * The answer's body goes to `body`, whose maximum is the limit; of one that is not 2xx too.  Its
 * Retry-After is in err->retry_ms.  Beside the code of the status: RC_UNREACHABLE, RC_TIMEOUT,
 * RC_TOO_LARGE (the answer), RC_MALFORMED (a header).
 */
MUST_USE enum rc http_client_call(struct http_client *client, const struct http_call *call,
                                  struct buf *body, struct http_reply *ret_answer, struct err *err);

/* The value of a field in a head; at is NULL when there is none.  Of several the first. */
struct str http_head_field(const struct buf *head, const char *name);
int http_head_status(const struct buf *head); /* 0: nothing came. */

enum { HTTP_STREAM_TICK_MS = 200 };

/* A GET whose body is read while it arrives: event streams, and what is too large for memory. */
struct http_stream {
    const char *path;
    const struct http_field *headers;              /* or NULL */
    int64_t idle_timeout_ms;                       /* No byte for so long: RC_TIMEOUT. */
    const atomic_int *stop;                        /* or NULL; once set: RC_CANCELLED */
    bool (*on_bytes)(void *ctx, struct str bytes); /* false: enough, RC_OK */
    void (*on_tick)(void *ctx);                    /* At least every tick; or NULL */
    void *ctx;
    struct buf *head;    /* As of a call. */
    struct buf *refusal; /* or NULL; gets the body of an answer that is not 2xx. */
};

/* RC_OK when the server ended the answer properly, or on_bytes returned false. */
MUST_USE enum rc http_client_stream(struct http_client *client, const struct http_stream *stream,
                                    struct err *err);

/* The code for a status; err has the server's problem+json, if it sent one that can be parsed. */
MUST_USE enum rc http_problem_decode(int status, struct str body, struct err *err);
#endif
