/*
 * test_event_faults.c - an event that breaks its contract is written to the file that the
 * environment names, and one that keeps it is not.
 */
#include "base/fd.h"
#include "control/commit/event_faults.h"
#include "tests/unit/suites.h"
#include <stdlib.h>
#include <unistd.h>

static struct event queued(const char *data)
{
    return (struct event){
        .id = id_of("01890000-0000-7000-8000-000000000001"),
        .workspace_id = id_of("01890000-0000-7000-8000-000000000002"),
        .type = EV_QUEUE_PAUSED,
        .version = 1,
        .subject = "queue/agents",
        .time_us = INT64_C(1783080000000000),
        .actor = {"user", "admin"},
        .data = str_of(data),
    };
}

START_TEST(only_events_that_break_their_contract_are_reported)
{
    char path[] = "/tmp/event_faults_XXXXXX";
    CLEANUP(fd_closep) int fd = mkstemp(path);
    CLEANUP(buf_release) struct buf text;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setenv("DROVER_EVENT_FAULTS", path, 1), 0);
    const struct event good = queued("{\"queue\":\"agents\",\"version\":2}");
    const struct event bad = queued("{\"queue\":\"agents\",\"version\":\"2\"}");
    event_faults_look(&good);
    event_faults_look(&bad);
    event_faults_look(&good);
    buf_init(&text, 10000);
    ck_assert_int_eq(file_read(path, &text, NULL), RC_OK);
    (void)unlink(path);
    ck_assert_msg(text_starts(buf_text(&text), "data.version must be an integer, not a string: {"),
                  "%s", buf_text(&text));
    ck_assert_uint_eq(strlen(strchr(buf_text(&text), '\n')), 1);
}
END_TEST

Suite *event_faults_suite(void)
{
    Suite *suite = suite_create("event_faults");
    TCase *tc = tcase_create("event_faults");
    tcase_add_test(tc, only_events_that_break_their_contract_are_reported);
    suite_add_tcase(suite, tc);
    return suite;
}
