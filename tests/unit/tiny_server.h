/*
 * tiny_server.h - a real HTTP server on a free loopback port, in a thread, for tests of clients.
 *
 * The handler gets every request as text and writes the raw answer itself.  Every connection has
 * a thread; it stays open for as long as the handler says so.
 */
#ifndef TESTS_UNIT_TINY_SERVER_H
#define TESTS_UNIT_TINY_SERVER_H
#include <stdbool.h>

struct tiny_server;

/* true: keep the connection for another request. */
typedef bool tiny_handler(void *ctx, const char *request, int fd);

struct tiny_server *tiny_server_start(tiny_handler *handler, void *ctx);
const char *tiny_server_url(const struct tiny_server *server);
int tiny_server_connections(const struct tiny_server *server); /* Made so far. */
void tiny_server_stop(struct tiny_server *server);

/* A connection to a socket in the file system. */
int tiny_connect(const char *path);
/* Writes all of it; a client that went away is fine. */
void tiny_send(int fd, const char *text);
/* A whole answer with its length. */
void tiny_answer(int fd, const char *status, const char *type, const char *body);
#endif
