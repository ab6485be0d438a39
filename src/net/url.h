/*
 * url.h - addresses of HTTP servers, and the escaping of what goes into a path or a query.
 *
 *     scheme://host[:port][/prefix]      scheme http or https; a host is a name, an IPv4
 *                                        address, or an IPv6 address in brackets
 *
 * User names, passwords, queries and fragments are refused: a secret never travels in a URL.
 */
#ifndef NET_URL_H
#define NET_URL_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/rc.h"
#include <stdbool.h>

enum { URL_HOST_BYTES = 256, URL_PREFIX_BYTES = 256, URL_TEXT_BYTES = 640 };

struct url {
    bool tls;
    char host[URL_HOST_BYTES]; /* Without brackets, lower case. */
    int port;
    char prefix[URL_PREFIX_BYTES]; /* "" or "/a/b": never ends in a slash. */
};

/* RC_MALFORMED with code INVALID_URL. */
MUST_USE enum rc url_parse(const char *text, struct url *ret_url, struct err *err);
/* The normal form; the port is always there.  Returns to. */
char *url_format(char to[URL_TEXT_BYTES], const struct url *url);
/* This machine: 127.x.y.z, ::1, localhost. */
bool url_is_loopback(const struct url *url);

/* The server's part of an address, and the rest with its query, which may hold a secret.  In the
   arena; a fragment is left out. */
struct url_parts {
    const char *server, *path;
};
struct url_parts url_split(const char *text, struct arena *arena);

/* Percent-encodes all but letters, digits and - . _ ~ (so a slash becomes %2F). */
void url_add_escaped(struct buf *to, const char *text);
/* Adds "?key=value", or "&key=value" when the path has a query already. */
void url_add_query(struct buf *to, const char *key, const char *value);
#endif
