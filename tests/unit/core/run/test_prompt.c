/*
 * test_prompt.c - the prompt, whole and cut down.
 */
#include "base/str.h"
#include "core/run/prompt.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct prompt_input input_of(const struct prompt_part *parts, size_t count)
{
    return (struct prompt_input){
        .task_id = "t-1",
        .repository = "acme/billing",
        .parts = parts,
        .part_count = count,
        .token_budget = 100000,
    };
}

START_TEST(parts_stand_in_their_order_under_headings)
{
    static const struct prompt_part parts[] = {
        {PROMPT_ATTACHMENT, "trace.txt", "Boom.", false},
        {PROMPT_MEMORY, NULL, "It was slow before.", false},
        {PROMPT_TASK, NULL, "Fix the total.\n\n", false},
        {PROMPT_LINKED, "#9 (open) by bob", "Rounding.", false},
        {PROMPT_COMMENT, "bob", "Me too.", false},
        {PROMPT_ISSUE, "#12 Totals are wrong", "They are.", false},
        {PROMPT_COMMENT, "eve", "And me.", false},
        {PROMPT_RULES, "AGENTS.md", "Use tabs.", false},
        {PROMPT_RULES, "EMPTY.md", " \n", false},
        {PROMPT_RULES, "MORE.md", "Not tabs.", false},
        {PROMPT_SYSTEM, NULL, "Be brief.", false},
    };
    struct prompt_input input = input_of(parts, COUNT_OF(parts));
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000);
    struct prompt_result result;
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, NULL), RC_OK);
    ck_assert_str_eq(buf_text(&buf), "Task ID: t-1\nRepository: acme/billing\n\n"
                                     "## Instructions\n\nBe brief.\n\n"
                                     "## Repository rules: AGENTS.md\n\nUse tabs.\n\n"
                                     "## Repository rules: MORE.md\n\nNot tabs.\n\n"
                                     "## Issue #12 Totals are wrong\n\nThey are.\n\n"
                                     "### Comment by bob\n\nMe too.\n\n"
                                     "### Comment by eve\n\nAnd me.\n\n"
                                     "### Linked issue #9 (open) by bob\n\nRounding.\n\n"
                                     "## Task\n\nFix the total.\n\n"
                                     "## Memory\n\nIt was slow before.\n\n"
                                     "## Attachment: trace.txt\n\nBoom.\n\n");
    ck_assert(!result.truncated);
    ck_assert_int_eq(result.token_estimate, token_estimate(buf.len));
    for (int kind = 0; kind < PROMPT_KIND_COUNT; kind++)
        ck_assert(result.used[kind]);
}
END_TEST

/* What is left of eleven sections of nearly 100 tokens each, under budgets from rich to poor. */
static const struct {
    int64_t token_budget;
    const char *want; /* Letters of the parts that stay. */
    const char *note;
} budgets[] = {
    {2000, "SRrIabcTMmA", NULL},
    {1050, "SRrIbcTMmA", "1 comment."},
    {950, "SRrIcTMmA", "2 comments."},
    {850, "SRrITMmA", "3 comments."},
    {750, "SRrITMA", "3 comments, 1 memory note."},
    {655, "SRrITA", "3 comments, 2 memory notes."},
    {555, "SRrIT", "3 comments, 2 memory notes, 1 attachment."},
    {460, "SRIT", "3 comments, 2 memory notes, 1 attachment, 1 rules file."},
    {360, "SIT", "3 comments, 2 memory notes, 1 attachment, 2 rules files."},
    {1, "SIT", "3 comments, 2 memory notes, 1 attachment, 2 rules files."},
};

