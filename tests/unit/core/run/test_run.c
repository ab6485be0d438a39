/*
 * test_run.c - every state against every event, refusals included.
 */
#include "base/rc.h"
#include "core/run/run.h"
#include "tests/unit/suites.h"
#include <string.h>

/* One letter a state, in the order of enum run_status. */
static const char letters[] = "qpclrvjaPCFXT";

/*
 * One row a state, one letter an event in the order of enum run_event; '.' is a refusal:
 *   ADMIT PREPARED PLAN HYDRATED PLANNED ASK_PLAN PLAN_OK PATCHED DEFER VERIFIED REPAIR
 *   ACCEPT ASK KEEP_PATCH APPROVE APPROVE_KEEP OVERRIDE QUESTION ANSWER ANSWER_PLAN PUBLISHED LOSE
 *   FAIL CANCEL TIME_OUT
 */
static const char *const want[RUN_STATUS_COUNT] = {
    [RUN_QUEUED] = "p.....................FXT",
    [RUN_PREPARING] = ".c...................pFXT",
    [RUN_CONTEXT_LOADING] = "..lr.................pFXT",
    [RUN_PLANNING] = "....ra..q........a...pFXT",
    [RUN_RUNNING] = ".......vq...a....a...pFXT",
    [RUN_VERIFYING] = ".........jr...........FXT",
    [RUN_JUDGING] = "..........rPaC........FXT",
    [RUN_AWAITING_APPROVAL] = "......r.......PCr.rl..FXT",
    [RUN_CREATING_PR] = "....................C.FXT",
    [RUN_COMPLETED] = ".........................",
    [RUN_FAILED] = ".........................",
    [RUN_CANCELLED] = ".........................",
    [RUN_TIMED_OUT] = ".........................",
};

START_TEST(every_state_takes_exactly_the_listed_events)
{
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        ck_assert_uint_eq(strlen(want[status]), RUN_EV_COUNT);
        for (int event = 0; event < RUN_EV_COUNT; event++) {
            enum run_status next = RUN_STATUS_COUNT;
            enum rc rc = run_step((enum run_status)status, (enum run_event)event, &next);
            char got = rc == RC_OK ? letters[next] : '.';
            ck_assert_msg(got == want[status][event], "%s x %s: got %c, want %c",
                          run_status_name((enum run_status)status),
                          run_event_name((enum run_event)event), got, want[status][event]);
            if (rc != RC_OK) {
                ck_assert_int_eq(rc, RC_CONFLICT);
                ck_assert_int_eq(next, RUN_STATUS_COUNT);
            }
        }
    }
}
END_TEST

START_TEST(terminal_queued_and_active_split_the_states)
{
    static const char kinds[] = "qaaaaaaaatttt";
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        ck_assert_int_eq(run_is_terminal((enum run_status)status), kinds[status] == 't');
        ck_assert_int_eq(run_is_active((enum run_status)status), kinds[status] == 'a');
    }
}
END_TEST

START_TEST(names_read_back)
{
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        enum run_status back = RUN_STATUS_COUNT;
        ck_assert(run_status_parse(run_status_name((enum run_status)status), &back));
        ck_assert_int_eq((int)back, status);
    }
    for (int event = 0; event < RUN_EV_COUNT; event++)
        ck_assert_ptr_nonnull(run_event_name((enum run_event)event));
    enum run_status untouched = RUN_JUDGING;
    ck_assert(!run_status_parse("Queued", &untouched));
    ck_assert(!run_status_parse("", &untouched));
    ck_assert(!run_status_parse(NULL, &untouched));
    ck_assert_int_eq(untouched, RUN_JUDGING);
}
END_TEST

struct story {
    const char *what;
    enum run_event events[16];
    size_t count;
    enum run_status end;
};

static const struct story stories[] = {
    {"straight through",
     {RUN_EV_ADMIT, RUN_EV_PREPARED, RUN_EV_HYDRATED, RUN_EV_PATCHED, RUN_EV_VERIFIED,
      RUN_EV_ACCEPT, RUN_EV_PUBLISHED},
     7,
     RUN_COMPLETED},
    {"a repair after verification and one after judging",
     {RUN_EV_ADMIT, RUN_EV_PREPARED, RUN_EV_HYDRATED, RUN_EV_PATCHED, RUN_EV_REPAIR, RUN_EV_PATCHED,
      RUN_EV_VERIFIED, RUN_EV_REPAIR, RUN_EV_PATCHED, RUN_EV_VERIFIED, RUN_EV_ASK, RUN_EV_APPROVE,
      RUN_EV_PUBLISHED},
     13,
     RUN_COMPLETED},
    {"a plan that a person approves",
     {RUN_EV_ADMIT, RUN_EV_PREPARED, RUN_EV_PLAN, RUN_EV_ASK_PLAN, RUN_EV_PLAN_OK, RUN_EV_PATCHED,
      RUN_EV_VERIFIED, RUN_EV_KEEP_PATCH},
     8,
     RUN_COMPLETED},
    {"a question in the plan and one in the work",
     {RUN_EV_ADMIT, RUN_EV_PREPARED, RUN_EV_PLAN, RUN_EV_QUESTION, RUN_EV_ANSWER_PLAN,
      RUN_EV_PLANNED, RUN_EV_QUESTION, RUN_EV_ANSWER, RUN_EV_PATCHED, RUN_EV_VERIFIED,
      RUN_EV_KEEP_PATCH},
     11,
     RUN_COMPLETED},
    {"a lost worker and a parked quota",
     {RUN_EV_ADMIT, RUN_EV_PREPARED, RUN_EV_HYDRATED, RUN_EV_LOSE, RUN_EV_PREPARED, RUN_EV_HYDRATED,
      RUN_EV_DEFER, RUN_EV_ADMIT, RUN_EV_TIME_OUT},
     9,
     RUN_TIMED_OUT},
};

START_TEST(whole_stories_end_where_they_should)
{
    const struct story *story = &stories[_i];
    enum run_status status = RUN_QUEUED;
    for (size_t i = 0; i < story->count; i++)
        ck_assert_msg(run_step(status, story->events[i], &status) == RC_OK, "%s: step %zu",
                      story->what, i);
    ck_assert_int_eq(status, story->end);
}
END_TEST

Suite *run_suite(void)
{
    Suite *suite = suite_create("run");
    TCase *tc = tcase_create("run");
    tcase_add_test(tc, every_state_takes_exactly_the_listed_events);
    tcase_add_test(tc, terminal_queued_and_active_split_the_states);
    tcase_add_test(tc, names_read_back);
    tcase_add_loop_test(tc, whole_stories_end_where_they_should, 0, (int)COUNT_OF(stories));
    suite_add_tcase(suite, tc);
    return suite;
}
