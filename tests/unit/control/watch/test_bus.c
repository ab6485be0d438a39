/*
 * The bus: filters, bounded channels, overflow rules, waking.
 */
#include "control/watch/bus.h"
#include "core/event_types.h"
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static struct bus *bus;

static void setup(void)
{
    bus = bus_new();
}

static void teardown(void)
{
    bus_free(bus);
}

static struct id id_number(int number)
{
    struct random random = random_seeded((uint64_t)number);
    return id_new(1000, &random);
}

static void publish(int64_t seq, const char *type, int task, int run)
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
    struct envelope *envelope = envelope_new(&event);
    bus_post(bus, envelope);
    envelope_unref(envelope);
}

START_TEST(an_event_that_is_too_large_has_no_envelope)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, 4 * ENVELOPE_BYTES_MAX);
    buf_adds(&data, "{\"x\":\"");
    for (size_t i = 0; i < ENVELOPE_BYTES_MAX; i++)
        buf_addc(&data, 'x');
    buf_adds(&data, "\"}");
    struct event event = {.seq = 1,
                          .id = id_number(9),
                          .type = "agent.task.completed",
                          .version = 1,
                          .actor = {"system", "drover"},
                          .data = buf_str(&data)};
    ck_assert_ptr_null(envelope_new(&event));
}
END_TEST

static struct subscription *subscribe(size_t capacity, enum bus_overflow overflow)
{
    struct subscription_options options = {
        .name = "test", .capacity = capacity, .overflow = overflow};
    return bus_subscribe(bus, &options);
}

static int64_t take_seq(struct subscription *sub)
{
    struct envelope *envelope = subscription_take(sub);
    int64_t seq = envelope != NULL ? envelope->seq : 0;
    envelope_unref(envelope);
    return seq;
}

START_TEST(only_events_after_a_place_are_delivered)
{
    const struct subscription_options options = {
        .name = "test", .filter = {.after_seq = 5}, .capacity = 1, .overflow = BUS_DROP_NEW};
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
    bus_unsubscribe(bus, sub);
}
END_TEST

static const struct {
    const char *pattern;
    int task, run;
    bool with_task;
    enum severity severity;
    const char *want; /* Which of the four events below come through. */
} filters[] = {
    {NULL, 0, 0, false, SEVERITY_DEBUG, "1234"},
    {"agent.run.*", 0, 0, false, SEVERITY_DEBUG, "23"},
    {"agent.>", 0, 0, false, SEVERITY_DEBUG, "1234"},
    {EV_TASK_SUBMITTED, 0, 0, false, SEVERITY_DEBUG, "1"},
    {NULL, 1, 0, false, SEVERITY_DEBUG, "12"},
    {NULL, 1, 11, false, SEVERITY_DEBUG, "2"},
    {NULL, 1, 11, true, SEVERITY_DEBUG, "12"},
    {NULL, 0, 0, false, SEVERITY_ERROR, "3"},
};

