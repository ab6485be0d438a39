/*
 * test_git_credential.c - git's protocol for credentials: what it asks for, and whether that is the
 * repository that is configured.
 */
#include "base/rc.h"
#include "net/git_credential.h"
#include <check.h>
#include <string.h>

static struct arena arena;

static void teardown(void)
{
    arena_release(&arena);
}

START_TEST(the_lines_of_git_are_read)
{
    static const char lines[] = "protocol=https\nhost=github.com:8443\npath=acme/app.git\n"
                                "capability[]=authtype\nodd\n\n";
    struct git_login login = git_login_parse(str_of(lines), &arena);
    ck_assert_str_eq(login.protocol, "https");
    ck_assert_str_eq(login.host, "github.com:8443");
    ck_assert_str_eq(login.path, "acme/app.git");
    login = git_login_parse(str_of("protocol=https\n"), &arena);
    ck_assert_ptr_null(login.host);
    ck_assert_ptr_null(login.path);
}
END_TEST

static const struct {
    const char *protocol, *host, *path, *url;
    bool fits;
} logins[] = {
    {"https", "github.com", "acme/app.git", "https://github.com/acme/app.git", true},
    {"https", "GitHub.com", "acme/app", "https://github.com/acme/app.git", true},
    {"https", "github.com", "acme/app.git/", "https://bot@github.com/acme/app", true},
    {"http", "127.0.0.1:8080", "a/b.git", "http://127.0.0.1:8080/a/b.git", true},
    {"https", "github.com", "acme/other", "https://github.com/acme/app", false},
    {"https", "github.com", "acme/app/../other", "https://github.com/acme/app", false},
    {"https", "github.com", NULL, "https://github.com/acme/app", false},
    {"https", "github.com:444", "acme/app", "https://github.com/acme/app", false},
    {"https", "evil.com", "acme/app", "https://github.com/acme/app", false},
    {"http", "github.com", "acme/app", "https://github.com/acme/app", false},
    {NULL, NULL, NULL, "https://github.com/acme/app", false},
    {"ssh", "github.com", "acme/app", "ssh://github.com/acme/app", false},
    {"file", "", "srv/app", "/srv/app", false},
};

START_TEST(only_the_repository_itself_fits)
{
    const struct git_login login = {logins[_i].protocol, logins[_i].host, logins[_i].path};
    ck_assert(git_login_fits(&login, logins[_i].url) == logins[_i].fits);
}
END_TEST

START_TEST(the_scope_is_scheme_and_host)
{
    ck_assert_str_eq(git_login_scope("https://bot@github.com:444/acme/app", &arena),
                     "https://github.com:444");
    ck_assert_ptr_null(git_login_scope("/srv/app", &arena));
    ck_assert_ptr_null(git_login_scope("git@github.com:acme/app", &arena));
}
END_TEST

Suite *git_credential_suite(void)
{
    Suite *suite = suite_create("git_credential");
    TCase *tests = tcase_create("git_credential");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, the_lines_of_git_are_read);
    tcase_add_loop_test(tests, only_the_repository_itself_fits, 0, (int)COUNT_OF(logins));
    tcase_add_test(tests, the_scope_is_scheme_and_host);
    suite_add_tcase(suite, tests);
    return suite;
}
