/*
 * test_store_events.c - the log: order, uniqueness, filters, the view.
 */
#include "core/event_types.h"
#include "store/events.h"
#include "tests/store/fixture.h"

static struct event event_of(struct fixture *f, const char *type)
{
    return (struct event){
        .id = fixture_id(f),
        .type = type,
        .version = 1,
        .time_us = f->now_us,
        .actor = {"system", "drover"},
        .data = STR("{}"),
    };
}

static struct event append(struct fixture *f, struct event event)
{
    enum rc rc = events_append(f->db, &event, &f->err);
    if (rc == RC_OK)
        rc = events_last_seq(f->db, &event.seq, &f->err);
    ck_assert_msg(rc == RC_OK, "%s", f->err.text);
    return event;
}

START_TEST(every_column_comes_back)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct run_row run = fixture_run(&f, &task);
    struct event event = append(&f, (struct event){
                                        .id = fixture_id(&f),
                                        .type = EV_PATCH_CREATED,
                                        .version = 2,
                                        .workspace_id = f.workspace_id,
                                        .task_id = task.id,
                                        .run_id = run.id,
                                        .attempt_id = fixture_id(&f),
                                        .subject = "run/1",
                                        .time_us = 123456789,
                                        .run_seq = 1,
                                        .correlation_id = fixture_id(&f),
                                        .causation_id = fixture_id(&f),
                                        .actor = {"worker", "w1"},
                                        .traceparent = "00-a-b-01",
                                        .tags = "urgent,repository:acme/billing",
                                        .data = STR("{\"files\": 1}"),
                                    });
    struct event_filter filter = {.limit = 10};
    struct event *got;
    size_t count;
    must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(got->seq, event.seq);
    ck_assert_id_eq(got->id, event.id);
    ck_assert_str_eq(got->type, EV_PATCH_CREATED);
    ck_assert_int_eq(got->version, 2);
    ck_assert_id_eq(got->workspace_id, event.workspace_id);
    ck_assert_id_eq(got->task_id, event.task_id);
    ck_assert_id_eq(got->run_id, event.run_id);
    ck_assert_id_eq(got->attempt_id, event.attempt_id);
    ck_assert_str_eq(got->subject, "run/1");
    ck_assert_int_eq(got->time_us, 123456789);
    ck_assert_int_eq(got->run_seq, 1);
    ck_assert_id_eq(got->correlation_id, event.correlation_id);
    ck_assert_id_eq(got->causation_id, event.causation_id);
    ck_assert_str_eq(got->actor.type, "worker");
    ck_assert_str_eq(got->actor.id, "w1");
    ck_assert_str_eq(got->traceparent, "00-a-b-01");
    ck_assert_str_eq(got->tags, "urgent,repository:acme/billing");
    ck_assert_bytes_eq(got->data, "{\"files\": 1}");
}
END_TEST

/* Of a client: once for its source and id, whatever else differs; drover's own have neither. */
START_TEST(source_and_id_are_taken_once)
{
    FIXTURE(f);
    static const struct {
        const char *source, *id;
        bool is_new;
    } given[] = {{"a", "1", true}, {"a", "1", false}, {"a", "2", true},
                 {"b", "1", true}, {"b", "1", false}, {"A", "1", true}};
    int64_t seq = 0;
    append(&f, event_of(&f, EV_TASK_SUBMITTED));
    append(&f, event_of(&f, EV_TASK_SUBMITTED));
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        struct event event = event_of(&f, i % 2 == 0 ? "x.y" : "y.x");
        bool is_new = !given[i].is_new;
        event.source = given[i].source;
        event.source_id = given[i].id;
        event.attributes = STR("{\"n\":1}");
        must_be(given[i].is_new ? RC_NOT_FOUND : RC_OK,
                events_find_source(f.db, &event, &seq, &f.err));
        must(events_append_once(f.db, &event, &is_new, &f.err));
        ck_assert_msg(is_new == given[i].is_new, "%zu", i);
        must(events_find_source(f.db, &event, &seq, &f.err));
    }
    struct event_filter filter = {.limit = 10, .after_seq = seq - 1};
    struct event *got;
    size_t count;
    must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(got->source, "A");
    ck_assert_str_eq(got->source_id, "1");
    ck_assert_bytes_eq(got->attributes, "{\"n\":1}");
    ck_assert_bytes_eq(got->data, "{}");
}
END_TEST

START_TEST(seq_grows_and_the_last_is_known)
{
    FIXTURE(f);
    int64_t last = -1;
    must(events_last_seq(f.db, &last, &f.err));
    ck_assert_int_eq(last, 0);
    int64_t before = 0;
    for (int i = 0; i < 5; i++) {
        struct event event = append(&f, event_of(&f, EV_TASK_SUBMITTED));
        ck_assert_int_gt(event.seq, before);
        before = event.seq;
    }
    must(events_last_seq(f.db, &last, &f.err));
    ck_assert_int_eq(last, before);
}
END_TEST

