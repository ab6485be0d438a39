/* test_router.c - paths and methods to routes; and the routes that there are. */
#include "api/api.h"
#include "api/routes.h"
#include "http/router.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct route routes[] = {
    {.method = HTTP_GET, .pattern = "/"},
    {.method = HTTP_GET, .pattern = "/v1/jobs"},
    {.method = HTTP_POST, .pattern = "/v1/jobs"},
    {.method = HTTP_GET, .pattern = "/v1/jobs/{id}"},
    {.method = HTTP_POST, .pattern = "/v1/jobs/lease"},
    {.method = HTTP_GET, .pattern = "/v1/a/{x}/b/{y}"},
    {.method = HTTP_GET, .pattern = "/v1/a/{x}/stream", .kind = ROUTE_STREAM},
};

static const struct {
    enum http_method method;
    const char *path;
    int route; /* -1: none */
    const char *first, *second;
    const char *allow;
} table[] = {
    {HTTP_GET, "/", 0, "", "", "GET, HEAD"},
    {HTTP_GET, "/v1/jobs", 1, "", "", "GET, HEAD, POST"},
    {HTTP_HEAD, "/v1/jobs", 1, "", "", "GET, HEAD, POST"},
    {HTTP_POST, "/v1/jobs", 2, "", "", "GET, HEAD, POST"},
    {HTTP_PUT, "/v1/jobs", -1, "", "", "GET, HEAD, POST"},
    {HTTP_GET, "/v1/jobs/7", 3, "7", "", "GET, HEAD"},
    {HTTP_GET, "/v1/jobs/a%2Fb", 3, "a%2Fb", "", "GET, HEAD"},
    {HTTP_POST, "/v1/jobs/lease", 4, "", "", "POST"},
    {HTTP_GET, "/v1/jobs/lease", -1, "", "", "POST"},
    {HTTP_GET, "/v1/a/1/b/2", 5, "1", "2", "GET, HEAD"},
    {HTTP_GET, "/v1/a/1/stream", 6, "1", "", "GET"},
    {HTTP_HEAD, "/v1/a/1/stream", -1, "", "", "GET"},
    {HTTP_GET, "", -1, "", "", ""},
    {HTTP_GET, "v1/jobs", -1, "", "", ""},
    {HTTP_GET, "/v1", -1, "", "", ""},
    {HTTP_GET, "/v1/jobs/", -1, "", "", ""},
    {HTTP_GET, "/v1//jobs", -1, "", "", ""},
    {HTTP_GET, "/v1/jobs/7/8", -1, "", "", ""},
    {HTTP_GET, "/v1/JOBS", -1, "", "", ""},
};

START_TEST(a_path_leads_to_its_route)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct route_match match;
        char allow[ROUTE_ALLOW_BYTES];
        router_find(routes, COUNT_OF(routes), table[i].method, str_of(table[i].path), &match);
        const struct route *want = table[i].route < 0 ? NULL : &routes[table[i].route];
        ck_assert_msg(match.route == want, "%s", table[i].path);
        ck_assert(str_is(match.vars[0], table[i].first));
        ck_assert(str_is(match.vars[1], table[i].second));
        router_allow(match.allowed, allow);
        ck_assert_str_eq(allow, table[i].allow);
    }
}
END_TEST

START_TEST(every_route_has_what_its_kind_needs)
{
    size_t count = 0;
    const struct route *all = routes_all(&count);
    ck_assert_uint_gt(count, 30);
    for (size_t i = 0; i < count; i++) {
        const struct route *route = &all[i];
        ck_assert_msg((route->instant != NULL) == (route->kind == ROUTE_INSTANT), "%s",
                      route->pattern);
        ck_assert_msg((route->query != NULL) == (route->kind == ROUTE_QUERY), "%s", route->pattern);
        ck_assert_msg((route->build != NULL && route->answer != NULL) ==
                          (route->kind == ROUTE_COMMAND),
                      "%s", route->pattern);
        ck_assert_msg((route->stream != NULL) ==
                          (route->kind == ROUTE_STREAM || route->kind == ROUTE_WAIT),
                      "%s", route->pattern);
    }
}
END_TEST

START_TEST(only_health_and_the_description_are_open_and_agents_only_read_and_ask_in_their_own_run)
{
    size_t count = 0;
    const struct route *all = routes_all(&count);
    for (size_t i = 0; i < count; i++) {
        bool health = text_ends(all[i].pattern, "z");
        bool webhook = text_same(all[i].pattern, "/v1/webhooks/{forge}") || /* They are signed. */
                       text_same(all[i].pattern, "/v1/interactions/slack");
        bool description = text_same(all[i].pattern, "/asyncapi.json");
        ck_assert_msg(all[i].open == (health || webhook || description), "%s", all[i].pattern);
        ck_assert_msg(all[i].signed_body == webhook, "%s", all[i].pattern);
        if (all[i].agent == AGENT_NEVER || all[i].agent == AGENT_CHECKED)
            continue;
        /* All else is reading. */
        bool asks = text_ends(all[i].pattern, "/questions") ||
                    text_ends(all[i].pattern, "/credential");
        ck_assert_int_eq(all[i].method, asks ? HTTP_POST : HTTP_GET);
        ck_assert_ptr_nonnull(strstr(all[i].pattern, "/{id}"));
    }
}
END_TEST

Suite *router_suite(void)
{
    Suite *suite = suite_create("router");
    TCase *tests = tcase_create("router");
    tcase_add_test(tests, a_path_leads_to_its_route);
    tcase_add_test(tests, every_route_has_what_its_kind_needs);
    tcase_add_test(
        tests,
        only_health_and_the_description_are_open_and_agents_only_read_and_ask_in_their_own_run);
    suite_add_tcase(suite, tests);
    return suite;
}
