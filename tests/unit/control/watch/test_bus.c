/*
 * test_bus.c - filters, waking, what is counted and logged; senders that wait, and for how long.
 */
#include "base/clock.h"
#include "base/log.h"
#include "control/watch/bus.h"
#include "core/event_types.h"
#include "tests/unit/suites.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct bus *bus;
static int log_pipe[2];

/* Lines of the log go into a pipe. */
static void setup(void)
{
    bus = bus_new(NULL);
    ck_assert_int_eq(pipe2(log_pipe, O_NONBLOCK), 0);
    log_configure(&(struct log_options){.fd = log_pipe[1], .level = LOG_INFO});
}

static void teardown(void)
{
    log_configure(&(struct log_options){.fd = STDERR_FILENO, .level = LOG_INFO});
    bus_free(bus);
    (void)close(log_pipe[0]);
    (void)close(log_pipe[1]);
}

static void use_rules(const struct bus_rules *rules)
{
    bus_free(bus);
    bus = bus_new(rules);
}

/* All lines so far. */
static const char *logged(void)
{
    static char text[16 * 1024];
    ssize_t len = read(log_pipe[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static struct id id_number(int number)
{
    struct random random = random_seeded((uint64_t)number);
    return id_new(1000, &random);
}

static struct event event_of(int64_t seq, const char *type, int task, int run)
{
    struct event event = {.seq = seq,
                          .id = id_number(9),
                          .type = type,
                          .version = 1,
                          .actor = {"system", "drover"},
                          .data = STR("{}")};
    if (task > 0)
        event.task_id = id_number(task);
    if (run > 0)
        event.run_id = id_number(run);
    return event;
}

static void post_event(const struct event *event)
{
    const char *why = NULL;
    struct envelope *envelope = envelope_new(event, &why);
    ck_assert_ptr_nonnull(envelope);
    bus_published(bus, event);
    bus_post(bus, envelope);
    envelope_unref(envelope);
}

static void publish(int64_t seq, const char *type, int task, int run)
{
    struct event event = event_of(seq, type, task, run);
    post_event(&event);
}

static struct subscription *subscribe(enum bus_subscriber who)
{
    const struct subscription_options options = {.who = who};
    return bus_subscribe(bus, &options);
}

static int64_t take_seq(struct subscription *sub)
{
    struct envelope *envelope = subscription_take(sub);
    int64_t seq = envelope != NULL ? envelope->seq : 0;
    envelope_unref(envelope);
    return seq;
}

static struct bus_stats stats_now(void)
{
    struct bus_stats stats;
    bus_stats(bus, &stats);
    return stats;
}

static struct bus_meter meter_of(enum bus_subscriber who, const char *type)
{
    struct bus_meter meter;
    const struct event_type *entry = event_type_find(type);
    size_t index = entry != NULL ? event_type_index(entry) : EVENT_TYPE_COUNT;
    bus_meters_read(bus_meters(bus), (struct bus_point){who, index}, &meter);
    return meter;
}

/* ---- filters ---- */

START_TEST(only_events_after_a_place_are_delivered)
{
    const struct subscription_options options = {.who = BUS_WAIT, .filter = {.after_seq = 5}};
    struct subscription *sub = bus_subscribe(bus, &options);
    struct event event = {.seq = 5, .type = EV_RUN_STARTED};
    ck_assert(!bus_wants(bus, &event));
    event.seq = 6;
    ck_assert(bus_wants(bus, &event));
    for (int64_t seq = 4; seq <= 7; seq++)
        publish(seq, EV_RUN_STARTED, 1, 1);
    ck_assert_int_eq(take_seq(sub), 6); /* The first one stays. */
    ck_assert_int_eq(take_seq(sub), 0);
    publish(8, EV_RUN_STARTED, 1, 1);
    ck_assert_int_eq(take_seq(sub), 8);
    ck_assert_int_eq(stats_now().dropped, 0); /* One is the sign that there are more. */
    bus_unsubscribe(bus, sub);
}
END_TEST

static const struct {
    struct event_selector selector;
    int task, run;
    bool with_task;
    const char *want; /* Which of the five events below come through. */
} filters[] = {
    {{{NULL}, {NULL}, SEVERITY_DEBUG}, 0, 0, false, "12345"},
    {{{"agent.run.*"}, {NULL}, SEVERITY_DEBUG}, 0, 0, false, "23"},
    {{{"agent.run.*", "agent.pr.*"}, {NULL}, SEVERITY_DEBUG}, 0, 0, false, "234"},
    {{{"agent.>"}, {NULL}, SEVERITY_DEBUG}, 0, 0, false, "1234"},
    {{{EV_TASK_SUBMITTED}, {NULL}, SEVERITY_DEBUG}, 0, 0, false, "1"},
    {{{NULL}, {NULL}, SEVERITY_DEBUG}, 1, 0, false, "12"},
    {{{NULL}, {NULL}, SEVERITY_DEBUG}, 1, 11, false, "2"},
    {{{NULL}, {NULL}, SEVERITY_DEBUG}, 1, 11, true, "12"},
    {{{NULL}, {NULL}, SEVERITY_WARNING}, 0, 0, false, "35"},
    {{{NULL}, {NULL}, SEVERITY_ERROR}, 0, 0, false, "3"},
    {{{NULL}, {"urgent"}, SEVERITY_DEBUG}, 0, 0, false, "34"},
    {{{NULL}, {"urgent", "persona:reviewer"}, SEVERITY_DEBUG}, 0, 0, false, "4"},
    {{{NULL}, {"agent:bob"}, SEVERITY_DEBUG}, 0, 0, false, "5"},
    {{{"agent.pr.*"}, {"urgent"}, SEVERITY_DEBUG}, 2, 0, false, "4"},
};

START_TEST(a_filter_lets_through_what_it_names)
{
    struct subscription_options options = {
        .who = BUS_SSE_EVENTS,
        .filter = {.selector = filters[_i].selector, .with_task = filters[_i].with_task},
    };
    if (filters[_i].task > 0)
        options.filter.task_id = id_number(filters[_i].task);
    if (filters[_i].run > 0)
        options.filter.run_id = id_number(filters[_i].run);
    struct subscription *sub = bus_subscribe(bus, &options);
    struct event failed = event_of(3, EV_RUN_FAILED, 2, 12);
    struct event created = event_of(4, EV_PR_CREATED, 2, 12);
    struct event built = event_of(5, "com.example.built", 0, 0);
    failed.tags = "urgent";
    created.tags = "persona:reviewer,urgent";
    built.tags = "agent:bob";
    built.source = "https://ci.example.com";
    built.source_id = "7";
    built.attributes = STR("{\"severity\":\"warning\"}");
    publish(1, EV_TASK_SUBMITTED, 1, 0);
    publish(2, EV_RUN_QUEUED, 1, 11);
    post_event(&failed);
    post_event(&created);
    post_event(&built);
    char got[8] = "";
    for (size_t i = 0; i < 7; i++) {
        int64_t seq = take_seq(sub);
        if (seq == 0)
            break;
        got[i] = (char)('0' + seq);
    }
    ck_assert_str_eq(got, filters[_i].want);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(lines_of_the_log_and_events_do_not_meet)
{
    const struct subscription_options lines = {.who = BUS_LOG_FILE, .filter = {.lines = true}};
    struct subscription *of_lines = bus_subscribe(bus, &lines), *of_events = subscribe(BUS_SSE_RUN);
    struct event line = event_of(0, EV_LOG_WRITTEN, 0, 0);
    line.data = STR("{\"level\":\"error\"}");
    publish(1, EV_RUN_STARTED, 1, 1);
    post_event(&line);
    ck_assert_int_eq(take_seq(of_events), 1);
    ck_assert_int_eq(take_seq(of_events), 0);
    struct envelope *envelope = subscription_take(of_lines);
    ck_assert_str_eq(envelope->traits.type, EV_LOG_WRITTEN);
    ck_assert_int_eq(envelope->traits.severity, SEVERITY_ERROR);
    envelope_unref(envelope);
    ck_assert_ptr_null(subscription_take(of_lines));
    bus_unsubscribe(bus, of_lines);
    bus_unsubscribe(bus, of_events);
}
END_TEST

/* ---- waking ---- */

static void post_woken(void *ctx)
{
    ck_assert_int_eq(sem_post(ctx), 0);
}

static struct subscription *subscribe_waiter(enum bus_subscriber who, sem_t *woken)
{
    ck_assert_int_eq(sem_init(woken, 0, 0), 0);
    const struct subscription_options options = {.who = who, .wake = post_woken, .ctx = woken};
    return bus_subscribe(bus, &options);
}

START_TEST(a_subscriber_is_woken_once_per_filling)
{
    sem_t woken;
    struct subscription *sub = subscribe_waiter(BUS_SSE_RUN, &woken);
    publish(1, EV_RUN_QUEUED, 1, 11);
    publish(2, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(sem_trywait(&woken), 0);
    ck_assert_int_ne(sem_trywait(&woken), 0);
    take_seq(sub);
    take_seq(sub);
    publish(3, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(sem_trywait(&woken), 0);
    bus_unsubscribe(bus, sub);
}
END_TEST

static void *publish_later(void *arg)
{
    (void)arg;
    publish(7, EV_RUN_QUEUED, 1, 11);
    return NULL;
}

START_TEST(a_waiter_wakes_when_something_arrives)
{
    sem_t woken;
    struct subscription *sub = subscribe_waiter(BUS_SSE_RUN, &woken);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, publish_later, NULL), 0);
    ck_assert_int_eq(sem_wait(&woken), 0); /* The time limit of the test is the limit. */
    ck_assert_int_eq(take_seq(sub), 7);
    pthread_join(thread, NULL);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(closing_wakes_every_waiter)
{
    sem_t woken;
    struct subscription *sub = subscribe_waiter(BUS_SSE_RUN, &woken);
    bus_close(bus);
    ck_assert_int_eq(sem_wait(&woken), 0);
    ck_assert_ptr_null(subscription_take(sub));
    bus_unsubscribe(bus, sub);
}
END_TEST

/* ---- channels by configuration ---- */

static const struct bus_type_rule coalesced_types[] = {{"agent.run.*", 0, BUS_COALESCE}};

static struct bus_rules rules_of(const struct bus_subscriber_rule *rule)
{
    return (struct bus_rules){.subscribers = rule, .subscriber_count = 1};
}

START_TEST(a_full_channel_drops_the_oldest_and_tells)
{
    const struct bus_subscriber_rule rule = {"sse.*", 2, BUS_DROP_OLDEST, 0, {NULL, 0}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    struct subscription *sub = subscribe(BUS_SSE_RUN);
    for (int i = 1; i <= 5; i++)
        publish(i, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(stats_now().percent[BUS_SSE_RUN], 100);
    ck_assert_int_eq(subscription_lost(sub), 3);
    ck_assert_int_eq(subscription_lost(sub), 0);
    ck_assert_int_eq(take_seq(sub), 4);
    ck_assert_int_eq(take_seq(sub), 5);
    ck_assert_int_eq(take_seq(sub), 0);
    ck_assert_int_eq(stats_now().dropped, 3);
    ck_assert_int_eq(meter_of(BUS_SSE_RUN, EV_RUN_QUEUED).counts[BUS_DROPPED], 3);
    /* Two lines of the same kind in a row are one. */
    const char *text = logged();
    ck_assert_ptr_nonnull(
        strstr(text, "\"subscriber\":\"sse.run\",\"dropped\":1,\"type\":\"agent.run.queued\""));
    ck_assert_ptr_nonnull(strstr(text, "\"seq\":1"));
    ck_assert_ptr_eq(strchr(text, '\n'), strrchr(text, '\n'));
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(one_type_may_be_coalesced_while_others_are_not)
{
    const struct bus_subscriber_rule rule = {"sse.run", 0, -1, 0, {coalesced_types, 1}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    struct subscription *sub = subscribe(BUS_SSE_RUN);
    publish(1, EV_RUN_QUEUED, 1, 11);
    publish(2, EV_TASK_QUEUED, 1, 0);
    publish(3, EV_TASK_QUEUED, 1, 0);
    publish(4, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(take_seq(sub), 4);
    ck_assert_int_eq(take_seq(sub), 2);
    ck_assert_int_eq(take_seq(sub), 3);
    ck_assert_int_eq(subscription_lost(sub), 1); /* A stream must read the log again. */
    ck_assert_int_eq(stats_now().coalesced, 1);
    ck_assert_int_eq(stats_now().dropped, 0);
    ck_assert_int_eq(meter_of(BUS_SSE_RUN, EV_RUN_QUEUED).counts[BUS_COALESCED], 1);
    ck_assert_str_eq(logged(), "");
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(a_channel_is_bounded_in_bytes_too)
{
    const struct subscription_options options = {.who = BUS_SSE_RUN, .bytes = {.max = 1000}};
    struct subscription *sub = bus_subscribe(bus, &options);
    for (int64_t seq = 1; seq <= 50; seq++)
        publish(seq, EV_RUN_QUEUED, 1, 1);
    int64_t lost = subscription_lost(sub);
    ck_assert_int_gt(lost, 40);
    ck_assert_int_lt(lost, 50);
    for (int64_t seq = lost + 1; seq <= 50; seq++)
        ck_assert_int_eq(take_seq(sub), seq);
    publish(51, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(take_seq(sub), 51);
    ck_assert_int_eq(subscription_lost(sub), 0);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(a_batch_is_bounded_and_tells_what_was_lost)
{
    const struct bus_subscriber_rule rule = {"sse.*", 4, BUS_DROP_OLDEST, 0, {NULL, 0}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    struct subscription *sub = subscribe(BUS_SSE_RUN);
    struct envelope *items[8];
    struct subscription_batch batch = {items, 2, 1000000};
    int64_t lost = -1;
    for (int64_t seq = 1; seq <= 5; seq++)
        publish(seq, EV_RUN_QUEUED, 1, 1);
    ck_assert_uint_eq(subscription_take_batch(sub, &batch, &lost), 2);
    ck_assert_int_eq(lost, 1);
    ck_assert_int_eq(items[0]->seq, 2);
    ck_assert_int_eq(items[1]->seq, 3);
    envelope_unref(items[0]);
    envelope_unref(items[1]);
    batch = (struct subscription_batch){items, 8, 1}; /* Always one. */
    ck_assert_uint_eq(subscription_take_batch(sub, &batch, &lost), 1);
    ck_assert_int_eq(lost, 0);
    envelope_unref(items[0]);
    bus_unsubscribe(bus, sub);
}
END_TEST

/* ---- senders that wait ---- */

/* Takes what is there as soon as the sender waits; events in order. */
struct reader {
    struct subscription *sub;
    int64_t expect;
};

static void *read_when_full(void *arg)
{
    struct reader *reader = arg;
    while (stats_now().waited == 0) {
    }
    ck_assert_int_eq(take_seq(reader->sub), reader->expect);
    return NULL;
}

START_TEST(a_sender_waits_until_there_is_room)
{
    const struct bus_subscriber_rule rule = {
        "sse.*", 1, BUS_BLOCK, 3600 * US_PER_SECOND, {NULL, 0}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    struct subscription *sub = subscribe(BUS_SSE_RUN);
    struct reader reader = {sub, 1};
    pthread_t thread;
    publish(1, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_when_full, &reader), 0);
    publish(2, EV_RUN_QUEUED, 1, 1); /* Returns when the reader has taken the first. */
    pthread_join(thread, NULL);
    ck_assert_int_eq(take_seq(sub), 2);
    ck_assert_int_eq(subscription_lost(sub), 0);
    ck_assert_int_eq(stats_now().gave_up, 0);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(a_sender_gives_up_when_the_budget_is_over_and_waits_no_more)
{
    const struct bus_subscriber_rule rule = {"sse.*", 1, BUS_BLOCK, 5 * US_PER_MS, {NULL, 0}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    struct subscription *sub = subscribe(BUS_SSE_RUN), *other = subscribe(BUS_ORDERS);
    publish(1, EV_RUN_QUEUED, 1, 1);
    int64_t start_us = clock_mono_us();
    publish(2, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_ge(clock_mono_us() - start_us, 5 * US_PER_MS);
    publish(3, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(stats_now().waited, 1); /* It is stalled: not waited for again. */
    ck_assert_int_eq(stats_now().gave_up, 1);
    ck_assert_int_eq(subscription_lost(sub), 2);
    ck_assert_int_eq(take_seq(sub), 3);
    for (int64_t seq = 1; seq <= 3; seq++) /* Others lack nothing. */
        ck_assert_int_eq(take_seq(other), seq);
    publish(4, EV_RUN_QUEUED, 1, 1);
    publish(5, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(stats_now().waited, 2); /* It had taken something. */
    bus_unsubscribe(bus, sub);
    bus_unsubscribe(bus, other);
}
END_TEST

static void *leave_when_waited_for(void *arg)
{
    while (stats_now().waited == 0) {
    }
    bus_unsubscribe(bus, arg);
    return NULL;
}

START_TEST(a_sender_does_not_wait_for_one_that_has_left)
{
    const struct bus_subscriber_rule rule = {
        "sse.*", 1, BUS_BLOCK, 3600 * US_PER_SECOND, {NULL, 0}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    pthread_t thread;
    struct subscription *sub = subscribe(BUS_SSE_RUN);
    publish(1, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, leave_when_waited_for, sub), 0);
    publish(2, EV_RUN_QUEUED, 1, 1);
    pthread_join(thread, NULL);
    ck_assert(bus_is_idle(bus));
}
END_TEST

/* ---- the watchdog and poison ---- */

static void be_slow(void *ctx)
{
    const struct timespec pause = {.tv_nsec = 3 * 1000 * 1000};
    (void)ctx;
    (void)nanosleep(&pause, NULL);
}

START_TEST(a_post_beyond_the_budget_is_counted_and_logged)
{
    const struct bus_rules rules = {.latency_us = 1 * US_PER_MS};
    use_rules(&rules);
    const struct subscription_options options = {.who = BUS_SSE_RUN, .wake = be_slow};
    struct subscription *sub = bus_subscribe(bus, &options);
    publish(1, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(stats_now().slow, 1);
    const char *text = logged();
    ck_assert_ptr_nonnull(strstr(text, "latency budget"));
    ck_assert_ptr_nonnull(strstr(text, "\"budgetMs\":1,\"subscribers\":1"));
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(an_event_that_cannot_be_sent_is_passed_over)
{
    sem_t woken;
    struct subscription *sub = subscribe_waiter(BUS_SSE_RUN, &woken);
    struct event event = event_of(1, EV_RUN_QUEUED, 1, 1);
    bus_pass_over(bus, &event, "its data is not JSON");
    ck_assert_int_eq(stats_now().passed_over, 1);
    const char *text = logged();
    ck_assert_ptr_nonnull(strstr(text, "\"reason\":\"its data is not JSON\""));
    ck_assert_ptr_nonnull(strstr(text, "\"seq\":1"));
    ck_assert_int_eq(sem_trywait(&woken), 0); /* To read the log, which has it. */
    ck_assert_int_eq(subscription_lost(sub), 1);
    publish(2, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(take_seq(sub), 2);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(what_went_over_the_bus_is_counted)
{
    struct subscription *sub = subscribe(BUS_SSE_RUN);
    struct event of_user = event_of(2, EV_RUN_QUEUED, 1, 11);
    struct event other = event_of(3, "com.example.x", 0, 0);
    of_user.actor = (struct actor){"user", "ann"};
    other.actor = (struct actor){"robot", "r2"};
    publish(1, EV_RUN_QUEUED, 1, 11);
    post_event(&of_user);
    post_event(&other);
    size_t queued = event_type_index(event_type_find(EV_RUN_QUEUED));
    const struct bus_meters *meters = bus_meters(bus);
    ck_assert_int_eq(bus_meters_published(meters, queued, BUS_ACTOR_SYSTEM), 1);
    ck_assert_int_eq(bus_meters_published(meters, queued, BUS_ACTOR_USER), 1);
    ck_assert_int_eq(bus_meters_published(meters, EVENT_TYPE_COUNT, BUS_ACTOR_OTHER), 1);
    ck_assert_int_eq(stats_now().delivered, 3);
    ck_assert_int_eq(meter_of(BUS_SSE_RUN, EV_RUN_QUEUED).counts[BUS_DELIVERED], 0);
    while (take_seq(sub) != 0) {
    }
    struct bus_meter meter = meter_of(BUS_SSE_RUN, EV_RUN_QUEUED);
    int64_t sum = 0;
    for (size_t i = 0; i < BUS_LATENCY_COUNT; i++)
        sum += meter.buckets[i];
    ck_assert_int_eq(meter.counts[BUS_DELIVERED], 2);
    ck_assert_int_eq(sum, 2);
    ck_assert_int_eq(meter_of(BUS_SSE_RUN, "com.example.x").counts[BUS_DELIVERED], 1);
    ck_assert_str_eq(bus_type_name(EVENT_TYPE_COUNT), "other");
    bus_unsubscribe(bus, sub);
}
END_TEST

/* ---- many threads ---- */

enum { CROWD = 4, CROWD_EVENTS = 300 };
static atomic_bool crowd_over;

/* Every subscriber sees what it sees in order, while others come and go. */
static void *come_and_go(void *arg)
{
    (void)arg;
    while (!crowd_over) {
        struct subscription *sub = subscribe(BUS_SSE_RUN);
        int64_t last = 0;
        for (int i = 0; i < 50; i++) {
            int64_t seq = take_seq(sub);
            ck_assert(seq == 0 || seq > last);
            last = seq == 0 ? last : seq;
        }
        bus_unsubscribe(bus, sub);
    }
    return NULL;
}

START_TEST(subscribers_come_and_go_while_events_are_posted)
{
    const struct bus_subscriber_rule rule = {"sse.*", 2, BUS_BLOCK, 1, {NULL, 0}};
    const struct bus_rules rules = rules_of(&rule);
    use_rules(&rules);
    pthread_t threads[CROWD];
    crowd_over = false;
    for (size_t i = 0; i < CROWD; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (int64_t seq = 1; seq <= CROWD_EVENTS; seq++)
        publish(seq, EV_RUN_QUEUED, 1, 1);
    crowd_over = true;
    for (size_t i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    ck_assert(bus_is_idle(bus));
}
END_TEST

Suite *bus_suite(void)
{
    Suite *suite = suite_create("bus");
    TCase *tc = tcase_create("bus");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, only_events_after_a_place_are_delivered);
    tcase_add_loop_test(tc, a_filter_lets_through_what_it_names, 0, (int)COUNT_OF(filters));
    tcase_add_test(tc, lines_of_the_log_and_events_do_not_meet);
    tcase_add_test(tc, a_subscriber_is_woken_once_per_filling);
    tcase_add_test(tc, a_waiter_wakes_when_something_arrives);
    tcase_add_test(tc, closing_wakes_every_waiter);
    tcase_add_test(tc, a_full_channel_drops_the_oldest_and_tells);
    tcase_add_test(tc, one_type_may_be_coalesced_while_others_are_not);
    tcase_add_test(tc, a_channel_is_bounded_in_bytes_too);
    tcase_add_test(tc, a_batch_is_bounded_and_tells_what_was_lost);
    tcase_add_test(tc, a_sender_waits_until_there_is_room);
    tcase_add_test(tc, a_sender_gives_up_when_the_budget_is_over_and_waits_no_more);
    tcase_add_test(tc, a_sender_does_not_wait_for_one_that_has_left);
    tcase_add_test(tc, a_post_beyond_the_budget_is_counted_and_logged);
    tcase_add_test(tc, an_event_that_cannot_be_sent_is_passed_over);
    tcase_add_test(tc, what_went_over_the_bus_is_counted);
    tcase_add_test(tc, subscribers_come_and_go_while_events_are_posted);
    suite_add_tcase(suite, tc);
    return suite;
}
