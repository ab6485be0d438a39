/*
 * The tail beside streams that come and go: whoever subscribes and then asks how far the log was
 * told misses nothing behind that place.
 */
#include "base/fd.h"
#include "control/control.h"
#include "control/queue/queues.h"
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 1000 };

static struct store *store;
static struct control *control;
static atomic_bool stopping;

/* Every change of a queue leaves one event. */
static void *emit(void *arg)
{
    (void)arg;
    for (int i = 0; !stopping; i++) {
        struct cmd_queue *cmd = cmd_queue_new();
        cmd->name = "q";
        cmd->change = i % 2 == 0 ? QUEUE_PAUSE : QUEUE_RESUME;
        (void)committer_call(control_committer(control), &cmd->base);
        command_free(&cmd->base);
    }
    return NULL;
}

static void post(void *ctx)
{
    ck_assert_int_eq(sem_post(ctx), 0);
}

/* Woken once for each time that an event found the channel empty, so perhaps too often here. */
static int64_t take_seq(struct subscription *subscription, sem_t *woken)
{
    struct envelope *envelope;
    while ((envelope = subscription_take(subscription)) == NULL)
        ck_assert_int_eq(sem_wait(woken), 0); /* The time limit of the test is the limit. */
    int64_t seq = envelope->seq;
    envelope_unref(envelope);
    return seq;
}

/* Reads on from the place that the tail told; then nobody listens, for a moment. */
static void listen_once(void)
{
    sem_t woken;
    ck_assert_int_eq(sem_init(&woken, 0, 0), 0);
    struct subscription_options options = {.who = BUS_ORDERS, .wake = post, .ctx = &woken};
    struct subscription *subscription = bus_subscribe(control_bus(control), &options);
    int64_t appended = control_tail_seq(control), seq;
    do {
        seq = take_seq(subscription, &woken);
    } while (seq <= appended);
    ck_assert_msg(seq == appended + 1, "%lld was told, the next that came was %lld",
                  (long long)appended, (long long)seq);
    bus_unsubscribe(control_bus(control), subscription);
}

START_TEST(whoever_subscribes_and_then_asks_misses_nothing)
{
    struct err err = {0};
    char dir[] = "/tmp/tail-XXXXXX", url[64];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(url, sizeof url, "sqlite:%s/drover.db", dir);
    struct store_options options = {.url = url, .artifact_dir = dir};
    ck_assert_msg(store_open(&options, &store, &err) == RC_OK, "%s", err.text);
    struct control_options made = {
        .store = store, .clock = clock_real(), .random = random_seeded(7)};
    ck_assert_msg(control_start(&made, &control, &err) == RC_OK, "%s", err.text);
    pthread_t teller;
    ck_assert_int_eq(pthread_create(&teller, NULL, emit, NULL), 0);
    for (int i = 0; i < ROUNDS; i++)
        listen_once();
    stopping = true;
    pthread_join(teller, NULL);
    control_stop(control);
    store_close(store);
    ck_assert_int_eq(dir_remove(dir, &err), RC_OK);
}
END_TEST

Suite *tail_suite(void)
{
    Suite *suite = suite_create("tail");
    TCase *tc = tcase_create("tail");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, whoever_subscribes_and_then_asks_misses_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
