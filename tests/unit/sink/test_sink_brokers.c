/*
 * test_sink_brokers.c - the configuration of sinks that are brokers: what it refuses, and that no
 * secret is in it.  What they do is tested with real brokers (tests/e2e/sink_*.test.mjs).
 */
#include "base/arena.h"
#include "base/fd.h"
#include "base/js.h"
#include "sink/secret.h"
#include "sink/sink.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static enum rc decode(const char *members, struct arena *arena, struct sink_config *ret_config,
                      struct err *err)
{
    CLEANUP(js_freep) struct js *array = NULL;
    struct sink_configs configs = {0};
    const char *text = arena_printf(arena, "[{\"name\":\"bus\",%s}]", members);
    ck_assert_msg(js_parse(text, strlen(text), &array, err) == RC_OK, "%s", text);
    enum rc rc = sink_configs_decode(array, "sinks", arena, &configs, err);
    if (rc == RC_OK)
        *ret_config = configs.items[0];
    return rc;
}

#define NATS   "\"type\":\"nats\",\"servers\":[\"nats://a:4222\"]"
#define KAFKA  "\"type\":\"kafka\",\"brokers\":[\"a:9092\"]"
#define RABBIT "\"type\":\"rabbitmq\",\"host\":\"a\""

START_TEST(a_target_names_the_place_and_no_secret)
{
    static const struct {
        const char *members, *target;
    } table[] = {
        {NATS, "nats://a:4222 stream drover subject drover.>"},
        {NATS ",\"stream\":\"S\",\"subject\":\"x.y\",\"user\":\"u\",\"passwordEnv\":\"HOME\"",
         "nats://a:4222 stream S subject x.y.>"},
        {"\"type\":\"nats\",\"servers\":[\"tls://a:1\",\"tls://b:2\"],\"tokenFile\":\"/t\"",
         "tls://a:1,... stream drover subject drover.>"},
        {KAFKA, "a:9092 topic agent.events.v1"},
        {"\"type\":\"kafka\",\"brokers\":[\"a:1\",\"b:2\"],\"topic\":\"agent.{context}.events.v1\"",
         "a:1,b:2 topic agent.{context}.events.v1"},
        {KAFKA ",\"security\":\"sasl_ssl\",\"mechanism\":\"SCRAM-SHA-256\",\"user\":\"u\","
               "\"passwordFile\":\"/p\"",
         "a:9092 topic agent.events.v1"},
        {RABBIT, "amqp://a:5672 vhost / exchange drover.events"},
        {RABBIT ",\"tls\":true,\"vhost\":\"v\",\"exchange\":\"x\",\"user\":\"u\","
                "\"passwordEnv\":\"P\",\"unroutable\":\"refuse\"",
         "amqps://a:5671 vhost v exchange x"},
        {RABBIT ",\"tls\":true,\"port\":77", "amqps://a:77 vhost / exchange drover.events"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct sink_config config = {0};
        ck_assert_msg(decode(table[i].members, &arena, &config, &err) == RC_OK, "%s: %s",
                      table[i].members, err.text);
        ck_assert_str_eq(config.ops->target(config.settings), table[i].target);
        ck_assert(config.ops->same(config.settings, config.settings));
        ck_assert(!config.ops->target_is_path);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(what_cannot_work_is_refused_by_name)
{
    static const struct {
        const char *members, *field, *text;
    } table[] = {
        {"\"type\":\"nats\"", "sinks[0].servers", "required"},
        {"\"type\":\"nats\",\"servers\":[]", "sinks[0].servers", "at least one"},
        {"\"type\":\"nats\",\"servers\":[\"http://a\"]", "sinks[0].servers", "nats://HOST:PORT"},
        {"\"type\":\"nats\",\"servers\":[\"nats://u:hunter2@a\"]", "sinks[0].servers",
         "passwordEnv"},
        {NATS ",\"stream\":\"a.b\"", "sinks[0].stream", "no dots"},
        {NATS ",\"subject\":\"a..b\"", "sinks[0].subject", "single dots"},
        {NATS ",\"subject\":\"a.>\"", "sinks[0].subject", "letters"},
        {NATS ",\"subject\":\"a.\"", "sinks[0].subject", "single dots"},
        {NATS ",\"replicas\":6", "sinks[0].replicas", "5"},
        {NATS ",\"user\":\"u\"", "sinks[0].user", "passwordEnv"},
        {NATS ",\"tokenEnv\":\"A\",\"credentialsFile\":\"/c\"", "sinks[0].user", "one of"},
        {NATS ",\"tokenEnv\":\"A\",\"tokenFile\":\"/c\"", "sinks[0].tokenFile", "not both"},
        {NATS ",\"tokenEnv\":\"not one\"", "sinks[0].tokenEnv", "environment variable"},
        {NATS ",\"tokenFile\":\"here\"", "sinks[0].tokenFile", "absolute"},
        {NATS ",\"caFile\":\"here\"", "sinks[0].caFile", "absolute"},
        {NATS ",\"password\":\"hunter2\"", "sinks[0].password", "not a known field"},
        {"\"type\":\"kafka\"", "sinks[0].brokers", "required"},
        {"\"type\":\"kafka\",\"brokers\":[]", "sinks[0].brokers", "at least one"},
        {"\"type\":\"kafka\",\"brokers\":[\"kafka://a\"]", "sinks[0].brokers", "HOST:PORT"},
        {KAFKA ",\"topic\":\"a/b\"", "sinks[0].topic", "{context}"},
        {KAFKA ",\"topic\":\"{context}.{context}\"", "sinks[0].topic", "one {context}"},
        {KAFKA ",\"topic\":\"..\"", "sinks[0].topic", "letters"},
        {KAFKA ",\"user\":\"u\"", "sinks[0].security", "only they"},
        {KAFKA ",\"security\":\"sasl_ssl\"", "sinks[0].security", "need user"},
        {KAFKA ",\"security\":\"none\"", "sinks[0].security", "plaintext"},
        {"\"type\":\"rabbitmq\"", "sinks[0].host", "required"},
        {"\"type\":\"rabbitmq\",\"host\":\"amqp://u:hunter2@a\"", "sinks[0].host", "not a URL"},
        {RABBIT ",\"user\":\"u\"", "sinks[0].user", "passwordEnv"},
        {RABBIT ",\"port\":0", "sinks[0].port", "1"},
        {RABBIT ",\"unroutable\":\"drop\"", "sinks[0].unroutable", "refuse"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct sink_config config = {0};
        ck_assert_msg(decode(table[i].members, &arena, &config, &err) == RC_INVALID, "%s",
                      table[i].members);
        ck_assert_str_eq(err.field, table[i].field);
        ck_assert_msg(strstr(err.text, table[i].text) != NULL, "%s: %s", table[i].members,
                      err.text);
        ck_assert_ptr_null(strstr(err.text, "hunter2"));
        arena_release(&arena);
    }
}
END_TEST

static enum rc read_secret(struct sink_secret secret, const char *want, struct err *err)
{
    struct sink_secret_value value;
    enum rc rc = sink_secret_read(&secret, &value, err);
    if (rc == RC_OK)
        ck_assert_str_eq(value.text, want);
    return rc;
}

START_TEST(a_secret_is_read_from_a_variable_or_a_file)
{
    char dir[] = "/tmp/secret-XXXXXX";
    struct arena arena = {0};
    struct err err = {0};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    const char *path = arena_printf(&arena, "%s/password", dir);
    struct sink_secret variable = {.variable = "SINK_TEST_SECRET"}, file = {.file = path};
    ck_assert_int_eq(read_secret((struct sink_secret){0}, "", &err), RC_OK);
    ck_assert_int_eq(unsetenv("SINK_TEST_SECRET"), 0);
    ck_assert_int_eq(read_secret(variable, "", &err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "no variable SINK_TEST_SECRET"));
    ck_assert_int_eq(setenv("SINK_TEST_SECRET", "hunter2", 1), 0);
    ck_assert_int_eq(read_secret(variable, "hunter2", &err), RC_OK);
    ck_assert_int_eq(setenv("SINK_TEST_SECRET", "hunter2\nhunter3", 1), 0);
    ck_assert_int_eq(read_secret(variable, "", &err), RC_INVALID);
    ck_assert_ptr_null(strstr(err.text, "hunter"));
    ck_assert_int_eq(read_secret(file, "", &err), RC_NOT_FOUND);
    ck_assert_int_eq(file_write_durable(path, "hunter4\n", 8, 0600, &err), RC_OK);
    ck_assert_int_eq(read_secret(file, "hunter4", &err), RC_OK);
    ck_assert_int_eq(file_write_durable(path, "\n", 1, 0600, &err), RC_OK);
    ck_assert_int_eq(read_secret(file, "", &err), RC_INVALID);
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
    arena_release(&arena);
}
END_TEST

Suite *sink_brokers_suite(void)
{
    Suite *suite = suite_create("sink_brokers");
    TCase *tc = tcase_create("brokers");
    tcase_add_test(tc, a_target_names_the_place_and_no_secret);
    tcase_add_test(tc, what_cannot_work_is_refused_by_name);
    tcase_add_test(tc, a_secret_is_read_from_a_variable_or_a_file);
    suite_add_tcase(suite, tc);
    return suite;
}
