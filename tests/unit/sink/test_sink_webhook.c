/*
 * test_sink_webhook.c - events posted to a real HTTP server on loopback, which does as it is told.
 */
#include "base/clock.h"
#include "base/js.h"
#include "core/event_types.h"
#include "sink/sink.h"
#include "sink/webhook_request.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 60, KEYS = 3, GOT_MAX = 1000 };

/* The receiver, and what it accepted. */
static struct place {
    struct tiny_server *server;
    pthread_mutex_t lock;
    int64_t got[GOT_MAX]; /* Sequences, in order. */
    size_t got_count;
    size_t requests, now, most; /* Under way at once. */
    char last[64 * 1024];       /* The last request. */
    const char *status;         /* Of the answer for `bad`; NULL: none of HTTP. */
    const char *head;           /* More of that answer's head. */
    int64_t bad;                /* The sequence that it does not accept; 0: none. */
    bool stay_bad;              /* Else once. */
    bool hang;                  /* No answer at all for `bad`. */
    int pause_ms;               /* Before each answer. */
} place;

static void pause_for(int ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

/* All "logseq" in the request. */
static size_t sequences(const char *request, int64_t to[SINK_BATCH_RECORDS])
{
    size_t count = 0;
    const char *binary = strcasestr(request, "ce-logseq: ");
    if (binary != NULL)
        to[count++] = strtoll(binary + strlen("ce-logseq: "), NULL, 10);
    for (const char *at = request; (at = strstr(at, "\"logseq\":\"")) != NULL;)
        to[count++] = strtoll(at += strlen("\"logseq\":\""), NULL, 10);
    return count;
}

/* Under the lock: is one of them not accepted? */
static bool refuses(const int64_t *seqs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (seqs[i] == place.bad && place.bad != 0) {
            if (!place.stay_bad)
                place.bad = 0;
            return true;
        }
    }
    return false;
}

static bool receive(void *ctx, const char *request, int fd)
{
    int64_t seqs[SINK_BATCH_RECORDS];
    (void)ctx;
    size_t count = sequences(request, seqs);
    pthread_mutex_lock(&place.lock);
    place.requests++;
    place.most = ++place.now > place.most ? place.now : place.most;
    snprintf(place.last, sizeof place.last, "%s", request);
    bool refused = refuses(seqs, count);
    int pause_ms = place.pause_ms;
    pthread_mutex_unlock(&place.lock);
    pause_for(pause_ms);
    pthread_mutex_lock(&place.lock);
    for (size_t i = 0; i < count && !refused; i++)
        place.got[place.got_count++] = seqs[i];
    place.now--;
    pthread_mutex_unlock(&place.lock);
    char answer[512];
    if (refused && place.hang)
        return true;
    if (refused && place.status == NULL)
        tiny_send(fd, "what is HTTP?\r\n\r\n");
    else if (refused) {
        snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\n%sContent-Length: 0\r\n\r\n", place.status,
                 place.head != NULL ? place.head : "");
        tiny_send(fd, answer);
    } else
        tiny_send(fd, "HTTP/1.1 204 No Content\r\n\r\n");
    return !refused || place.status != NULL;
}

/* ---- the sink ---- */

static struct arena arena;
static struct sink_config config;
static void *sink;
static struct event events[RECORDS];
static struct sink_record records[RECORDS];
static struct buf json[RECORDS];

static enum rc decode(const char *text, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, err), RC_OK);
    return sink_config_decode(tree, "", "hook", &arena, &config, err);
}

static void open_with(const char *more)
{
    struct err err = {0};
    const char *text = arena_printf(&arena, "{\"type\":\"webhook\",\"url\":\"%s/in\"%s}",
                                    tiny_server_url(place.server), more);
    ck_assert_msg(decode(text, &err) == RC_OK, "%s", err.text);
    ck_assert_msg(config.ops->open(config.settings, &sink, &err) == RC_OK, "%s", err.text);
}

/* A third of the records is of each key, in turn. */
static void setup(void)
{
    struct random random = random_seeded(5);
    struct id runs[KEYS];
    memset(&place, 0, sizeof place);
    pthread_mutex_init(&place.lock, NULL);
    place.server = tiny_server_start(receive, NULL);
    sink = NULL;
    for (size_t i = 0; i < KEYS; i++)
        runs[i] = id_new(US_PER_SECOND, &random);
    for (size_t i = 0; i < RECORDS; i++) {
        events[i] = (struct event){.seq = (int64_t)i + 1,
                                   .id = id_new(US_PER_SECOND, &random),
                                   .type = EV_RUN_STARTED,
                                   .version = 1,
                                   .run_id = runs[i % KEYS],
                                   .subject = "run/\xc3\xa4 \"100%\"",
                                   .time_us = US_PER_SECOND,
                                   .actor = {"system", "drover"},
                                   .data = STR("{\"n\":1}")};
        buf_init(&json[i], 10000);
        struct jw jw = jw_to(&json[i]);
        event_write(&jw, &events[i]);
        records[i] = (struct sink_record){&events[i], buf_str(&json[i])};
    }
}