START_TEST(a_place_in_a_run_is_taken_once)
{
    FIXTURE(f);
    struct task_row task = fixture_task(&f);
    struct event event = event_of(&f, EV_RUN_STARTED);
    event.task_id = task.id;
    event.run_id = fixture_id(&f);
    event.run_seq = 1;
    append(&f, event);
    event.id = fixture_id(&f);
    must_be(RC_IO, events_append(f.db, &event, &f.err));
    ck_assert_str_eq(f.err.code, "STORE_CONSTRAINT");
    event.run_seq = 2;
    append(&f, event);
    event.run_seq = 3;
    must_be(RC_IO, events_append(f.db, &event, &f.err)); /* The id is taken. */
    event.id = fixture_id(&f);
    event.run_seq = 0;
    must_be(RC_IO, events_append(f.db, &event, &f.err));
    event.run_seq = 3;
    event.task_id = (struct id){""};
    must_be(RC_IO, events_append(f.db, &event, &f.err));
}
END_TEST

/* Index:   0         1      2      3         4      5      6        7
   of       task A    run A  run A  task B    run B  run A2 run A    nothing */
static void put_story(struct fixture *f, struct event events[8], struct run_row runs[3])
{
    struct task_row a = fixture_task(f);
    struct task_row b = fixture_task(f);
    runs[0] = fixture_run(f, &a);
    runs[1] = fixture_run(f, &b);
    runs[2] = fixture_run(f, &a);
    static const struct {
        const char *type;
        char task;
        int run; /* -1: none */
        int64_t run_seq;
    } story[8] = {
        {EV_TASK_SUBMITTED, 'a', -1, 0},    {EV_RUN_QUEUED, 'a', 0, 1},
        {EV_RUN_STARTED, 'a', 0, 2},        {EV_TASK_SUBMITTED, 'b', -1, 0},
        {EV_RUN_QUEUED, 'b', 1, 1},         {EV_RUN_QUEUED, 'a', 2, 1},
        {EV_RUN_STATUS_CHANGED, 'a', 0, 3}, {EV_REPOSITORY_CONFIGURED, '-', -1, 0},
    };
    for (int i = 0; i < 8; i++) {
        struct event event = event_of(f, story[i].type);
        event.time_us = 100 + i;
        if (story[i].task != '-')
            event.task_id = story[i].task == 'a' ? a.id : b.id;
        if (story[i].run >= 0)
            event.run_id = runs[story[i].run].id;
        event.run_seq = story[i].run_seq;
        events[i] = append(f, event);
    }
}

