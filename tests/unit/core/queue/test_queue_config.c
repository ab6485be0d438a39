/*
 * The rules of a queue as a document: what it says is what comes out, what it must not say is
 * refused by name.
 */
#include "base/clock.h"
#include "core/queue/queue_config.h"
#include <check.h>
#include <string.h>

static enum rc decode(const char *json, struct queue_config *config, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(json, strlen(json), &tree, err), RC_OK);
    return queue_config_decode("q", tree, config, err);
}

static char *written(const struct queue_config *config, char to[2048])
{
    struct buf buf;
    buf_init(&buf, 2047);
    struct jw jw = jw_to(&buf);
    queue_config_write(&jw, config);
    memcpy(to, buf.data, buf.len);
    to[buf.len] = '\0';
    buf_release(&buf);
    return to;
}

START_TEST(what_is_written_reads_back_the_same)
{
    struct queue_config config, again;
    struct err err = {0};
    char text[2048], second[2048];
    ck_assert_int_eq(
        decode("{\"leaseMs\":500,\"maxAttempts\":7,\"ordering\":\"global\",\"concurrency\":2,"
               "\"ratePerSecond\":9,\"maxLength\":11,\"dedupWindowMs\":12,\"ttlMs\":13,"
               "\"backoff\":{\"baseMs\":1,\"maxMs\":2,\"jitterMs\":3},"
               "\"shed\":{\"dropLowAt\":4,\"deferNormalAt\":5,\"deferMs\":6},"
               "\"swarm\":{\"count\":7,\"action\":\"buffer\",\"windowMs\":8},"
               "\"deadLetters\":{\"retentionMs\":0,\"alertAt\":1},"
               "\"scale\":{\"min\":1,\"max\":2,\"jobsPerWorker\":3}}",
               &config, &err),
        RC_OK);
    ck_assert_int_eq(config.order, ORDER_GLOBAL);
    ck_assert_int_eq(config.lease_us, 500 * US_PER_MS);
    ck_assert_int_eq(config.swarm.action, SWARM_BUFFER);
    ck_assert_int_eq(decode(written(&config, text), &again, &err), RC_OK);
    ck_assert_str_eq(text, written(&again, second));
}
END_TEST

START_TEST(what_does_not_fit_is_refused_by_name)
{
    static const struct {
        const char *json, *field;
    } cases[] = {
        {"{\"leaseMs\":1}", "leaseMs"},
        {"{\"maxAttempts\":0}", "maxAttempts"},
        {"{\"ordering\":\"random\"}", "ordering"},
        {"{\"colour\":\"red\"}", "colour"},
        {"{\"backoff\":{\"base\":1}}", "backoff.base"},
        {"{\"shed\":[]}", "shed"},
        {"{\"swarm\":{\"action\":\"panic\"}}", "swarm.action"},
        {"{\"scale\":{\"min\":3,\"max\":2}}", "scale.min"},
        {"{\"batch\":{\"max\":2},\"ordering\":\"global\"}", "batch"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct queue_config config;
        struct err err = {0};
        ck_assert_msg(decode(cases[i].json, &config, &err) == RC_INVALID, "%s", cases[i].json);
        ck_assert_str_eq(err.field, cases[i].field);
    }
}
END_TEST

START_TEST(drovers_own_queues_take_what_comes)
{
    static const char *const rules[] = {"{\"ttlMs\":1}", "{\"maxLength\":1}",
                                        "{\"ordering\":\"none\"}", "{\"batch\":{\"max\":2}}"};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct queue_config config;
        struct err err = {0};
        CLEANUP(js_freep) struct js *tree = NULL;
        ck_assert_int_eq(js_parse(rules[i], strlen(rules[i]), &tree, &err), RC_OK);
        ck_assert_int_eq(queue_config_decode("drover.agent", tree, &config, &err), RC_INVALID);
    }
    ck_assert_int_eq(queue_config_default("drover.agent").max_attempts, 2);
}
END_TEST

START_TEST(steps_of_drover_wait_less_than_others)
{
    ck_assert_int_eq(queue_config_default("drover.verify").backoff.max_us, 10 * US_PER_SECOND);
    ck_assert_int_eq(queue_config_default("mail").backoff.max_us, 300 * US_PER_SECOND);
}
END_TEST

static const struct {
    const char *list, *name;
    enum rc rc;
} bounds[] = {
    {NULL, "agents", RC_OK},
    {"agents", "agents", RC_OK},
    {"mail agents far", "far", RC_OK},
    {"mail agents", "agent", RC_DENIED},
    {"mail agents", "agents2", RC_DENIED},
    {"mail agents", "mail agents", RC_DENIED},
    {"", "agents", RC_DENIED},
};

START_TEST(a_list_of_queues_allows_what_it_names)
{
    struct err err = {0};
    ck_assert_int_eq(queue_allowed(bounds[_i].list, bounds[_i].name, &err), bounds[_i].rc);
}
END_TEST

Suite *queue_config_suite(void)
{
    Suite *suite = suite_create("queue_config");
    TCase *tc = tcase_create("queue_config");
    tcase_add_test(tc, what_is_written_reads_back_the_same);
    tcase_add_test(tc, what_does_not_fit_is_refused_by_name);
    tcase_add_test(tc, drovers_own_queues_take_what_comes);
    tcase_add_test(tc, steps_of_drover_wait_less_than_others);
    tcase_add_loop_test(tc, a_list_of_queues_allows_what_it_names, 0, (int)COUNT_OF(bounds));
    suite_add_tcase(suite, tc);
    return suite;
}
