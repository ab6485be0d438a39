/*
 * test_bus_channel.c - channels: each kind of overflow, by number, by bytes and by type.
 */
#include "control/watch/bus_channel.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

enum { LOST_MAX = 64 };
static const struct channel_bytes no_limits;
static struct channel channel;
static char
    lost[LOST_MAX]; /* What was lost: the digit of its seq; coalesced: with a ~ before it. */

static void note(void *ctx, const struct envelope *envelope, bool coalesced)
{
    (void)ctx;
    size_t len = strlen(lost);
    (void)snprintf(lost + len, sizeof lost - len, "%s%d", coalesced ? "~" : "", (int)envelope->seq);
}

static void setup(void)
{
    lost[0] = '\0';
}

static void teardown(void)
{
    channel_release(&channel);
}

/* "3a" is event 3 of type a.x, "3a7" of run 7. */
static enum offer offer(const char *what, const struct bus_type_policy *rule)
{
    const struct channel_loss loss = {note, NULL};
    char type[] = "?.x";
    const char *why = NULL;
    struct random random = random_seeded(what[2] != '\0' ? (uint64_t)what[2] : 1);
    type[0] = what[1];
    struct event event = {.seq = what[0] - '0',
                          .type = type,
                          .version = 1,
                          .data = STR("{}"),
                          .run_id = id_new(1000, &random),
                          .actor = {"system", "drover"}};
    struct envelope *envelope = envelope_new(&event, &why);
    enum offer outcome = channel_offer(&channel, envelope, rule, &loss);
    envelope_unref(envelope);
    return outcome;
}

static const char *take_all(void)
{
    static char taken[LOST_MAX];
    size_t len = 0;
    struct envelope *envelope;
    while ((envelope = channel_take(&channel)) != NULL) {
        taken[len++] = (char)('0' + envelope->seq);
        envelope_unref(envelope);
    }
    taken[len] = '\0';
    return taken;
}

static const struct {
    const char *what; /* Offered, in turn. */
    size_t capacity;
    struct bus_type_policy rule;
    const char *taken, *lost;
    enum offer last;
} cases[] = {
    {"1a 2a 3a", 4, {BUS_DROP_OLDEST, NULL, 0}, "123", "", OFFER_TAKEN},
    {"1a 2a 3a 4a 5a", 2, {BUS_DROP_OLDEST, NULL, 0}, "45", "123", OFFER_TAKEN},
    {"1a 2a 3a", 2, {BUS_BLOCK, NULL, 0}, "12", "", OFFER_FULL},
    {"1a 2a 3a", 1, {BUS_SIGNAL, NULL, 0}, "1", "", OFFER_KNOWN},
    /* Of the same type and run only; the newer one has the place of the older. */
    {"1a7 2a8 3a7", 4, {BUS_COALESCE, NULL, 0}, "32", "~1", OFFER_TAKEN},
    {"1a7 2b7 3c7", 2, {BUS_COALESCE, NULL, 0}, "23", "1", OFFER_TAKEN},
    /* A capacity of its own: others are not touched. */
    {"1a 2b 3a 4a", 8, {BUS_DROP_OLDEST, "a.*", 2}, "234", "1", OFFER_TAKEN},
    {"1b 2a 3b 4a 5a", 8, {BUS_DROP_OLDEST, "a.*", 1}, "135", "24", OFFER_TAKEN},
    {"1a 2b 3a", 8, {BUS_BLOCK, "a.*", 1}, "12", "", OFFER_FULL},
};

START_TEST(what_does_not_fit_goes_by_its_rule)
{
    enum offer last = OFFER_TAKEN;
    channel_init(&channel, cases[_i].capacity, &no_limits);
    for (const char *at = cases[_i].what; *at != '\0';) {
        char one[4] = "";
        size_t len = strcspn(at, " ");
        memcpy(one, at, len);
        struct bus_type_policy rule = cases[_i].rule;
        if (rule.pattern != NULL && one[1] == 'b')
            rule = (struct bus_type_policy){
                .overflow = rule.overflow}; /* The rule is not about it. */
        last = offer(one, &rule);
        at += len + (at[len] == ' ' ? 1 : 0);
    }
    ck_assert_int_eq(last, cases[_i].last);
    ck_assert_str_eq(take_all(), cases[_i].taken);
    ck_assert_str_eq(lost, cases[_i].lost);
    ck_assert_uint_eq(channel.bytes, 0);
}
END_TEST

START_TEST(a_ring_grows_in_order_and_turns_round)
{
    const struct bus_type_policy rule = {.overflow = BUS_DROP_OLDEST};
    channel_init(&channel, 9, &no_limits);
    for (int round = 0; round < 5; round++) {
        for (int i = 1; i <= 9; i++)
            ck_assert_int_eq(offer((char[]){(char)('0' + i), 'a', '\0'}, &rule), OFFER_TAKEN);
        ck_assert_int_eq(channel_percent(&channel), 100);
        envelope_unref(channel_take(&channel));
        ck_assert_str_eq(take_all(), "23456789");
        ck_assert_int_eq(offer("1a", &rule), OFFER_TAKEN);
        ck_assert_str_eq(take_all(), "1");
    }
    ck_assert_str_eq(lost, "");
}
END_TEST

START_TEST(bytes_are_bounded_beside_the_newest)
{
    const struct bus_type_policy rule = {.overflow = BUS_DROP_OLDEST};
    channel_init(&channel, 100, &(struct channel_bytes){.max = 1});
    (void)offer("1a", &rule);
    (void)offer("2a", &rule);
    ck_assert_int_eq(channel_percent(&channel), 100);
    ck_assert_str_eq(take_all(), "2");
    ck_assert_str_eq(lost, "1");
}
END_TEST

/* Envelopes are shared: a channel may hold more while all of them are few. */
START_TEST(a_channel_holds_its_share_when_envelopes_are_many)
{
    const struct bus_type_policy rule = {.overflow = BUS_DROP_OLDEST};
    const struct channel_bytes roomy = {.max = 1000000, .fair = 1, .alive_max = 1000000};
    const struct channel_bytes scarce = {.max = 1000000, .fair = 1, .alive_max = 1};
    size_t before = envelope_bytes_alive();
    channel_init(&channel, 100, &roomy);
    (void)offer("1a", &rule);
    (void)offer("2a", &rule);
    ck_assert_uint_gt(envelope_bytes_alive(), before);
    ck_assert_str_eq(take_all(), "12");
    channel_release(&channel);
    ck_assert_uint_eq(envelope_bytes_alive(), before);
    channel_init(&channel, 100, &scarce);
    (void)offer("1a", &rule);
    (void)offer("2a", &rule);
    ck_assert_str_eq(take_all(), "2");
}
END_TEST

Suite *bus_channel_suite(void)
{
    Suite *suite = suite_create("bus_channel");
    TCase *tc = tcase_create("bus_channel");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_does_not_fit_goes_by_its_rule, 0, (int)COUNT_OF(cases));
    tcase_add_test(tc, a_ring_grows_in_order_and_turns_round);
    tcase_add_test(tc, bytes_are_bounded_beside_the_newest);
    tcase_add_test(tc, a_channel_holds_its_share_when_envelopes_are_many);
    suite_add_tcase(suite, tc);
    return suite;
}
