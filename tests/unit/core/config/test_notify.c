/*
 * test_notify.c - channels of notifications: what they may say, what they hear, what people read.
 */
#include "core/config/notify.h"
#include "core/config/notify_text.h"
#include "core/event_types.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct js *parse(const char *text)
{
    struct js *tree = NULL;
    struct err err = {0};
    ck_assert_msg(js_parse(text, strlen(text), &tree, &err) == RC_OK, "%s", err.text);
    return tree;
}

static enum rc decode(const char *text, struct arena *arena, struct notify_channels *ret,
                      struct err *err)
{
    CLEANUP(js_freep) struct js *tree = parse(text);
    return notify_channels_decode(tree, "notifications", arena, ret, err);
}

#define HOOK "\"name\":\"a\",\"on\":[\"failed\"],\"type\":\"webhook\",\"url\":\"https://x/y\""

static const struct {
    const char *text;
    const char *field, *says; /* NULL: it is fine. */
} documents[] = {
    {"[{" HOOK "}]", NULL, NULL},
    {"[{" HOOK ",\"secretEnv\":\"S\",\"timeoutMs\":500,\"repositories\":[\"acme/*\"]}]", NULL,
     NULL},
    {"[{" HOOK "},{" HOOK "}]", "notifications[1]", "two channels"},
    {"[{" HOOK ",\"colour\":1}]", "notifications[0].colour", "colour"},
    {"[{" HOOK ",\"urlEnv\":\"U\"}]", "notifications[0].url", "either url or urlEnv"},
    {"[{" HOOK ",\"secretEnv\":\"a-b\"}]", "notifications[0].secretEnv", "environment variable"},
    {"[{" HOOK ",\"timeoutMs\":1}]", "notifications[0].timeoutMs", ""},
    {"[{" HOOK ",\"command\":[\"x\"]}]", "notifications[0].command", "only a channel"},
    {"[{\"name\":\"a/b\",\"on\":[\"failed\"],\"type\":\"slack\",\"urlEnv\":\"U\"}]",
     "notifications[0].name", "letters"},
    {"[{\"name\":\"a\",\"on\":[\"test\"],\"type\":\"slack\",\"urlEnv\":\"U\"}]",
     "notifications[0].on", "timed_out, not test"},
    {"[{\"name\":\"a\",\"on\":[],\"type\":\"slack\",\"urlEnv\":\"U\"}]", "notifications[0].on",
     "at least one"},
    {"[{\"name\":\"a\",\"type\":\"slack\",\"urlEnv\":\"U\"}]", "notifications[0].on", ""},
    {"[{\"name\":\"a\",\"on\":[\"failed\"],\"type\":\"slack\",\"urlEnv\":\"U\","
     "\"secretEnv\":\"S\"}]",
     "notifications[0].secretEnv", "signed"},
    {"[{\"name\":\"a\",\"on\":[\"failed\"],\"type\":\"slack\",\"url\":\"ftp://x\"}]",
     "notifications[0].url", "http"},
    {"[{\"name\":\"a\",\"on\":[\"failed\"],\"type\":\"command\"}]", "notifications[0].command",
     "PROGRAM"},
    {"[{\"name\":\"a\",\"on\":[\"failed\"],\"type\":\"command\",\"command\":[\"x\"],"
     "\"url\":\"http://x\"}]",
     "notifications[0].url", "no url"},
    {"[{\"name\":\"a\",\"on\":[\"failed\"],\"type\":\"pigeon\"}]", "notifications[0].type", ""},
};

START_TEST(a_channel_says_what_it_needs)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct notify_channels channels = {0};
    struct err err = {0};
    enum rc rc = decode(documents[_i].text, &arena, &channels, &err);
    if (documents[_i].field == NULL) {
        ck_assert_msg(rc == RC_OK, "%s", err.text);
        return;
    }
    ck_assert_int_eq(rc, RC_INVALID);
    ck_assert_str_eq(err.field, documents[_i].field);
    ck_assert_msg(strstr(err.text, documents[_i].says) != NULL, "%s", err.text);
}
END_TEST

START_TEST(what_is_written_reads_back)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf once, twice;
    buf_init(&once, 4096);
    buf_init(&twice, 4096);
    struct notify_channels channels;
    struct notify_channel again;
    ck_assert_int_eq(
        decode("[{\"name\":\"p\",\"on\":[\"failed\",\"approval\"],\"type\":\"command\","
               "\"command\":[\"page\",\"\"],\"env\":[\"KEY\"],"
               "\"repositories\":[\"a/*\",\"b\"]}]",
               &arena, &channels, NULL),
        RC_OK);
    struct jw jw = jw_to(&once);
    notify_channel_write(&jw, &channels.items[0]);
    CLEANUP(js_freep) struct js *tree = parse(buf_text(&once));
    ck_assert_int_eq(notify_channel_decode(tree, "", &arena, &again, NULL), RC_OK);
    jw = jw_to(&twice);
    notify_channel_write(&jw, &again);
    ck_assert_str_eq(buf_text(&once), buf_text(&twice));
    ck_assert_str_eq(again.command[1], "");
    ck_assert_ptr_null(again.command[2]);
}
END_TEST

