/*
 * test_mcp_era.c - the era of a message, and headers that agree with it or do not.
 */
#include "core/mcp/base64.h"
#include "core/mcp/era.h"
#include "core/mcp/level.h"
#include "core/mcp/uri.h"
#include "tests/unit/suites.h"
#include <string.h>

#define M "2026-07-28"
#define META(v)                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" v \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define NONE NULL

static const struct {
    const char *text;
    struct mcp_headers headers;
    enum mcp_era era;
    const char *version;
    int code; /* 0: fine */
} table[] = {
    /* Legacy: the header may be missing, and does not count for initialize. */
    {CALL("ping", ""), {NONE, NONE, NONE}, MCP_LEGACY, NULL, 0},
    {CALL("ping", ""), {"2025-11-25", NONE, NONE}, MCP_LEGACY, "2025-11-25", 0},
    {CALL("ping", ""), {"2025-06-18", "other", NONE}, MCP_LEGACY, "2025-06-18", 0},
    {CALL("ping", ""), {"2024-11-05", NONE, NONE}, MCP_LEGACY, NULL, MCP_UNSUPPORTED_VERSION},
    {CALL("initialize", ""), {"2024-11-05", NONE, NONE}, MCP_LEGACY, NULL, 0},
    {CALL("ping", "\"_meta\":{\"progressToken\":1}"), {NONE, NONE, NONE}, MCP_LEGACY, NULL, 0},
    /* Modern: by _meta or by the header. */
    {CALL("ping", META(M)), {M, "ping", NONE}, MCP_MODERN, M, 0},
    {CALL("ping", ""), {M, "ping", NONE}, MCP_MODERN, M, MCP_INVALID_PARAMS},
    {CALL("initialize", ""), {M, "initialize", NONE}, MCP_MODERN, M, MCP_INVALID_PARAMS},
    {CALL("ping", META(M)), {NONE, "ping", NONE}, MCP_MODERN, M, MCP_HEADER_MISMATCH},
    {CALL("ping", META(M)), {"2025-11-25", "ping", NONE}, MCP_MODERN, M, MCP_HEADER_MISMATCH},
    {CALL("ping", META("1900-01-01")), {M, "ping", NONE}, MCP_MODERN, M, MCP_HEADER_MISMATCH},
    {CALL("ping", META("1900-01-01")),
     {"1900-01-01", "ping", NONE},
     MCP_MODERN,
     M,
     MCP_UNSUPPORTED_VERSION},
    {CALL("ping", META("2025-11-25")),
     {"2025-11-25", "ping", NONE},
     MCP_MODERN,
     M,
     MCP_UNSUPPORTED_VERSION},
    {CALL("ping", META(M)), {M, NONE, NONE}, MCP_MODERN, M, MCP_HEADER_MISMATCH},
    {CALL("ping", META(M)), {M, "Ping", NONE}, MCP_MODERN, M, MCP_HEADER_MISMATCH},
    {CALL("tools/call", "\"name\":\"x\"," META(M)), {M, "tools/call", "x"}, MCP_MODERN, M, 0},
    {CALL("tools/call", "\"name\":\"x\"," META(M)),
     {M, "tools/call", NONE},
     MCP_MODERN,
     M,
     MCP_HEADER_MISMATCH},
    {CALL("tools/call", "\"name\":\"x\"," META(M)),
     {M, "tools/call", "X"},
     MCP_MODERN,
     M,
     MCP_HEADER_MISMATCH},
    {CALL("resources/read", "\"uri\":\"a://\\u00e4\"," META(M)),
     {M, "resources/read", "=?base64?YTovL8Ok?="},
     MCP_MODERN,
     M,
     0},
    {CALL("tasks/get", "\"taskId\":\"t\"," META(M)),
     {M, "tasks/get", "u"},
     MCP_MODERN,
     M,
     MCP_HEADER_MISMATCH},
    {CALL("tools/call", META(M)), {M, "tools/call", NONE}, MCP_MODERN, M, 0},
    {CALL("ping", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" M "\"}"),
     {M, "ping", NONE},
     MCP_MODERN,
     M,
     MCP_INVALID_PARAMS},
    {CALL("ping", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}"),
     {M, "ping", NONE},
     MCP_MODERN,
     M,
     MCP_INVALID_PARAMS},
    /* Headers of notifications are not defined. */
    {"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", {M, NONE, NONE}, MCP_MODERN, M, 0},
};

START_TEST(every_message_has_an_era_and_is_refused_for_a_reason)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct mcp_message message = {0};
        struct mcp_verdict verdict;
        struct err err = {0};
        const char *text = table[i].text;
        ck_assert_int_eq(js_parse(text, strlen(text), &tree, &err), RC_OK);
        ck_assert_int_eq(mcp_message_read(tree, str_of(text), &message, &err), RC_OK);
        enum rc rc = mcp_era_decide(&message, &table[i].headers, &verdict, &err);
        ck_assert_msg(rc == (table[i].code ? RC_INVALID : RC_OK), "%zu %s: %s", i, text, err.text);
        ck_assert_msg(verdict.era == table[i].era, "%zu %s", i, text);
        if (table[i].code)
            ck_assert_msg((int)verdict.code == table[i].code, "%zu %s: %d", i, text, verdict.code);
        else
            ck_assert_msg(text_same(verdict.version, table[i].version), "%zu %s", i, text);
    }
}
END_TEST

