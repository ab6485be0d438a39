/*
 * test_port_http.c - the lease port over HTTP, against a server that answers what the test says.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include "work/job/port_http.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef fail /* A macro of check, and a call of the port. */
#define JOB_ID "01a1e111-4280-788b-8f9d-658fd086a1f4"

static struct tiny_server *server;
static struct port_http *http;
static struct port *port;
static struct err err;
static char last_request[8192];
static const char *status, *answer;
static atomic_bool asked;
static const struct port_ref lease = {.id = {JOB_ID}, .epoch = 7};

static bool respond(void *ctx, const char *request, int fd)
{
    (void)ctx;
    (void)snprintf(last_request, sizeof last_request, "%s", request);
    tiny_answer(fd, status, "application/json", answer);
    return true;
}

/* Never answers. */
static bool hang(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    char byte;
    atomic_store(&asked, true);
    (void)!read(fd, &byte, 1);
    return false;
}

static void open_with(tiny_handler *handler)
{
    server = tiny_server_start(handler, NULL);
    const struct port_http_options options = {.url = tiny_server_url(server), .token = "t0k3n"};
    ck_assert_int_eq(port_http_new(&options, &http, &err), RC_OK);
    port = port_http_port(http);
}

static void close_all(void)
{
    port_http_free(http);
    tiny_server_stop(server);
}

static void says(const char *with_status, const char *text)
{
    status = with_status;
    answer = text;
}

static void ck_asked(const char *text)
{
    ck_assert_msg(strstr(last_request, text) != NULL, "no %s in %s", text, last_request);
}

static enum rc lease_one(struct arena *arena, struct port_job **jobs, size_t *count)
{
    static const char *const queues[] = {"drover.agent", "drover.verify", NULL};
    const struct port_lease_request request = {
        .queues = queues, .worker = "w/0", .max = 1, .wait_ms = 20000, .lease_ms = 15000};
    return port->ops->lease(port, &request, arena, jobs, count, &err);
}

START_TEST(a_lease_is_asked_for_and_read)
{
    struct arena arena = {0};
    struct port_job *jobs = NULL;
    size_t count = 0;
    open_with(respond);
    says("200 OK", "{\"jobs\":[{\"id\":\"" JOB_ID "\",\"queue\":\"drover.agent\","
                   "\"type\":\"agent\",\"payload\":{\"a\":[1]},\"headers\":{\"b\":2},\"attempt\":2,"
                   "\"epoch\":9,"
                   "\"leaseUntil\":\"2026-07-03T12:00:00Z\"}]}");
    ck_assert_int_eq(lease_one(&arena, &jobs, &count), RC_OK);
    ck_asked("POST /v1/jobs/lease ");
    ck_asked("Authorization: Bearer t0k3n");
    ck_asked("\"queues\":[\"drover.agent\",\"drover.verify\"]");
    ck_asked("\"waitMs\":20000");
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(jobs[0].id.text, JOB_ID);
    ck_assert_str_eq(jobs[0].type, "agent");
    ck_assert(str_is(jobs[0].payload, "{\"a\":[1]}"));
    ck_assert(str_is(jobs[0].headers, "{\"b\":2}"));
    ck_assert_int_eq(jobs[0].attempt, 2);
    ck_assert_int_eq(jobs[0].epoch, 9);
    ck_assert_int_gt(jobs[0].lease_until_us, 0);
    says("200 OK", "{\"jobs\":[]}");
    ck_assert_int_eq(lease_one(&arena, &jobs, &count), RC_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(tiny_server_connections(server), 1); /* Kept between calls. */
    arena_release(&arena);
    close_all();
}
END_TEST

START_TEST(a_reply_goes_to_who_asked)
{
    static const struct {
        const char *status;
        enum rc rc;
    } table[] = {
        {"200 OK", RC_OK},
        {"404 Not Found", RC_NOT_FOUND},
        {"409 Conflict", RC_CONFLICT},
        {"503 Busy", RC_BUSY},
    };
    open_with(respond);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        says(table[i].status, "");
        ck_assert_int_eq(port_http_reply(http, "a/b", STR("[1]"), &err), table[i].rc);
        ck_asked("POST /v1/replies/a%2Fb ");
        ck_asked("{\"payload\":[1]}");
    }
    close_all();
}
END_TEST

static void *interrupt_soon(void *ctx)
{
    (void)ctx;
    while (!atomic_load(&asked))
        (void)usleep(1000);
    port->ops->interrupt(port);
    return NULL;
}

