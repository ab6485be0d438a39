/*
 * test_issues_local.c - issues that live in a repository on disk.
 */
#include "base/clock.h"
#include "forge/forges.h"
#include "forge/local/local.h"
#include "forge/port/prs.h"
#include "tests/unit/work_kit.h"
#include <check.h>
#include <pthread.h>
#include <string.h>

#define NOON (INT64_C(1780000000) * US_PER_SECOND)

static struct kit kit;

static void setup(void)
{
    kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct issue open_issue(const char *title, const char *body, const char *labels)
{
    struct git git = {0};
    struct issue issue;
    struct err err = {0};
    const struct issue_words words = {
        .title = title, .body = body, .labels = str_of(labels), .author = "alice", .time_us = NOON};
    ck_assert_msg(issues_local.open(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                    &words, &kit.arena, &issue, &err) == RC_OK,
                  "%s", err.text);
    return issue;
}

static enum rc comment(int64_t number, const char *body, struct issue *ret_issue, struct err *err)
{
    struct git git = {0};
    const struct issue_words words = {
        .body = body, .author = "bob", .time_us = NOON + US_PER_MINUTE};
    return issues_local.change(&issues_local, &(struct forge_call){.git = git}, kit.origin, number,
                               &words, &kit.arena, ret_issue, err);
}

static enum rc set_state(int64_t number, const char *state, struct err *err)
{
    struct git git = {0};
    struct issue issue;
    const struct issue_words words = {
        .state = state, .body = "", .author = "bob", .time_us = NOON + US_PER_HOUR};
    enum rc rc = issues_local.change(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                     number, &words, &kit.arena, &issue, err);
    if (rc == RC_OK)
        ck_assert_str_eq(issue.state, state);
    return rc;
}

static struct issue get(int64_t number)
{
    struct git git = {0};
    struct issue issue;
    struct err err = {0};
    ck_assert_msg(issues_local.get(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                   number, &kit.arena, &issue, &err) == RC_OK,
                  "%s", err.text);
    return issue;
}

START_TEST(an_issue_reads_back_with_its_comments_in_order)
{
    static const char body[] =
        "Line one.\n\n{\"event\":\"opened\"}\ncommit 12\n\ttabs, \xc3\xbc, \x01";
    struct issue issue = open_issue("Totals \"are\" wrong", body, "[\"bug\",\"sla:1h\"]");
    ck_assert_int_eq(issue.number, 1);
    ck_assert_int_eq(comment(1, "Me too.\n\nReally.", &issue, NULL), RC_OK);
    ck_assert_int_eq(comment(1, "And me.", &issue, NULL), RC_OK);
    ck_assert_int_eq(issue.comment_count, 2);
    issue = get(1);
    ck_assert_str_eq(issue.title, "Totals \"are\" wrong");
    ck_assert_str_eq(issue.body, body);
    ck_assert_str_eq(issue.state, "open");
    ck_assert_str_eq(issue.author, "alice");
    ck_assert(str_is(issue.labels, "[\"bug\",\"sla:1h\"]"));
    ck_assert_int_eq(issue.created_us, NOON);
    ck_assert_int_eq(issue.updated_us, NOON + US_PER_MINUTE);
    ck_assert_int_eq(issue.comment_count, 2);
    ck_assert_str_eq(issue.comments[0].body, "Me too.\n\nReally.");
    ck_assert_str_eq(issue.comments[0].author, "bob");
    ck_assert_str_eq(issue.comments[1].body, "And me.");
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git rev-list --count refs/drover/issues/1"),
                     "3");
}
END_TEST

