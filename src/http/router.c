/*
 * router.c - a walk down the table, segment by segment.
 */
#include "http/router.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Removes the slash at the front and the segment after it, and returns the segment. */
static bool take_segment(struct str *rest, struct str *ret_segment)
{
    if (rest->len == 0 || rest->at[0] != '/')
        return false;
    const char *start = rest->at + 1;
    const char *end = memchr(start, '/', rest->len - 1);
    size_t len = end != NULL ? (size_t)(end - start) : rest->len - 1;
    *ret_segment = (struct str){start, len};
    rest->at += len + 1;
    rest->len -= len + 1;
    return true;
}

/* Up to the first variable; distinguishes most patterns after a few bytes. */
static bool front_fits(const char *pattern, struct str path)
{
    for (size_t i = 0; pattern[i] != '\0' && pattern[i] != '{'; i++)
        if (i == path.len || path.at[i] != pattern[i])
            return false;
    return true;
}

/* The number of variables, or -1 when the path does not match. */
static int pattern_match(const char *pattern, struct str path, struct str vars[ROUTE_VARS_MAX])
{
    struct str left = str_of(pattern), want, have;
    int count = 0;
    if (!front_fits(pattern, path))
        return -1;
    while (take_segment(&left, &want)) {
        if (!take_segment(&path, &have))
            return -1;
        if (want.len && want.at[0] == '{') {
            assert(count < ROUTE_VARS_MAX);
            if (have.len == 0)
                return -1;
            vars[count++] = have;
        } else if (!str_same(want, have)) {
            return -1;
        }
    }
    return path.len == 0 ? count : -1;
}

static unsigned bit(enum http_method method)
{
    return 1U << method;
}

void router_find(const struct route *routes, size_t count, enum http_method method, struct str path,
                 struct route_match *ret_match)
{
    struct route_match match = {0};
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    int fewest = ROUTE_VARS_MAX + 1;
    for (size_t i = 0; i < count; i++) {
        const struct route *route = &routes[i];
        struct str vars[ROUTE_VARS_MAX] = {0};
        int used = pattern_match(route->pattern, path, vars);
        if (used < 0 || used > fewest)
            continue;
        if (used < fewest) /* A literal takes precedence over a variable in its place. */
            match = (struct route_match){0};
        fewest = used;
        bool serves_head = route->method == HTTP_GET && route->kind != ROUTE_STREAM;
        match.allowed |= bit(route->method) | (serves_head ? bit(HTTP_HEAD) : 0);
        if (route->method != wanted || (method == HTTP_HEAD && !serves_head))
            continue;
        match.route = route;
        memcpy(match.vars, vars, sizeof vars);
    }
    *ret_match = match;
}

void router_allow(unsigned allowed, char to[ROUTE_ALLOW_BYTES])
{
    size_t len = 0;
    to[0] = '\0';
    for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
        if (!(allowed & bit((enum http_method)i)))
            continue;
        int wrote = snprintf(to + len, ROUTE_ALLOW_BYTES - len, "%s%s", len ? ", " : "",
                             http_method_name((enum http_method)i));
        assert(wrote > 0 && (size_t)wrote < ROUTE_ALLOW_BYTES - len);
        len += (size_t)wrote;
    }
}