START_TEST(an_interrupt_ends_a_lease_that_waits)
{
    struct arena arena = {0};
    struct port_job *jobs = NULL;
    size_t count = 99;
    pthread_t thread;
    atomic_store(&asked, false);
    open_with(hang);
    int64_t begin_us = clock_mono_us();
    ck_assert_int_eq(pthread_create(&thread, NULL, interrupt_soon, NULL), 0);
    ck_assert_int_eq(lease_one(&arena, &jobs, &count), RC_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_lt(clock_mono_us() - begin_us, 18 * US_PER_SECOND);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    arena_release(&arena);
    close_all();
}
END_TEST

START_TEST(one_heartbeat_renews_all_leases)
{
    const struct port_ref leases[] = {lease, {.id = {JOB_ID}, .epoch = 8}};
    struct port_beat beats[2] = {0};
    open_with(respond);
    says("200 OK", "{\"leases\":[{\"id\":\"" JOB_ID "\",\"ok\":true,\"cancel\":true,"
                   "\"hold\":\"paused\",\"messageSeq\":3},"
                   "{\"id\":\"" JOB_ID "\",\"ok\":false,\"code\":\"LEASE_LOST\"}]}");
    ck_assert_int_eq(port->ops->heartbeat(port, "w", leases, 2, 15000, beats, &err), RC_OK);
    ck_asked("{\"id\":\"" JOB_ID "\",\"epoch\":7},{\"id\":\"" JOB_ID "\",\"epoch\":8}");
    ck_assert(beats[0].ok && beats[0].cancel);
    ck_assert_int_eq(beats[0].hold, PORT_HOLD_PAUSED);
    ck_assert_int_eq(beats[0].message_seq, 3);
    ck_assert(!beats[1].ok);
    ck_assert_int_eq(beats[1].hold, PORT_HOLD_NONE);
    ck_assert_int_eq(beats[1].message_seq, 0);
    /* An answer about something else is no answer. */
    says("200 OK", "{\"leases\":[]}");
    ck_assert_int_eq(port->ops->heartbeat(port, "w", leases, 2, 15000, beats, &err), RC_IO);
    close_all();
}
END_TEST

START_TEST(one_call_shows_the_life_of_all_jobs)
{
    const struct port_ref leases[] = {lease, {.id = {JOB_ID}, .epoch = 8}};
    open_with(respond);
    says("200 OK", "{\"jobs\":[{\"id\":\"" JOB_ID "\",\"ok\":true},"
                   "{\"id\":\"" JOB_ID "\",\"ok\":false,\"code\":\"LEASE_LOST\"}]}");
    ck_assert_int_eq(port->ops->show_life(port, leases, 2, &err), RC_OK);
    ck_asked("POST /v1/jobs/progress ");
    ck_asked("{\"jobs\":[{\"id\":\"" JOB_ID "\",\"epoch\":7,\"events\":[]},"
             "{\"id\":\"" JOB_ID "\",\"epoch\":8,\"events\":[]}]}");
    says("503 Service Unavailable", "{\"code\":\"BUSY\"}");
    ck_assert_int_eq(port->ops->show_life(port, leases, 2, &err), RC_BUSY);
    close_all();
}
END_TEST

/* What the server says about a report, and what that means. */
static const struct {
    const char *status, *answer;
    enum rc rc;
} reports[] = {
    {"200 OK", "{\"jobs\":[{\"id\":\"" JOB_ID "\",\"ok\":true}]}", RC_OK},
    {"200 OK", "{\"jobs\":[{\"id\":\"" JOB_ID "\",\"ok\":false,\"code\":\"LEASE_LOST\"}]}",
     RC_STALE},
    {"200 OK", "{\"jobs\":[{\"id\":\"" JOB_ID "\",\"ok\":false,\"code\":\"NOT_FOUND\"}]}",
     RC_STALE},
    {"200 OK", "{}", RC_IO},
    {"200 OK", "hello", RC_IO},
    {"503 Service Unavailable", "{\"code\":\"BUSY\"}", RC_BUSY},
    {"429 Too Many Requests", "{\"code\":\"LIMIT\"}", RC_BUSY},
    {"502 Bad Gateway", "gateway", RC_UNREACHABLE},
    {"504 Gateway Timeout", "gateway", RC_UNREACHABLE},
    {"500 Internal Server Error", "{\"code\":\"STORE_IO\"}", RC_IO},
    {"401 Unauthorized", "{\"code\":\"TOKEN_UNKNOWN\"}", RC_UNAUTHORIZED},
    {"403 Forbidden", "{\"code\":\"ROLE_NOT_ALLOWED\"}", RC_DENIED},
    {"422 Unprocessable Content", "{\"code\":\"INVALID_FIELD\"}", RC_INVALID},
};

START_TEST(an_outcome_means_the_same_for_every_report)
{
    const struct port_failure failure = {
        .code = "x", .message = "say \"why\"", .retryable = true, .policy = false};
    struct port_beat beat;
    open_with(respond);
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        says(reports[i].status, reports[i].answer);
        enum rc want = reports[i].rc;
        ck_assert_int_eq(port->ops->complete(port, &lease, STR("{\"n\":1}"), NULL, &err), want);
        ck_asked("{\"jobs\":[{\"id\":\"" JOB_ID "\",\"epoch\":7,\"result\":{\"n\":1}}]}");
        ck_assert_int_eq(port->ops->fail(port, &lease, &failure, &err), want);
        ck_asked("\"error\":{\"code\":\"x\",\"message\":\"say \\\"why\\\"\",\"retryable\":true,");
        ck_assert_int_eq(port->ops->release(port, &lease, &err), want);
        ck_asked("POST /v1/jobs/release ");
        ck_assert_int_eq(port->ops->progress(port, &lease, STR("[]"), &beat, &err), want);
        ck_asked("\"events\":[]");
    }
    close_all();
}
END_TEST

