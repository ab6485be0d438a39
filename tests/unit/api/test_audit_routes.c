/*
 * test_audit_routes.c - every route that changes something has a name in the audit log.
 */
#include "api/audit_routes.h"
#include "api/routes.h"
#include <check.h>
#include <string.h>

START_TEST(every_mutating_route_has_an_action)
{
    size_t count;
    const struct route *routes = routes_all(&count);
    for (size_t i = 0; i < count; i++) {
        if (routes[i].method == HTTP_GET)
            continue;
        ck_assert_msg(audit_route_of(&routes[i]) != NULL,
                      "%s %s has no row in api/audit_routes.c: name its action",
                      http_method_name(routes[i].method), routes[i].pattern);
    }
}
END_TEST

START_TEST(every_action_has_its_route_and_a_name_of_its_own)
{
    size_t count, route_count;
    const struct audit_route *rows = audit_routes_all(&count);
    const struct route *routes = routes_all(&route_count);
    for (size_t i = 0; i < count; i++) {
        const struct audit_route *row = &rows[i];
        bool found = false;
        for (size_t j = 0; j < route_count; j++)
            found |= audit_route_of(&routes[j]) == row;
        ck_assert_msg(found, "%s: there is no route %s", row->action, row->pattern);
        const char *dot = strchr(row->action, '.');
        ck_assert_msg(dot != NULL && dot > row->action && dot[1] != '\0', "%s", row->action);
        ck_assert_msg(strspn(row->action, "abcdefghijklmnopqrstuvwxyz_.") == strlen(row->action),
                      "%s", row->action);
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(row->action, rows[j].action);
    }
}
END_TEST

Suite *audit_routes_suite(void)
{
    Suite *suite = suite_create("audit_routes");
    TCase *tests = tcase_create("audit_routes");
    tcase_add_test(tests, every_mutating_route_has_an_action);
    tcase_add_test(tests, every_action_has_its_route_and_a_name_of_its_own);
    suite_add_tcase(suite, tests);
    return suite;
}
