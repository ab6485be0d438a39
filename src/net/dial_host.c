/*
 * dial_host.c - connections to names and ports, apart from those to addresses: see dial.h.
 */
#include "net/dial.h"
#include <netdb.h>
#include <stdio.h>

enum { PORT_TEXT_BYTES = 8 };

int dial_host(const char *host, int port)
{
    char text[PORT_TEXT_BYTES];
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    (void)snprintf(text, sizeof text, "%d", port);
    if (getaddrinfo(host, text, &hints, &found) != 0)
        return -1;
    int fd = dial_address(found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return fd;
}