START_TEST(listings_filter_and_go_on_after_a_place)
{
    FIXTURE(f);
    struct event events[8];
    struct run_row runs[3];
    put_story(&f, events, runs);
    static const struct {
        int after, run, task; /* Indexes into events, runs; task: that of the run; -1: any */
        bool with_task;
        const char *pattern;
        int64_t since_us, until_us, limit;
        const char *want;
    } cases[] = {
        {-1, -1, -1, false, NULL, 0, 0, 99, "01234567"},
        {2, -1, -1, false, NULL, 0, 0, 3, "345"},
        {7, -1, -1, false, NULL, 0, 0, 3, ""},
        {-1, 0, -1, false, NULL, 0, 0, 99, "126"},
        {-1, 0, -1, true, NULL, 0, 0, 99, "0126"},
        {-1, 2, -1, true, NULL, 0, 0, 99, "05"},
        {1, 0, -1, true, NULL, 0, 0, 99, "26"},
        {-1, 1, -1, false, NULL, 0, 0, 99, "4"},
        {-1, -1, 0, false, NULL, 0, 0, 99, "01256"},
        {1, -1, 0, false, NULL, 0, 0, 2, "25"},
        {-1, -1, -1, false, "agent.run.*", 0, 0, 99, "1245"},
        {-1, -1, -1, false, "agent.run.>", 0, 0, 99, "12456"},
        {-1, 0, -1, false, EV_RUN_QUEUED, 0, 0, 99, "1"},
        {-1, -1, -1, false, "agent.run.*", 0, 0, 2, "12"},
        {-1, -1, -1, false, "agent.nothing.*", 0, 0, 99, ""},
        {-1, -1, -1, false, NULL, 103, 106, 99, "345"},
        {-1, -1, -1, false, NULL, 106, 0, 99, "67"},
        {-1, 0, -1, true, NULL, 0, 102, 99, "01"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct event_filter filter = {.after_seq = cases[i].after < 0 ? 0
                                                                      : events[cases[i].after].seq,
                                      .with_task = cases[i].with_task,
                                      .type_pattern = cases[i].pattern,
                                      .since_us = cases[i].since_us,
                                      .until_us = cases[i].until_us,
                                      .limit = cases[i].limit};
        if (cases[i].run >= 0)
            filter.run_id = runs[cases[i].run].id;
        if (cases[i].task >= 0)
            filter.task_id = runs[cases[i].task].task_id;
        struct event *got;
        size_t count;
        must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
        ck_assert_msg(count == strlen(cases[i].want), "case %zu: %zu events", i, count);
        for (size_t j = 0; j < count; j++)
            ck_assert_int_eq(got[j].seq, events[cases[i].want[j] - '0'].seq);
    }
}
END_TEST

START_TEST(events_are_chosen_by_types_tags_and_severity)
{
    FIXTURE(f);
    static const struct {
        struct event_selector selector;
        const char *want;
    } cases[] = {
        {{{NULL}, {NULL}, SEVERITY_DEBUG}, "0123"},
        {{{EV_PR_CREATED, "com.>"}, {NULL}, SEVERITY_DEBUG}, "13"},
        {{{NULL}, {"urgent"}, SEVERITY_DEBUG}, "12"},
        {{{NULL}, {"urgent", "agent:bob"}, SEVERITY_DEBUG}, "2"},
        {{{NULL}, {"urg"}, SEVERITY_DEBUG}, ""},
        {{{NULL}, {NULL}, SEVERITY_WARNING}, "23"},
        {{{NULL}, {NULL}, SEVERITY_ERROR}, "2"},
        {{{"com.>"}, {"urgent"}, SEVERITY_DEBUG}, ""},
    };
    struct event events[] = {event_of(&f, EV_REPOSITORY_REMOVED), event_of(&f, EV_PR_CREATED),
                             event_of(&f, EV_JOB_DEAD_LETTERED), event_of(&f, "com.example.x")};
    events[1].tags = "urgent";
    events[2].tags = "agent:bob,urgent";
    events[3].source = "s";
    events[3].source_id = "i";
    events[3].attributes = STR("{\"severity\":\"warning\"}");
    for (size_t i = 0; i < COUNT_OF(events); i++)
        events[i] = append(&f, events[i]);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct event_filter filter = {.selector = &cases[i].selector, .limit = 10};
        struct event *got;
        size_t count;
        must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
        ck_assert_msg(count == strlen(cases[i].want), "case %zu: %zu events", i, count);
        for (size_t j = 0; j < count; j++)
            ck_assert_str_eq(got[j].id.text, events[cases[i].want[j] - '0'].id.text);
    }
}
END_TEST

START_TEST(a_rare_type_is_found_beyond_the_first_page)
{
    FIXTURE(f);
    enum { EVENTS = 1200, EVERY = 599 };
    struct tx tx;
    must(tx_begin(f.db, &tx, &f.err));
    for (int i = 0; i < EVENTS; i++)
        append(&f, event_of(&f, i % EVERY == EVERY - 1 ? EV_PR_CREATED : EV_TOOL_CALL_STARTED));
    must(tx_commit(&tx, &f.err));
    struct event_filter filter = {.type_pattern = "agent.pr.*", .limit = 10};
    struct event *got;
    size_t count;
    must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, EVENTS / EVERY);
    filter.limit = 1;
    must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    filter.after_seq = got[0].seq;
    must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(got[0].seq - filter.after_seq, EVERY);
}
END_TEST

START_TEST(times_need_not_follow_the_log)
{
    FIXTURE(f);
    static const int64_t times[] = {50, 10, 40, 20, 60, 30};
    int64_t seqs[COUNT_OF(times)];
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        struct event event = event_of(&f, EV_TASK_SUBMITTED);
        event.time_us = times[i];
        seqs[i] = append(&f, event).seq;
    }
    static const struct {
        int64_t since_us, until_us;
        int after; /* -1: from the start */
        const char *want;
    } cases[] = {
        {20, 50, -1, "235"}, {20, 51, -1, "0235"}, {20, 50, 2, "35"}, {0, 20, -1, "1"},
        {55, 0, -1, "4"},    {70, 0, -1, ""},      {20, 50, 5, ""},   {30, 31, -1, "5"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct event_filter filter = {.since_us = cases[i].since_us,
                                      .until_us = cases[i].until_us,
                                      .after_seq = cases[i].after < 0 ? 0 : seqs[cases[i].after],
                                      .limit = 10};
        struct event *got;
        size_t count;
        must(events_list(f.db, &filter, &f.arena, &got, &count, &f.err));
        ck_assert_msg(count == strlen(cases[i].want), "case %zu: %zu events", i, count);
        for (size_t j = 0; j < count; j++)
            ck_assert_int_eq(got[j].seq, seqs[cases[i].want[j] - '0']);
    }
}
END_TEST

