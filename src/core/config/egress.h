/*
 * egress.h - which hosts an agent without a network may still reach, through drover's proxy.
 *
 *     api.example.com           that host, at ports 80 and 443
 *     api.example.com:8443      that host, at that port
 *     *.example.com  (:PORT)    every name below it, but not itself
 *     192.0.2.7  [2001:db8::7]  addresses, with or without a port
 *
 * A name may resolve to an internal address: of this machine or of its network.  How explicit a
 * rule is decides which of these it allows.
 */
#ifndef CORE_CONFIG_EGRESS_H
#define CORE_CONFIG_EGRESS_H
#include "base/rc.h"
#include "base/str.h"
#include "core/http/head.h"
#include <stdbool.h>
#include <stddef.h>

enum { EGRESS_HOST_BYTES = 256 };

/* Ordered: each reaches what those before it reach. */
enum egress_reach {
    EGRESS_NOWHERE,
    EGRESS_PUBLIC,  /* A rule with a star. */
    EGRESS_PRIVATE, /* The name stands in a rule: networks such as 10.0.0.0/8, and this machine's
                       addresses in any network, as well. */
    EGRESS_LOCAL,   /* An address or "localhost" stands in a rule: loopback and link-local too. */
    EGRESS_NEVER,   /* Only of addresses: broadcast, multicast, none at all. */
};

/* For messages about rules that are not valid. */
#define EGRESS_RULE "a host, an address, or *. and a domain; a port may follow after a colon"
bool egress_rule_valid(const char *rule);

/* What the rules (NULL-terminated) allow for this host and port. */
enum egress_reach egress_allows(const char *const *rules, const char *host, int port);

/* Does a rule (NULL-terminated) name this host, at any port?  Stars do not count. */
bool egress_names(const char *const *rules, const char *host);

/* What an address (4 or 16 bytes, in network order) needs; reachable when not beyond the reach. */
enum egress_reach egress_needs(const unsigned char *address, size_t len);

/* Addresses of the machine that the gateway runs on. */
struct egress_net {
    unsigned char bytes[16];
    unsigned char len;  /* 4 or 16 */
    unsigned char bits; /* How many of them count. */
};
/* The same on a machine with these addresses: they need EGRESS_PRIVATE at least. */
enum egress_reach egress_needs_on(const struct egress_net *own, size_t own_count,
                                  const unsigned char *address, size_t len);

/* A request of a client to the proxy. */
struct egress_request {
    bool tunnel; /* CONNECT; else plain HTTP. */
    char host[EGRESS_HOST_BYTES];
    int port;
    struct str path;       /* Plain HTTP: in the head; an empty one is "/". */
    struct http_head head; /* Points into the head. */
};

/* A whole head, up to and with the empty line.  Read as strictly as the server reads its own: the
   host behind the gateway may read a doubtful one in another way. */
MUST_USE enum rc egress_request_parse(struct str head, struct egress_request *ret, struct err *err);
#endif