START_TEST(progress_answers_as_a_heartbeat_does)
{
    struct port_beat beat = {0};
    open_with(respond);
    says("200 OK", "{\"jobs\":[{\"id\":\"" JOB_ID "\",\"ok\":true,\"cancel\":false,"
                   "\"hold\":\"asking\",\"messageSeq\":12}]}");
    ck_assert_int_eq(port->ops->progress(port, &lease, STR("[]"), &beat, &err), RC_OK);
    ck_assert(beat.ok && !beat.cancel);
    ck_assert_int_eq(beat.hold, PORT_HOLD_ASKING);
    ck_assert_int_eq(beat.message_seq, 12);
    close_all();
}
END_TEST

START_TEST(messages_are_read_in_order)
{
    struct arena arena = {0};
    struct port_message *messages = NULL;
    size_t count = 0;
    open_with(respond);
    says("200 OK", "{\"messages\":[{\"seq\":4,\"text\":\"one\"},{\"seq\":6,\"text\":\"\"}]}");
    ck_assert_int_eq(port->ops->messages(port, &lease, 3, &arena, &messages, &count, &err), RC_OK);
    ck_asked("GET /v1/jobs/" JOB_ID "/messages?epoch=7&after=3 ");
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(messages[0].seq, 4);
    ck_assert_str_eq(messages[0].text, "one");
    ck_assert_int_eq(messages[1].seq, 6);
    ck_assert_str_eq(messages[1].text, "");
    arena_release(&arena);
    close_all();
}
END_TEST

/* What the server answers to a reader of messages, and what that means. */
static const struct {
    const char *status, *answer;
    enum rc rc;
} refusals[] = {
    {"409 Conflict", "{\"code\":\"LEASE_LOST\"}", RC_STALE},
    {"503 Service Unavailable", "{\"code\":\"BUSY\"}", RC_BUSY},
    {"200 OK", "{}", RC_IO},
    {"200 OK", "{\"messages\":[{\"seq\":0,\"text\":\"x\"}]}", RC_IO},
    {"200 OK", "{\"messages\":[{\"seq\":1}]}", RC_IO},
    {"200 OK", "no JSON", RC_IO},
};

START_TEST(messages_that_cannot_be_read_are_none)
{
    struct arena arena = {0};
    struct port_message *messages = NULL;
    size_t count = 99;
    open_with(respond);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        says(refusals[i].status, refusals[i].answer);
        ck_assert_int_eq(port->ops->messages(port, &lease, 0, &arena, &messages, &count, &err),
                         refusals[i].rc);
        ck_assert_ptr_null(messages);
        ck_assert_uint_eq(count, 99);
    }
    arena_release(&arena);
    close_all();
}
END_TEST

#define QUESTION_ID "01a1e111-4280-788b-8f9d-658fd086a1f5"

