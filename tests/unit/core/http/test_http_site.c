/*
 * test_http_site.c - which hosts and origins are a server's own.
 */
#include "base/rc.h"
#include "core/http/site.h"
#include "tests/unit/suites.h"

static const char *const items[] = {"drover.example.com", "other"};
static const struct site_names names = {.items = items, .count = COUNT_OF(items)};

static const struct {
    const char *host;
    bool own;
} hosts[] = {
    {"", true},
    {"localhost", true},
    {"LOCALHOST:8717", true},
    {"127.0.0.1:8717", true},
    {"10.1.2.3", true}, /* An address cannot be rebound. */
    {"[::1]:8717", true},
    {"[fe80::1]", true},
    {"drover.example.com", true},
    {"Drover.Example.Com:443", true},
    {"other:1", true},
    {"evil.example.com", false},
    {"localhost.evil.example.com", false},
    {"drover.example.com.evil.example.com", false},
    {"127.0.0.1.evil.example.com", false},
    {"1.2.3", false},
    {"1.2.3.256", false},
    {"1.2.3.4.5", false},
    {"1..2.3", false},
    {"0x7f.0.0.1", false},
    {"[::1", false},
};

START_TEST(a_host_is_own_by_name_or_address)
{
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        ck_assert_msg(site_host_is_own(str_of(hosts[i].host), &names) == hosts[i].own, "%s",
                      hosts[i].host);
}
END_TEST

static const struct {
    const char *origin, *host;
    bool own;
} origins[] = {
    {"http://localhost:1234", "localhost:8717", true},
    {"https://127.8.9.1", "localhost:8717", true},
    {"http://[::1]:1", "x", true},
    {"https://drover.example.com", "localhost", true},
    {"http://10.1.2.3:80", "10.1.2.3:80", true},
    {"http://10.1.2.3:80", "10.1.2.3:81", false},
    {"http://10.1.2.3", "localhost", false}, /* A page of another machine. */
    {"http://evil.example.com", "evil.example.com", false},
    {"http://evil.example.com", "localhost", false},
    {"http://localhost.evil.example.com", "localhost", false},
    {"null", "localhost", false},
    {"", "localhost", false},
    {"http://", "localhost", false},
    {"file:///etc", "localhost", false},
    {"chrome-extension://localhost", "localhost", false},
};

START_TEST(an_origin_is_own_on_this_machine_by_name_or_as_the_host)
{
    for (size_t i = 0; i < COUNT_OF(origins); i++)
        ck_assert_msg(site_origin_is_own(str_of(origins[i].origin), str_of(origins[i].host),
                                         &names) == origins[i].own,
                      "%s at %s", origins[i].origin, origins[i].host);
}
END_TEST

Suite *http_site_suite(void)
{
    Suite *suite = suite_create("http_site");
    TCase *tc = tcase_create("site");
    tcase_add_test(tc, a_host_is_own_by_name_or_address);
    tcase_add_test(tc, an_origin_is_own_on_this_machine_by_name_or_as_the_host);
    suite_add_tcase(suite, tc);
    return suite;
}
