#include "base/rc.h"
#include "core/run/tool_facts.h"
#include <check.h>

static const struct {
    const char *tool, *space, *name, *risk;
} tools[] = {
    {"Bash", "core", "Bash", "medium"},
    {"Read", "core", "Read", "low"},
    {"run_shell_command", "core", "run_shell_command", "medium"},
    {"WebFetch", "core", "WebFetch", "high"},
    {"mcp__github__search_issues", "mcp.github", "search_issues", "high"},
    {"mcp__github__", "core", "mcp__github__", "high"},
    {"mcp__read", "core", "mcp__read", "high"},
    {"developer__shell", "developer", "shell", "medium"},
    {"developer__fetch", "developer", "fetch", "high"},
    {"__x", "core", "__x", "medium"},
    {"x__", "core", "x__", "medium"},
    {"", "core", "", "medium"},
    {"never seen", "core", "never seen", "medium"},
};

START_TEST(a_name_says_where_a_tool_comes_from_and_what_it_can_do)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct tool_facts facts = tool_facts_of(tools[_i].tool, &arena);
    ck_assert_str_eq(facts.space, tools[_i].space);
    ck_assert_str_eq(facts.name, tools[_i].name);
    ck_assert_str_eq(tool_risk_names[facts.risk], tools[_i].risk);
}
END_TEST

Suite *tool_facts_suite(void)
{
    Suite *suite = suite_create("tool_facts");
    TCase *tc = tcase_create("tool_facts");
    tcase_add_loop_test(tc, a_name_says_where_a_tool_comes_from_and_what_it_can_do, 0,
                        (int)COUNT_OF(tools));
    suite_add_tcase(suite, tc);
    return suite;
}
