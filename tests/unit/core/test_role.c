/* test_role.c - roles and their names. */
#include "core/role.h"
#include "tests/unit/suites.h"

START_TEST(roles_of_tokens_read_back_and_others_do_not)
{
    static const struct {
        const char *name;
        enum role role; /* ROLE_NOBODY: refused */
    } table[] = {
        {"viewer", ROLE_VIEWER}, {"operator", ROLE_OPERATOR}, {"worker", ROLE_WORKER},
        {"admin", ROLE_ADMIN},   {"agent", ROLE_NOBODY},      {"nobody", ROLE_NOBODY},
        {"Admin", ROLE_NOBODY},  {"", ROLE_NOBODY},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        enum role role = ROLE_NOBODY;
        bool known = role_parse(table[i].name, &role);
        ck_assert_int_eq(known, table[i].role != ROLE_NOBODY);
        ck_assert_int_eq(role, table[i].role);
        if (known)
            ck_assert_str_eq(role_name(role), table[i].name);
    }
    for (size_t i = 0; role_token_names[i] != NULL; i++) {
        enum role role;
        ck_assert(role_parse(role_token_names[i], &role));
    }
}
END_TEST

Suite *role_suite(void)
{
    Suite *suite = suite_create("role");
    TCase *tests = tcase_create("role");
    tcase_add_test(tests, roles_of_tokens_read_back_and_others_do_not);
    suite_add_tcase(suite, tests);
    return suite;
}
