/*
 * test_saga.c - every status against every event, what comes next, and plans that are refused.
 */
#include "core/queue/saga.h"
#include "tests/unit/suites.h"
#include <string.h>

/* One letter a status, in the order of enum saga_status. */
static const char letters[] = "RCDUS"; /* D is completed, U compensated. */

/* Three steps, the middle one in flight; all can be undone. */
static const struct saga_plan_step three[] = {
    {.name = "a", .compensable = true},
    {.name = "b", .compensable = true},
    {.name = "c", .compensable = true},
};
static const struct saga_plan plan = {three, 3};

/* STEP_DONE STEP_FAILED COMPENSATION_DONE COMPENSATION_FAILED CANCEL; '.' is a refusal.  A second
   row where it matters what is in flight. */
static const struct {
    enum saga_status status;
    enum saga_phase phase;
    const char *want;
} rows[] = {
    {SAGA_RUNNING, SAGA_STEP, "RC..C"},
    {SAGA_COMPENSATING, SAGA_STEP, "CC..C"}, /* Cancelled while a step is in flight. */
    {SAGA_COMPENSATING, SAGA_COMPENSATION, "..CSC"},
    {SAGA_COMPLETED, SAGA_STEP, "....."},
    {SAGA_COMPENSATED, SAGA_STEP, "....."},
    {SAGA_COMPENSATED, SAGA_COMPENSATION, "....."},
    {SAGA_STUCK, SAGA_COMPENSATION, "..CS."},
};

START_TEST(every_status_takes_exactly_the_listed_events)
{
    bool seen[SAGA_STATUS_COUNT] = {false};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_uint_eq(strlen(rows[i].want), SAGA_EV_COUNT);
        seen[rows[i].status] = true;
        for (int event = 0; event < SAGA_EV_COUNT; event++) {
            struct saga saga = {rows[i].status, rows[i].phase, 1};
            struct saga_move move = {.next = {.position = -7}};
            enum rc rc = saga_step(&saga, &plan, (enum saga_event)event, &move);
            char got = rc == RC_OK ? letters[move.next.status] : '.';
            ck_assert_msg(got == rows[i].want[event], "%s (%s) x %s: got %c, want %c",
                          saga_status_name(saga.status), saga_phase_name(saga.phase),
                          saga_event_name((enum saga_event)event), got, rows[i].want[event]);
            if (rc != RC_OK) {
                ck_assert_int_eq(rc, RC_CONFLICT);
                ck_assert_int_eq(move.next.position, -7);
            }
        }
    }
    for (int status = 0; status < SAGA_STATUS_COUNT; status++)
        ck_assert(seen[status]);
}
END_TEST

/* Walks a saga over as many steps as the text has letters: c can be undone, n cannot, f is undone
   even when it fails itself.  fails_at: the step that fails; -1: none does; cancel: after that step
   is done it was cancelled.  What is started is written down. */
static void walk(const char *kinds, int fails_at, bool cancel, char *story, size_t story_bytes)
{
    struct saga_plan_step steps[8] = {{0}};
    struct saga_plan of = {steps, strlen(kinds)};
    for (size_t i = 0; i < of.count; i++) {
        steps[i].compensable = kinds[i] != 'n';
        steps[i].compensate_failed = kinds[i] == 'f';
    }
    struct saga saga = {SAGA_RUNNING, SAGA_STEP, 0};
    size_t at = 0;
    story[at++] = 'A';
    while (!saga_is_finished(saga.status)) {
        struct saga_move move;
        bool here = saga.phase == SAGA_STEP && saga.position == fails_at;
        if (here && cancel) {
            ck_assert_int_eq(saga_step(&saga, &of, SAGA_EV_CANCEL, &move), RC_OK);
            ck_assert(!move.starts);
            saga = move.next;
        }
        enum saga_event event = saga_event_of(saga.phase, !here || cancel);
        ck_assert_int_eq(saga_step(&saga, &of, event, &move), RC_OK);
        saga = move.next;
        ck_assert_int_eq(move.starts, !saga_is_finished(saga.status));
        ck_assert_uint_lt(at + 2, story_bytes);
        if (move.starts)
            story[at++] = (char)((saga.phase == SAGA_STEP ? 'A' : 'a') + saga.position);
    }
    story[at++] = saga.status == SAGA_COMPLETED ? '.' : '!';
    story[at] = '\0';
}

