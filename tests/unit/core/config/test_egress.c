/*
 * test_egress.c - which hosts the rules let through, what addresses need, what clients ask.
 */
#include "core/config/egress.h"
#include "tests/unit/suites.h"
#include <arpa/inet.h>
#include <string.h>

static const struct {
    const char *rule;
    bool valid;
} rules[] = {
    {"example.com", true},
    {"example.com:443", true},
    {"*.example.com", true},
    {"*.example.com:22", true},
    {"127.0.0.1:80", true},
    {"[::1]:80", true},
    {"[2001:db8::1]", true},
    {"localhost", true},
    {"a_b.example", true},
    {"", false},
    {"*", false},
    {"*.", false},
    {"*.10.0.0.1", false},
    {"a.*.example", false},
    {"example.com:", false},
    {"example.com:0", false},
    {"example.com:65536", false},
    {"example.com:4x", false},
    {"http://example.com", false},
    {"example.com/x", false},
    {"ex ample.com", false},
    {"::1", false},
    {"[::1", false},
    {".example.com", false},
};

START_TEST(a_rule_is_valid_or_not)
{
    ck_assert_msg(egress_rule_valid(rules[_i].rule) == rules[_i].valid, "%s", rules[_i].rule);
}
END_TEST

static const char *const list[] = {
    "api.example.com", "db.example.com:5432", "*.npm.test",      "127.0.0.1:9000",
    "localhost:9001",  "[::1]:9002",          "*.tls.test:8443", NULL};
static const struct {
    const char *host;
    int port;
    enum egress_reach want;
} asked[] = {
    {"api.example.com", 443, EGRESS_PRIVATE},
    {"api.example.com", 80, EGRESS_PRIVATE},
    {"API.Example.COM", 443, EGRESS_PRIVATE},
    {"api.example.com", 22, EGRESS_NOWHERE},
    {"example.com", 443, EGRESS_NOWHERE},
    {"xapi.example.com", 443, EGRESS_NOWHERE},
    {"db.example.com", 5432, EGRESS_PRIVATE},
    {"db.example.com", 443, EGRESS_NOWHERE},
    {"a.npm.test", 443, EGRESS_PUBLIC},
    {"a.b.npm.test", 443, EGRESS_PUBLIC},
    {"npm.test", 443, EGRESS_NOWHERE},
    {"evilnpm.test", 443, EGRESS_NOWHERE},
    {"npm.test.evil", 443, EGRESS_NOWHERE},
    {"127.0.0.1", 9000, EGRESS_LOCAL},
    {"127.0.0.1", 9001, EGRESS_NOWHERE},
    {"localhost", 9001, EGRESS_LOCAL},
    {"::1", 9002, EGRESS_LOCAL},
    {"a.tls.test", 8443, EGRESS_PUBLIC},
    {"a.tls.test", 443, EGRESS_NOWHERE},
    {"", 443, EGRESS_NOWHERE},
};

START_TEST(only_listed_hosts_are_reached)
{
    ck_assert_msg(egress_allows(list, asked[_i].host, asked[_i].port) == asked[_i].want, "%s:%d",
                  asked[_i].host, asked[_i].port);
}
END_TEST

START_TEST(without_rules_nothing_is_reached)
{
    ck_assert_int_eq(egress_allows(NULL, "example.com", 443), EGRESS_NOWHERE);
}
END_TEST

static const struct {
    const char *address;
    enum egress_reach needs;
} addresses[] = {
    {"93.184.216.34", EGRESS_PUBLIC},
    {"8.8.8.8", EGRESS_PUBLIC},
    {"10.1.2.3", EGRESS_PRIVATE},
    {"172.16.0.1", EGRESS_PRIVATE},
    {"172.31.255.255", EGRESS_PRIVATE},
    {"172.32.0.1", EGRESS_PUBLIC},
    {"192.168.1.1", EGRESS_PRIVATE},
    {"100.64.0.1", EGRESS_PRIVATE},
    {"127.0.0.1", EGRESS_LOCAL},
    {"169.254.169.254", EGRESS_LOCAL},
    {"0.0.0.0", EGRESS_NEVER},
    {"224.0.0.1", EGRESS_NEVER},
    {"255.255.255.255", EGRESS_NEVER},
    {"::1", EGRESS_LOCAL},
    {"::", EGRESS_NEVER},
    {"fe80::1", EGRESS_LOCAL},
    {"fd00::1", EGRESS_PRIVATE},
    {"ff02::1", EGRESS_NEVER},
    {"2606:2800:220:1::1", EGRESS_PUBLIC},
    {"::ffff:127.0.0.1", EGRESS_LOCAL},
    {"::ffff:8.8.8.8", EGRESS_PUBLIC},
    {"64:ff9b::10.0.0.1", EGRESS_PRIVATE},
    {"2002:7f00:1::1", EGRESS_LOCAL},
};

START_TEST(an_address_needs_a_reach)
{
    unsigned char bytes[16];
    bool six = strchr(addresses[_i].address, ':') != NULL;
    ck_assert_int_eq(inet_pton(six ? AF_INET6 : AF_INET, addresses[_i].address, bytes), 1);
    ck_assert_msg(egress_needs(bytes, six ? 16 : 4) == addresses[_i].needs, "%s",
                  addresses[_i].address);
}
END_TEST

