/*
 * test_model_api.c - both shapes, as their vendors document them.
 */
#include "core/agent/model_api.h"
#include "tests/unit/suites.h"
#include <string.h>

START_TEST(a_question_has_the_shape_of_its_api)
{
    static const struct {
        enum model_api api;
        const char *path, *body;
    } table[] = {
        {MODEL_OPENAI, "/chat/completions",
         "{\"model\":\"m\",\"max_completion_tokens\":9,\"messages\":[{\"role\":\"system\","
         "\"content\":\"s\"},{\"role\":\"user\",\"content\":\"\\\"u\\\"\"}]}"},
        {MODEL_ANTHROPIC, "/v1/messages",
         "{\"model\":\"m\",\"max_tokens\":9,\"system\":\"s\",\"messages\":[{\"role\":\"user\","
         "\"content\":\"\\\"u\\\"\"}]}"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CLEANUP(buf_release) struct buf body;
        buf_init(&body, 1000);
        struct model_question question = {
            .api = table[i].api, .model = "m", .system = "s", .user = "\"u\"", .max_tokens = 9};
        model_api_write(&question, &body);
        ck_assert_str_eq(buf_text(&body), table[i].body);
        ck_assert_str_eq(model_api_path(table[i].api), table[i].path);
    }
}
END_TEST

static const struct {
    enum model_api api;
    const char *body;
    enum rc rc;
    const char *text;
    int64_t in, out;
    bool cut_off;
} answers[] = {
    {MODEL_OPENAI,
     "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"model\":\"m-1\",\"choices\":[{"
     "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"yes\",\"refusal\":null},"
     "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,"
     "\"total_tokens\":15}}",
     RC_OK, "yes", 12, 3, false},
    {MODEL_OPENAI,
     "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
     "\"text\","
     "\"text\":\"b\"}]},\"finish_reason\":\"length\"}]}",
     RC_OK, "ab", 0, 0, true},
    {MODEL_OPENAI, "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I cannot\"}}]}",
     RC_INVALID, NULL, 0, 0, false},
    {MODEL_OPENAI, "{\"choices\":[]}", RC_INVALID, NULL, 0, 0, false},
    {MODEL_OPENAI, "<html>", RC_INVALID, NULL, 0, 0, false},
    {MODEL_OPENAI, "[]", RC_INVALID, NULL, 0, 0, false},
    {MODEL_ANTHROPIC,
     "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m-2\",\"content\":["
     "{"
     "\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"yes\"}],"
     "\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":10,"
     "\"cache_read_input_tokens\":2,\"output_tokens\":3}}",
     RC_OK, "yes", 12, 3, false},
    {MODEL_ANTHROPIC,
     "{\"content\":[{\"type\":\"text\",\"text\":\"ye\"}],\"stop_reason\":\"max_tokens\","
     "\"usage\":{\"input_tokens\":-1,\"output_tokens\":9999999999999}}",
     RC_OK, "ye", 0, 1000000000, true},
    {MODEL_ANTHROPIC,
     "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"stop_reason\":\"refusal\"}", RC_INVALID,
     NULL, 0, 0, false},
    {MODEL_ANTHROPIC, "{\"content\":[{\"type\":\"tool_use\"}]}", RC_INVALID, NULL, 0, 0, false},
};

START_TEST(an_answer_is_read_in_the_shape_of_its_api)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct model_answer answer = {0};
    struct err err = {0};
    enum rc rc = model_api_read(answers[_i].api, str_of(answers[_i].body), &arena, &answer, &err);
    ck_assert_int_eq(rc, answers[_i].rc);
    if (rc != RC_OK)
        return;
    ck_assert_str_eq(answer.text, answers[_i].text);
    ck_assert_int_eq(answer.input_tokens, answers[_i].in);
    ck_assert_int_eq(answer.output_tokens, answers[_i].out);
    ck_assert_int_eq(answer.cut_off, answers[_i].cut_off);
}
END_TEST

START_TEST(an_error_is_told_in_a_line)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char openai[] =
        "{\"error\":{\"message\":\"Rate limit\\nreached\",\"type\":\"x\"}}";
    static const char anthropic[] = "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                                    "\"message\":\"Overloaded\"}}";
    ck_assert_str_eq(model_api_error(STR(openai), &arena), "Rate limit reached");
    ck_assert_str_eq(model_api_error(STR(anthropic), &arena), "Overloaded");
    ck_assert_ptr_null(model_api_error(STR("<html>"), &arena));
    ck_assert_ptr_null(model_api_error(STR("{\"error\":\"x\"}"), &arena));
}
END_TEST

Suite *model_api_suite(void)
{
    Suite *suite = suite_create("model_api");
    TCase *tc = tcase_create("model_api");
    tcase_add_test(tc, a_question_has_the_shape_of_its_api);
    tcase_add_loop_test(tc, an_answer_is_read_in_the_shape_of_its_api, 0, (int)COUNT_OF(answers));
    tcase_add_test(tc, an_error_is_told_in_a_line);
    suite_add_tcase(suite, tc);
    return suite;
}
