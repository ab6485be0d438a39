/*
 * test_batch.c - the life of a batch: every state against every event, what its members count as,
 * the rule that stops it, and which member is next.
 */
#include "base/random.h"
#include "core/run/batch.h"
#include "tests/unit/suites.h"
#include <string.h>

/* ---- the table ---- */

/* One letter a state, in the order of enum batch_status. */
static const char letters[] = "rpxcCSX";

/* PAUSE RESUME STOP CANCEL DRAINED; '.' is a refusal. */
static const char *const want[BATCH_STATUS_COUNT] = {
    [BATCH_RUNNING] = "p.xcC",    [BATCH_PAUSED] = ".rxcC",    [BATCH_STOPPING] = "...cS",
    [BATCH_CANCELLING] = "....X", [BATCH_COMPLETED] = ".....", [BATCH_STOPPED] = ".....",
    [BATCH_CANCELLED] = ".....",
};

START_TEST(every_state_takes_exactly_the_listed_events)
{
    for (int status = 0; status < BATCH_STATUS_COUNT; status++) {
        ck_assert_uint_eq(strlen(want[status]), BATCH_EV_COUNT);
        for (int event = 0; event < BATCH_EV_COUNT; event++) {
            enum batch_status next = BATCH_STATUS_COUNT;
            enum rc rc = batch_step((enum batch_status)status, (enum batch_event)event, &next);
            char got = rc == RC_OK ? letters[next] : '.';
            ck_assert_msg(got == want[status][event], "%s x %s: got %c, want %c",
                          batch_status_name((enum batch_status)status),
                          batch_event_name((enum batch_event)event), got, want[status][event]);
            if (rc != RC_OK) {
                ck_assert_int_eq(rc, RC_CONFLICT);
                ck_assert_int_eq(next, BATCH_STATUS_COUNT);
            }
        }
    }
}
END_TEST

START_TEST(names_read_back)
{
    for (int i = 0; i < BATCH_STATUS_COUNT; i++) {
        enum batch_status back = BATCH_STATUS_COUNT;
        ck_assert(batch_status_parse(batch_status_name((enum batch_status)i), &back));
        ck_assert_int_eq((int)back, i);
    }
    for (int i = 0; i < MEMBER_STATE_COUNT; i++) {
        enum member_state back = MEMBER_STATE_COUNT;
        ck_assert(member_state_parse(member_state_name((enum member_state)i), &back));
        ck_assert_int_eq((int)back, i);
    }
    enum batch_status untouched = BATCH_PAUSED;
    enum member_state state = MEMBER_SKIPPED;
    ck_assert(!batch_status_parse("Running", &untouched) && !batch_status_parse(NULL, &untouched));
    ck_assert(!member_state_parse("", &state));
    ck_assert_int_eq(untouched, BATCH_PAUSED);
    ck_assert_int_eq(state, MEMBER_SKIPPED);
}
END_TEST

/* ---- what members count as ---- */

START_TEST(every_member_counts_as_one_thing)
{
    /* submitted deferred hydrating running finalizing completed failed cancelled timed_out */
    static const char of_task[] = "aaaaacfxf";
    static const char of_state[MEMBER_STATE_COUNT] = {'w', '*', 'f', 's', 'x'};
    static const char phases[] = "wacfxs";
    ck_assert_uint_eq(strlen(of_task), TASK_STATUS_COUNT);
    for (int state = 0; state < MEMBER_STATE_COUNT; state++) {
        for (int task = 0; task < TASK_STATUS_COUNT; task++) {
            enum member_phase phase = member_phase((enum member_state)state,
                                                   (enum task_status)task);
            char expected = of_state[state] == '*' ? of_task[task] : of_state[state];
            ck_assert_int_eq(phases[phase], expected);
        }
    }
}
END_TEST

/* ---- a batch as a line of letters ---- */

/*
 * w waiting, a under way, c completed, f failed, r refused, x cancelled, s skipped, d dropped.
 */
enum { LINE_MAX_MEMBERS = 64 };
struct line {
    struct batch batch;
    struct batch_member members[LINE_MAX_MEMBERS];
    size_t depends_on[LINE_MAX_MEMBERS][4];
};

