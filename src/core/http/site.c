#include "core/http/site.h"
#include <string.h>
#include <strings.h>

enum { OCTET_MAX = 255 };

static bool same_name(struct str a, const char *b)
{
    return a.len == strlen(b) && strncasecmp(a.at, b, a.len) == 0;
}

/* "name:80" is name, "[::1]:80" is [::1]. */
static struct str without_port(struct str host)
{
    const char *end = NULL;
    if (host.len > 0 && host.at[0] == '[') {
        end = memchr(host.at, ']', host.len);
        return end != NULL ? (struct str){host.at, (size_t)(end - host.at) + 1} : host;
    }
    end = host.len > 0 ? memchr(host.at, ':', host.len) : NULL;
    return end != NULL ? (struct str){host.at, (size_t)(end - host.at)} : host;
}

/* Four numbers: no browser looks such a name up. */
static bool is_ipv4(struct str host, int ret_octets[4])
{
    int count = 0, value = -1;
    for (size_t i = 0; i <= host.len; i++) {
        char c = i < host.len ? host.at[i] : '.';
        if (c == '.') {
            if (value < 0 || count == 4)
                return false;
            ret_octets[count++] = value;
            value = -1;
        } else if (c >= '0' && c <= '9') {
            value = (value < 0 ? 0 : value * 10) + (c - '0');
            if (value > OCTET_MAX)
                return false;
        } else {
            return false;
        }
    }
    return count == 4;
}

static bool is_address(struct str host)
{
    int octets[4];
    return (host.len > 1 && host.at[0] == '[' && host.at[host.len - 1] == ']') ||
           is_ipv4(host, octets);
}

static bool is_loopback(struct str host)
{
    int octets[4];
    return same_name(host, "localhost") || same_name(host, "[::1]") ||
           (is_ipv4(host, octets) && octets[0] == 127);
}

static bool is_listed(struct str host, const struct site_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (same_name(host, names->items[i]))
            return true;
    }
    return false;
}

bool site_host_is_own(struct str host, const struct site_names *names)
{
    struct str name = without_port(host);
    return name.len == 0 || is_loopback(name) || is_address(name) || is_listed(name, names);
}

bool site_origin_is_own(struct str origin, struct str host, const struct site_names *names)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (origin.len <= len || strncasecmp(origin.at, schemes[i], len) != 0)
            continue;
        struct str site = {origin.at + len, origin.len - len};
        struct str name = without_port(site);
        bool same = site.len == host.len && strncasecmp(site.at, host.at, host.len) == 0;
        return is_loopback(name) || is_listed(name, names) ||
               (same && site_host_is_own(host, names));
    }
    return false;
}