START_TEST(over_the_budget_comments_go_then_memory_attachments_and_rules)
{
    enum { PARTS = 11 };
    static const char letters[] = "SRrIabcTMmA";
    static const enum prompt_kind kinds[PARTS] = {PROMPT_SYSTEM,  PROMPT_RULES,     PROMPT_RULES,
                                                  PROMPT_ISSUE,   PROMPT_COMMENT,   PROMPT_COMMENT,
                                                  PROMPT_COMMENT, PROMPT_TASK,      PROMPT_MEMORY,
                                                  PROMPT_MEMORY,  PROMPT_ATTACHMENT};
    char texts[PARTS][370];
    struct prompt_part parts[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        memset(texts[i], letters[i], sizeof texts[i] - 1);
        texts[i][sizeof texts[i] - 1] = '\0';
        parts[i] = (struct prompt_part){.kind = kinds[i], .text = texts[i]};
    }
    struct prompt_input input = input_of(parts, PARTS);
    input.token_budget = budgets[_i].token_budget;
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 100000);
    struct prompt_result result;
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, NULL), RC_OK);
    for (size_t i = 0; i < PARTS; i++)
        ck_assert_msg((strstr(buf_text(&buf), texts[i]) != NULL) ==
                          (strchr(budgets[_i].want, letters[i]) != NULL),
                      "budget %d: part %c", (int)input.token_budget, letters[i]);
    ck_assert_int_eq(result.truncated, budgets[_i].note != NULL);
    if (budgets[_i].note != NULL)
        ck_assert_ptr_nonnull(strstr(buf_text(&buf), budgets[_i].note));
    else
        ck_assert_ptr_null(strstr(buf_text(&buf), "Left out"));
    if (input.token_budget > 1)
        ck_assert_int_le(result.token_estimate, input.token_budget);
    ck_assert_int_eq(result.used[PROMPT_COMMENT], strchr(budgets[_i].want, 'c') != NULL);
}
END_TEST

START_TEST(there_must_be_something_to_do)
{
    static const struct prompt_part nothing[] = {
        {PROMPT_SYSTEM, NULL, "Be brief.", false},
        {PROMPT_RULES, "AGENTS.md", "Use tabs.", false},
        {PROMPT_TASK, NULL, " \n\t", false},
        {PROMPT_ISSUE, "#1", NULL, false},
    };
    struct prompt_input input = input_of(nothing, COUNT_OF(nothing));
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 10000);
    struct prompt_result result = {.token_estimate = -1};
    struct err err = {0};
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, &err), RC_INVALID);
    ck_assert_str_eq(err.field, "description");
    ck_assert_int_eq(result.token_estimate, -1);
    ck_assert_uint_eq(buf.len, 0);
    static const struct prompt_part issue[] = {{PROMPT_ISSUE, NULL, "It is broken.", false}};
    input = input_of(issue, 1);
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, &err), RC_OK);
    ck_assert_ptr_nonnull(strstr(buf_text(&buf), "## Issue\n\nIt is broken."));
}
END_TEST

START_TEST(a_task_that_does_not_fit_is_refused_untouched)
{
    char text[500];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const struct prompt_part parts[] = {{PROMPT_TASK, NULL, text, false},
                                        {PROMPT_RULES, "AGENTS.md", text, false}};
    struct prompt_input input = input_of(parts, COUNT_OF(parts));
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 500);
    buf_adds(&buf, "kept");
    struct prompt_result result = {.token_estimate = -1};
    struct err err = {0};
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, &err), RC_TOO_LARGE);
    ck_assert_str_eq(err.code, "PROMPT_TOO_LARGE");
    ck_assert_str_eq(buf_text(&buf), "kept");
    ck_assert_int_eq(result.token_estimate, -1);
}
END_TEST

START_TEST(the_buffer_is_a_budget_too)
{
    char text[500];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const struct prompt_part parts[] = {{PROMPT_TASK, NULL, text, false},
                                        {PROMPT_RULES, "AGENTS.md", text, false}};
    struct prompt_input input = input_of(parts, COUNT_OF(parts));
    input.token_budget = INT64_MAX;
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 900);
    struct prompt_result result;
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, NULL), RC_OK);
    ck_assert(!buf.overflow);
    ck_assert(result.truncated);
    ck_assert(!result.used[PROMPT_RULES]);
    ck_assert_ptr_nonnull(strstr(buf_text(&buf), "1 rules file."));
}
END_TEST

START_TEST(a_task_alone_is_never_cut)
{
    static const struct prompt_part parts[] = {{PROMPT_TASK, "Totals", "Fix the total.", false}};
    struct prompt_input input = input_of(parts, 1);
    input.token_budget = 1;
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, 1000);
    struct prompt_result result;
    ck_assert_int_eq(prompt_assemble(&input, &buf, &result, NULL), RC_OK);
    ck_assert(!result.truncated);
    ck_assert_int_gt(result.token_estimate, 1);
    ck_assert(text_ends(buf_text(&buf), "## Task: Totals\n\nFix the total.\n\n"));
}
END_TEST

