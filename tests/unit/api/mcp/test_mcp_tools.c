/*
 * test_mcp_tools.c - the table of tools beside its texts, and the routes behind both.
 */
#include "api/mcp/mcp_parts.h"
#include "api/mcp/prompts.h"
#include "api/mcp/resources.h"
#include "api/mcp/tools.h"
#include "tests/unit/suites.h"
#include <string.h>

/* All that agents and people were promised. */
static const char *const promised[] = {
    "create_task",         "get_task_status",    "list_tasks",   "cancel_task",
    "retry_task",          "get_next_task",      "heartbeat",    "report_task_completion",
    "report_task_failure", "list_approvals",     "approve",      "reject",
    "answer_question",     "send_message",       "publish",      "list_dead_letters",
    "wait_for_event",      "append_event",       "launch_agent", "kill_agent",
    "list_agents",         "replay_dead_letter", "ask_question", "list_questions",
    "get_messages",        "ask_about_claim",    "get_answer",
};

START_TEST(every_tool_has_a_route_and_a_text)
{
    struct tools *tools = NULL;
    struct err err = {0};
    ck_assert_msg(tools_new(&tools, &err) == RC_OK, "%s", err.text);
    for (size_t i = 0; i < COUNT_OF(promised); i++)
        ck_assert_msg(tools_find(tools, promised[i]) != NULL, "%s", promised[i]);
    ck_assert_ptr_null(tools_find(tools, "no_such"));
    tools_free(tools);
}
END_TEST

/* The variables of the path are required arguments, and as many as the pattern has. */
START_TEST(a_path_gets_what_it_needs)
{
    struct tools *tools = NULL;
    struct err err = {0};
    ck_assert_int_eq(tools_new(&tools, &err), RC_OK);
    for (size_t i = 0; i < COUNT_OF(promised); i++) {
        const struct tool *tool = tools_find(tools, promised[i]);
        const struct js *required = js_get(tool->input.tree, "required");
        size_t vars = 0;
        for (const char *at = tool->row->pattern; (at = strchr(at, '{')) != NULL; at++)
            vars++;
        for (size_t var = 0; var < ROUTE_VARS_MAX; var++) {
            const char *name = tool->row->path[var];
            ck_assert_msg((name != NULL) == (var < vars), "%s", promised[i]);
            bool found = name == NULL;
            for (size_t k = 0; !found && k < js_count(required); k++)
                found = text_same(js_str(js_at(required, k), NULL), name);
            ck_assert_msg(found, "%s does not require %s", promised[i], name);
        }
    }
    tools_free(tools);
}
END_TEST

START_TEST(every_resource_has_a_route)
{
    for (const struct resource_row *row = resources_rows(); row->uri != NULL; row++)
        ck_assert_msg(rpc_route(HTTP_GET, row->pattern) != NULL, "%s", row->uri);
    struct arena arena = {0};
    const char *vars[ROUTE_VARS_MAX];
    const struct resource_row *row = resources_find("drover://queues/a%20b", &arena, vars);
    ck_assert_ptr_nonnull(row);
    ck_assert_str_eq(vars[0], "a b");
    ck_assert_ptr_null(resources_find("drover://queues/%zz", &arena, vars));
    ck_assert_ptr_null(resources_find("drover://nothing", &arena, vars));
    arena_release(&arena);
}
END_TEST

START_TEST(the_prompts_can_be_read)
{
    struct prompts *prompts = NULL;
    struct err err = {0};
    ck_assert_msg(prompts_new(&prompts, &err) == RC_OK, "%s", err.text);
    prompts_free(prompts);
}
END_TEST

START_TEST(a_query_is_encoded)
{
    CLEANUP(buf_release) struct buf query;
    buf_init(&query, 100);
    rpc_query_add(&query, "a", "x y&z=%\xc3\xa4");
    rpc_query_add(&query, "b", "1");
    ck_assert_str_eq(buf_text(&query), "a=x%20y%26z%3D%25%C3%A4&b=1");
}
END_TEST

Suite *mcp_tools_suite(void)
{
    Suite *suite = suite_create("mcp_tools");
    TCase *tc = tcase_create("tools");
    tcase_add_test(tc, every_tool_has_a_route_and_a_text);
    tcase_add_test(tc, a_path_gets_what_it_needs);
    tcase_add_test(tc, every_resource_has_a_route);
    tcase_add_test(tc, the_prompts_can_be_read);
    tcase_add_test(tc, a_query_is_encoded);
    suite_add_tcase(suite, tc);
    return suite;
}