static void put(struct batch_member *member, char letter)
{
    static const struct {
        char letter;
        enum member_state state;
        enum task_status task;
    } kinds[] = {
        {'w', MEMBER_WAITING, TASK_SUBMITTED},   {'a', MEMBER_SUBMITTED, TASK_RUNNING},
        {'c', MEMBER_SUBMITTED, TASK_COMPLETED}, {'f', MEMBER_SUBMITTED, TASK_FAILED},
        {'x', MEMBER_SUBMITTED, TASK_CANCELLED}, {'r', MEMBER_REFUSED, TASK_SUBMITTED},
        {'s', MEMBER_SKIPPED, TASK_SUBMITTED},   {'d', MEMBER_DROPPED, TASK_SUBMITTED},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].letter != letter)
            continue;
        member->state = kinds[i].state;
        member->task = kinds[i].task;
        return;
    }
    ck_abort_msg("no member %c", letter);
}

static char letter_of(const struct batch_member *member)
{
    static const char others[MEMBER_STATE_COUNT] = {'w', '*', 'r', 's', 'd'};
    static const char phases[] = "wacfxs";
    if (member->state == MEMBER_SUBMITTED)
        return phases[member_phase(member->state, member->task)];
    return others[member->state];
}

static void line_open(struct line *line, const char *text)
{
    *line = (struct line){0};
    line->batch.members = line->members;
    line->batch.count = strlen(text);
    for (size_t i = 0; i < line->batch.count; i++) {
        put(&line->members[i], text[i]);
        line->members[i].depends_on = line->depends_on[i];
    }
}

static void depend(struct line *line, size_t member, size_t on)
{
    line->depends_on[member][line->members[member].depends_count++] = on;
}

static const char *text_of(const struct line *line)
{
    static char text[LINE_MAX_MEMBERS + 1];
    for (size_t i = 0; i < line->batch.count; i++)
        text[i] = letter_of(&line->members[i]);
    text[line->batch.count] = '\0';
    return text;
}

static enum batch_stop settle(struct line *line)
{
    enum batch_stop stop, again;
    batch_settle(&line->batch, &stop);
    struct line before = *line;
    batch_settle(&line->batch, &again); /* Changes nothing. */
    ck_assert_int_eq(again, BATCH_STOP_NONE);
    ck_assert_int_eq(before.batch.status, line->batch.status);
    for (size_t i = 0; i < line->batch.count; i++)
        ck_assert_int_eq(before.members[i].state, line->members[i].state);
    return stop;
}

/* ---- the rule ---- */

static const struct {
    const char *what, *members;
    struct batch_limits limits;
    int64_t cost;
    enum batch_stop stop;
} rules[] = {
    {"no rule", "ffffffffw", {0}, 1000000, BATCH_STOP_NONE},
    {"one too few", "ffwcc", {.stop_failures = 3}, 0, BATCH_STOP_NONE},
    {"just enough", "ffwfc", {.stop_failures = 3}, 0, BATCH_STOP_FAILURES},
    {"a refused one counts", "ffwrc", {.stop_failures = 3}, 0, BATCH_STOP_FAILURES},
    {"cancelled and skipped do not", "ffwxsd", {.stop_failures = 3}, 0, BATCH_STOP_NONE},
    {"a percentage before its time",
     "fffw",
     {.stop_percent = 50, .stop_after = 4},
     0,
     BATCH_STOP_NONE},
    {"a percentage reached", "ffccw", {.stop_percent = 50, .stop_after = 4}, 0, BATCH_STOP_PERCENT},
    {"a percentage not reached", "fccw", {.stop_percent = 50, .stop_after = 1}, 0, BATCH_STOP_NONE},
    {"no failure at all", "cccw", {.stop_percent = 1, .stop_after = 1}, 0, BATCH_STOP_NONE},
    {"cancelled ones have not ended for it",
     "fxxxc",
     {.stop_percent = 50, .stop_after = 3},
     0,
     BATCH_STOP_NONE},
    {"the number before the percentage",
     "fff",
     {.stop_failures = 3, .stop_percent = 1},
     0,
     BATCH_STOP_FAILURES},
    {"money left", "cw", {.budget_microusd = 10}, 9, BATCH_STOP_NONE},
    {"money spent", "cw", {.budget_microusd = 10}, 10, BATCH_STOP_BUDGET},
    {"money spent while one works", "ca", {.budget_microusd = 10}, 10, BATCH_STOP_BUDGET},
    {"money spent with the last", "cc", {.budget_microusd = 10}, 11, BATCH_STOP_NONE},
};

