/*
 * http_parting.h - closing a connection whose client may still be sending.
 *
 * A close with unread bytes in the socket resets the connection, and the client loses the answer
 * that it has not read yet.  So the client is told that no more comes, and what it sends is read
 * and dropped, for a short while and up to a limit, until it closes too.
 */
#ifndef EDGE_HTTP_PARTING_H
#define EDGE_HTTP_PARTING_H

struct http;

/* Works on a copy of the descriptor; the caller closes its own.  Beyond a number of them at a time
   nothing is read, and the close is a plain one. */
void parting_begin(struct http *http, int fd);
void parting_end_all(struct http *http);
#endif
