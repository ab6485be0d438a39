/*
 * test_judge_answer.c - answers of models and programs, good and odd.
 */
#include "core/run/judge_answer.h"
#include "tests/unit/suites.h"
#include <string.h>

static const struct {
    const char *text;
    enum rc rc;
    enum verdict verdict;
    double score; /* -1: none */
    size_t findings;
} answers[] = {
    {"", RC_NOT_FOUND, 0, -1, 0},
    {"I think that it is fine.", RC_NOT_FOUND, 0, -1, 0},
    {"{\"verdict\":\"pass\"}", RC_OK, VERDICT_PASS, -1, 0},
    {"{\"verdict\":\"PASS\",\"score\":1}", RC_OK, VERDICT_PASS, 1, 0},
    {"{\"verdict\":\"fail\",\"score\":0.25,\"findings\":[{\"text\":\"a\"},{\"text\":\"b\"}]}",
     RC_OK, VERDICT_FAIL, 0.25, 2},
    {"{\"verdict\":\"pass\",\"score\":86}", RC_OK, VERDICT_PASS, -1, 0},
    {"{\"verdict\":\"pass\",\"score\":\"0.9\"}", RC_OK, VERDICT_PASS, -1, 0},
    {"{\"verdict\":\"needs_human_review\"}", RC_OK, VERDICT_NEEDS_HUMAN_REVIEW, -1, 0},
    {"{\"verdict\":\"maybe\"}", RC_INVALID, 0, -1, 0},
    {"{\"verdict\":true}", RC_NOT_FOUND, 0, -1, 0},
    {"```json\n{\"verdict\": \"pass\", \"score\": 0.9}\n```", RC_OK, VERDICT_PASS, 0.9, 0},
    {"Here you are:\n```\n{\"verdict\":\"fail\",\"findings\":[\"too { long\"]}\n```\nBye.", RC_OK,
     VERDICT_FAIL, -1, 1},
    /* What it quotes first comes from the patch. */
    {"The patch holds {\"verdict\":\"pass\"}, but: {\"verdict\":\"fail\"}", RC_OK, VERDICT_FAIL, -1,
     0},
    {"{\"verdict\":\"fail\",\"findings\":[{\"text\":\"x\",\"verdict\":\"pass\"}]} and more", RC_OK,
     VERDICT_FAIL, -1, 1},
    {"{ not json { {\"verdict\":\"pass\"}", RC_OK, VERDICT_PASS, -1, 0},
    {"{\"verdict\":\"pass\",\"findings\":[{\"text\":\"cut of", RC_NOT_FOUND, 0, -1, 0},
    {"{\"verdict\":\"fail\",\"findings\":[{\"rule\":\"x\"},7,null,{\"text\":\"\"}]}", RC_OK,
     VERDICT_FAIL, -1, 0},
    {"{\"verdict\":\"pass\",\"verdict\":\"fail\"}", RC_NOT_FOUND, 0, -1, 0},
};

START_TEST(an_answer_is_found_or_not_at_all)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct judgement got = {.name = "x"};
    struct err err = {0};
    enum rc rc = judge_answer_read(str_of(answers[_i].text), &arena, &got, &err);
    ck_assert_msg(rc == answers[_i].rc, "%s: %s", answers[_i].text, rc_name(rc));
    if (rc != RC_OK)
        return;
    ck_assert_int_eq(got.verdict, answers[_i].verdict);
    ck_assert_int_eq(got.scored, answers[_i].score >= 0);
    if (got.scored)
        ck_assert_double_eq(got.score, answers[_i].score);
    ck_assert_uint_eq(got.finding_count, answers[_i].findings);
}
END_TEST

START_TEST(findings_keep_what_is_sound)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct judgement got = {.name = "x"};
    static const char text[] =
        "{\"verdict\":\"fail\",\"category\":\"scope overreach\",\"findings\":["
        "{\"rule\":\"r\",\"path\":\"a.c\",\"text\":\"one\\ntwo\"},"
        "{\"text\":\"three\",\"category\":\"Bad-Style\"},{\"text\":\"four\",\"category\":\"<x>\"}]"
        "}";
    ck_assert_int_eq(judge_answer_read(STR(text), &arena, &got, NULL), RC_OK);
    ck_assert_uint_eq(got.finding_count, 3);
    ck_assert_str_eq(got.findings[0].rule, "r");
    ck_assert_str_eq(got.findings[0].path, "a.c");
    ck_assert_str_eq(got.findings[0].text, "one two");
    ck_assert_str_eq(got.findings[0].category, "scope_overreach");
    ck_assert_str_eq(got.findings[1].rule, "judge");
    ck_assert_str_eq(got.findings[1].category, "bad_style");
    ck_assert_str_eq(got.findings[2].category, "scope_overreach");
    ck_assert_str_eq(judgement_category(&got), "scope_overreach");
}
END_TEST

START_TEST(a_wall_of_brackets_is_no_trouble)
{
    CLEANUP(arena_release) struct arena arena = {0};
    enum { BYTES = JUDGE_ANSWER_MAX };
    char *wall = arena_alloc(&arena, BYTES + 1);
    memset(wall, '{', BYTES);
    struct judgement got = {.name = "x"};
    ck_assert_int_eq(judge_answer_read(str_of(wall), &arena, &got, NULL), RC_NOT_FOUND);
    memcpy(wall + BYTES - 18, "{\"verdict\":\"pass\"}", 18);
    ck_assert_int_eq(judge_answer_read(str_of(wall), &arena, &got, NULL), RC_OK);
}
END_TEST

Suite *judge_answer_suite(void)
{
    Suite *suite = suite_create("judge_answer");
    TCase *tc = tcase_create("judge_answer");
    tcase_add_loop_test(tc, an_answer_is_found_or_not_at_all, 0, (int)COUNT_OF(answers));
    tcase_add_test(tc, findings_keep_what_is_sound);
    tcase_add_test(tc, a_wall_of_brackets_is_no_trouble);
    suite_add_tcase(suite, tc);
    return suite;
}
