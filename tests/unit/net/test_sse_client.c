/*
 * test_sse_client.c - the event stream's grammar, cut at every byte, and resuming over broken
 * connections.
 */
#include "net/sse_client.h"
#include "tests/unit/suites.h"
#include "tests/unit/tiny_server.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events written down as text, to compare. */
struct record {
    struct buf text;
    int enough_after; /* 0: never */
    int count;
};

static bool record_event(void *ctx, const struct sse_event *event)
{
    struct record *record = ctx;
    buf_addf(&record->text, "%s|%s|%s;", event->type, event->id, event->data);
    record->count++;
    return record->enough_after == 0 || record->count < record->enough_after;
}

static const struct {
    const char *stream, *events;
} grammar[] = {
    {"data: a\n\n", "message||a;"},
    {"data:a\n\n", "message||a;"},
    {"data:  a\n\n", "message|| a;"},
    {"event: t\nid: 7\ndata: a\n\n", "t|7|a;"},
    {"id: 7\ndata: a\n\ndata: b\n\n", "message|7|a;message|7|b;"},
    {"data: a\ndata: b\ndata\n\n", "message||a\nb\n;"},
    {": comment\n\n:\n\ndata: a\n\n", "message||a;"},
    {"event: t\n\ndata: a\n\n", "message||a;"},
    {"data: a\r\n\r\ndata: b\r\r", "message||a;message||b;"},
    {"unknown: x\nretry: 5\nretry: x\ndata: a\n\n", "message||a;"},
    {"data: {\"k\":\"v: w\"}\n\n", "message||{\"k\":\"v: w\"};"},
    {"data: \xC3\xA9\n\n", "message||\xC3\xA9;"},
    {"data: never ended", ""},
    {"id: 1\n\n", ""},
};

START_TEST(every_stream_reads_the_same_wherever_it_is_cut)
{
    for (size_t i = 0; i < COUNT_OF(grammar); i++) {
        size_t len = strlen(grammar[i].stream);
        for (size_t cut = 0; cut <= len; cut++) {
            struct record record = {0};
            struct sse_parser parser;
            buf_init(&record.text, 1000);
            sse_parser_init(&parser, record_event, &record);
            ck_assert(sse_parser_feed(&parser, (struct str){grammar[i].stream, cut}));
            for (size_t j = cut; j < len; j++)
                ck_assert(sse_parser_feed(&parser, (struct str){grammar[i].stream + j, 1}));
            ck_assert_str_eq(buf_text(&record.text), grammar[i].events);
            sse_parser_release(&parser);
            buf_release(&record.text);
        }
    }
}
END_TEST

START_TEST(an_event_past_the_limit_ends_the_stream)
{
    struct record record = {0};
    struct sse_parser parser;
    buf_init(&record.text, 1000);
    sse_parser_init(&parser, record_event, &record);
    bool more = sse_parser_feed(&parser, STR("data: "));
    for (int i = 0; more && i <= SSE_EVENT_BYTES_MAX / 10; i++)
        more = sse_parser_feed(&parser, STR("0123456789"));
    ck_assert(!more && parser.too_large);
    sse_parser_release(&parser);
    buf_release(&record.text);
}
END_TEST

START_TEST(a_new_connection_forgets_the_half_event)
{
    struct record record = {0};
    struct sse_parser parser;
    buf_init(&record.text, 1000);
    sse_parser_init(&parser, record_event, &record);
    ck_assert(sse_parser_feed(&parser, STR("id: 3\ndata: a\n\nid: 4\ndata: half")));
    sse_parser_restart(&parser);
    ck_assert(sse_parser_feed(&parser, STR("data: b\n\n")));
    ck_assert_str_eq(buf_text(&record.text), "message|3|a;message||b;");
    sse_parser_release(&parser);
    buf_release(&record.text);
}
END_TEST

#define STREAM_HEAD \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

/* A log of ten events; a connection gives two of them, repeats the last one, and breaks off. */
static bool two_at_a_time(void *ctx, const char *request, int fd)
{
    (void)ctx;
    const char *field = strcasestr(request, "\r\nLast-Event-ID:");
    long last = field == NULL ? 0 : strtol(field + strlen("\r\nLast-Event-ID:"), NULL, 10);
    char text[256];
    tiny_send(fd, STREAM_HEAD);
    (void)snprintf(text, sizeof text,
                   "id: %ld\ndata: old\n\nid: %ld\ndata: x\n\nid: %ld\ndata: x\n\nid: 99\ndata: ha",
                   last, last + 1, last + 2);
    tiny_send(fd, text);
    return false;
}