START_TEST(initialize_agrees_on_a_legacy_version)
{
    ck_assert_str_eq(mcp_era_agree("2025-06-18"), "2025-06-18");
    ck_assert_str_eq(mcp_era_agree("2025-11-25"), "2025-11-25");
    ck_assert_str_eq(mcp_era_agree("2026-07-28"), "2025-11-25");
    ck_assert_str_eq(mcp_era_agree("2024-11-05"), "2025-11-25");
    ck_assert_str_eq(mcp_era_agree(""), "2025-11-25");
}
END_TEST

static const struct {
    const char *header, *text;
    bool same;
} headers[] = {
    {"abc", "abc", true},
    {"abc", "abd", false},
    {"=?base64?SGVsbG8=?=", "Hello", true},
    {"=?base64?SGVsbG8?=", "Hello", false}, /* Without its padding. */
    {"=?base64?SGVs!!!bG8=?=", "Hello", false},
    {"=?base64?SGVsbG8=", "=?base64?SGVsbG8=", true}, /* Without the end it is a text. */
    {"=?BASE64?SGVsbG8=?=", "Hello", false},
    {"=?base64?"
     "?=",
     "", true},
    {"=?base64?/w==?=", "\xff", false}, /* Not UTF-8. */
    {"=?=", "=?=", true},
};

START_TEST(a_header_may_be_coded)
{
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        ck_assert_msg(mcp_header_is(headers[i].header, headers[i].text, &arena) == headers[i].same,
                      "%s", headers[i].header);
    arena_release(&arena);
}
END_TEST

/* The examples of the specification, "Value Encoding". */
static const struct {
    const char *text, *header;
} examples[] = {
    {"us-west1", "us-west1"},
    {"drover://runs/1?a=b c", "drover://runs/1?a=b c"},
    {"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
    {" padded ", "=?base64?IHBhZGRlZCA=?="},
    {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
    {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
    {"", "=?base64?"
         "?="},
};

START_TEST(a_text_that_no_header_can_hold_is_coded_and_read_back)
{
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        ck_assert_str_eq(mcp_header_of(examples[i].text, &arena), examples[i].header);
        ck_assert(mcp_header_is(examples[i].header, examples[i].text, &arena));
    }
    arena_release(&arena);
}
END_TEST

START_TEST(base64_reads_back_what_it_wrote)
{
    struct arena arena = {0};
    static const char text[] = "The answer is \xc3\xa4 42.";
    for (size_t len = 0; len < sizeof text; len++) {
        if (!text_utf8_valid(text, len))
            continue;
        CLEANUP(buf_release) struct buf coded;
        buf_init(&coded, 100);
        base64_add(&coded, (struct str){text, len});
        ck_assert_uint_eq(coded.len, (len + 2) / 3 * 4);
        const char *back = base64_text(buf_str(&coded), &arena);
        ck_assert(back != NULL && strlen(back) == len && memcmp(back, text, len) == 0);
    }
    arena_release(&arena);
}
END_TEST

static const struct {
    const char *pattern, *uri;
    bool fits;
    const char *first, *second;
} uris[] = {
    {"drover://queues", "drover://queues", true, "", ""},
    {"drover://queues", "drover://queues/", false, "", ""},
    {"drover://runs/{id}/timeline", "drover://runs/7/timeline", true, "7", ""},
    {"drover://runs/{id}/timeline", "drover://runs//timeline", false, "", ""},
    {"drover://runs/{id}/timeline", "drover://runs/7/8/timeline", false, "", ""},
    {"drover://runs/{id}", "drover://runs/7?x", false, "", ""},
    {"drover://runs/{id}", "drover://runs/7#x", false, "", ""},
    {"drover://runs/{id}", "drover://runs/a%2Fb", true, "a%2Fb", ""},
    {"a://{x}/{y}", "a://1/2", true, "1", "2"},
    {"a://{x}/{y}", "a://1", false, "", ""},
    {"a://{x}/{y}/{z}", "a://1/2/3", false, "", ""}, /* More than are kept. */
};

START_TEST(a_uri_fits_a_template_segment_by_segment)
{
    for (size_t i = 0; i < COUNT_OF(uris); i++) {
        struct str values[MCP_URI_VARS_MAX];
        bool fits = mcp_uri_match(uris[i].pattern, uris[i].uri, values);
        ck_assert_msg(fits == uris[i].fits, "%s", uris[i].uri);
        if (fits)
            ck_assert(str_is(values[0], uris[i].first) && str_is(values[1], uris[i].second));
    }
}
END_TEST

START_TEST(levels_have_names)
{
    for (int i = 0; i < MCP_LEVEL_COUNT; i++) {
        enum mcp_level level;
        ck_assert(mcp_level_parse(mcp_level_name((enum mcp_level)i), &level));
        ck_assert_int_eq(level, i);
    }
    enum mcp_level level = MCP_LEVEL_COUNT;
    ck_assert(!mcp_level_parse("loud", &level));
    ck_assert_int_eq(level, MCP_LEVEL_COUNT);
}
END_TEST

Suite *mcp_era_suite(void)
{
    Suite *suite = suite_create("mcp_era");
    TCase *tc = tcase_create("era");
    tcase_add_test(tc, every_message_has_an_era_and_is_refused_for_a_reason);
    tcase_add_test(tc, initialize_agrees_on_a_legacy_version);
    tcase_add_test(tc, a_header_may_be_coded);
    tcase_add_test(tc, a_text_that_no_header_can_hold_is_coded_and_read_back);
    tcase_add_test(tc, base64_reads_back_what_it_wrote);
    tcase_add_test(tc, a_uri_fits_a_template_segment_by_segment);
    tcase_add_test(tc, levels_have_names);
    suite_add_tcase(suite, tc);
    return suite;
}
