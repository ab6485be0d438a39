/*
 * What an issue is told of its task.
 */
#include "base/str.h"
#include "core/pr/intake_text.h"
#include <check.h>
#include <string.h>

static const struct {
    const char *name;
    struct issue_progress progress;
    const char *has[4];
} cases[] = {
    {"seen", {.state = ISSUE_SEEN}, {"is not working on this"}},
    {"awaiting",
     {.state = ISSUE_AWAITING, .reason = "its text is by eve", .asked_by = "eve", .by = "label x"},
     {"waits for an approval: its text is by eve.", "- Asked for by `eve` (label x)",
      "`/drover run`"}},
    {"refused",
     {.state = ISSUE_DONE, .reason = "the rate is `used` up", .asked_by = "alice"},
     {"could not take this on: `the rate is 'used' up`", "asks for it once more"}},
    {"queued",
     {.state = ISSUE_ACTIVE, .task_id = "T1", .run_no = 1, .status = TASK_SUBMITTED},
     {"has accepted this; it waits for a worker", "Task `T1`, run 1, $0.00", "/drover cancel"}},
    {"deferred",
     {.state = ISSUE_ACTIVE, .task_id = "T1", .status = TASK_DEFERRED, .deferred = "2 of 2 run"},
     {"it waits: `2 of 2 run`"}},
    {"running",
     {.state = ISSUE_ACTIVE,
      .task_id = "T1",
      .run_no = 2,
      .status = TASK_RUNNING,
      .step = "verifying",
      .cost_microusd = 1234567,
      .changed = true},
     {"working on this: `verifying`", "run 2, $1.23", "has changed since it was approved"}},
    {"question",
     {.state = ISSUE_ACTIVE, .task_id = "T1", .status = TASK_RUNNING, .question = "A\nor @b?"},
     {"has a question: `A or @b?`", "drover question answer"}},
    {"approval",
     {.state = ISSUE_ACTIVE, .task_id = "T1", .status = TASK_RUNNING, .approval = true},
     {"waits until a person approves the result"}},
    {"pull request",
     {.state = ISSUE_DONE,
      .task_id = "T1",
      .status = TASK_COMPLETED,
      .pr_number = 7,
      .pr_url = "https://x/7",
      .pr_state = "draft",
      .pr_news = "checks: 3 of 4 passed"},
     {"has opened a pull request", "[#7](https://x/7), draft", "checks: 3 of 4"}},
    {"merged",
     {.state = ISSUE_DONE,
      .task_id = "T1",
      .status = TASK_COMPLETED,
      .pr_number = 7,
      .pr_state = "merged"},
     {"the pull request was merged"}},
    {"failed",
     {.state = ISSUE_DONE,
      .task_id = "T1",
      .status = TASK_FAILED,
      .error = "verify: `make test` failed",
      .can_retry = true},
     {"stopped: failed, `verify: 'make test' failed`", "/drover retry"}},
    {"help", {.state = ISSUE_SEEN, .help = true}, {"`/drover status`"}},
};

START_TEST(a_state_has_its_words)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, INTAKE_TEXT_MAX);
    issue_progress_write(&cases[_i].progress, &arena, &text);
    for (size_t i = 0; i < COUNT_OF(cases[_i].has) && cases[_i].has[i] != NULL; i++)
        ck_assert_msg(strstr(buf_text(&text), cases[_i].has[i]) != NULL, "%s: %s in\n%s",
                      cases[_i].name, cases[_i].has[i], buf_text(&text));
    ck_assert(!text.overflow);
}
END_TEST

START_TEST(the_same_facts_are_the_same_text)
{
    CLEANUP(arena_release) struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(buf_release) struct buf one, two;
        buf_init(&one, INTAKE_TEXT_MAX);
        buf_init(&two, INTAKE_TEXT_MAX);
        issue_progress_write(&cases[i].progress, &arena, &one);
        issue_progress_write(&cases[i].progress, &arena, &two);
        ck_assert_str_eq(buf_text(&one), buf_text(&two));
    }
}
END_TEST

Suite *intake_text_suite(void)
{
    Suite *suite = suite_create("intake_text");
    TCase *tc = tcase_create("intake_text");
    tcase_add_loop_test(tc, a_state_has_its_words, 0, COUNT_OF(cases));
    tcase_add_test(tc, the_same_facts_are_the_same_text);
    suite_add_tcase(suite, tc);
    return suite;
}
