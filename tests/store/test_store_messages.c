/*
 * test_store_messages.c - what people say to the agent of a run.
 */
#include "store/messages.h"
#include "tests/store/fixture.h"

static void say(struct fixture *fixture, const struct id *run_id, int64_t seq, const char *text)
{
    struct fixture f = *fixture;
    const struct message_row row = {
        .run_id = *run_id, .seq = seq, .author = "ada", .text = text, .created_us = 10 + seq};
    must(messages_insert(f.db, &row, &f.err));
}

/* The numbers of what is there: "134". */
static const char *listed(struct fixture *fixture, const struct message_filter *filter)
{
    struct fixture f = *fixture;
    struct message_row *rows;
    size_t count;
    must(messages_list(f.db, filter, &fixture->arena, &rows, &count, &f.err));
    char *text = arena_alloc(&fixture->arena, count + 1);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)('0' + rows[i].seq);
    return text;
}

START_TEST(a_message_reads_back)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct message_row *rows;
    size_t count;
    say(&f, &run.id, 1, "über \"alles\"\n\tund mehr");
    struct message_filter filter = {.run_id = run.id, .limit = 10};
    must(messages_list(f.db, &filter, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_id_eq(rows[0].run_id, run.id);
    ck_assert_int_eq(rows[0].seq, 1);
    ck_assert_str_eq(rows[0].author, "ada");
    ck_assert_str_eq(rows[0].text, "über \"alles\"\n\tund mehr");
    ck_assert_int_eq(rows[0].created_us, 11);
    ck_assert_int_eq(rows[0].delivered_us, 0);
    ck_assert(id_is_none(&rows[0].job_id));
}
END_TEST

START_TEST(messages_of_a_run_are_in_order_and_only_its_own)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f), other_task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task), other = fixture_run(&f, &other_task);
    for (int64_t seq = 4; seq >= 1; seq--)
        say(&f, &run.id, seq, "x");
    say(&f, &other.id, 1, "y");
    struct message_filter filter = {.run_id = run.id, .limit = 10};
    ck_assert_str_eq(listed(&f, &filter), "1234");
    filter.after_seq = 2;
    ck_assert_str_eq(listed(&f, &filter), "34");
    filter.limit = 1;
    ck_assert_str_eq(listed(&f, &filter), "3");
    filter.run_id = other.id;
    filter.after_seq = 0;
    ck_assert_str_eq(listed(&f, &filter), "1");
}
END_TEST

START_TEST(what_an_agent_has_is_read_until_the_agent_is_lost)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct id first = fixture_id(&f), second = fixture_id(&f);
    struct message_filter unread = {.run_id = run.id, .limit = 10, .unread = true};
    for (int64_t seq = 1; seq <= 4; seq++)
        say(&f, &run.id, seq, "x");
    const struct message_delivery one = {.run_id = run.id, .job_id = first, .seq = 2, .now_us = 50};
    must(messages_deliver(f.db, &one, &f.err));
    ck_assert_str_eq(listed(&f, &unread), "34");
    const struct message_delivery two = {
        .run_id = run.id, .job_id = second, .seq = 3, .now_us = 60};
    must(messages_deliver(f.db, &two, &f.err));
    ck_assert_str_eq(listed(&f, &unread), "4");
    must(messages_take_back(f.db, &run.id, &first, &f.err));
    ck_assert_str_eq(listed(&f, &unread), "124");
    unread.unread = false;
    ck_assert_str_eq(listed(&f, &unread), "1234");
}
END_TEST

Suite *store_messages_suite(void)
{
    Suite *suite = suite_create("store_messages");
    TCase *tc = tcase_create("messages");
    case_add(tc, a_message_reads_back);
    case_add(tc, messages_of_a_run_are_in_order_and_only_its_own);
    case_add(tc, what_an_agent_has_is_read_until_the_agent_is_lost);
    suite_add_tcase(suite, tc);
    return suite;
}
