/*
 * url.c - see url.h.  Strict on purpose: only well-formed addresses are accepted, so that no
 * unusual one reaches libcurl, which accepts more.
 */
#include "net/url.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PORT_MAX = 65535, PORT_HTTP = 80, PORT_HTTPS = 443 };

static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789-._~";

static enum rc refuse(struct err *err, const char *text, const char *why)
{
    return err_set(err, RC_MALFORMED, "INVALID_URL", "\"%s\" is not an address of a server: %s",
                   text, why);
}

/* Takes "http://" or "https://" off the front; NULL when neither is there. */
static const char *take_scheme(const char *text, struct url *url)
{
    url->tls = strncasecmp(text, "https://", 8) == 0;
    url->port = url->tls ? PORT_HTTPS : PORT_HTTP;
    if (url->tls)
        return text + 8;
    return strncasecmp(text, "http://", 7) == 0 ? text + 7 : NULL;
}

/* Takes the host off the front; NULL when there is none or it has invalid characters. */
static const char *take_host(const char *at, struct url *url)
{
    bool bracketed = *at == '[';
    at += bracketed;
    size_t len = strspn(at, bracketed ? "0123456789abcdefABCDEF:." : unreserved);
    if (len == 0 || len >= sizeof url->host || (bracketed && at[len] != ']'))
        return NULL;
    for (size_t i = 0; i < len; i++)
        url->host[i] = (char)tolower((unsigned char)at[i]);
    url->host[len] = '\0';
    return at + len + bracketed;
}

/* Takes ":port" off the front if it is there; NULL when it is no port. */
static const char *take_port(const char *at, struct url *url)
{
    if (*at != ':')
        return at;
    size_t digits = strspn(++at, "0123456789");
    int64_t port = 0;
    char text[8] = "";
    if (digits == 0 || digits >= sizeof text)
        return NULL;
    memcpy(text, at, digits);
    if (!text_to_i64(text, &port) || port < 1 || port > PORT_MAX)
        return NULL;
    url->port = (int)port;
    return at + digits;
}

static bool take_prefix(const char *at, struct url *url)
{
    size_t len = strlen(at);
    if (len > 0 && *at != '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (at[i] != '/' && at[i] != '%' && strchr(unreserved, at[i]) == NULL)
            return false;
    }
    while (len > 0 && at[len - 1] == '/')
        len--;
    if (len >= sizeof url->prefix)
        return false;
    memcpy(url->prefix, at, len);
    url->prefix[len] = '\0';
    return true;
}

enum rc url_parse(const char *text, struct url *ret_url, struct err *err)
{
    struct url url = {0};
    const char *at = take_scheme(text, &url);
    if (at == NULL)
        return refuse(err, text, "it must begin with http:// or https://");
    if (strchr(at, '@') != NULL) /* The message omits the text: it may hold a password. */
        return err_set(err, RC_MALFORMED, "INVALID_URL",
                       "user names and passwords do not belong into the address of a server");
    at = take_host(at, &url);
    if (at == NULL)
        return refuse(err, text, "a host name or an IP address is missing");
    at = take_port(at, &url);
    if (at == NULL)
        return refuse(err, text, "a port is a number from 1 to 65535");
    if (!take_prefix(at, &url))
        return refuse(err, text, "only a plain path may follow the host");
    *ret_url = url;
    return RC_OK;
}

char *url_format(char to[URL_TEXT_BYTES], const struct url *url)
{
    bool ipv6 = strchr(url->host, ':') != NULL;
    (void)snprintf(to, URL_TEXT_BYTES, "http%s://%s%s%s:%d%s", url->tls ? "s" : "", ipv6 ? "[" : "",
                   url->host, ipv6 ? "]" : "", url->port, url->prefix);
    return to;
}

bool url_is_loopback(const struct url *url)
{
    if (text_same(url->host, "localhost") || text_same(url->host, "::1"))
        return true;
    return text_starts(url->host, "127.") && url->host[strspn(url->host, "0123456789.")] == '\0';
}

struct url_parts url_split(const char *text, struct arena *arena)
{
    const char *host = strstr(text, "://");
    size_t len = host != NULL ? (size_t)(host - text) + 3 + strcspn(host + 3, "/?#") : strlen(text);
    const char *rest = arena_strndup(arena, text + len, strcspn(text + len, "#"));
    return (struct url_parts){
        .server = arena_strndup(arena, text, len),
        .path = rest[0] == '/' ? rest : arena_printf(arena, "/%s", rest),
    };
}

void url_add_escaped(struct buf *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr(unreserved, *text) != NULL)
            buf_addc(to, *text);
        else
            buf_addf(to, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

void url_add_query(struct buf *to, const char *key, const char *value)
{
    buf_addc(to, memchr(buf_text(to), '?', to->len) == NULL ? '?' : '&');
    url_add_escaped(to, key);
    buf_addc(to, '=');
    url_add_escaped(to, value);
}