static int broken;
static void count_broken(void *ctx, const struct err *why)
{
    (void)ctx, (void)why;
    broken++;
}

static enum rc follow_with(tiny_handler *handler, struct record *record, struct sse_follow *follow,
                           struct err *err)
{
    struct tiny_server *server = tiny_server_start(handler, NULL);
    CLEANUP(http_client_freep) struct http_client *client = NULL;
    const struct http_client_options options = {.url = tiny_server_url(server)};
    ck_assert_int_eq(http_client_new(&options, &client, NULL), RC_OK);
    broken = 0;
    follow->path = "/stream";
    follow->first_backoff_ms = 1;
    follow->on_event = record_event;
    follow->on_broken = count_broken;
    follow->ctx = record;
    enum rc rc = sse_follow(client, follow, err);
    tiny_server_stop(server);
    return rc;
}

START_TEST(a_broken_stream_goes_on_without_loss_or_repetition)
{
    struct record record = {.enough_after = 10};
    buf_init(&record.text, 1000);
    struct sse_follow follow = {.tries_max = 2, .last_id = "0"};
    ck_assert_int_eq(follow_with(two_at_a_time, &record, &follow, NULL), RC_OK);
    CLEANUP(buf_release) struct buf want;
    buf_init(&want, 1000);
    for (int i = 1; i <= 10; i++)
        buf_addf(&want, "message|%d|x;", i);
    ck_assert_str_eq(buf_text(&record.text), buf_text(&want));
    ck_assert_int_eq(broken, 4);
    buf_release(&record.text);
}
END_TEST

static bool empty_stream(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    tiny_send(fd, STREAM_HEAD);
    return false;
}

static bool busy(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    tiny_answer(fd, "503 Busy", "application/problem+json", "{\"code\":\"BUSY\",\"detail\":\"b\"}");
    return true;
}

static bool gone(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    tiny_answer(fd, "404 No", "application/problem+json", "{\"code\":\"GONE\",\"detail\":\"g\"}");
    return true;
}

START_TEST(tries_are_bounded_and_a_refusal_is_final)
{
    static const struct {
        tiny_handler *handler;
        enum rc rc;
        const char *code;
        int broken;
    } table[] = {
        {empty_stream, RC_UNREACHABLE, "STREAM_ENDED", 1},
        {busy, RC_BUSY, "BUSY", 1},
        {gone, RC_NOT_FOUND, "GONE", 0},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct record record = {0};
        buf_init(&record.text, 1000);
        struct err err = {0};
        struct sse_follow follow = {.tries_max = 3};
        ck_assert_int_eq(follow_with(table[i].handler, &record, &follow, &err), table[i].rc);
        ck_assert_str_eq(err.code, table[i].code);
        ck_assert_int_eq(broken, table[i].broken);
        ck_assert_int_eq(record.count, 0);
        buf_release(&record.text);
    }
}
END_TEST

START_TEST(a_stop_is_seen_between_tries)
{
    static atomic_int stop = 1;
    struct record record = {0};
    buf_init(&record.text, 1000);
    struct sse_follow follow = {.stop = &stop};
    ck_assert_int_eq(follow_with(busy, &record, &follow, NULL), RC_CANCELLED);
    buf_release(&record.text);
}
END_TEST

Suite *sse_client_suite(void)
{
    Suite *suite = suite_create("sse_client");
    TCase *tc = tcase_create("sse_client");
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, every_stream_reads_the_same_wherever_it_is_cut);
    tcase_add_test(tc, an_event_past_the_limit_ends_the_stream);
    tcase_add_test(tc, a_new_connection_forgets_the_half_event);
    tcase_add_test(tc, a_broken_stream_goes_on_without_loss_or_repetition);
    tcase_add_test(tc, tries_are_bounded_and_a_refusal_is_final);
    tcase_add_test(tc, a_stop_is_seen_between_tries);
    suite_add_tcase(suite, tc);
    return suite;
}
