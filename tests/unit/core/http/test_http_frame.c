/*
 * test_http_frame.c - where requests begin and end: a table of byte streams, each cut at every
 * place, and mutations of them.
 *
 * A stream is written down as what comes out of it:
 *
 *     (GET /a)          a request without a body        [413]   refused with a status
 *     (POST /a)<abc>    one with a body                 ...     more must come
 */
#include "base/buf.h"
#include "base/random.h"
#include "core/http/frame.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct http_head_limits limits = {
    .bytes_max = 300, .target_max = 100, .fields_max = 5};

enum { TRANSCRIPT_MAX = 100000, MUTATIONS = 60000, MUTATED_MAX = 1000 };

struct reader {
    struct http_frame frame;
    struct buf seen;
    bool broken, in_body;
};

static void reader_init(struct reader *reader)
{
    *reader = (struct reader){.broken = false};
    http_frame_init(&reader->frame, &limits);
    buf_init(&reader->seen, TRANSCRIPT_MAX);
}

static void reader_release(struct reader *reader)
{
    http_frame_release(&reader->frame);
    buf_release(&reader->seen);
}

static void note_content(struct reader *reader, struct str content)
{
    ck_assert_uint_gt(content.len, 0);
    buf_adds(&reader->seen, reader->in_body ? "" : "<");
    reader->in_body = true;
    buf_add(&reader->seen, content.at, content.len);
}

static void read_piece(struct reader *reader, struct str bytes)
{
    struct http_frame_out out;
    enum http_frame_event event = FRAME_BEGIN;
    while (!reader->broken && event != FRAME_MORE) {
        const char *at = bytes.at;
        event = http_frame_next(&reader->frame, &bytes, &out);
        ck_assert(bytes.at >= at);
        switch (event) {
        case FRAME_MORE:
            ck_assert_uint_eq(bytes.len, 0);
            ck_assert_uint_le(reader->frame.gathered.len, limits.bytes_max);
            break;
        case FRAME_BEGIN:
            buf_addf(&reader->seen, "(%s %.*s)", http_method_name(out.head.method),
                     (int)out.head.target.len, out.head.target.at);
            break;
        case FRAME_CONTENT:
            note_content(reader, out.content);
            break;
        case FRAME_END:
            buf_adds(&reader->seen, reader->in_body ? ">" : "");
            reader->in_body = false;
            ck_assert(http_frame_is_idle(&reader->frame));
            break;
        case FRAME_REFUSE:
            buf_addf(&reader->seen, "[%d%s]", out.status, out.head_only ? " head" : "");
            ck_assert_msg(out.err.code[0] && out.err.text[0], "no reason");
            reader->broken = true;
            break;
        }
    }
}

static const char *read_end(struct reader *reader)
{
    if (!reader->broken && !http_frame_is_idle(&reader->frame))
        buf_adds(&reader->seen, "...");
    return buf_text(&reader->seen);
}

/* In two pieces, cut at `at`; 0: byte by byte. */
static void check_cut(struct str bytes, size_t at, const char *want)
{
    struct reader reader;
    reader_init(&reader);
    if (at > 0) {
        read_piece(&reader, (struct str){bytes.at, at});
        read_piece(&reader, (struct str){bytes.at + at, bytes.len - at});
    }
    for (size_t i = 0; at == 0 && i < bytes.len; i++)
        read_piece(&reader, (struct str){bytes.at + i, 1});
    const char *got = read_end(&reader);
    ck_assert_msg(strcmp(got, want) == 0, "cut at %zu: %s instead of %s of: %.*s", at, got, want,
                  (int)bytes.len, bytes.at);
    reader_release(&reader);
}

static void check_all_cuts(struct str bytes, const char *want)
{
    for (size_t at = 0; at <= bytes.len; at++)
        check_cut(bytes, at, want);
}

#define H       "Host: x\r\n"
#define GET     "GET / HTTP/1.1\r\n" H
#define POST    "POST /p HTTP/1.1\r\n" H
#define CL(n)   "Content-Length: " #n "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define NEXT    "GET /next HTTP/1.1\r\n" H "\r\n"