START_TEST(four_bytes_are_a_token)
{
    static const struct {
        size_t bytes;
        int64_t tokens;
    } rows[] = {{0, 0}, {1, 1}, {4, 1}, {5, 2}, {400000, 100000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_int_eq(token_estimate(rows[i].bytes), rows[i].tokens);
    ck_assert_str_eq(prompt_kind_name(PROMPT_RULES), "repository_rules");
    ck_assert_str_eq(prompt_kind_name(PROMPT_SYSTEM), "system");
    ck_assert_str_eq(prompt_kind_name(PROMPT_ISSUE), "issue");
}
END_TEST

START_TEST(the_version_follows_the_system_text)
{
    char one[PROMPT_VERSION_BYTES], same[PROMPT_VERSION_BYTES], other[PROMPT_VERSION_BYTES];
    CLEANUP(arena_release) struct arena arena = {0};
    (void)prompt_template_version(one, prompt_system(NULL, &arena));
    ck_assert_str_eq(prompt_template_version(same, prompt_system(NULL, &arena)), one);
    ck_assert_str_ne(prompt_template_version(other, prompt_system("Be brief.", &arena)), one);
    ck_assert(text_starts(one, "2-"));
    ck_assert_uint_eq(strlen(one), 14);
}
END_TEST

/* Instructions of the repository once replaced this too, and agents read no feedback. */
START_TEST(every_system_text_names_feedback_and_result)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const char *const own[] = {NULL, "", "Be brief.", "Be brief.\n\n"};
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        const char *text = prompt_system(own[i], &arena);
        ck_assert_ptr_nonnull(strstr(text, "$DROVER_FEEDBACK"));
        ck_assert_ptr_nonnull(strstr(text, "$DROVER_RESULT"));
        bool ours = strstr(text, "You are a software engineer.") != NULL;
        ck_assert_int_eq(ours, own[i] == NULL);
    }
    ck_assert(text_starts(prompt_system("Be brief.\n\n", &arena), "Be brief.\n\n- When "));
}
END_TEST

START_TEST(who_resumes_is_given_the_feedback_and_not_the_task)
{
    CLEANUP(buf_release) struct buf with, without, said;
    buf_init(&with, 4096);
    buf_init(&without, 4096);
    buf_init(&said, 4096);
    prompt_resume(&(struct prompt_news){"unit: expected 42", ""}, &with);
    prompt_resume(&(struct prompt_news){"", ""}, &without);
    prompt_resume(&(struct prompt_news){"", "\n## Messages from people\n"}, &said);
    ck_assert_ptr_nonnull(strstr(buf_text(&with), "not accepted"));
    ck_assert_ptr_nonnull(strstr(buf_text(&with), "\n\nunit: expected 42\n"));
    ck_assert_ptr_null(strstr(buf_text(&without), "not accepted"));
    ck_assert_ptr_nonnull(strstr(buf_text(&without), "interrupted"));
    ck_assert_ptr_null(strstr(buf_text(&said), "interrupted"));
    ck_assert_ptr_null(strstr(buf_text(&said), "not accepted"));
    ck_assert_ptr_nonnull(strstr(buf_text(&said), "\n## Messages from people\n"));
}
END_TEST

Suite *prompt_suite(void)
{
    Suite *suite = suite_create("prompt");
    TCase *tc = tcase_create("context");
    tcase_add_test(tc, parts_stand_in_their_order_under_headings);
    tcase_add_loop_test(tc, over_the_budget_comments_go_then_memory_attachments_and_rules, 0,
                        (int)COUNT_OF(budgets));
    tcase_add_test(tc, the_version_follows_the_system_text);
    tcase_add_test(tc, every_system_text_names_feedback_and_result);
    tcase_add_test(tc, who_resumes_is_given_the_feedback_and_not_the_task);
    tcase_add_test(tc, there_must_be_something_to_do);
    tcase_add_test(tc, a_task_that_does_not_fit_is_refused_untouched);
    tcase_add_test(tc, the_buffer_is_a_budget_too);
    tcase_add_test(tc, a_task_alone_is_never_cut);
    tcase_add_test(tc, four_bytes_are_a_token);
    suite_add_tcase(suite, tc);
    return suite;
}