START_TEST(it_stops_by_the_rule)
{
    struct line line;
    struct arena arena = {0};
    line_open(&line, rules[_i].members);
    struct batch_counts counts = batch_count(&line.batch);
    enum batch_stop stop = batch_stops(&rules[_i].limits, &counts, rules[_i].cost);
    ck_assert_msg(stop == rules[_i].stop, "%s: %d", rules[_i].what, (int)stop);
    line.batch.limits = rules[_i].limits;
    line.batch.cost_microusd = rules[_i].cost;
    ck_assert_int_eq(settle(&line), stop);
    bool stops = line.batch.status == BATCH_STOPPING || line.batch.status == BATCH_STOPPED;
    ck_assert_int_eq(stops, stop != BATCH_STOP_NONE);
    ck_assert_int_eq(strlen(batch_explain(stop, &line.batch.limits, &counts, 10, &arena)) > 0,
                     stop != BATCH_STOP_NONE);
    ck_assert_int_eq(batch_stop_code(stop) != NULL, stop != BATCH_STOP_NONE);
    arena_release(&arena);
}
END_TEST

START_TEST(reasons_say_what_was_counted)
{
    struct arena arena = {0};
    const struct batch_limits limits = {
        .stop_failures = 3, .stop_percent = 40, .budget_microusd = 2000000};
    const struct batch_counts counts = {.of = {[PHASE_FAILED] = 5, [PHASE_COMPLETED] = 7}};
    ck_assert_str_eq(batch_explain(BATCH_STOP_FAILURES, &limits, &counts, 0, &arena),
                     "5 members have failed; the batch stops at 3");
    const struct batch_counts one = {.of = {[PHASE_FAILED] = 1}};
    ck_assert_str_eq(batch_explain(BATCH_STOP_FAILURES, &limits, &one, 0, &arena),
                     "1 member has failed; the batch stops at 3");
    ck_assert_str_eq(batch_explain(BATCH_STOP_PERCENT, &limits, &counts, 0, &arena),
                     "5 of 12 members that ended have failed; the batch stops at 40 %");
    ck_assert_str_eq(batch_explain(BATCH_STOP_BUDGET, &limits, &counts, 2100000, &arena),
                     "the members have spent 2.10 USD of 2.00");
    arena_release(&arena);
}
END_TEST

/* ---- settling ---- */

static const struct {
    enum batch_status status;
    const char *before, *after;
    enum batch_status next;
} ends[] = {
    {BATCH_RUNNING, "waw", "waw", BATCH_RUNNING},
    {BATCH_RUNNING, "cfxrs", "cfxrw", BATCH_RUNNING}, /* It depends on nothing: it waits again. */
    {BATCH_RUNNING, "cfxr", "cfxr", BATCH_COMPLETED},
    {BATCH_RUNNING, "cca", "cca", BATCH_RUNNING},
    {BATCH_PAUSED, "ccw", "ccw", BATCH_PAUSED},
    {BATCH_PAUSED, "ccc", "ccc", BATCH_COMPLETED},
    {BATCH_STOPPING, "caww", "cadd", BATCH_STOPPING},
    {BATCH_STOPPING, "cfww", "cfdd", BATCH_STOPPED},
    {BATCH_STOPPING, "cfs", "cfs", BATCH_STOPPED},
    {BATCH_CANCELLING, "caww", "cadd", BATCH_CANCELLING},
    {BATCH_CANCELLING, "cxww", "cxdd", BATCH_CANCELLED},
    {BATCH_COMPLETED, "ca", "ca", BATCH_COMPLETED}, /* A retry of one of its tasks. */
    {BATCH_STOPPED, "cad", "cad", BATCH_STOPPED},
    {BATCH_CANCELLED, "ad", "ad", BATCH_CANCELLED},
};

START_TEST(it_ends_when_nothing_is_left)
{
    struct line line;
    line_open(&line, ends[_i].before);
    line.batch.status = ends[_i].status;
    ck_assert_int_eq(settle(&line), BATCH_STOP_NONE);
    ck_assert_str_eq(text_of(&line), ends[_i].after);
    ck_assert_str_eq(batch_status_name(line.batch.status), batch_status_name(ends[_i].next));
}
END_TEST