START_TEST(compensations_run_in_reverse_for_what_succeeded_and_has_one)
{
    static const struct {
        const char *kinds;
        int fails_at;
        bool cancel;
        const char *want;
    } cases[] = {
        {"ccc", -1, false, "ABC."},
        {"ccc", 2, false, "ABCba!"},
        {"ccc", 1, false, "ABa!"},
        {"ccc", 0, false, "A!"},
        {"cncnc", 4, false, "ABCDEca!"},
        {"nnn", 2, false, "ABC!"},
        {"n", 0, false, "A!"},
        {"f", 0, false, "Aa!"},
        {"cff", 2, false, "ABCcba!"},
        {"cff", 1, false, "ABba!"},
        /* Cancelled: the step in flight is done, and undone with the others. */
        {"ccc", 0, true, "Aa!"},
        {"ccc", 2, true, "ABCcba!"},
        {"cnn", 2, true, "ABCa!"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char story[32];
        walk(cases[i].kinds, cases[i].fails_at, cases[i].cancel, story, sizeof story);
        ck_assert_msg(strcmp(story, cases[i].want) == 0, "%s failing at %d: %s, not %s",
                      cases[i].kinds, cases[i].fails_at, story, cases[i].want);
    }
}
END_TEST

START_TEST(a_stuck_saga_goes_on_where_it_stuck)
{
    struct saga saga = {SAGA_COMPENSATING, SAGA_COMPENSATION, 1};
    struct saga_move move;
    ck_assert_int_eq(saga_step(&saga, &plan, SAGA_EV_COMPENSATION_FAILED, &move), RC_OK);
    ck_assert_int_eq(move.next.status, SAGA_STUCK);
    ck_assert_int_eq(move.next.position, 1);
    ck_assert(!move.starts);
    saga = move.next;
    ck_assert_int_eq(saga_step(&saga, &plan, SAGA_EV_COMPENSATION_DONE, &move), RC_OK);
    ck_assert_int_eq(move.next.status, SAGA_COMPENSATING);
    ck_assert_int_eq(move.next.position, 0);
    ck_assert(move.starts);
}
END_TEST

START_TEST(names_go_there_and_back)
{
    enum saga_status status;
    enum saga_phase phase;
    for (int i = 0; i < SAGA_STATUS_COUNT; i++) {
        ck_assert(saga_status_parse(saga_status_name((enum saga_status)i), &status));
        ck_assert_int_eq(status, i);
    }
    for (int i = 0; i < SAGA_PHASE_COUNT; i++) {
        ck_assert(saga_phase_parse(saga_phase_name((enum saga_phase)i), &phase));
        ck_assert_int_eq(phase, i);
    }
    ck_assert(!saga_status_parse("gone", &status));
    ck_assert(!saga_phase_parse("", &phase));
}
END_TEST

/* ---- plans ---- */

static struct arena arena;

static enum rc decode(const char *json, struct saga_plan *ret_plan, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, err), RC_OK);
    return saga_plan_decode(tree, &arena, ret_plan, err);
}

