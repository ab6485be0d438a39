/*
 * parting.h - closing a connection whose client may still be sending.
 *
 * A close with unread bytes in the socket resets the connection, and the client loses the answer
 * that it has not read yet.  So the sending side is shut down, and what the client sends is read
 * and discarded, for a short while and up to a limit, until it closes too.
 */
#ifndef HTTP_PARTING_H
#define HTTP_PARTING_H

struct http;

/* Works on a copy of the descriptor; the caller closes its own.  When too many are in progress,
   nothing is read, and the socket is closed at once. */
void parting_begin(struct http *http, int fd);
void parting_end_all(struct http *http);
#endif
