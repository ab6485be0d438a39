/*
 * dial.h - begins a connection: a non-blocking socket that connects, the caller's; or -1.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H
#include <sys/socket.h>

int dial_address(const struct sockaddr *address, socklen_t len);
/* In dial_host.c, since a static program (src/inside.c) must not link what resolves names. */
int dial_host(const char *host, int port);
#endif