START_TEST(a_plan_is_read)
{
    static const char json[] =
        "[{\"name\":\"a\",\"queue\":\"q\",\"type\":\"t\",\"payload\":{\"x\":1},"
        "\"maxAttempts\":2,\"compensateFailed\":true,"
        "\"compensation\":{\"queue\":\"r\",\"type\":\"u\",\"maxAttempts\":9}},"
        "{\"name\":\"b\",\"queue\":\"q\",\"type\":\"t\"}]";
    CLEANUP(js_freep) struct js *tree = NULL;
    struct err err = {0};
    struct saga_plan got;
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, &err), RC_OK);
    ck_assert_msg(saga_plan_decode(tree, &arena, &got, &err) == RC_OK, "%s", err.text);
    ck_assert_uint_eq(got.count, 2);
    const struct saga_plan_step *a = &got.steps[0], *b = &got.steps[1];
    ck_assert_str_eq(a->name, "a");
    ck_assert_str_eq(a->call.queue, "q");
    ck_assert_int_eq(js_get_int(a->call.payload, "x", 0), 1);
    ck_assert_int_eq(a->call.max_attempts, 2);
    ck_assert(a->compensable && a->compensate_failed);
    ck_assert_str_eq(a->compensation.queue, "r");
    ck_assert_str_eq(a->compensation.type, "u");
    ck_assert_ptr_null(a->compensation.payload);
    ck_assert_int_eq(a->compensation.max_attempts, 9);
    ck_assert(!b->compensable && !b->compensate_failed);
    ck_assert_int_eq(b->call.max_attempts, 0);
    arena_release(&arena);
}
END_TEST

#define STEP(more) "{\"name\":\"a\",\"queue\":\"q\",\"type\":\"t\"" more "}"

START_TEST(a_plan_that_does_not_fit_is_refused_by_field)
{
    static const struct {
        const char *json, *field;
    } cases[] = {
        {"{}", "steps"},
        {"[]", "steps"},
        {"[3]", "steps[0]"},
        {"[{\"queue\":\"q\",\"type\":\"t\"}]", "steps[0].name"},
        {"[" STEP("") "," STEP("") "]", "steps[1].name"},
        {"[{\"name\":\"a\",\"queue\":\"a b\",\"type\":\"t\"}]", "steps[0].queue"},
        {"[{\"name\":\"a\",\"queue\":\"q\"}]", "steps[0].type"},
        {"[" STEP(",\"maxAttempts\":0") "]", "steps[0].maxAttempts"},
        {"[" STEP(",\"dedupKey\":\"k\"") "]", "steps[0].dedupKey"},
        {"[" STEP(",\"compensation\":7") "]", "steps[0].compensation"},
        {"[" STEP(",\"compensation\":{\"queue\":\"q\"}") "]", "steps[0].compensation.type"},
        {"[" STEP(",\"compensateFailed\":true") "]", "steps[0].compensation"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = {0};
        struct saga_plan got;
        ck_assert_int_eq(decode(cases[i].json, &got, &err), RC_INVALID);
        ck_assert_str_eq(err.field, cases[i].field);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(a_plan_has_fifty_steps_at_most)
{
    for (int count = SAGA_STEPS_MAX; count <= SAGA_STEPS_MAX + 1; count++) {
        CLEANUP(buf_release) struct buf json;
        buf_init(&json, 64 * 1024);
        for (int i = 0; i < count; i++)
            buf_addf(&json, "%c{\"name\":\"s%d\",\"queue\":\"q\",\"type\":\"t\"}", i ? ',' : '[',
                     i);
        buf_adds(&json, "]");
        struct err err = {0};
        struct saga_plan got;
        ck_assert_int_eq(decode(buf_text(&json), &got, &err),
                         count > SAGA_STEPS_MAX ? RC_INVALID : RC_OK);
    }
    arena_release(&arena);
}
END_TEST

Suite *saga_suite(void)
{
    Suite *suite = suite_create("saga");
    TCase *tc = tcase_create("saga");
    tcase_add_test(tc, every_status_takes_exactly_the_listed_events);
    tcase_add_test(tc, compensations_run_in_reverse_for_what_succeeded_and_has_one);
    tcase_add_test(tc, a_stuck_saga_goes_on_where_it_stuck);
    tcase_add_test(tc, names_go_there_and_back);
    tcase_add_test(tc, a_plan_is_read);
    tcase_add_test(tc, a_plan_that_does_not_fit_is_refused_by_field);
    tcase_add_test(tc, a_plan_has_fifty_steps_at_most);
    suite_add_tcase(suite, tc);
    return suite;
}
