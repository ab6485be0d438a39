/* test_inbox.c - the order of what needs a person, and the commands that answer it. */
#include "base/clock.h"
#include "base/str.h"
#include "core/inbox.h"
#include "tests/unit/suites.h"
#include <string.h>

#define HOURS(n)   ((n)*US_PER_HOUR)
#define MINUTES(n) ((n)*US_PER_MINUTE)

static struct inbox_facts facts(enum inbox_kind kind)
{
    return (struct inbox_facts){.kind = kind, .since_us = HOURS(1000), .priority = 100};
}

START_TEST(names_and_kinds_belong_together)
{
    for (int i = 0; i < INBOX_KIND_COUNT; i++) {
        enum inbox_kind kind = INBOX_KIND_COUNT;
        ck_assert_str_eq(inbox_kind_names[i], inbox_kind_name((enum inbox_kind)i));
        ck_assert(inbox_kind_parse(inbox_kind_names[i], &kind));
        ck_assert_int_eq(kind, i);
    }
    ck_assert_ptr_null(inbox_kind_names[INBOX_KIND_COUNT]);
    enum inbox_kind kind;
    ck_assert(!inbox_kind_parse("", &kind) && !inbox_kind_parse(NULL, &kind));
}
END_TEST

/* What moves a rank, and by how much; an approval without any of it is the measure. */
static const struct {
    const char *what;
    int64_t since, expires, behind, priority, by; /* hours; by: minutes earlier */
} moves[] = {
    {"nothing", 1000, 0, 0, 100, 0},
    {"waits an hour longer", 999, 0, 0, 100, 60},
    {"two wait behind it", 1000, 0, 2, 100, 240},
    {"24 count", 1000, 0, 24, 100, 24 * 120},
    {"no more than 24 count", 1000, 0, 1000, 100, 24 * 120},
    {"a count below zero is none", 1000, 0, -5, 100, 0},
    {"a deadline in a day", 1000, 1024, 0, 100, 0},
    {"a later deadline", 1000, 1100, 0, 100, 0},
    {"a deadline in an hour", 1000, 1001, 0, 100, 23 * 60},
    {"a higher priority", 1000, 0, 0, 90, 300},
    {"a lower priority", 1000, 0, 0, 110, -300},
    {"the highest priority that counts", 1000, 0, 0, 0, 3000},
    {"beyond it", 1000, 0, 0, -1000, 3000},
    {"the lowest", 1000, 0, 0, 1000, -3000},
    {"all together", 999, 1001, 1, 99, 23 * 60 + 120 + 30},
};

START_TEST(each_fact_moves_the_rank_by_its_measure)
{
    const struct inbox_facts plain = facts(INBOX_APPROVAL);
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        const struct inbox_facts one = {.kind = INBOX_APPROVAL,
                                        .since_us = HOURS(moves[i].since),
                                        .expires_us = HOURS(moves[i].expires),
                                        .behind = moves[i].behind,
                                        .priority = moves[i].priority};
        int64_t by = inbox_rank(&plain) - inbox_rank(&one);
        ck_assert_msg(by == MINUTES(moves[i].by), "%s: %lld min", moves[i].what,
                      (long long)(by / US_PER_MINUTE));
    }
}
END_TEST

/* Each before the next, when all began at the same time. */
static const enum inbox_kind order[] = {
    INBOX_ESCALATION, INBOX_QUARANTINE, INBOX_TRAIN,  INBOX_APPROVAL,
    INBOX_ACCOUNT,    INBOX_BATCH,      INBOX_BUDGET, INBOX_DEAD_LETTERS,
};

START_TEST(what_stops_most_is_first)
{
    for (size_t i = 0; i + 1 < COUNT_OF(order); i++) {
        const struct inbox_facts one = facts(order[i]), two = facts(order[i + 1]);
        ck_assert_msg(inbox_rank(&one) < inbox_rank(&two), "%s", inbox_kind_name(order[i]));
    }
}
END_TEST

