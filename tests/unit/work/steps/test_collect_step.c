/*
 * test_collect_step.c - what an agent elsewhere has left: its branch, its pull request, its patch,
 * or nothing; and what it only says.
 */
#include "tests/unit/work_kit.h"
#include <check.h>
#include <string.h>

#define BRANCH "drover/work"

static struct kit kit;
static const char *base;

static void setup(void)
{
    kit_open(&kit);
    base = kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
}

static void teardown(void)
{
    kit_close(&kit);
}

static const char diff[] = "diff --git a/file.txt b/file.txt\n"
                           "--- a/file.txt\n"
                           "+++ b/file.txt\n"
                           "@@ -1 +1 @@\n"
                           "-one\n"
                           "+given\n";

/* The agent pushes two commits. */
static const char *push(void)
{
    return kit_sh(&kit, "git clone -q origin.git far && cd far && git config user.name a && "
                        "git config user.email a@b && echo two >file.txt && "
                        "git commit -qam one && echo three >new.txt && git add . && "
                        "git commit -qm two && git push -q origin HEAD:refs/heads/" BRANCH " && "
                        "git rev-parse HEAD");
}

static struct step step_of(const char *record)
{
    struct kit_task task = {
        .agent = "\"compute\":\"pull\"",
        .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\",\"record\":%s", base, record),
    };
    struct step step = kit_step(&kit, &task);
    step.input.branch = BRANCH;
    return step;
}

static const struct js *collect(const char *record)
{
    struct step step = step_of(record);
    struct err err = {0};
    ck_assert_msg(step_collect(&step, &err) == RC_OK, "%s", err.text);
    return kit_result(&kit);
}

static const char *text_of(const struct js *result, const char *path)
{
    return arena_strdup(&kit.arena, js_str(js_path(result, path), ""));
}

START_TEST(a_branch_becomes_the_patch)
{
    const char *head = push();
    const struct js *result = collect("{\"status\":\"success\",\"summary\":\"pushed\"}");
    ck_assert_str_eq(text_of(result, "report"), "success");
    ck_assert_str_eq(text_of(result, "summary"), "pushed");
    ck_assert(js_get_bool(result, "branchPushed", false));
    ck_assert_int_eq(js_get_int(result, "commits", 0), 2);
    ck_assert_int_eq(js_int(js_path(result, "patch.files"), 0), 2);
    ck_assert_str_eq(text_of(result, "patch.treeHash"),
                     kit_sh(&kit, "git --git-dir=origin.git rev-parse '%s^{tree}'", head));
    const char *patch = kit_artifact(&kit, text_of(result, "patch.sha256"));
    ck_assert_ptr_nonnull(strstr(patch, "+two"));
    ck_assert_ptr_nonnull(strstr(patch, "+three"));
    ck_assert_int_eq(js_type(js_get(result, "pullRequest")), JS_NULL);
}
END_TEST

START_TEST(a_pull_request_is_found_and_its_branch_outranks_a_given_patch)
{
    const char *head = push();
    kit_sh(&kit, "git --git-dir=origin.git update-ref refs/pull/5/head %s", head);
    const struct js *result = collect(arena_printf(
        &kit.arena, "{\"report\":\"error\",\"patchSha256\":\"%s\"}", kit_put(&kit, diff)));
    ck_assert_str_eq(text_of(result, "report"), "error");
    ck_assert_int_eq(js_int(js_path(result, "pullRequest.number"), 0), 5);
    ck_assert_str_eq(text_of(result, "pullRequest.headCommit"), head);
    ck_assert_int_eq(js_int(js_path(result, "patch.files"), 0), 2);
}
END_TEST

START_TEST(a_given_patch_is_applied_and_read_again)
{
    const struct js *result = collect(arena_printf(
        &kit.arena, "{\"status\":\"success\",\"patchSha256\":\"%s\"}", kit_put(&kit, diff)));
    ck_assert(!js_get_bool(result, "branchPushed", true));
    ck_assert_int_eq(js_int(js_path(result, "patch.files"), 0), 1);
    const char *patch = kit_artifact(&kit, text_of(result, "patch.sha256"));
    ck_assert_ptr_nonnull(strstr(patch, "+given"));
    ck_assert_ptr_nonnull(strstr(patch, "index ")); /* As git writes it, not as it was given. */
}
END_TEST

START_TEST(words_alone_are_nothing)
{
    const struct js *result = collect("{\"status\":\"success\",\"pullRequest\":{\"number\":1}}");
    ck_assert_int_eq(js_type(js_get(result, "patch")), JS_NULL);
    ck_assert_int_eq(js_type(js_get(result, "pullRequest")), JS_NULL);
    ck_assert_str_eq(text_of(result, "outcome"), "ended");
    result = collect("{\"outcome\":\"turn_limit\",\"report\":\"unknown\"}");
    ck_assert_str_eq(text_of(result, "outcome"), "turn_limit");
    result = collect("null");
    ck_assert_str_eq(text_of(result, "report"), "unknown");
}
END_TEST

static const char *const no_patches[] = {
    "I would rather not.",
    "diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n",
    "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 "
    "@@\n+a\n",
    "diff --git a/.git/config b/.git/config\nnew file mode 100644\n--- /dev/null\n"
    "+++ b/.git/config\n@@ -0,0 +1 @@\n+a\n",
};

START_TEST(what_is_no_patch_is_refused)
{
    struct step step = step_of(arena_printf(&kit.arena,
                                            "{\"status\":\"success\",\"patchSha256\":\"%s\"}",
                                            kit_put(&kit, no_patches[_i])));
    struct err err = {0};
    ck_assert_int_ne(step_collect(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "patch_failed");
    ck_assert(!step.failure.retryable);
}
END_TEST

START_TEST(a_forge_that_is_away_is_asked_again)
{
    struct step step = step_of("{\"status\":\"success\"}");
    struct err err = {0};
    kit_sh(&kit, "mv origin.git away.git");
    ck_assert_int_ne(step_collect(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "collect_failed");
    ck_assert(step.failure.retryable);
}
END_TEST

Suite *collect_step_suite(void)
{
    Suite *suite = suite_create("collect_step");
    TCase *tests = tcase_create("collect_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_branch_becomes_the_patch);
    tcase_add_test(tests, a_pull_request_is_found_and_its_branch_outranks_a_given_patch);
    tcase_add_test(tests, a_given_patch_is_applied_and_read_again);
    tcase_add_test(tests, words_alone_are_nothing);
    tcase_add_loop_test(tests, what_is_no_patch_is_refused, 0, (int)COUNT_OF(no_patches));
    tcase_add_test(tests, a_forge_that_is_away_is_asked_again);
    suite_add_tcase(suite, tests);
    return suite;
}