START_TEST(a_question_is_asked_looked_at_and_withdrawn)
{
    const struct question_spec spec = {
        .text = "Go \"on\"?", .options = {"yes", "no"}, .option_count = 2, .default_answer = "no"};
    const struct id id = {QUESTION_ID};
    struct arena arena = {0};
    struct port_question question = {0};
    open_with(respond);
    says("201 Created", "{\"id\":\"" QUESTION_ID "\",\"status\":\"pending\",\"answer\":null}");
    ck_assert_int_eq(port->ops->ask(port, &lease, &spec, &arena, &question, &err), RC_OK);
    ck_asked("POST /v1/jobs/" JOB_ID "/questions ");
    ck_asked("{\"epoch\":7,\"question\":{\"text\":\"Go \\\"on\\\"?\",\"options\":[\"yes\",\"no\"],"
             "\"default\":\"no\"}}");
    ck_assert_str_eq(question.id.text, QUESTION_ID);
    ck_assert(question.open && question.answer == NULL);
    says("200 OK", "{\"id\":\"" QUESTION_ID "\",\"status\":\"answered\",\"answer\":\"yes\"}");
    ck_assert_int_eq(port->ops->question(port, &lease, &id, &arena, &question, &err), RC_OK);
    ck_asked("GET /v1/jobs/" JOB_ID "/questions/" QUESTION_ID "?epoch=7 ");
    ck_assert(!question.open);
    ck_assert_str_eq(question.answer, "yes");
    says("204 No Content", "");
    ck_assert_int_eq(port->ops->withdraw(port, &lease, &id, &err), RC_OK);
    ck_asked("DELETE /v1/jobs/" JOB_ID "/questions/" QUESTION_ID "?epoch=7 ");
    arena_release(&arena);
    close_all();
}
END_TEST

static const struct {
    const char *status, *answer;
    enum rc rc;
} no_questions[] = {
    {"409 Conflict", "{\"code\":\"LEASE_LOST\"}", RC_STALE},
    {"409 Conflict", "{\"code\":\"QUESTION_OPEN\"}", RC_CONFLICT},
    {"404 Not Found", "{\"code\":\"QUESTION_NOT_FOUND\"}", RC_NOT_FOUND},
    {"429 Too Many Requests", "{\"code\":\"TOO_MANY_QUESTIONS\"}", RC_BUSY},
    {"200 OK", "{}", RC_IO},
    {"200 OK", "{\"id\":\"x\",\"status\":\"pending\"}", RC_IO},
    {"200 OK", "{\"id\":\"" QUESTION_ID "\"}", RC_IO},
    {"200 OK", "no JSON", RC_IO},
};

START_TEST(what_became_of_a_question_may_not_be_known)
{
    const struct question_spec spec = {.text = "?"};
    const struct id id = {QUESTION_ID};
    struct arena arena = {0};
    struct port_question question = {.answer = "none"};
    open_with(respond);
    for (size_t i = 0; i < COUNT_OF(no_questions); i++) {
        says(no_questions[i].status, no_questions[i].answer);
        ck_assert_int_eq(port->ops->ask(port, &lease, &spec, &arena, &question, &err),
                         no_questions[i].rc);
        ck_assert_int_eq(port->ops->question(port, &lease, &id, &arena, &question, &err),
                         no_questions[i].rc);
        ck_assert_str_eq(question.answer, "none");
    }
    arena_release(&arena);
    close_all();
}
END_TEST