START_TEST(places_have_one_order)
{
    static const struct inbox_place places[] = {
        {-5, INBOX_SINK, "z"},    {1, INBOX_GATE, "b"},       {1, INBOX_APPROVAL, "a"},
        {1, INBOX_APPROVAL, "b"}, {2, INBOX_ESCALATION, "a"},
    };
    for (size_t i = 0; i < COUNT_OF(places); i++)
        for (size_t k = 0; k < COUNT_OF(places); k++) {
            int got = inbox_compare(&places[i], &places[k]);
            ck_assert_msg((got > 0) - (got < 0) == (i > k) - (i < k), "%zu %zu", i, k);
        }
}
END_TEST

static const struct {
    enum inbox_kind kind;
    const char *key, *argument, *command, *show, *href;
} ways[] = {
    {INBOX_APPROVAL, "01a1", "01a1", "drover approve 01a1", "drover approval 01a1",
     "/v1/approvals/01a1"},
    {INBOX_QUESTION, "01a1", "01a1", "drover answer 01a1 TEXT", "drover question 01a1",
     "/v1/questions/01a1"},
    {INBOX_QUARANTINE, "acme/it's", "acme/it's", "drover repo release 'acme/it'\\''s'",
     "drover repo show 'acme/it'\\''s'", "/v1/repositories/acme%2Fit%27s"},
    {INBOX_TRAIN, "a/b main", "a/b", "drover train a/b", "drover train a/b",
     "/v1/trains?repository=a%2Fb"},
    {INBOX_DEAD_LETTERS, "mail; rm -rf /", "mail; rm -rf /",
     "drover dlq replay --queue 'mail; rm -rf /'", "drover dlq list --queue 'mail; rm -rf /'",
     "/v1/dead-letters?queue=mail%3B%20rm%20-rf%20%2F"},
    {INBOX_GATE, "it's \"1\"", "it's \"1\"",
     "drover event append --type conductor.human_gate.approved"
     " '{\"issueId\":\"it'\\''s \\\"1\\\"\"}'",
     "drover issue status 'it'\\''s \"1\"'", "/v1/lifecycle/it%27s%20%221%22"},
    {INBOX_ESCALATION, "42", "42",
     "drover event append --type conductor.issue.approved '{\"issueId\":\"42\"}'",
     "drover issue status 42", "/v1/lifecycle/42"},
    {INBOX_SAGA, "s", "j", "drover dlq replay j", "drover dlq show j", "/v1/sagas/s"},
    {INBOX_ACCOUNT, "x%sy", "x%sy", "drover accounts resume x%sy", "drover accounts",
     "/v1/accounts"},
    {INBOX_COST_LIMIT, "costPerDayUsd", "", "drover tasks --status deferred",
     "drover tasks --status deferred", "/v1/tasks?status=deferred"},
};

START_TEST(each_has_the_command_that_answers_it)
{
    CLEANUP(arena_release) struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        const struct inbox_ways got = inbox_ways(ways[i].kind, ways[i].key, ways[i].argument,
                                                 &arena);
        ck_assert_str_eq(got.command, ways[i].command);
        ck_assert_str_eq(got.show, ways[i].show);
        ck_assert_str_eq(got.href, ways[i].href);
    }
}
END_TEST

Suite *inbox_suite(void)
{
    Suite *suite = suite_create("inbox");
    TCase *tcase = tcase_create("inbox");
    tcase_add_test(tcase, names_and_kinds_belong_together);
    tcase_add_test(tcase, each_fact_moves_the_rank_by_its_measure);
    tcase_add_test(tcase, what_stops_most_is_first);
    tcase_add_test(tcase, places_have_one_order);
    tcase_add_test(tcase, each_has_the_command_that_answers_it);
    suite_add_tcase(suite, tcase);
    return suite;
}