START_TEST(a_filter_lets_through_what_it_names)
{
    struct subscription_options options = {
        .capacity = 16,
        .filter = {.types = {filters[_i].pattern},
                   .with_task = filters[_i].with_task,
                   .min_severity = filters[_i].severity},
    };
    if (filters[_i].task > 0)
        options.filter.task_id = id_number(filters[_i].task);
    if (filters[_i].run > 0)
        options.filter.run_id = id_number(filters[_i].run);
    struct subscription *sub = bus_subscribe(bus, &options);
    publish(1, EV_TASK_SUBMITTED, 1, 0);
    publish(2, EV_RUN_QUEUED, 1, 11);
    publish(3, EV_RUN_FAILED, 2, 12);
    publish(4, EV_PR_CREATED, 2, 12);
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

START_TEST(a_full_channel_drops_the_oldest_and_counts)
{
    struct subscription *sub = subscribe(2, BUS_DROP_OLDEST);
    for (int i = 1; i <= 5; i++)
        publish(i, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(subscription_dropped(sub), 3);
    ck_assert_int_eq(subscription_dropped(sub), 0);
    ck_assert_int_eq(take_seq(sub), 4);
    ck_assert_int_eq(take_seq(sub), 5);
    ck_assert_int_eq(take_seq(sub), 0);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(a_full_channel_may_drop_the_new)
{
    struct subscription *sub = subscribe(2, BUS_DROP_NEW);
    for (int i = 1; i <= 5; i++)
        publish(i, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(take_seq(sub), 1);
    ck_assert_int_eq(take_seq(sub), 2);
    ck_assert_int_eq(subscription_dropped(sub), 3);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(coalescing_keeps_the_newest_of_a_kind)
{
    struct subscription *sub = subscribe(4, BUS_COALESCE);
    publish(1, EV_RUN_QUEUED, 1, 11);
    publish(2, EV_RUN_QUEUED, 2, 12);
    publish(3, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(take_seq(sub), 3);
    ck_assert_int_eq(take_seq(sub), 2);
    ck_assert_int_eq(take_seq(sub), 0);
    bus_unsubscribe(bus, sub);
}
END_TEST

static int wakes;
static void count_wake(void *ctx)
{
    (void)ctx;
    wakes++;
}

START_TEST(a_subscriber_is_woken_once_per_filling)
{
    wakes = 0;
    struct subscription_options options = {.capacity = 8, .wake = count_wake};
    struct subscription *sub = bus_subscribe(bus, &options);
    publish(1, EV_RUN_QUEUED, 1, 11);
    publish(2, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(wakes, 1);
    take_seq(sub);
    take_seq(sub);
    publish(3, EV_RUN_QUEUED, 1, 11);
    ck_assert_int_eq(wakes, 2);
    bus_unsubscribe(bus, sub);
}
END_TEST

static void *publish_later(void *arg)
{
    (void)arg;
    publish(7, EV_RUN_QUEUED, 1, 11);
    return NULL;
}

static void post(void *ctx)
{
    ck_assert_int_eq(sem_post(ctx), 0);
}

static struct subscription *subscribe_waiter(sem_t *woken)
{
    ck_assert_int_eq(sem_init(woken, 0, 0), 0);
    struct subscription_options options = {
        .name = "test", .capacity = 4, .overflow = BUS_DROP_OLDEST, .wake = post, .ctx = woken};
    return bus_subscribe(bus, &options);
}

START_TEST(a_waiter_wakes_when_something_arrives)
{
    sem_t woken;
    struct subscription *sub = subscribe_waiter(&woken);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, publish_later, NULL), 0);
    ck_assert_int_eq(sem_wait(&woken), 0); /* The time limit of the test is the limit. */
    struct envelope *envelope = subscription_take(sub);
    ck_assert_ptr_nonnull(envelope);
    ck_assert_int_eq(envelope->seq, 7);
    envelope_unref(envelope);
    pthread_join(thread, NULL);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(closing_wakes_every_waiter)
{
    sem_t woken;
    struct subscription *sub = subscribe_waiter(&woken);
    bus_close(bus);
    ck_assert_int_eq(sem_wait(&woken), 0);
    ck_assert_ptr_null(subscription_take(sub));
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(what_was_published_and_dropped_is_counted)
{
    struct subscription *sub = subscribe(1, BUS_DROP_OLDEST);
    publish(1, EV_RUN_QUEUED, 1, 11);
    publish(2, EV_RUN_QUEUED, 1, 11);
    struct bus_stats stats;
    subscription_dropped(sub); /* The subscriber has heard of it; the total stays. */
    bus_stats(bus, &stats);
    ck_assert_int_eq(stats.posted, 2);
    ck_assert_int_eq(stats.delivered, 2);
    ck_assert_int_eq(stats.dropped, 1);
    ck_assert_int_eq(stats.subscribers, 1);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(a_channel_is_bounded_in_bytes_too)
{
    struct subscription_options options = {
        .name = "test", .capacity = 100, .bytes_max = 1000, .overflow = BUS_DROP_OLDEST};
    struct subscription *sub = bus_subscribe(bus, &options);
    for (int64_t seq = 1; seq <= 50; seq++)
        publish(seq, EV_RUN_QUEUED, 1, 1);
    int64_t dropped = subscription_dropped(sub);
    ck_assert_int_gt(dropped, 40);
    ck_assert_int_lt(dropped, 50);
    for (int64_t seq = dropped + 1; seq <= 50; seq++)
        ck_assert_int_eq(take_seq(sub), seq);
    publish(51, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(take_seq(sub), 51);
    ck_assert_int_eq(subscription_dropped(sub), 0);
    bus_unsubscribe(bus, sub);
}
END_TEST

START_TEST(one_event_larger_than_the_channel_is_delivered)
{
    struct subscription_options options = {
        .name = "test", .capacity = 100, .bytes_max = 1, .overflow = BUS_DROP_OLDEST};
    struct subscription *sub = bus_subscribe(bus, &options);
    publish(1, EV_RUN_QUEUED, 1, 1);
    publish(2, EV_RUN_QUEUED, 1, 1);
    ck_assert_int_eq(subscription_dropped(sub), 1);
    ck_assert_int_eq(take_seq(sub), 2);
    bus_unsubscribe(bus, sub);
}
END_TEST

Suite *bus_suite(void)
{
    Suite *suite = suite_create("bus");
    TCase *tc = tcase_create("bus");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_event_that_is_too_large_has_no_envelope);
    tcase_add_test(tc, only_events_after_a_place_are_delivered);
    tcase_add_loop_test(tc, a_filter_lets_through_what_it_names, 0, (int)COUNT_OF(filters));
    tcase_add_test(tc, a_full_channel_drops_the_oldest_and_counts);
    tcase_add_test(tc, a_full_channel_may_drop_the_new);
    tcase_add_test(tc, coalescing_keeps_the_newest_of_a_kind);
    tcase_add_test(tc, a_subscriber_is_woken_once_per_filling);
    tcase_add_test(tc, a_waiter_wakes_when_something_arrives);
    tcase_add_test(tc, closing_wakes_every_waiter);
    tcase_add_test(tc, what_was_published_and_dropped_is_counted);
    tcase_add_test(tc, a_channel_is_bounded_in_bytes_too);
    tcase_add_test(tc, one_event_larger_than_the_channel_is_delivered);
    suite_add_tcase(suite, tc);
    return suite;
}