START_TEST(a_server_that_is_not_there_is_unreachable)
{
    const struct port_http_options options = {.url = "http://127.0.0.1:1"};
    ck_assert_int_eq(port_http_new(&options, &http, &err), RC_OK);
    port = port_http_port(http);
    ck_assert_int_eq(port->ops->release(port, &lease, &err), RC_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1:1"));
    port_http_free(http);
    const struct port_http_options bad = {.url = "ftp://x"};
    ck_assert_int_eq(port_http_new(&bad, &http, &err), RC_MALFORMED);
}
END_TEST

START_TEST(artifacts_go_by_their_hash)
{
    char sha256[SHA256_TEXT_BYTES], want[SHA256_TEXT_BYTES], path[] = "/tmp/port-http-XXXXXX";
    int64_t bytes = 0;
    sha256_hex("hello", 5, want);
    open_with(respond);
    says("201 Created", "{}");
    ck_assert_int_eq(port->ops->artifact_put(port, STR("hello"), sha256, &err), RC_OK);
    ck_assert_str_eq(sha256, want);
    ck_asked("PUT /v1/artifacts/2cf24dba");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fd_write_all(fd, "hello", 5, NULL), RC_OK);
    fd_close(fd);
    sha256[0] = '\0';
    ck_assert_int_eq(port->ops->artifact_put_file(port, path, sha256, &bytes, &err), RC_OK);
    ck_assert_str_eq(sha256, want);
    ck_assert_int_eq(bytes, 5);
    ck_asked("Content-Length: 5\r\n");
    ck_asked("Content-Type: application/octet-stream\r\n");
    ck_asked("\r\n\r\nhello");
    (void)unlink(path);
    ck_assert_int_eq(port->ops->artifact_put_file(port, path, sha256, &bytes, &err), RC_NOT_FOUND);

    CLEANUP(buf_release) struct buf got;
    buf_init(&got, 100);
    says("200 OK", "hello");
    ck_assert_int_eq(port->ops->artifact_get(port, want, &got, &err), RC_OK);
    ck_assert_str_eq(buf_text(&got), "hello");
    says("200 OK", "hell"); /* Not what was asked for. */
    ck_assert_int_eq(port->ops->artifact_get(port, want, &got, &err), RC_IO);
    close_all();
}
END_TEST

START_TEST(a_run_token_is_asked_with_the_lease)
{
    struct id run_id = {JOB_ID};
    char token[64];
    open_with(respond);
    says("200 OK", "{\"token\":\"drun_x\"}");
    ck_assert_int_eq(port->ops->run_token(port, &lease, &run_id, token, sizeof token, &err), RC_OK);
    ck_assert_str_eq(token, "drun_x");
    ck_asked("POST /v1/jobs/run-token ");
    says("409 Conflict", "{\"code\":\"LEASE_LOST\"}");
    ck_assert_int_eq(port->ops->run_token(port, &lease, &run_id, token, sizeof token, &err),
                     RC_STALE);
    close_all();
}
END_TEST

START_TEST(hello_tells_the_terms)
{
    static const char *const queues[] = {"drover.agent", NULL};
    const struct port_worker self = {
        .name = "w", .host = "h", .queues = queues, .pid = 5, .slots = 2, .busy = 1};
    struct port_terms terms = {0};
    open_with(respond);
    says("200 OK", "{\"name\":\"w\",\"leaseMs\":9000,\"heartbeatMs\":3000}");
    ck_assert_int_eq(port_http_hello(http, &self, &terms, &err), RC_OK);
    ck_assert_int_eq(terms.lease_ms, 9000);
    ck_assert_int_eq(terms.heartbeat_ms, 3000);
    ck_asked("\"state\":\"active\"");
    ck_asked("\"busy\":1");
    says("200 OK", "{\"leaseMs\":3000,\"heartbeatMs\":3000}");
    ck_assert_int_eq(port_http_hello(http, &self, &terms, &err), RC_IO);
    close_all();
}
END_TEST

Suite *port_http_suite(void)
{
    Suite *suite = suite_create("port_http");
    TCase *tests = tcase_create("port_http");
    tcase_set_timeout(tests, 20);
    tcase_add_test(tests, a_lease_is_asked_for_and_read);
    tcase_add_test(tests, an_interrupt_ends_a_lease_that_waits);
    tcase_add_test(tests, one_heartbeat_renews_all_leases);
    tcase_add_test(tests, one_call_shows_the_life_of_all_jobs);
    tcase_add_test(tests, an_outcome_means_the_same_for_every_report);
    tcase_add_test(tests, progress_answers_as_a_heartbeat_does);
    tcase_add_test(tests, messages_are_read_in_order);
    tcase_add_test(tests, messages_that_cannot_be_read_are_none);
    tcase_add_test(tests, a_question_is_asked_looked_at_and_withdrawn);
    tcase_add_test(tests, what_became_of_a_question_may_not_be_known);
    tcase_add_test(tests, a_server_that_is_not_there_is_unreachable);
    tcase_add_test(tests, artifacts_go_by_their_hash);
    tcase_add_test(tests, a_run_token_is_asked_with_the_lease);
    tcase_add_test(tests, hello_tells_the_terms);
    tcase_add_test(tests, a_reply_goes_to_who_asked);
    suite_add_tcase(suite, tests);
    return suite;
}