START_TEST(an_issue_is_closed_and_opened_again)
{
    struct git git = {0};
    struct err err = {0};
    struct issue issue;
    struct issue *issues;
    size_t count;
    (void)open_issue("first", "", "");
    (void)open_issue("second", "", "");
    ck_assert_int_eq(set_state(1, "open", &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "ISSUE_OPEN");
    ck_assert_int_eq(set_state(1, "closed", &err), RC_OK);
    ck_assert_int_eq(set_state(1, "closed", &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "ISSUE_CLOSED");
    ck_assert_int_eq(comment(1, "It was the cache.", &issue, &err), RC_OK);
    ck_assert_str_eq(issue.state, "closed");
    const struct issue_filter open = {.limit = 10, .state = "open"};
    ck_assert_int_eq(issues_local.list(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                       &open, &kit.arena, &issues, &count, &err),
                     RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(issues[0].number, 2);
    ck_assert_int_eq(set_state(1, "open", &err), RC_OK);
    issue = get(1);
    ck_assert_str_eq(issue.state, "open");
    ck_assert_int_eq(issue.comment_count, 1);
    ck_assert_int_eq(issue.updated_us, NOON + US_PER_HOUR);
    ck_assert_int_eq(set_state(3, "closed", &err), RC_NOT_FOUND);
}
END_TEST

/* A commit on top of the issue whose message is its head again, and so much text besides. */
static void stuff(int64_t number, int mebibytes)
{
    kit_sh(&kit,
           "export GIT_DIR=$PWD/origin.git GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x "
           "GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x; ref=refs/drover/issues/%d; "
           "{ git log -1 --format=%%s $ref; echo; yes %s | head -c %dM; } >message; "
           "git update-ref $ref $(git commit-tree $ref^{tree} -p $ref -F message)",
           (int)number, "stuffing-stuffing-stuffing-stuffing", mebibytes);
}

START_TEST(an_issue_takes_no_more_text_than_can_be_read_back)
{
    struct issue issue;
    struct err err = {0};
    (void)open_issue("Long", "", "");
    stuff(1, 62);
    ck_assert_int_eq(comment(1, "One more.", &issue, &err), RC_OK);
    stuff(1, 1);
    ck_assert_int_eq(comment(1, "Too much.", &issue, &err), RC_CONFLICT);
    ck_assert_str_eq(err.code, "ISSUE_FULL");
    ck_assert_int_eq(get(1).comment_count, 1);
    ck_assert_int_eq(set_state(1, "closed", &err), RC_OK);
    ck_assert_str_eq(get(1).state, "closed");
}
END_TEST

START_TEST(labels_change_and_it_is_known_who_put_them_there)
{
    struct forge_call call = {.gate = NULL};
    struct err err = {0};
    struct issue issue = open_issue("Totals", "They are wrong.", "[\"bug\"]");
    struct issue_words words = {
        .labels = STR("[\"bug\",\"drover\"]"), .author = "bob", .time_us = NOON + US_PER_MINUTE};
    ck_assert_int_eq(issues_local.change(&issues_local, &call, kit.origin, issue.number, &words,
                                         &kit.arena, &issue, &err),
                     RC_OK);
    ck_assert(str_is(get(issue.number).labels, "[\"bug\",\"drover\"]"));
    struct forge_act *acts;
    size_t count;
    ck_assert_int_eq(
        people_of("local")->acts(&call, kit.origin, issue.number, &kit.arena, &acts, &count, &err),
        RC_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(acts[0].what, "bug");
    ck_assert_str_eq(acts[0].actor, "alice");
    ck_assert_str_eq(acts[1].what, "drover");
    ck_assert_str_eq(acts[1].actor, "bob");
    ck_assert_int_eq(acts[1].at_us, NOON + US_PER_MINUTE);
    words.labels = STR("[]");
    ck_assert_int_eq(issues_local.change(&issues_local, &call, kit.origin, issue.number, &words,
                                         &kit.arena, &issue, &err),
                     RC_OK);
    ck_assert(str_is(get(issue.number).labels, "[]"));
}
END_TEST

static void note(int64_t number, const char *key, const char *body)
{
    struct forge_call call = {.gate = NULL};
    struct err err = {0};
    const struct forge_comment words = {.key = key, .body = body};
    ck_assert_msg(issues_local.note(&issues_local, &call, kit.origin, number, &words, &err) ==
                      RC_OK,
                  "%s", err.text);
}

START_TEST(a_note_is_edited_and_stays_one_comment)
{
    struct err err = {0};
    struct issue issue = open_issue("Totals", "They are wrong.", "[]");
    note(issue.number, "issue", "accepted");
    ck_assert_int_eq(comment(issue.number, "Me too.", &issue, &err), RC_OK);
    note(issue.number, "issue", "running");
    note(issue.number, "issue", "running");
    note(issue.number, "other", "another");
    issue = get(issue.number);
    ck_assert_int_eq(issue.comment_count, 3);
    ck_assert(text_starts(issue.comments[0].body, "running"));
    ck_assert_ptr_nonnull(strstr(issue.comments[0].body, "<!-- drover:issue -->"));
    ck_assert_int_eq(issue.comments[0].id, 1);
    ck_assert_str_eq(issue.comments[1].body, "Me too.");
    ck_assert_int_eq(issue.comments[1].updated_us, issue.comments[1].created_us);
    ck_assert(text_starts(issue.comments[2].body, "another"));
}
END_TEST

START_TEST(listings_begin_with_the_newest)
{
    struct git git = {0};
    for (int i = 1; i <= 11; i++)
        (void)open_issue(arena_printf(&kit.arena, "issue %d", i), "", "");
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/drover/issues/12 main; "
                 "git --git-dir=origin.git update-ref refs/drover/issues/junk main");
    struct issue *issues;
    size_t count;
    struct issue_filter filter = {.limit = 3};
    ck_assert_int_eq(issues_local.list(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                       &filter, &kit.arena, &issues, &count, NULL),
                     RC_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(issues[0].number, 11);
    ck_assert_str_eq(issues[2].title, "issue 9");
    filter = (struct issue_filter){.limit = 100, .before = 3, .state = "open"};
    ck_assert_int_eq(issues_local.list(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                       &filter, &kit.arena, &issues, &count, NULL),
                     RC_OK);
    ck_assert_uint_eq(count, 2);
    filter.state = "closed";
    ck_assert_int_eq(issues_local.list(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                       &filter, &kit.arena, &issues, &count, NULL),
                     RC_OK);
    ck_assert_uint_eq(count, 0);
    /* What is no issue of ours keeps its number. */
    ck_assert_int_eq(open_issue("next", "", "").number, 13);
}
END_TEST

START_TEST(what_is_not_there_is_told_from_what_cannot_be_read)
{
    struct git git = {0};
    struct issue issue;
    struct err err = {0};
    ck_assert_int_eq(issues_local.get(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                      7, &kit.arena, &issue, &err),
                     RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "ISSUE_NOT_FOUND");
    ck_assert_int_eq(comment(7, "hello?", &issue, &err), RC_NOT_FOUND);
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/drover/issues/7 main");
    ck_assert_int_eq(issues_local.get(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                      7, &kit.arena, &issue, &err),
                     RC_CORRUPT);
    ck_assert_int_eq(comment(7, "hello?", &issue, &err), RC_CORRUPT);
    ck_assert_int_eq(issues_local.get(&issues_local, &(struct forge_call){.git = git},
                                      "/nonexistent/x.git", 7, &kit.arena, &issue, &err),
                     RC_UNREACHABLE);
    ck_assert_int_eq(issues_local.get(&issues_local, &(struct forge_call){.git = git},
                                      "https://example.org/x.git", 7, &kit.arena, &issue, &err),
                     RC_INVALID);
}
END_TEST

struct person {
    pthread_t thread;
    struct arena arena;
    struct issue issue;
    enum rc opened, commented;
};

static void *person_main(void *ctx)
{
    struct person *person = ctx;
    struct git git = {0};
    const struct issue_words words = {
        .title = "at once", .body = "", .author = "eve", .time_us = NOON};
    const struct issue_words more = {.body = "at once", .author = "eve", .time_us = NOON};
    struct issue issue;
    person->opened = issues_local.open(&issues_local, &(struct forge_call){.git = git}, kit.origin,
                                       &words, &person->arena, &person->issue, NULL);
    person->commented = issues_local.change(&issues_local, &(struct forge_call){.git = git},
                                            kit.origin, 1, &more, &person->arena, &issue, NULL);
    return NULL;
}

START_TEST(people_at_the_same_time_get_numbers_of_their_own_and_lose_no_word)
{
    enum { PEOPLE = 6 };
    static struct person people[PEOPLE];
    (void)open_issue("first", "", "");
    for (int i = 0; i < PEOPLE; i++)
        ck_assert_int_eq(pthread_create(&people[i].thread, NULL, person_main, &people[i]), 0);
    unsigned seen = 0;
    for (int i = 0; i < PEOPLE; i++) {
        (void)pthread_join(people[i].thread, NULL);
        ck_assert_int_eq(people[i].opened, RC_OK);
        ck_assert_int_eq(people[i].commented, RC_OK);
        seen |= 1U << people[i].issue.number;
        arena_release(&people[i].arena);
    }
    ck_assert_uint_eq(seen, 0xfc); /* 2 to 7 */
    ck_assert_int_eq(get(1).comment_count, PEOPLE);
}
END_TEST

Suite *issues_local_suite(void)
{
    Suite *suite = suite_create("issues_local");
    TCase *tests = tcase_create("issues_local");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_issue_reads_back_with_its_comments_in_order);
    tcase_add_test(tests, an_issue_is_closed_and_opened_again);
    tcase_add_test(tests, an_issue_takes_no_more_text_than_can_be_read_back);
    tcase_add_test(tests, listings_begin_with_the_newest);
    tcase_add_test(tests, labels_change_and_it_is_known_who_put_them_there);
    tcase_add_test(tests, a_note_is_edited_and_stays_one_comment);
    tcase_add_test(tests, what_is_not_there_is_told_from_what_cannot_be_read);
    tcase_add_test(tests, people_at_the_same_time_get_numbers_of_their_own_and_lose_no_word);
    suite_add_tcase(suite, tests);
    return suite;
}