START_TEST(what_depends_on_a_broken_one_is_skipped_and_comes_back_with_a_retry)
{
    struct line line;
    line_open(&line, "wwwwf"); /* 0 <- 1 <- 2, in the wrong order, and 4 has failed. */
    depend(&line, 0, 1);
    depend(&line, 1, 2);
    depend(&line, 2, 4);
    settle(&line);
    ck_assert_str_eq(text_of(&line), "ssswf");
    ck_assert_uint_eq(line.members[2].broken, 4);
    ck_assert_uint_eq(line.members[0].broken, 1);
    put(&line.members[4], 'a'); /* It was retried. */
    settle(&line);
    ck_assert_str_eq(text_of(&line), "wwwwa");
    put(&line.members[4], 'c');
    settle(&line);
    ck_assert_uint_eq(batch_next(&line.batch), 2);
    line.batch.status = BATCH_STOPPING; /* What was skipped stays skipped. */
    put(&line.members[0], 's');
    settle(&line);
    ck_assert_str_eq(text_of(&line), "sdddc");
}
END_TEST

START_TEST(dropped_cancelled_and_refused_ones_break_what_depends_on_them)
{
    for (const char *each = "dxrf"; *each != '\0'; each++) {
        struct line line;
        line_open(&line, "ww");
        put(&line.members[0], *each);
        depend(&line, 1, 0);
        settle(&line);
        ck_assert_msg(line.members[1].state == MEMBER_SKIPPED, "%c", *each);
        ck_assert_int_eq(line.batch.status, BATCH_COMPLETED);
    }
}
END_TEST

/* ---- what is next ---- */

static const struct {
    enum batch_status status;
    const char *members;
    int64_t max_active;
    size_t next; /* The length: none. */
} nexts[] = {
    {BATCH_RUNNING, "cww", 0, 1},   {BATCH_RUNNING, "aww", 1, 3},  {BATCH_RUNNING, "aww", 2, 1},
    {BATCH_RUNNING, "aaaww", 0, 3}, {BATCH_RUNNING, "cfx", 0, 3},  {BATCH_PAUSED, "www", 0, 3},
    {BATCH_STOPPING, "add", 0, 3},  {BATCH_COMPLETED, "cc", 0, 2}, {BATCH_RUNNING, "aaaw", 2, 4},
};

START_TEST(the_first_that_may_start_is_next)
{
    struct line line;
    line_open(&line, nexts[_i].members);
    line.batch.status = nexts[_i].status;
    line.batch.limits.max_active = nexts[_i].max_active;
    ck_assert_uint_eq(batch_next(&line.batch), nexts[_i].next);
}
END_TEST

START_TEST(one_waits_until_all_that_it_depends_on_have_completed)
{
    struct line line;
    line_open(&line, "wwaw");
    depend(&line, 0, 1);
    depend(&line, 0, 2);
    ck_assert_uint_eq(batch_next(&line.batch), 1);
    put(&line.members[1], 'c');
    ck_assert_uint_eq(batch_next(&line.batch), 3);
    put(&line.members[2], 'c');
    ck_assert_uint_eq(batch_next(&line.batch), 0);
}
END_TEST

START_TEST(progress_is_told_in_tenths)
{
    struct line line;
    line_open(&line, "ccwwwwwwww");
    struct batch_counts counts = batch_count(&line.batch);
    ck_assert_int_eq(batch_tenths(&counts), 2);
    line_open(&line, "cfxsdr");
    counts = batch_count(&line.batch);
    ck_assert_int_eq(batch_tenths(&counts), BATCH_TENTHS);
    line_open(&line, "cfa");
    counts = batch_count(&line.batch);
    ck_assert_int_eq(batch_tenths(&counts), 6);
    ck_assert_int_eq(batch_tenths(&(struct batch_counts){0}), 0);
}
END_TEST

/* ---- circles ---- */

START_TEST(circles_are_found_whatever_leads_to_them)
{
    struct line line;
    struct arena arena = {0};
    size_t at = 99;
    line_open(&line, "wwwwww");
    depend(&line, 0, 1);
    depend(&line, 1, 2);
    depend(&line, 3, 2);
    ck_assert(!batch_has_circle(line.members, 6, &arena, &at));
    ck_assert_uint_eq(at, 99);
    depend(&line, 4, 3);
    depend(&line, 2, 5);
    depend(&line, 5, 1); /* 1 -> 2 -> 5 -> 1; 0, 3 and 4 only lead there. */
    ck_assert(batch_has_circle(line.members, 6, &arena, &at));
    ck_assert(at == 1 || at == 2 || at == 5);
    line_open(&line, "w");
    depend(&line, 0, 0);
    ck_assert(batch_has_circle(line.members, 1, &arena, &at));
    ck_assert_uint_eq(at, 0);
    arena_release(&arena);
}
END_TEST