static void teardown(void)
{
    if (sink != NULL)
        config.ops->close(sink);
    tiny_server_stop(place.server);
    for (size_t i = 0; i < RECORDS; i++)
        buf_release(&json[i]);
    arena_release(&arena);
}

/* Delivers from `from` on until all are, or something else than a success comes. */
static struct sink_outcome deliver_all(size_t from)
{
    struct sink_outcome outcome = {.verdict = SINK_DELIVERED};
    while (from < RECORDS && outcome.verdict == SINK_DELIVERED) {
        outcome = config.ops->deliver(sink, &records[from], RECORDS - from);
        from += outcome.delivered;
    }
    outcome.delivered = from;
    return outcome;
}

/* Every one once but for `without`, and in order of each key. */
static void assert_got_all(int64_t without)
{
    int64_t last[KEYS] = {0};
    ck_assert_uint_eq(place.got_count, without != 0 ? RECORDS - 1 : RECORDS);
    for (size_t i = 0; i < place.got_count; i++) {
        size_t key = (size_t)(place.got[i] - 1) % KEYS;
        ck_assert_int_ne(place.got[i], without);
        ck_assert_int_gt(place.got[i], last[key]);
        last[key] = place.got[i];
    }
}

/* ---- requests ---- */

START_TEST(a_request_is_signed_as_standard_webhooks_say)
{
    struct err err = {0};
    struct webhook_keys keys = {.count = 1};
    struct webhook_request request;
    struct event event = {.type = EV_RUN_STARTED};
    /* The example of the libraries of that standard. */
    text_copy(event.id.text, sizeof event.id.text, "msg_p5jXN8AQM9LWM0D4loKWxJek");
    struct sink_record record = {&event, STR("{\"test\": 2432232314}")};
    ck_assert_int_eq(
        webhook_key_decode("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &arena, &keys.items[0], &err),
        RC_OK);
    const struct webhook_spec spec = {.keys = &keys,
                                      .now_us = INT64_C(1614265330) * US_PER_SECOND,
                                      .records = &record,
                                      .count = 1};
    ck_assert_int_eq(webhook_request_make(&spec, &arena, &request, &err), RC_OK);
    ck_assert_str_eq(request.headers[1].name, "webhook-id");
    ck_assert_str_eq(request.headers[1].value, "msg_p5jXN8AQM9LWM0D4loKWxJek");
    ck_assert_str_eq(request.headers[2].value, "1614265330");
    ck_assert_str_eq(request.headers[3].name, "webhook-signature");
    ck_assert_str_eq(request.headers[3].value, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    keys.items[1] = STR("another key of the same");
    keys.count = 2;
    ck_assert_int_eq(webhook_request_make(&spec, &arena, &request, &err), RC_OK);
    ck_assert_ptr_nonnull(
        strstr(request.headers[3].value, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,"));
}
END_TEST

START_TEST(keys_that_are_no_keys_are_refused)
{
    struct err err = {0};
    struct str key;
    ck_assert_int_eq(webhook_key_decode("short", &arena, &key, &err), RC_INVALID);
    ck_assert_int_eq(webhook_key_decode("whsec_not*base64", &arena, &key, &err), RC_INVALID);
}
END_TEST

START_TEST(attributes_of_a_binary_request_are_headers)
{
    open_with(",\"mode\":\"binary\"");
    ck_assert_int_eq(config.ops->deliver(sink, records, 1).verdict, SINK_DELIVERED);
    ck_assert_ptr_nonnull(strstr(place.last, "POST /in HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(place.last, "\r\nce-specversion: 1.0\r\n"));
    ck_assert_ptr_nonnull(strstr(place.last, "\r\nce-subject: run/%C3%A4%20%22100%25%22\r\n"));
    ck_assert_ptr_nonnull(strstr(place.last, "\r\nContent-Type: application/json\r\n"));
    ck_assert_ptr_nonnull(strstr(place.last, "\r\n\r\n{\"n\":1}"));
    ck_assert_ptr_null(strstr(place.last, "ce-data:"));
}
END_TEST

static const struct {
    const char *type, *data, *want;
    bool binary;
} bodies[] = {
    {"text/plain", "\"a \\\"b\\\"\"", "Content-Type: text/plain\r\n\r\na \"b\"", false},
    {"application/json", "\"a\"", "Content-Type: application/json\r\n\r\n\"a\"", false},
    {NULL, "\"a\"", "Content-Type: application/json\r\n\r\n\"a\"", false},
    {"image/png", "\"iVBORw==\"", "Content-Type: image/png\r\n\r\n\x89PNG", true},
    {NULL, "\"iVBORw==\"", "Content-Type: application/octet-stream\r\n\r\n\x89PNG", true},
};

/* As its sender had it, who may have sent it in binary mode. */
START_TEST(the_body_of_a_binary_request_is_the_data_as_it_was)
{
    struct err err = {0};
    struct webhook_keys keys = {0};
    struct webhook_request request;
    struct event event = {.type = "com.example.x"};
    const char *want = bodies[_i].want, *type = bodies[_i].type;
    const char *body = strstr(want, "\r\n\r\n") + 4;
    const char *text = arena_printf(&arena, "{\"id\":\"1\",%s%s%s\"%s\":%s}",
                                    type != NULL ? "\"datacontenttype\":\"" : "",
                                    type != NULL ? type : "", type != NULL ? "\"," : "",
                                    bodies[_i].binary ? "data_base64" : "data", bodies[_i].data);
    struct sink_record record = {&event, str_of(text)};
    const struct webhook_spec spec = {
        .mode = WEBHOOK_BINARY, .keys = &keys, .records = &record, .count = 1};
    ck_assert_msg(webhook_request_make(&spec, &arena, &request, &err) == RC_OK, "%s", err.text);
    ck_assert_uint_eq(request.body.len, strlen(body));
    ck_assert_int_eq(memcmp(request.body.at, body, request.body.len), 0);
    for (size_t i = 0; request.headers[i].name != NULL; i++) {
        ck_assert_ptr_null(strstr(request.headers[i].name, "data"));
        if (text_same(request.headers[i].name, "Content-Type"))
            ck_assert_msg(text_starts(want + strlen("Content-Type: "), request.headers[i].value),
                          "%s", request.headers[i].value);
    }
}
END_TEST

/* ---- delivery ---- */

START_TEST(many_are_under_way_and_the_order_of_each_key_is_kept)
{
    place.pause_ms = 5;
    open_with("");
    struct sink_outcome outcome = config.ops->deliver(sink, records, RECORDS);
    ck_assert_uint_gt(outcome.delivered, KEYS); /* One call sends more than one of each key. */
    ck_assert_int_eq(deliver_all(outcome.delivered).verdict, SINK_DELIVERED);
    assert_got_all(0);
    ck_assert_uint_gt(place.most, 1);
    ck_assert_uint_le(place.most, KEYS); /* One of each key. */
    ck_assert_ptr_nonnull(strstr(place.last, "Content-Type: application/cloudevents+json"));
    ck_assert_ptr_nonnull(strstr(place.last, "\r\nwebhook-timestamp: "));
    ck_assert_ptr_null(strstr(place.last, "webhook-signature"));
}
END_TEST

static const struct answer_row {
    const char *status, *head;
    bool refused;
    int64_t retry_ms;
} answers[] = {
    {"408 Request Timeout", NULL, false, 0},
    {"425 Too Early", NULL, false, 0},
    {"429 Too Many Requests", "Retry-After: 7\r\n", false, 7000},
    {"429 Too Many Requests", "Retry-After: 9223372036854775807\r\n", false, 86400000},
    {"500 Internal Server Error", NULL, false, 0},
    {"503 Service Unavailable", NULL, false, 0},
    {"302 Found", "Location: http://127.0.0.1:1/\r\n", false, 0},
    {NULL, NULL, false, 0}, /* Garbage. */
    {"400 Bad Request", NULL, true, 0},
    {"401 Unauthorized", NULL, true, 0},
    {"410 Gone", NULL, true, 0},
    {"422 Unprocessable Content", NULL, true, 0},
};

/* What was accepted behind the one that failed is not sent again. */
START_TEST(a_status_decides_what_becomes_of_an_event)
{
    const struct answer_row *row = &answers[_i];
    place.bad = 8;
    place.status = row->status;
    place.head = row->head;
    open_with("");
    struct sink_outcome outcome = deliver_all(0);
    ck_assert_int_eq(outcome.verdict, row->refused ? SINK_REFUSED : SINK_RETRY);
    ck_assert_uint_le(outcome.delivered, 7); /* After a failure no other request is begun. */
    ck_assert(!row->refused || outcome.delivered == 7);
    ck_assert_int_eq(outcome.why.retry_ms, row->retry_ms);
    ck_assert_ptr_nonnull(strstr(outcome.why.text, "127.0.0.1"));
    outcome = deliver_all(outcome.delivered + row->refused);
    ck_assert_int_eq(outcome.verdict, SINK_DELIVERED);
    assert_got_all(row->refused ? 8 : 0);
}
END_TEST

START_TEST(a_receiver_that_does_not_answer_is_left_in_time)
{
    place.bad = 1;
    place.hang = true;
    open_with(",\"timeoutMs\":200");
    struct sink_outcome outcome = config.ops->deliver(sink, records, 1);
    ck_assert_int_eq(outcome.verdict, SINK_RETRY);
    ck_assert_uint_eq(outcome.delivered, 0);
    place.hang = false;
    ck_assert_int_eq(deliver_all(0).verdict, SINK_DELIVERED);
}
END_TEST

START_TEST(a_slow_receiver_gets_them_in_several_calls)
{
    place.pause_ms = 150;
    open_with(",\"timeoutMs\":4000,\"connections\":1");
    struct sink_outcome outcome = config.ops->deliver(sink, records, RECORDS);
    ck_assert_int_eq(outcome.verdict, SINK_DELIVERED); /* Nothing failed: the rest comes again. */
    ck_assert_uint_ge(outcome.delivered, 1);
    ck_assert_uint_lt(outcome.delivered, RECORDS);
    place.pause_ms = 0;
    ck_assert_int_eq(deliver_all(outcome.delivered).verdict, SINK_DELIVERED);
    assert_got_all(0);
}
END_TEST

START_TEST(a_batch_that_is_refused_is_cut_until_one_stands_alone)
{
    place.bad = 23;
    place.stay_bad = true;
    place.status = "422 No";
    open_with(",\"mode\":\"batch\",\"batchEvents\":16");
    struct sink_outcome outcome = deliver_all(0);
    ck_assert_int_eq(outcome.verdict, SINK_REFUSED);
    ck_assert_uint_eq(outcome.delivered, 22);
    ck_assert_int_eq(deliver_all(23).verdict, SINK_DELIVERED);
    assert_got_all(23);
    ck_assert_uint_eq(place.most, 1);
    ck_assert_uint_lt(place.requests, 20);
    ck_assert_ptr_nonnull(strstr(place.last, "Content-Type: application/cloudevents-batch+json"));
}
END_TEST

START_TEST(a_receiver_that_is_away_is_tried_again)
{
    open_with("");
    tiny_server_stop(place.server);
    struct sink_outcome outcome = config.ops->deliver(sink, records, RECORDS);
    ck_assert_int_eq(outcome.verdict, SINK_RETRY);
    ck_assert_uint_eq(outcome.delivered, 0);
    place.server = tiny_server_start(receive, NULL);
}
END_TEST

/* ---- configuration ---- */

static const struct {
    const char *text, *field;
} faulty[] = {
    {"{\"type\":\"webhook\"}", "url"},
    {"{\"type\":\"webhook\",\"url\":\"http://h/\",\"urlEnv\":\"X\"}", "url"},
    {"{\"type\":\"webhook\",\"url\":\"ftp://h/\"}", "url"},
    {"{\"type\":\"webhook\",\"url\":\"https://u:p@h/\"}", "url"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/?token=x\"}", "url"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"mode\":\"odd\"}", "mode"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"timeoutMs\":5000}", "timeoutMs"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"connections\":17}", "connections"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"batchEvents\":257}", "batchEvents"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"oldSecretEnv\":\"X\"}", "oldSecretEnv"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"secret\":\"x\"}", "secret"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"name\":\"other\"}", "name"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"from\":0}", "from"},
    {"{\"type\":\"webhook\",\"url\":\"https://h/\",\"from\":\"yesterday\"}", "from"},
};

START_TEST(a_configuration_that_is_wrong_is_refused_by_name)
{
    struct err err = {0};
    ck_assert_int_eq(decode(faulty[_i].text, &err), RC_INVALID);
    ck_assert_str_eq(err.field, faulty[_i].field);
}
END_TEST

START_TEST(a_sink_may_start_at_a_place_or_a_time)
{
    struct err err = {0};
    ck_assert_int_eq(decode("{\"type\":\"webhook\",\"url\":\"https://h\",\"from\":12}", &err),
                     RC_OK);
    ck_assert_int_eq(config.from.kind, SINK_FROM_SEQ);
    ck_assert_int_eq(config.from.value, 12);
    ck_assert_int_eq(decode("{\"type\":\"webhook\",\"urlEnv\":\"HOOK\","
                            "\"from\":\"1970-01-01T00:00:01Z\"}",
                            &err),
                     RC_OK);
    ck_assert_int_eq(config.from.kind, SINK_FROM_TIME);
    ck_assert_int_eq(config.from.value, US_PER_SECOND);
    ck_assert_str_eq(config.ops->target(config.settings), "HOOK");
}
END_TEST

START_TEST(a_key_in_a_file_that_is_replaced_is_used_at_once)
{
    char path[] = "/tmp/sink-key-XXXXXX", old[512];
    int fd = mkstemp(path);
    ck_assert_int_eq(dprintf(fd, "the first key of the sink\n"), 26);
    open_with(arena_printf(&arena, ",\"secretFile\":\"%s\"", path));
    ck_assert_int_eq(config.ops->deliver(sink, records, 1).verdict, SINK_DELIVERED);
    const char *signature = strstr(place.last, "webhook-signature: ");
    ck_assert_ptr_nonnull(signature);
    snprintf(old, sizeof old, "%.60s", signature);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(config.ops->deliver(sink, records, 1).verdict, SINK_RETRY); /* Empty. */
    ck_assert_int_eq(pwrite(fd, "the second key of the sink", 26, 0), 26);
    ck_assert_int_eq(config.ops->deliver(sink, records, 1).verdict, SINK_DELIVERED);
    ck_assert_ptr_null(strstr(place.last, old));
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(a_variable_that_is_missing_is_named)
{
    struct err err = {0};
    ck_assert_int_eq(decode("{\"type\":\"webhook\",\"url\":\"https://h\","
                            "\"secretEnv\":\"NO_SUCH_SECRET\"}",
                            &err),
                     RC_OK);
    ck_assert_int_eq(config.ops->open(config.settings, &sink, &err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "NO_SUCH_SECRET"));
}
END_TEST

/* The error is shown to people who may only read, and logged. */
START_TEST(a_secret_address_with_a_mistake_is_in_no_message)
{
    static const char *const values[] = {"hooks.example.org/s3cret", "https//h/s3cret",
                                         "htps://s3cret.example.org/", "https://u:s3cret@h/"};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct err err = {0};
        ck_assert_int_eq(setenv("SINK_TEST_URL", values[i], 1), 0);
        ck_assert_int_eq(decode("{\"type\":\"webhook\",\"urlEnv\":\"SINK_TEST_URL\"}", &err),
                         RC_OK);
        ck_assert_int_eq(config.ops->open(config.settings, &sink, &err), RC_INVALID);
        ck_assert_ptr_nonnull(strstr(err.text, "SINK_TEST_URL"));
        ck_assert_msg(strstr(err.text, "s3cret") == NULL, "%s", err.text);
    }
    ck_assert_int_eq(unsetenv("SINK_TEST_URL"), 0);
}
END_TEST

Suite *sink_webhook_suite(void)
{
    Suite *suite = suite_create("sink_webhook");
    TCase *tc = tcase_create("webhook");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_request_is_signed_as_standard_webhooks_say);
    tcase_add_test(tc, keys_that_are_no_keys_are_refused);
    tcase_add_test(tc, attributes_of_a_binary_request_are_headers);
    tcase_add_loop_test(tc, the_body_of_a_binary_request_is_the_data_as_it_was, 0,
                        (int)COUNT_OF(bodies));
    tcase_add_test(tc, many_are_under_way_and_the_order_of_each_key_is_kept);
    tcase_add_loop_test(tc, a_status_decides_what_becomes_of_an_event, 0, (int)COUNT_OF(answers));
    tcase_add_test(tc, a_receiver_that_does_not_answer_is_left_in_time);
    tcase_add_test(tc, a_slow_receiver_gets_them_in_several_calls);
    tcase_add_test(tc, a_batch_that_is_refused_is_cut_until_one_stands_alone);
    tcase_add_test(tc, a_receiver_that_is_away_is_tried_again);
    tcase_add_loop_test(tc, a_configuration_that_is_wrong_is_refused_by_name, 0,
                        (int)COUNT_OF(faulty));
    tcase_add_test(tc, a_sink_may_start_at_a_place_or_a_time);
    tcase_add_test(tc, a_key_in_a_file_that_is_replaced_is_used_at_once);
    tcase_add_test(tc, a_variable_that_is_missing_is_named);
    tcase_add_test(tc, a_secret_address_with_a_mistake_is_in_no_message);
    suite_add_tcase(suite, tc);
    return suite;
}