static const struct sql sql_view = {
    "test_view",
    "SELECT id, type, status, actor, data, parent_id, correlation_id, created_at FROM events",
    "",
};

START_TEST(the_view_shows_events_in_the_common_shape)
{
    FIXTURE(f);
    struct event event = event_of(&f, EV_TASK_ACCEPTED);
    event.causation_id = fixture_id(&f);
    event.correlation_id = fixture_id(&f);
    event.time_us = INT64_C(1783080000123456);
    append(&f, event);
    CLEANUP(rows_end) struct rows rows = {0};
    must(db_query(f.db, &sql_view, NULL, 0, &rows, &f.err));
    must(rows_next(&rows, &f.err));
    ck_assert_str_eq(row_text(&rows, 0), event.id.text);
    ck_assert_str_eq(row_text(&rows, 1), EV_TASK_ACCEPTED);
    ck_assert_str_eq(row_text(&rows, 2), "ACCEPTED");
    ck_assert_str_eq(row_text(&rows, 3), "system:drover");
    ck_assert_str_eq(row_text(&rows, 4), "{}");
    ck_assert_str_eq(row_text(&rows, 5), event.causation_id.text);
    ck_assert_str_eq(row_text(&rows, 6), event.correlation_id.text);
    ck_assert_str_eq(row_text(&rows, 7), _i == ENGINE_POSTGRES ? "2026-07-03 12:00:00.123456+00"
                                                               : "2026-07-03 12:00:00.123456");
}
END_TEST

START_TEST(the_view_fails_on_no_event)
{
    FIXTURE(f);
    static const char *const data[] = {"null",
                                       "[1]",
                                       "\"text\"",
                                       "{\"issueId\": {}}",
                                       "{\"issueId\": \"\"}",
                                       "{\"a\": \"\\u0000\"}",
                                       "{\"issueId\": \"\\u0000\"}",
                                       "{\"issueId\": true}"};
    for (size_t i = 0; i < COUNT_OF(data); i++) {
        struct event event = event_of(&f, EV_TASK_REJECTED);
        event.data = str_of(data[i]);
        append(&f, event);
    }
    CLEANUP(rows_end) struct rows rows = {0};
    enum rc rc;
    size_t count = 0;
    must(db_query(f.db, &sql_view, NULL, 0, &rows, &f.err));
    for (; (rc = rows_next(&rows, &f.err)) == RC_OK; count++) {
        ck_assert_str_eq(row_text(&rows, 2), "REJECTED");
        ck_assert_str_eq(row_text(&rows, 6), row_text(&rows, 0)); /* A group of its own. */
    }
    must_be(RC_NOT_FOUND, rc);
    ck_assert_uint_eq(count, COUNT_OF(data));
}
END_TEST

START_TEST(a_lag_counts_from_the_cursor_to_the_end)
{
    FIXTURE(f);
    struct event_lag lag;
    must(events_lag(f.db, 0, &lag, &f.err));
    ck_assert(lag.places == 0 && lag.first_us == 0);
    struct event first = append(&f, event_of(&f, EV_TASK_ACCEPTED));
    struct event last = append(&f, event_of(&f, EV_TASK_ACCEPTED));
    must(events_lag(f.db, first.seq - 1, &lag, &f.err));
    ck_assert_int_eq(lag.places, last.seq - first.seq + 1);
    ck_assert_int_eq(lag.first_us, first.time_us);
    must(events_lag(f.db, last.seq, &lag, &f.err));
    ck_assert(lag.places == 0 && lag.first_us == 0);
}
END_TEST

Suite *store_events_suite(void)
{
    Suite *suite = suite_create("store_events");
    TCase *tc = tcase_create("events");
    case_add(tc, every_column_comes_back);
    case_add(tc, the_view_fails_on_no_event);
    case_add(tc, a_lag_counts_from_the_cursor_to_the_end);
    case_add(tc, source_and_id_are_taken_once);
    case_add(tc, seq_grows_and_the_last_is_known);
    case_add(tc, a_place_in_a_run_is_taken_once);
    case_add(tc, listings_filter_and_go_on_after_a_place);
    case_add(tc, events_are_chosen_by_types_tags_and_severity);
    case_add(tc, a_rare_type_is_found_beyond_the_first_page);
    case_add(tc, times_need_not_follow_the_log);
    case_add(tc, the_view_shows_events_in_the_common_shape);
    suite_add_tcase(suite, tc);
    return suite;
}
