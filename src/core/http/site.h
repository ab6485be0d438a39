/*
 * site.h - was a request meant for this server, and sent from one of its own pages?
 *
 * A page of another site can make a browser send requests to a server on the same machine, by a
 * name of its own that it lets point here (DNS rebinding).  Such a request has a foreign name in
 * Host, and in Origin.  An address in Host is no name, and cannot be rebound.  Pure.
 */
#ifndef CORE_HTTP_SITE_H
#define CORE_HTTP_SITE_H
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>

/* Names of this server beside localhost and addresses. */
struct site_names {
    const char *const *items;
    size_t count;
};

/* host: the header's value, with or without a port.  An empty one names no other server: true. */
bool site_host_is_own(struct str host, const struct site_names *names);
/* origin: the header's value.  Own are pages of this machine, of these names, and of the host that
   the request was sent to. */
bool site_origin_is_own(struct str origin, struct str host, const struct site_names *names);
#endif