static const struct {
    struct str bytes;
    const char *want;
} streams[] = {
    {STR(""), ""},
    {STR(GET "\r\n"), "(GET /)"},
    {STR(GET "\r\n" NEXT NEXT), "(GET /)(GET /next)(GET /next)"},
    {STR("GET /"), "..."},
    /* One empty line before a request is allowed, a second is not. */
    {STR("\r\n" GET "\r\n\r\n" NEXT), "(GET /)(GET /next)"},
    {STR("\r\n\r\n" NEXT), "[400]"},
    {STR("\r"), "..."},
    {STR("\rGET"), "[400]"},
    {STR("\n" NEXT), "[400]"},
    /* A body belongs to its request, whatever the method. */
    {STR(POST CL(3) "\r\nabc" NEXT), "(POST /p)<abc>(GET /next)"},
    {STR(POST CL(0) "\r\n" NEXT), "(POST /p)(GET /next)"},
    {STR(POST "\r\n" NEXT), "(POST /p)(GET /next)"},
    {STR("HEAD / HTTP/1.1\r\n" H CL(40) "\r\nGET /smuggled HTTP/1.1\r\nHost: victim\r\n\r\n" NEXT),
     "(HEAD /)<GET /smuggled HTTP/1.1\r\nHost: victim\r\n\r\n>(GET /next)"},
    {STR("HEAD / HTTP/1.1\r\n" H CL(4) "\r\nGET " NEXT), "(HEAD /)<GET >(GET /next)"},
    {STR("HEAD / HTTP/1.1\r\n" H CHUNKED "4\r\nGET \r\n0\r\n\r\n" NEXT),
     "(HEAD /)<GET >(GET /next)"},
    {STR("TRACE / HTTP/1.1\r\n" H CL(4) "\r\nGET " NEXT), "(TRACE /)<GET >(GET /next)"},
    {STR("OPTIONS * HTTP/1.1\r\n" H CL(4) "\r\nGET " NEXT), "(OPTIONS *)<GET >(GET /next)"},
    {STR("DELETE /d HTTP/1.1\r\n" H CL(4) "\r\nGET " NEXT), "(DELETE /d)<GET >(GET /next)"},
    {STR(GET CL(4) "\r\nGET " NEXT), "(GET /)<GET >(GET /next)"},
    {STR(POST CL(4) "\r\nab"), "(POST /p)<ab..."},
    /* Chunks. */
    {STR(POST CHUNKED "3\r\nabc\r\n0\r\n\r\n" NEXT), "(POST /p)<abc>(GET /next)"},
    {STR(POST CHUNKED "0\r\n\r\n" NEXT), "(POST /p)(GET /next)"},
    {STR(POST CHUNKED "1;a=b;c=\"d\"\r\nx\r\n1 ;e\r\ny\r\n00;z\r\n\r\n" NEXT),
     "(POST /p)<xy>(GET /next)"},
    {STR(POST CHUNKED "1\r\nx\r\n0\r\nContent-Length: 100\r\nHost: evil\r\n\r\n" NEXT),
     "(POST /p)<x>(GET /next)"},
    {STR(POST CHUNKED "1\r\nx\r\n0\r\n" NEXT), "(POST /p)<x[400]"},
    {STR(POST CHUNKED "1\r\nx\r\n0\r\n"), "(POST /p)<x..."},
    {STR(POST CHUNKED "0x1d\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "+1d\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED " 1d\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "1d \r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "-1\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "1\nx\r\n0\r\n\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "1\r\nx\n0\r\n\r\n"), "(POST /p)<x[400]"},
    {STR(POST CHUNKED "1\r\nxy\r\n0\r\n\r\n"), "(POST /p)<x[400]"},
    {STR(POST CHUNKED "1\r\nx\r\n0\n\n"), "(POST /p)<x[400]"},
    {STR(POST CHUNKED "fffffffffffffffff\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "\r\n"), "(POST /p)[400]"},
    {STR(POST CHUNKED "1\0\r\nx"), "(POST /p)[400]"},
    {STR("HEAD / HTTP/1.1\r\n" H CHUNKED "zz\r\n"), "(HEAD /)[400 head]"},
    /* What can be read in two ways. */
    {STR(POST CL(3) "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT), "[400]"},
    {STR(POST CL(3) CL(3) "\r\nabc" NEXT), "[400]"},
    {STR(POST CL(3) CL(4) "\r\nabc" NEXT), "[400]"},
    {STR(POST "Content-Length: 3, 3\r\n\r\nabc" NEXT), "[400]"},
    {STR(POST "Content-Length: +3\r\n\r\nabc" NEXT), "[400]"},
    {STR(POST "Content-Length: 3 3\r\n\r\nabc" NEXT), "[400]"},
    {STR(POST "Transfer-Encoding: gzip\r\n\r\n" NEXT), "[400]"},
    {STR(POST "Transfer-Encoding: chunked, identity\r\n\r\n" NEXT), "[400]"},
    {STR(POST "Transfer-Encoding: gzip, chunked\r\n\r\n" NEXT), "[501]"},
    {STR("POST / HTTP/1.0\r\n" CHUNKED "0\r\n\r\n"), "[400]"},
    {STR(GET H "\r\n" NEXT), "[400]"},
    {STR("GET / HTTP/1.1\r\n\r\n" NEXT), "[400]"},
    {STR("GET http://y/ HTTP/1.1\r\n" H "\r\n" NEXT), "[400]"},
    {STR(GET "X: a\r\n b\r\n\r\n" NEXT), "[400]"},
    {STR(GET "X : a\r\n\r\n" NEXT), "[400]"},
    {STR(GET "X: a\rY: b\r\n\r\n" NEXT), "[400]"},
    {STR(GET "X: a\nY: b\r\n\r\n" NEXT), "[400]"},
    {STR("GET / HTTP/1.1\nHost: x\n\n" NEXT), "[400]"},
    {STR(GET "\n" NEXT), "[400]"},
    {STR(GET "X: a\0b\r\n\r\n" NEXT), "[400]"},
    {STR("HEAD / HTTP/1.1\n"), "[400 head]"},
    /* Methods, versions, sizes. */
    {STR("FROB / HTTP/1.1\r\n" H "\r\n" NEXT), "[501]"},
    {STR("CONNECT x:80 HTTP/1.1\r\n" H "\r\n" NEXT), "[501]"},
    {STR("GET / HTTP/2.0\r\n" H "\r\n" NEXT), "[505]"},
    {STR("GET /" HUNDRED " HTTP/1.1\r\n" H "\r\n" NEXT), "[414]"},
    {STR(GET "X: " HUNDRED HUNDRED HUNDRED "\r\n\r\n" NEXT), "[431]"},
    {STR(GET "X: " HUNDRED HUNDRED HUNDRED), "[431]"},
    {STR(GET "X: " HUNDRED HUNDRED HUNDRED "\n"), "[431]"},
    {STR(GET "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n\r\n" NEXT), "[431]"},
    {STR("\x16\x03\x01\x00\xf8\x01\n"), "[400]"},
};

START_TEST(a_stream_ends_the_same_in_all_pieces)
{
    check_all_cuts(streams[_i].bytes, streams[_i].want);
}
END_TEST

START_TEST(extensions_and_trailers_have_an_end)
{
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, TRANSCRIPT_MAX);
    buf_adds(&bytes, POST CHUNKED "1;");
    for (int i = 0; i < 9000; i++)
        buf_addc(&bytes, 'x');
    check_cut(buf_str(&bytes), 0, "(POST /p)[413]");
    check_cut(buf_str(&bytes), bytes.len, "(POST /p)[413]");
    buf_clear(&bytes);
    buf_adds(&bytes, POST CHUNKED "0\r\nX: ");
    for (int i = 0; i < 9000; i++)
        buf_addc(&bytes, 'x');
    check_cut(buf_str(&bytes), 0, "(POST /p)[431]");
    check_cut(buf_str(&bytes), bytes.len, "(POST /p)[431]");
}
END_TEST

/* ---- Mutations ---- */

static const char *const inserts[] = {"\r",
                                      "\n",
                                      "\r\n",
                                      " ",
                                      "\t",
                                      ":",
                                      ";",
                                      ",",
                                      "0",
                                      "1",
                                      "f",
                                      "x",
                                      "+",
                                      "-",
                                      "Host: y\r\n",
                                      "Content-Length: 1\r\n",
                                      "Transfer-Encoding: chunked\r\n",
                                      "0\r\n\r\n",
                                      "\x01",
                                      "\x80"};

/* Streams behind each other, with some bytes changed, dropped or put in. */
static void mutate(struct random *random, struct buf *to)
{
    int parts = (int)random_below(random, 3) + 1;
    buf_clear(to);
    for (int i = 0; i < parts; i++) {
        struct str part = streams[random_below(random, COUNT_OF(streams))].bytes;
        buf_add(to, part.at, part.len);
    }
    int changes = (int)random_below(random, 4);
    for (int i = 0; i < changes && to->len > 0; i++) {
        CLEANUP(buf_release) struct buf rest;
        buf_init(&rest, to->max_bytes);
        size_t at = random_below(random, to->len), drop = random_below(random, 3);
        const char *insert = inserts[random_below(random, COUNT_OF(inserts))];
        drop = drop > to->len - at ? to->len - at : drop;
        buf_add(&rest, to->data + at + drop, to->len - at - drop);
        buf_cut(to, at);
        buf_adds(to, random_below(random, 2) ? insert : "");
        buf_add(to, rest.data != NULL ? rest.data : "", rest.len);
    }
}

/* Whatever comes: no piece of it changes the outcome, and content adds up to what was announced. */
START_TEST(mutated_streams_end_the_same_in_all_pieces)
{
    struct random random = random_seeded(20260117);
    CLEANUP(buf_release) struct buf bytes;
    buf_init(&bytes, MUTATED_MAX * 4);
    for (int i = 0; i < MUTATIONS; i++) {
        mutate(&random, &bytes);
        struct reader whole, pieces;
        reader_init(&whole);
        reader_init(&pieces);
        struct str rest = {buf_text(&bytes), bytes.len};
        read_piece(&whole, rest);
        while (rest.len > 0) {
            size_t len = 1 + random_below(&random, rest.len < 40 ? rest.len : 40);
            read_piece(&pieces, (struct str){rest.at, len});
            rest = (struct str){rest.at + len, rest.len - len};
        }
        const char *want = read_end(&whole), *got = read_end(&pieces);
        ck_assert_msg(strcmp(want, got) == 0, "%s instead of %s of: %.*s", got, want,
                      (int)bytes.len, buf_text(&bytes));
        reader_release(&whole);
        reader_release(&pieces);
    }
}
END_TEST

Suite *http_frame_suite(void)
{
    Suite *suite = suite_create("http_frame");
    TCase *tests = tcase_create("http_frame");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_stream_ends_the_same_in_all_pieces, 0, (int)COUNT_OF(streams));
    tcase_add_test(tests, extensions_and_trailers_have_an_end);
    tcase_add_test(tests, mutated_streams_end_the_same_in_all_pieces);
    suite_add_tcase(suite, tests);
    return suite;
}