/* ---- whole lives ---- */

/* Members end at random, persons pause, resume, retry and cancel: the invariants hold, no more than
   max_active start at a time, and the batch ends. */
START_TEST(every_life_ends_within_its_limits)
{
    struct random random = random_seeded((uint64_t)_i + 1);
    struct line line;
    char text[LINE_MAX_MEMBERS + 1];
    size_t count = 1 + random_below(&random, 20);
    memset(text, 'w', count);
    text[count] = '\0';
    line_open(&line, text);
    for (size_t i = 1; i < count; i++)
        for (int j = 0; j < 3; j++)
            if (random_below(&random, 4) == 0)
                depend(&line, i, random_below(&random, i)); /* On earlier ones: no circle. */
    line.batch.limits = (struct batch_limits){
        .max_active = (int64_t)random_below(&random, 4),
        .stop_failures = (int64_t)random_below(&random, 5),
        .stop_percent = (int64_t)random_below(&random, 2) * 60,
        .stop_after = 5,
    };
    int turns = 0;
    for (; !batch_has_ended(line.batch.status) && turns < 10000; turns++) {
        settle(&line);
        for (size_t at; (at = batch_next(&line.batch)) < count;) {
            struct batch_counts now = batch_count(&line.batch);
            ck_assert(line.batch.limits.max_active == 0 ||
                      now.of[PHASE_ACTIVE] < line.batch.limits.max_active);
            for (size_t i = 0; i < line.members[at].depends_count; i++)
                ck_assert_int_eq(letter_of(&line.members[line.depends_on[at][i]]), 'c');
            put(&line.members[at], random_below(&random, 10) == 0 ? 'r' : 'a');
            settle(&line);
        }
        size_t who = random_below(&random, count);
        if (letter_of(&line.members[who]) == 'a')
            put(&line.members[who], "cccfx"[random_below(&random, 5)]);
        else if (letter_of(&line.members[who]) == 'f' && turns < 50 &&
                 batch_goes_on(line.batch.status) && random_below(&random, 4) == 0)
            put(&line.members[who], 'a');
        enum batch_event event = (enum batch_event)random_below(&random, 3);
        if (event == BATCH_EV_STOP)
            event = BATCH_EV_RESUME;
        (void)!batch_step(line.batch.status, event, &line.batch.status);
        if (random_below(&random, 500) == 0)
            (void)!batch_step(line.batch.status, BATCH_EV_CANCEL, &line.batch.status);
    }
    ck_assert_msg(batch_has_ended(line.batch.status), "%s is %s after %d turns", text_of(&line),
                  batch_status_name(line.batch.status), turns);
    struct batch_counts counts = batch_count(&line.batch);
    ck_assert_int_eq(counts.of[PHASE_WAITING] + counts.of[PHASE_ACTIVE], 0);
}
END_TEST

Suite *batch_suite(void)
{
    Suite *suite = suite_create("batch");
    TCase *tc = tcase_create("batch");
    tcase_add_test(tc, every_state_takes_exactly_the_listed_events);
    tcase_add_test(tc, names_read_back);
    tcase_add_test(tc, every_member_counts_as_one_thing);
    tcase_add_loop_test(tc, it_stops_by_the_rule, 0, COUNT_OF(rules));
    tcase_add_test(tc, reasons_say_what_was_counted);
    tcase_add_loop_test(tc, it_ends_when_nothing_is_left, 0, COUNT_OF(ends));
    tcase_add_test(tc, what_depends_on_a_broken_one_is_skipped_and_comes_back_with_a_retry);
    tcase_add_test(tc, dropped_cancelled_and_refused_ones_break_what_depends_on_them);
    tcase_add_loop_test(tc, the_first_that_may_start_is_next, 0, COUNT_OF(nexts));
    tcase_add_test(tc, one_waits_until_all_that_it_depends_on_have_completed);
    tcase_add_test(tc, progress_is_told_in_tenths);
    tcase_add_test(tc, circles_are_found_whatever_leads_to_them);
    tcase_add_loop_test(tc, every_life_ends_within_its_limits, 0, 100);
    suite_add_tcase(suite, tc);
    return suite;
}
