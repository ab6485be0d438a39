/* test_auth.c - the admin's token: made once, kept from others, asked for. */
#include "api/auth.h"
#include "base/fd.h"
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[] = "/tmp/drover-auth-XXXXXX";
static struct arena arena;

static void make(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void clear(void)
{
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
    arena_release(&arena);
}

static const char *token_path(void)
{
    return arena_printf(&arena, "%s/admin.token", dir);
}

static const char *read_token(void)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 1000);
    ck_assert_int_eq(file_read(token_path(), &text, NULL), RC_OK);
    ck_assert(text_ends(buf_text(&text), "\n"));
    return arena_strndup(&arena, text.data, text.len - 1);
}

static struct auth *open_auth(void)
{
    struct auth *auth = NULL;
    struct err err = {0};
    enum rc rc = auth_open(dir, NULL, &auth, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return auth;
}

START_TEST(the_first_start_makes_a_token_for_its_owner_only)
{
    struct stat info;
    auth_free(open_auth());
    const char *token = read_token();
    ck_assert_uint_eq(strlen(token), strlen("drv_") + 64);
    ck_assert(text_starts(token, "drv_"));
    ck_assert_int_eq(stat(token_path(), &info), 0);
    ck_assert_int_eq(info.st_mode & 0777, 0600);
    auth_free(open_auth()); /* The second start keeps it. */
    ck_assert_str_eq(read_token(), token);
}
END_TEST

START_TEST(only_the_token_opens)
{
    struct auth *auth = open_auth();
    const char *token = read_token();
    struct {
        enum rc rc;
        const char *header;
    } table[] = {
        {RC_OK, arena_printf(&arena, "Bearer %s", token)},
        {RC_OK, arena_printf(&arena, "bearer   %s", token)},
        {RC_UNAUTHORIZED, ""},
        {RC_UNAUTHORIZED, token},
        {RC_UNAUTHORIZED, "Bearer"},
        {RC_UNAUTHORIZED, "Bearer "},
        {RC_UNAUTHORIZED, arena_printf(&arena, "Basic %s", token)},
        {RC_UNAUTHORIZED, arena_printf(&arena, "Bearer %sx", token)},
        {RC_UNAUTHORIZED, arena_printf(&arena, "Bearer %.10s", token)},
        {RC_UNAUTHORIZED, "Bearer drun_01a1e111-4117-786e-86f3-ee82e849c024_00"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct identity who = {0};
        struct err err = {0};
        enum rc rc = auth_check(auth, str_of(table[i].header), &who, &err);
        ck_assert_msg(rc == table[i].rc, "%s", table[i].header);
        ck_assert_int_eq(who.role, rc == RC_OK ? ROLE_ADMIN : ROLE_NOBODY);
        ck_assert_ptr_null(strstr(err.text, token));
    }
    auth_free(auth);
}
END_TEST

START_TEST(a_token_file_that_holds_none_is_refused)
{
    struct auth *auth = NULL;
    struct err err = {0};
    ck_assert_int_eq(file_write_durable(token_path(), "short\n", 6, 0600, &err), RC_OK);
    ck_assert_int_eq(auth_open(dir, NULL, &auth, &err), RC_CORRUPT);
    ck_assert_ptr_nonnull(strstr(err.text, "admin.token"));
    ck_assert_ptr_null(auth);
}
END_TEST

START_TEST(an_agent_may_only_use_routes_of_its_own)
{
    struct identity agent = {.role = ROLE_AGENT}, admin = {.role = ROLE_ADMIN};
    struct route closed = {.agent = AGENT_NEVER}, own = {.agent = AGENT_OWN_RUN};
    struct err err = {0};
    ck_assert_int_eq(auth_route(&admin, &closed, &err), RC_OK);
    ck_assert_int_eq(auth_route(&agent, &own, &err), RC_OK);
    ck_assert_int_eq(auth_route(&agent, &closed, &err), RC_DENIED);
}
END_TEST

START_TEST(a_route_takes_the_roles_that_it_states)
{
    static const struct {
        enum role role;
        unsigned roles;
        bool let_in;
    } table[] = {
        {ROLE_VIEWER, ROLES(ROLE_VIEWER) | ROLES(ROLE_OPERATOR), true},
        {ROLE_OPERATOR, ROLES(ROLE_VIEWER) | ROLES(ROLE_OPERATOR), true},
        {ROLE_WORKER, ROLES(ROLE_VIEWER) | ROLES(ROLE_OPERATOR), false},
        {ROLE_ADMIN, ROLES(ROLE_VIEWER), true},
        {ROLE_VIEWER, 0, false},
        {ROLE_ADMIN, 0, true},
        {ROLE_NOBODY, 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct identity who = {.role = table[i].role, .name = "ann"};
        const struct route route = {.roles = table[i].roles};
        struct err err = {0};
        enum rc rc = auth_route(&who, &route, &err);
        ck_assert_int_eq(rc, table[i].let_in ? RC_OK : RC_DENIED);
        if (rc != RC_OK)
            ck_assert_ptr_nonnull(strstr(err.text, "admin"));
    }
}
END_TEST

START_TEST(a_token_that_is_bound_to_queues_has_no_wide_routes)
{
    static const struct {
        const char *queues;
        bool wide;
        enum rc rc;
    } table[] = {
        {"", true, RC_OK}, {"", false, RC_OK}, {"a b", true, RC_DENIED}, {"a b", false, RC_OK}};
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct identity who = {.role = ROLE_WORKER, .name = "far"};
        const struct route route = {.roles = ROLES(ROLE_WORKER), .wide = table[i].wide};
        struct err err = {0};
        text_copy(who.queues, sizeof who.queues, table[i].queues);
        ck_assert_int_eq(auth_route(&who, &route, &err), table[i].rc);
        if (table[i].rc != RC_OK)
            ck_assert_str_eq(err.code, "QUEUE_NOT_ALLOWED");
    }
}
END_TEST

START_TEST(who_acts_is_the_name_of_the_token)
{
    struct identity who = {.role = ROLE_WORKER, .name = "build-1"};
    ck_assert_str_eq(auth_actor(&who).type, "worker");
    ck_assert_str_eq(auth_actor(&who).id, "build-1");
    who.role = ROLE_OPERATOR;
    ck_assert_str_eq(auth_actor(&who).type, "user");
    ck_assert_str_eq(auth_actor(&who).id, "build-1");
}
END_TEST

Suite *auth_suite(void)
{
    Suite *suite = suite_create("auth");
    TCase *tests = tcase_create("auth");
    tcase_add_checked_fixture(tests, make, clear);
    tcase_add_test(tests, the_first_start_makes_a_token_for_its_owner_only);
    tcase_add_test(tests, only_the_token_opens);
    tcase_add_test(tests, a_token_file_that_holds_none_is_refused);
    tcase_add_test(tests, an_agent_may_only_use_routes_of_its_own);
    tcase_add_test(tests, a_route_takes_the_roles_that_it_states);
    tcase_add_test(tests, a_token_that_is_bound_to_queues_has_no_wide_routes);
    tcase_add_test(tests, who_acts_is_the_name_of_the_token);
    suite_add_tcase(suite, tests);
    return suite;
}
