/*
 * egress.c - rules, classes of addresses, and the first lines of a proxy's client.
 */
#include "core/config/egress.h"
#include <ctype.h>
#include <string.h>

enum { PORT_MAX = 65535, PORT_HTTP = 80, PORT_HTTPS = 443 };

/* A host and perhaps a port: "host", "host:1", "[::1]:1". */
struct place {
    struct str host;
    int port; /* 0: none */
    bool literal;
};

static bool read_port(struct str text, int *ret_port)
{
    int port = 0;
    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!isdigit((unsigned char)text.at[i]))
            return false;
        port = port * 10 + (text.at[i] - '0');
    }
    *ret_port = port;
    return port > 0 && port <= PORT_MAX;
}

static bool host_byte(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

static bool is_address(struct str host)
{
    for (size_t i = 0; i < host.len; i++) {
        if (!isdigit((unsigned char)host.at[i]) && host.at[i] != '.')
            return false;
    }
    return true;
}

static bool read_bracketed(struct str text, struct place *ret, size_t *ret_end)
{
    const char *end = memchr(text.at, ']', text.len);
    if (end == NULL || end == text.at + 1)
        return false;
    ret->host = (struct str){text.at + 1, (size_t)(end - text.at) - 1};
    ret->literal = true;
    for (size_t i = 0; i < ret->host.len; i++) {
        char c = ret->host.at[i];
        if (!isxdigit((unsigned char)c) && c != ':' && c != '.')
            return false;
    }
    *ret_end = ret->host.len + 2;
    return true;
}

static bool read_named(struct str text, struct place *ret, size_t *ret_end)
{
    size_t len = 0;
    while (len < text.len && host_byte(text.at[len]))
        len++;
    *ret_end = len;
    if (len > 1 && text.at[len - 1] == '.')
        len--; /* The root of all names is meant anyway. */
    if (len == 0 || text.at[0] == '.' || text.at[0] == '-')
        return false;
    ret->host = (struct str){text.at, len};
    ret->literal = is_address(ret->host);
    return true;
}

static bool read_place(struct str text, struct place *ret)
{
    struct place place = {.port = 0};
    size_t end = 0;
    bool bracketed = text.len > 0 && text.at[0] == '[';
    if (!(bracketed ? read_bracketed(text, &place, &end) : read_named(text, &place, &end)))
        return false;
    if (place.host.len >= EGRESS_HOST_BYTES)
        return false;
    if (end < text.len) {
        if (text.at[end] != ':' ||
            !read_port((struct str){text.at + end + 1, text.len - end - 1}, &place.port))
            return false;
    }
    *ret = place;
    return true;
}

/* ---- rules ---- */

struct rule {
    struct place place;
    bool below; /* "*." stands before it. */
};

static bool read_rule(const char *text, struct rule *ret)
{
    struct rule rule = {.below = text_starts(text, "*.")};
    if (!read_place(str_of(rule.below ? text + 2 : text), &rule.place))
        return false;
    if (rule.below && rule.place.literal)
        return false;
    *ret = rule;
    return true;
}

bool egress_rule_valid(const char *text)
{
    struct rule rule;
    return read_rule(text, &rule);
}

static bool same_name(struct str a, struct str b)
{
    return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static bool is_below(struct str host, struct str domain)
{
    if (host.len <= domain.len + 1)
        return false;
    struct str end = {host.at + host.len - domain.len, domain.len};
    return end.at[-1] == '.' && same_name(end, domain);
}

static enum egress_reach rule_reach(const struct rule *rule, struct str host, int port)
{
    int wanted = rule->place.port;
    if (wanted ? port != wanted : port != PORT_HTTP && port != PORT_HTTPS)
        return EGRESS_NOWHERE;
    if (rule->below)
        return is_below(host, rule->place.host) ? EGRESS_PUBLIC : EGRESS_NOWHERE;
    if (!same_name(host, rule->place.host))
        return EGRESS_NOWHERE;
    bool here = rule->place.literal || same_name(host, STR("localhost"));
    return here ? EGRESS_LOCAL : EGRESS_PRIVATE;
}

enum egress_reach egress_allows(const char *const *rules, const char *host, int port)
{
    enum egress_reach reach = EGRESS_NOWHERE;
    for (size_t i = 0; rules != NULL && rules[i] != NULL; i++) {
        struct rule rule;
        if (!read_rule(rules[i], &rule))
            continue;
        enum egress_reach now = rule_reach(&rule, str_of(host), port);
        reach = now > reach ? now : reach;
    }
    return reach;
}

bool egress_names(const char *const *rules, const char *host)
{
    for (size_t i = 0; rules != NULL && rules[i] != NULL; i++) {
        struct rule rule;
        if (read_rule(rules[i], &rule) && !rule.below && same_name(rule.place.host, str_of(host)))
            return true;
    }
    return false;
}

/* ---- addresses ---- */

/* The first that fits decides; what fits none is public. */
static const struct range {
    unsigned char bytes[4];
    unsigned char bits;
    enum egress_reach needs;
} ranges4[] = {
    {{0, 0, 0, 0}, 8, EGRESS_NEVER},          {{127, 0, 0, 0}, 8, EGRESS_LOCAL},
    {{169, 254, 0, 0}, 16, EGRESS_LOCAL},     {{10, 0, 0, 0}, 8, EGRESS_PRIVATE},
    {{172, 16, 0, 0}, 12, EGRESS_PRIVATE},    {{192, 168, 0, 0}, 16, EGRESS_PRIVATE},
    {{100, 64, 0, 0}, 10, EGRESS_PRIVATE},    {{192, 0, 0, 0}, 24, EGRESS_PRIVATE},
    {{198, 18, 0, 0}, 15, EGRESS_PRIVATE},    {{224, 0, 0, 0}, 4, EGRESS_NEVER},
    {{255, 255, 255, 255}, 32, EGRESS_NEVER}, {{240, 0, 0, 0}, 4, EGRESS_PRIVATE},
};

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    for (unsigned bit = 0; bit < bits; bit++) {
        unsigned mask = 0x80u >> (bit % 8);
        if ((a[bit / 8] & mask) != (b[bit / 8] & mask))
            return false;
    }
    return true;
}

static enum egress_reach needs4(const unsigned char *address)
{
    for (size_t i = 0; i < COUNT_OF(ranges4); i++) {
        if (same_bits(address, ranges4[i].bytes, ranges4[i].bits))
            return ranges4[i].needs;
    }
    return EGRESS_PUBLIC;
}

/* The IPv4 address that an IPv6 address embeds; NULL: there is none. */
static const unsigned char *inner4(const unsigned char *address)
{
    static const unsigned char zeros[12], mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char translated[12] = {0x00, 0x64, 0xff, 0x9b};
    if (memcmp(address, mapped, sizeof mapped) == 0 ||
        memcmp(address, translated, sizeof translated) == 0 ||
        memcmp(address, zeros, sizeof zeros) == 0)
        return address + 12;
    return address[0] == 0x20 && address[1] == 0x02 ? address + 2 : NULL;
}

static enum egress_reach needs6(const unsigned char *address)
{
    static const unsigned char zeros[15];
    if (memcmp(address, zeros, sizeof zeros) == 0)
        return address[15] == 1 ? EGRESS_LOCAL : EGRESS_NEVER;
    const unsigned char *inner = inner4(address);
    if (inner != NULL)
        return needs4(inner);
    if (address[0] == 0xff)
        return EGRESS_NEVER;
    if (address[0] == 0xfe && (address[1] & 0xc0) == 0x80)
        return EGRESS_LOCAL;
    if ((address[0] & 0xfe) == 0xfc || (address[0] == 0xfe && (address[1] & 0xc0) == 0xc0))
        return EGRESS_PRIVATE;
    return EGRESS_PUBLIC;
}

enum egress_reach egress_needs(const unsigned char *address, size_t len)
{
    return len == 4 ? needs4(address) : len == 16 ? needs6(address) : EGRESS_NEVER;
}

enum egress_reach egress_needs_on(const struct egress_net *own, size_t own_count,
                                  const unsigned char *address, size_t len)
{
    enum egress_reach needs = egress_needs(address, len);
    const unsigned char *inner = len == 16 ? inner4(address) : NULL;
    for (size_t i = 0; i < own_count && needs < EGRESS_PRIVATE; i++) {
        bool same = own[i].len == len && same_bits(address, own[i].bytes, own[i].bits);
        if (same ||
            (inner != NULL && own[i].len == 4 && same_bits(inner, own[i].bytes, own[i].bits)))
            needs = EGRESS_PRIVATE;
    }
    return needs;
}

/* ---- requests ---- */

static enum rc bad_request(struct err *err, const char *why)
{
    return err_set(err, RC_MALFORMED, "MALFORMED_REQUEST", "%s", why);
}

/* http://host[:port][/path] */
static bool read_address(struct str url, struct place *ret_place, struct str *ret_path)
{
    static const char scheme[] = "http://";
    size_t skip = sizeof scheme - 1;
    if (url.len <= skip || strncasecmp(url.at, scheme, skip) != 0)
        return false;
    struct str rest = {url.at + skip, url.len - skip};
    size_t len = 0;
    while (len < rest.len && rest.at[len] != '/' && rest.at[len] != '?')
        len++;
    *ret_path = (struct str){rest.at + len, rest.len - len};
    return read_place((struct str){rest.at, len}, ret_place);
}

enum rc egress_request_parse(struct str head, struct egress_request *ret, struct err *err)
{
    static const struct http_head_limits limits = {
        .bytes_max = 64 * 1024, .target_max = 16 * 1024, .fields_max = 200};
    struct egress_request request = {.port = 0};
    if (http_head_split(head, &limits, &request.head, err) != 0)
        return RC_MALFORMED;
    struct place place;
    struct str target = request.head.target;
    request.tunnel = str_is(request.head.verb, "CONNECT");
    bool good = request.tunnel ? read_place(target, &place) && place.port > 0
                               : read_address(target, &place, &request.path);
    if (!good)
        return bad_request(err, request.tunnel ? "CONNECT wants host:port"
                                               : "the target is not http://host/path");
    if (request.tunnel && (request.head.chunked || request.head.content_length >= 0))
        return bad_request(err, "CONNECT has no body");
    request.port = place.port ? place.port : PORT_HTTP;
    memcpy(request.host, place.host.at, place.host.len);
    request.host[place.host.len] = '\0';
    *ret = request;
    return RC_OK;
}
