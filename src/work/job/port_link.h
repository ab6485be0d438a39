/*
 * port_link.h - the connections of a port over HTTP, and calls over them.
 *
 * Any thread may call.  Connections are kept and shared; a call that finds none free makes one.
 * Return codes are those of port.h: a missing answer is RC_UNREACHABLE for any reason, and only the
 * server's own answer is RC_STALE.
 */
#ifndef WORK_JOB_PORT_LINK_H
#define WORK_JOB_PORT_LINK_H
#include "base/js.h"
#include "base/jw.h"
#include "net/http_client.h"
#include "net/url.h"
#include <pthread.h>

enum {
    PORT_IDLE_MAX = 64, /* Connections that are kept. */
    PORT_ANSWER_MAX = 4 * 1024 * 1024,
};

struct port_link {
    char url[URL_TEXT_BYTES];
    char *token;
    pthread_mutex_t lock; /* Guards what follows. */
    struct http_client *idle[PORT_IDLE_MAX];
    size_t idle_count;
};
MUST_USE enum rc port_link_init(struct port_link *link, const struct http_client_options *to,
                                struct err *err);
/* No thread may be in a call any more. */
void port_link_release(struct port_link *link);
MUST_USE enum rc port_link_call(struct port_link *link, const struct http_call *call,
                                struct buf *answer, struct err *err);

/* A request and its answer, both JSON. */
struct exchange {
    struct buf body;
    struct buf answer;
    struct jw jw; /* Writes the request. */
    struct js *tree;
};
/* Opens the request's object. */
void exchange_open(struct exchange *exchange);
void exchange_release(struct exchange *exchange);
/* Closes the object and sends it. */
MUST_USE enum rc exchange_send(struct exchange *exchange, struct port_link *link,
                               const struct http_call *how, struct err *err);
#endif
