/* test_principal.c - the names that leases belong to. */
#include "base/hash.h"
#include "control/commit/principal.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(principals_of_different_kinds_are_never_the_same)
{
    struct id token = id_of("01a1e111-4280-788b-8f9d-658fd086a1f4");
    ck_assert_str_eq(principal_of_token(&token).text, token.text);
    ck_assert_str_eq(principal_of_node("node-1").text, "node/node-1");
    /* A node cannot be called so that it is a token or an admin: its kind stands in front. */
    ck_assert_str_eq(principal_of_node(token.text).text,
                     "node/01a1e111-4280-788b-8f9d-658fd086a1f4");
}
END_TEST

START_TEST(every_admin_token_is_a_principal_of_its_own)
{
    char one[SHA256_TEXT_BYTES], other[SHA256_TEXT_BYTES];
    sha256_hex("one", 3, one);
    sha256_hex("other", 5, other);
    struct principal a = principal_of_admin(one), b = principal_of_admin(other);
    ck_assert_int_eq(strncmp(a.text, "admin/", 6), 0);
    ck_assert_str_ne(a.text, b.text);
    ck_assert_ptr_null(strstr(a.text, one)); /* Not the whole hash. */
    ck_assert_str_eq(a.text, principal_of_admin(one).text);
}
END_TEST

START_TEST(a_worker_speaks_for_itself_and_its_slots)
{
    ck_assert(worker_may_renew("w", "w") && worker_may_renew("w", "w/0"));
    ck_assert(!worker_may_renew("w", "wide") && !worker_may_renew("w/0", "w"));
    ck_assert(!worker_may_renew("w/0", "w/01") && !worker_may_renew("w", ""));
    ck_assert(!worker_may_renew(NULL, "w") && !worker_may_renew("w", NULL));
}
END_TEST

Suite *principal_suite(void)
{
    Suite *suite = suite_create("principal");
    TCase *all = tcase_create("all");
    tcase_add_test(all, principals_of_different_kinds_are_never_the_same);
    tcase_add_test(all, every_admin_token_is_a_principal_of_its_own);
    tcase_add_test(all, a_worker_speaks_for_itself_and_its_slots);
    suite_add_tcase(suite, all);
    return suite;
}