START_TEST(a_channel_hears_what_it_asked_for)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct notify_channels channels;
    ck_assert_int_eq(decode("[{" HOOK ",\"repositories\":[\"acme/*\"]},"
                            "{\"name\":\"all\",\"on\":[\"completed\",\"failed\"],"
                            "\"type\":\"slack\",\"urlEnv\":\"U\"}]",
                            &arena, &channels, NULL),
                     RC_OK);
    const struct notify_channel *acme = notify_channel_find(&channels, "a");
    const struct notify_channel *all = notify_channel_find(&channels, "all");
    ck_assert_ptr_null(notify_channel_find(&channels, "none"));
    ck_assert(notify_channel_wants(acme, NOTIFY_FAILED, "acme/billing"));
    ck_assert(!notify_channel_wants(acme, NOTIFY_FAILED, "other/billing"));
    ck_assert(!notify_channel_wants(acme, NOTIFY_COMPLETED, "acme/billing"));
    ck_assert(notify_channel_wants(all, NOTIFY_COMPLETED, "other/billing"));
    ck_assert(!notify_channel_wants(all, NOTIFY_TEST, "other/billing"));
    enum notify_kind kind;
    ck_assert(notify_kind_of(EV_RUN_STARTED, &kind) && kind == NOTIFY_RUNNING);
    ck_assert(notify_kind_of(EV_APPROVAL_REMINDED, &kind) && kind == NOTIFY_REMINDER);
    ck_assert(notify_kind_of(EV_QUESTION_REMINDED, &kind) && kind == NOTIFY_REMINDER);
    ck_assert(notify_kind_of(EV_QUESTION_ASKED, &kind) && kind == NOTIFY_QUESTION);
    ck_assert(!notify_kind_of(EV_NOTIFICATION_FAILED, &kind)); /* Nothing tells of itself. */
    ck_assert(!notify_kind_of(EV_RUN_COMPLETED, &kind));       /* The task's is told. */
}
END_TEST

static const struct {
    enum notify_kind kind;
    const char *facts, *want;
} texts[] = {
    {NOTIFY_COMPLETED,
     "{\"notification\":{\"repository\":\"acme/billing\",\"title\":\"Fix <VAT> & "
     "co\",\"taskId\":\"t1\","
     "\"pullRequest\":{\"number\":7,\"url\":\"https://git/7\",\"draft\":true}}}",
     "*acme/billing* Fix &lt;VAT&gt; &amp; co\n"
     "Done. <https://git/7|Pull request #7> (draft).\n`drover task t1`"},
    {NOTIFY_COMPLETED,
     "{\"notification\":{\"repository\":\"r\",\"title\":\"x\",\"pullRequest\":"
     "{\"number\":7,\"url\":\"/srv/x.git#refs/pull/7/head\"}}}",
     "*r* x\nDone. Pull request #7."},
    {NOTIFY_FAILED,
     "{\"notification\":{\"repository\":\"r\",\"title\":\"x\",\"runId\":\"r1\",\"taskId\":\"t1\","
     "\"errorCode\":\"agent_failed\",\"errorMessage\":\"two\\nlines <!channel>\"}}",
     "*r* x\nFailed. two lines &lt;!channel&gt; (`agent_failed`)\n`drover timeline r1`"},
    {NOTIFY_APPROVAL,
     "{\"approvalId\":\"a1\",\"expiresAt\":\"2026-07-03T12:00:00Z\",\"notification\":"
     "{\"repository\":\"r\",\"title\":\"x\",\"taskId\":\"t1\"}}",
     "*r* x\nWaits for your approval.\nUntil 2026-07-03T12:00:00Z.\n"
     "`drover approve a1` or `drover reject a1`"},
    {NOTIFY_QUESTION,
     "{\"questionId\":\"q1\",\"text\":\"Keep <it>?\",\"options\":[\"yes\",\"no\"],\"expiresAt\":"
     "\"2026-07-03T12:00:00Z\",\"notification\":{\"repository\":\"r\",\"title\":\"x\"}}",
     "*r* x\nIts agent asks: Keep &lt;it&gt;? (yes, no)\nUntil 2026-07-03T12:00:00Z.\n"
     "`drover answer q1 TEXT`"},
    {NOTIFY_REMINDER,
     "{\"questionId\":\"q1\",\"text\":\"Keep it?\",\"notification\":{\"repository\":\"r\","
     "\"title\":\"x\"}}",
     "*r* x\nIts agent still waits for your answer: Keep it?\n`drover answer q1 TEXT`"},
    {NOTIFY_TEST, "{}", "This is a test: notifications by this channel arrive."},
};

START_TEST(people_read_what_happened_and_what_to_do)
{
    CLEANUP(js_freep) struct js *facts = parse(texts[_i].facts);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, NOTIFY_TEXT_MAX);
    notify_text(&text, texts[_i].kind, facts);
    ck_assert_str_eq(buf_text(&text), texts[_i].want);
}
END_TEST

Suite *notify_suite(void)
{
    Suite *suite = suite_create("notify");
    TCase *tests = tcase_create("notify");
    tcase_add_loop_test(tests, a_channel_says_what_it_needs, 0, (int)COUNT_OF(documents));
    tcase_add_test(tests, what_is_written_reads_back);
    tcase_add_test(tests, a_channel_hears_what_it_asked_for);
    tcase_add_loop_test(tests, people_read_what_happened_and_what_to_do, 0, (int)COUNT_OF(texts));
    suite_add_tcase(suite, tests);
    return suite;
}
