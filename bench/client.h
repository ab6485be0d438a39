/*
 * client.h - many keep-alive connections to one HTTP server, driven by one thread.
 *
 * As cheap as it can be, so that the server is what is measured: requests are ready-made bytes,
 * one write and one read each; of an answer only status and Content-Length are read.  One request
 * at a time per connection, no pipelining.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H
#include "base/buf.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

struct client;
struct client_conn;

struct client_answer {
    int status;
    struct str body; /* Lives until the callback returns. */
};
/* May send the next request. */
typedef void client_answered(struct client_conn *conn, const struct client_answer *answer);

struct client_options {
    int port;
    size_t connections;
    client_answered *answered;
};

struct client *client_new(const struct client_options *options); /* Connects them all. */
void client_free(struct client *client);
struct client_conn *client_conn(struct client *client, size_t index);
/* A server closes connections that are idle for long: opens it anew then. */
void client_revive(struct client_conn *conn);
/* For the caller's own use. */
void client_set_owner(struct client_conn *conn, void *owner);
void *client_owner(const struct client_conn *conn);

/* The request is copied only when the socket does not take it at once. */
void client_send(struct client_conn *conn, struct str request);
/* Waits at most wait_ms for answers and hands them out. */
void client_poll(struct client *client, int wait_ms);

/* A whole request with its head. */
struct request_head {
    const char *method, *path, *token;
};
void request_write(struct buf *to, const struct request_head *head, struct str body);

/* A connection, blocking. */
int client_dial(int port);

/* One request on a connection of its own, for what is not measured.  The answer is appended. */
int client_get(int port, const char *path, const char *token, struct buf *to);
#endif