/* This machine is 93.184.216.34 and 2606:2800:220:1::7; of 198.51.100.0/24 it has all. */
static const struct {
    const char *address;
    enum egress_reach needs;
} own_addresses[] = {
    {"93.184.216.34", EGRESS_PRIVATE},
    {"93.184.216.35", EGRESS_PUBLIC},
    {"198.51.100.77", EGRESS_PRIVATE},
    {"::ffff:93.184.216.34", EGRESS_PRIVATE},
    {"64:ff9b::93.184.216.34", EGRESS_PRIVATE},
    {"2002:5db8:d822::1", EGRESS_PRIVATE},
    {"2606:2800:220:1::7", EGRESS_PRIVATE},
    {"2606:2800:220:1::8", EGRESS_PUBLIC},
    {"127.0.0.1", EGRESS_LOCAL},
    {"224.0.0.1", EGRESS_NEVER},
};

START_TEST(an_address_of_this_machine_is_not_public)
{
    static const struct egress_net own[] = {
        {.bytes = {93, 184, 216, 34}, .len = 4, .bits = 32},
        {.bytes = {198, 51, 100, 1}, .len = 4, .bits = 24},
        {.bytes = {0x26, 0x06, 0x28, 0, 0x02, 0x20, 0, 1, [15] = 7}, .len = 16, .bits = 128},
    };
    unsigned char bytes[16];
    const char *text = own_addresses[_i].address;
    bool six = strchr(text, ':') != NULL;
    ck_assert_int_eq(inet_pton(six ? AF_INET6 : AF_INET, text, bytes), 1);
    ck_assert_msg(egress_needs_on(own, COUNT_OF(own), bytes, six ? 16 : 4) ==
                      own_addresses[_i].needs,
                  "%s", text);
}
END_TEST

static const struct {
    const char *head;
    const char *host; /* NULL: refused */
    int port;
    bool tunnel;
    const char *path;
} requests[] = {
    {"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", "example.com", 443, true, ""},
    {"CONNECT [::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n", "::1", 443, true, ""},
    {"GET http://example.com/a?b HTTP/1.1\r\nHost: y\r\n\r\n", "example.com", 80, false, "/a?b"},
    {"GET http://example.com:81 HTTP/1.1\r\nHost: x\r\n\r\n", "example.com", 81, false, ""},
    {"POST HTTP://example.com/ HTTP/1.0\r\n\r\n", "example.com", 80, false, "/"},
    {"CONNECT example.com HTTP/1.1\r\nHost: x\r\n\r\n", NULL, 0, false, ""},
    {"CONNECT user@example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", NULL, 0, false, ""},
    {"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", NULL, 0, false,
     ""},
    {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", NULL, 0, false, ""},
    {"GET https://example.com/ HTTP/1.1\r\nHost: x\r\n\r\n", NULL, 0, false, ""},
    {"GET http://a@example.com/ HTTP/1.1\r\nHost: x\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\nA: b\nHost: y\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\nA: b\rHost: y\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\n Host: y\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\nHost : y\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
     "Transfer-Encoding: chunked\r\n\r\n",
     NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/2\r\nHost: x\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/\r\n\r\n", NULL, 0, false, ""},
    {"GET http://example.com/ HTTP/1.1\r\n", NULL, 0, false, ""},
    {"\r\n\r\n", NULL, 0, false, ""},
    {"", NULL, 0, false, ""},
};

START_TEST(a_client_says_where_it_wants_to)
{
    struct egress_request request;
    enum rc rc = egress_request_parse(str_of(requests[_i].head), &request, NULL);
    ck_assert_msg((rc == RC_OK) == (requests[_i].host != NULL), "%s", requests[_i].head);
    if (rc != RC_OK)
        return;
    ck_assert_str_eq(request.host, requests[_i].host);
    ck_assert_int_eq(request.port, requests[_i].port);
    ck_assert_int_eq(request.tunnel, requests[_i].tunnel);
    ck_assert(request.tunnel || str_is(request.path, requests[_i].path));
}
END_TEST

START_TEST(the_fields_are_what_follows_the_first_line)
{
    struct egress_request request;
    ck_assert_int_eq(egress_request_parse(STR("GET http://a/ HTTP/1.1\r\nHost: b\r\nC: d\r\n\r\n"),
                                          &request, NULL),
                     RC_OK);
    ck_assert(str_is(request.head.fields, "Host: b\r\nC: d\r\n"));
}
END_TEST

START_TEST(a_host_is_named_at_any_port_and_by_no_star)
{
    static const char *const here[] = {"127.0.0.1:8080", "LocalHost", "[::1]:1", "*.example.com",
                                       NULL};
    static const struct {
        const char *host;
        bool named;
    } hosts[] = {{"127.0.0.1", true},  {"localhost", true},      {"::1", true},
                 {"127.0.0.2", false}, {"a.example.com", false}, {"example.com", false}};
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        ck_assert_msg(egress_names(here, hosts[i].host) == hosts[i].named, "%s", hosts[i].host);
    ck_assert(!egress_names(NULL, "localhost"));
}
END_TEST

Suite *egress_suite(void)
{
    Suite *suite = suite_create("egress");
    TCase *tests = tcase_create("rules and requests");
    tcase_add_test(tests, a_host_is_named_at_any_port_and_by_no_star);
    tcase_add_loop_test(tests, a_rule_is_valid_or_not, 0, (int)COUNT_OF(rules));
    tcase_add_loop_test(tests, only_listed_hosts_are_reached, 0, (int)COUNT_OF(asked));
    tcase_add_test(tests, without_rules_nothing_is_reached);
    tcase_add_loop_test(tests, an_address_needs_a_reach, 0, (int)COUNT_OF(addresses));
    tcase_add_loop_test(tests, an_address_of_this_machine_is_not_public, 0,
                        (int)COUNT_OF(own_addresses));
    tcase_add_loop_test(tests, a_client_says_where_it_wants_to, 0, (int)COUNT_OF(requests));
    tcase_add_test(tests, the_fields_are_what_follows_the_first_line);
    suite_add_tcase(suite, tests);
    return suite;
}
