#include "net/git_credential.h"
#include <string.h>
#include <strings.h>

struct git_login git_login_parse(struct str lines, struct arena *arena)
{
    struct git_login login = {.protocol = NULL};
    struct str line;
    while (str_take_line(&lines, &line)) {
        const char *equals = memchr(line.at, '=', line.len);
        if (equals == NULL)
            continue;
        struct str key = {line.at, (size_t)(equals - line.at)};
        const char *value = arena_strndup(arena, equals + 1, line.len - key.len - 1);
        if (str_is(key, "protocol"))
            login.protocol = value;
        else if (str_is(key, "host"))
            login.host = value;
        else if (str_is(key, "path"))
            login.path = value;
    }
    return login;
}

/* An address in its parts. */
struct place {
    struct str scheme, host, path;
};

static bool split(const char *url, struct place *ret_place)
{
    if (url == NULL || (!text_starts(url, "https://") && !text_starts(url, "http://")))
        return false;
    const char *begin = strstr(url, "://") + 3;
    size_t len = strcspn(begin, "/?#");
    const char *at = memrchr(begin, '@', len);
    const char *host = at != NULL ? at + 1 : begin;
    const char *path = begin + len;
    path += *path == '/';
    *ret_place = (struct place){
        .scheme = {url, (size_t)(begin - url) - strlen("://")},
        .host = {host, len - (size_t)(host - begin)},
        .path = {path, strcspn(path, "?#")},
    };
    return true;
}

static bool same_host(struct str a, const char *b)
{
    return b != NULL && strlen(b) == a.len && strncasecmp(a.at, b, a.len) == 0;
}

/* With or without the slash and the .git at its end. */
static struct str trimmed(struct str path)
{
    static const char end[] = ".git";
    while (path.len > 0 && path.at[path.len - 1] == '/')
        path.len--;
    if (path.len > strlen(end) && memcmp(path.at + path.len - strlen(end), end, strlen(end)) == 0)
        path.len -= strlen(end);
    return path;
}

bool git_login_fits(const struct git_login *login, const char *url)
{
    struct place place;
    if (!split(url, &place) || login->protocol == NULL || !str_is(place.scheme, login->protocol) ||
        !same_host(place.host, login->host))
        return false;
    return login->path != NULL && str_same(trimmed(str_of(login->path)), trimmed(place.path));
}

const char *git_login_scope(const char *url, struct arena *arena)
{
    struct place place;
    if (!split(url, &place))
        return NULL;
    return arena_printf(arena, "%.*s://%.*s", (int)place.scheme.len, place.scheme.at,
                        (int)place.host.len, place.host.at);
}
