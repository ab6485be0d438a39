/*
 * test_mcp_message.c - which JSON is a message of JSON-RPC, and what it says.
 */
#include "core/mcp/message.h"
#include "tests/unit/suites.h"
#include <string.h>

static enum rc read_text(const char *text, struct js **tree, struct mcp_message *message,
                         struct err *err)
{
    ck_assert_msg(js_parse(text, strlen(text), tree, err) == RC_OK, "%s: %s", text, err->text);
    return mcp_message_read(*tree, str_of(text), message, err);
}

static const struct {
    const char *text;
    enum mcp_kind kind;
    const char *id, *method;
} good[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}", MCP_REQUEST, "7", "ping"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"ping\"}", MCP_REQUEST, "\"7\"", "ping"},
    {"{\"jsonrpc\":\"2.0\", \"id\" : 7.0 , \"method\":\"a\"}", MCP_REQUEST, "7.0", "a"},
    {"{\"id\":\"\\u00e4 \",\"jsonrpc\":\"2.0\",\"method\":\"a\"}", MCP_REQUEST, "\"\\u00e4 \"",
     "a"},
    {"{\"jsonrpc\":\"2.0\",\"params\":{\"id\":1},\"id\":-2,\"method\":\"a\"}", MCP_REQUEST, "-2",
     "a"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{}}", MCP_NOTIFICATION, "", "a"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE, "1", NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}", MCP_RESPONSE, "1", NULL},
};

START_TEST(a_message_is_a_request_a_notification_or_a_response)
{
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct mcp_message message = {0};
        struct err err = {0};
        ck_assert_msg(read_text(good[i].text, &tree, &message, &err) == RC_OK, "%s: %s",
                      good[i].text, err.text);
        ck_assert_int_eq(message.kind, good[i].kind);
        ck_assert_msg(str_is(message.id, good[i].id), "%s", good[i].text);
        ck_assert(text_same(message.method, good[i].method));
    }
}
END_TEST

static const char *const bad[] = {
    "[]",
    "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}]",
    "\"text\"",
    "{}",
    "{\"id\":1,\"method\":\"a\"}",
    "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"a\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"a\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":7}",
    "{\"jsonrpc\":\"2.0\",\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[1]}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":[]}}",
};

START_TEST(all_else_is_refused)
{
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct mcp_message message = {0};
        struct err err = {0};
        ck_assert_msg(read_text(bad[i], &tree, &message, &err) == RC_INVALID, "%s", bad[i]);
        ck_assert(err.text[0] != '\0');
    }
}
END_TEST

START_TEST(a_refusal_can_be_answered_under_the_id_of_its_message)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct mcp_message message = {0};
    struct err err = {0};
    ck_assert_int_eq(
        read_text("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":7}", &tree, &message, &err),
        RC_INVALID);
    ck_assert(str_is(message.id, "\"x\""));
}
END_TEST

START_TEST(ids_and_methods_are_bounded)
{
    for (size_t len = 0; len < 400; len += 50) {
        CLEANUP(buf_release) struct buf text;
        CLEANUP(js_freep) struct js *tree = NULL;
        struct mcp_message message = {0};
        struct err err = {0};
        buf_init(&text, 2000);
        buf_adds(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"");
        for (size_t i = 0; i < len; i++)
            buf_addc(&text, 'x');
        buf_adds(&text, "\"}");
        bool fits = len + 2 <= MCP_ID_BYTES_MAX;
        ck_assert_int_eq(read_text(buf_text(&text), &tree, &message, &err),
                         fits ? RC_OK : RC_INVALID);
    }
}
END_TEST

Suite *mcp_message_suite(void)
{
    Suite *suite = suite_create("mcp_message");
    TCase *tc = tcase_create("message");
    tcase_add_test(tc, a_message_is_a_request_a_notification_or_a_response);
    tcase_add_test(tc, all_else_is_refused);
    tcase_add_test(tc, a_refusal_can_be_answered_under_the_id_of_its_message);
    tcase_add_test(tc, ids_and_methods_are_bounded);
    suite_add_tcase(suite, tc);
    return suite;
}
