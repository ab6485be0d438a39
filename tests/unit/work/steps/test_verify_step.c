/*
 * test_verify_step.c - checks on a clean checkout: verdicts, certificate, feedback.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/steps/verification.h"
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;

static void setup(void)
{
    kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static const char good[] = "diff --git a/file.txt b/file.txt\n"
                           "--- a/file.txt\n"
                           "+++ b/file.txt\n"
                           "@@ -1 +1 @@\n"
                           "-one\n"
                           "+two\n";
static const char misfit[] = "diff --git a/file.txt b/file.txt\n"
                             "--- a/file.txt\n"
                             "+++ b/file.txt\n"
                             "@@ -1 +1 @@\n"
                             "-something else\n"
                             "+two\n";

static const char *head(void)
{
    return kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
}

static struct step step_of(const char *verify, const char *patch)
{
    const char *payload = patch != NULL
                              ? arena_printf(&kit.arena,
                                             "\"baseCommit\":\"%s\",\"patchSha256\":\"%s\"", head(),
                                             kit_put(&kit, patch))
                              : arena_printf(&kit.arena, "\"baseCommit\":\"%s\"", head());
    return kit_step(&kit, &(struct kit_task){.payload = payload, .config = verify});
}

static const struct js *run(const char *verify, const char *patch)
{
    struct step step = step_of(verify, patch);
    struct err err = {0};
    ck_assert_msg(step_verify(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls %s | grep verify- || true", step.run_dir), "");
    return kit_result(&kit);
}

static const char *of_check(const struct js *result, size_t index, const char *key)
{
    return js_get_str(js_at(js_get(result, "checks"), index), key, NULL);
}

START_TEST(checks_that_pass_verify_the_patch)
{
    const struct js *result = run(
        "\"verify\":[{\"name\":\"two\",\"command\":\"grep two file.txt\"},"
        "{\"name\":\"clean\",\"command\":\"test -d .git\"}]",
        good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "verified");
    ck_assert_uint_eq(js_count(js_get(result, "checks")), 2);
    ck_assert_str_eq(of_check(result, 0, "status"), "passed");
    ck_assert_ptr_null(js_get_str(result, "feedbackSha256", NULL));
    const char *report = kit_artifact(&kit, of_check(result, 0, "reportSha256"));
    ck_assert_str_eq(report, "two\n");
    const char *text = kit_artifact(&kit, js_get_str(result, "certificateSha256", NULL));
    struct js *certificate = NULL;
    ck_assert_int_eq(js_parse(text, strlen(text), &certificate, NULL), RC_OK);
    ck_assert_str_eq(js_get_str(certificate, "verdict", ""), "verified");
    ck_assert_str_eq(js_get_str(certificate, "baseCommit", ""), head());
    ck_assert_str_eq(js_get_str(certificate, "runId", ""), kit.run_id.text);
    ck_assert_int_eq(js_int(js_path(certificate, "counts.passed"), 0), 2);
    ck_assert_str_eq(js_get_str(certificate, "treeHash", ""),
                     js_get_str(result, "treeHash", "none"));
    js_free(certificate);
    ck_assert(kit_saw_event(
        &kit, "{\"type\":\"agent.verification.started\",\"data\":{\"name\":"
              "\"two\",\"verifierName\":\"two\",\"command\":\"grep two file.txt\"}}"));
}
END_TEST

START_TEST(a_check_that_fails_is_summarized_for_the_agent)
{
    const struct js *result = run(
        "\"verify\":[{\"name\":\"unit\",\"command\":\"echo 'FAIL: rounding is wrong'; exit 4\"},"
        "{\"name\":\"fine\",\"command\":\"true\"}]",
        good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "failed");
    ck_assert_str_eq(of_check(result, 0, "status"), "failed");
    ck_assert_int_eq(js_get_int(js_at(js_get(result, "checks"), 0), "exitCode", 0), 4);
    ck_assert_str_ne(of_check(result, 0, "category"), "");
    ck_assert_ptr_nonnull(of_check(result, 0, "summary"));
    ck_assert_str_eq(of_check(result, 1, "status"), "passed");
    const char *feedback = kit_artifact(&kit, js_get_str(result, "feedbackSha256", NULL));
    ck_assert_ptr_nonnull(strstr(feedback, "rounding is wrong"));
    ck_assert_ptr_nonnull(strstr(feedback, "unit"));
    ck_assert_ptr_null(strstr(feedback, "fine"));
}
END_TEST

START_TEST(a_check_that_hangs_is_timed_out)
{
    const struct js *result = run(
        arena_printf(&kit.arena,
                     "\"verify\":[{\"name\":\"slow\",\"command\":\"echo began; %s\","
                     "\"timeoutMs\":300}]",
                     kit.sleep),
        good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "failed");
    ck_assert_str_eq(of_check(result, 0, "status"), "timed_out");
    ck_assert_str_eq(of_check(result, 0, "category"), "timeout");
    ck_assert(!kit_sleeps(&kit));
}
END_TEST

START_TEST(a_check_killed_by_a_signal_fails)
{
    const struct js *result = run("\"verify\":[{\"name\":\"crash\",\"command\":\"kill -SEGV $$\"}]",
                                  good);
    ck_assert_str_eq(of_check(result, 0, "status"), "failed");
    ck_assert_int_eq(js_get_int(js_at(js_get(result, "checks"), 0), "signal", 0), 11);
}
END_TEST

START_TEST(without_checks_nothing_is_verifiable)
{
    const struct js *result = run(NULL, good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "unverifiable");
    ck_assert_uint_eq(js_count(js_get(result, "checks")), 0);
    ck_assert_ptr_nonnull(js_get_str(result, "certificateSha256", NULL));
}
END_TEST

START_TEST(a_patch_that_does_not_apply_fails)
{
    const struct js *result = run("\"verify\":[{\"name\":\"x\",\"command\":\"true\"}]", misfit);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "failed");
    ck_assert_uint_eq(js_count(js_get(result, "checks")), 2);
    ck_assert_str_eq(of_check(result, 0, "name"), "apply");
    ck_assert_str_eq(of_check(result, 1, "status"), "skipped");
    ck_assert_str_eq(of_check(result, 0, "category"), "patch_does_not_apply");
    ck_assert_ptr_nonnull(kit_artifact(&kit, js_get_str(result, "feedbackSha256", NULL)));
}
END_TEST

static const struct {
    const char *verify, *verdict;
} optional[] = {
    {"{\"name\":\"a\",\"command\":\"true\"},"
     "{\"name\":\"b\",\"command\":\"false\",\"optional\":true}",
     "verified"},
    {"{\"name\":\"b\",\"command\":\"false\",\"optional\":true}", "unverifiable"},
    {"{\"name\":\"b\",\"command\":\"true\",\"optional\":true}", "verified"},
    {"{\"name\":\"a\",\"command\":\"false\"},"
     "{\"name\":\"b\",\"command\":\"true\",\"optional\":true}",
     "failed"},
};

START_TEST(an_optional_check_fails_nothing)
{
    const struct js *result = run(arena_printf(&kit.arena, "\"verify\":[%s]", optional[_i].verify),
                                  good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), optional[_i].verdict);
}
END_TEST

/* Each end of a pipe waits for the other: one after the other they would never end. */
START_TEST(neighbours_that_say_so_run_at_the_same_time)
{
    run("\"verify\":[{\"name\":\"x\",\"command\":\"true\"}]", good); /* Makes the mirror. */
    kit_sh(&kit, "cd data/work/mirrors/*.git && mkfifo pipe && chmod 666 pipe && chmod a+x ..");
    const char *pipe = kit_sh(&kit, "echo $PWD/data/work/mirrors/*.git/pipe");
    const char *verify = arena_printf(
        &kit.arena,
        "\"verify\":[{\"name\":\"first\",\"command\":\"touch built more\",\"outputs\":[\"more\"]},"
        "{\"name\":\"tell\",\"parallel\":true,\"timeoutMs\":20000,"
        "\"command\":\"ls; echo hello >%s\"},"
        "{\"name\":\"hear\",\"parallel\":true,\"timeoutMs\":20000,"
        "\"command\":\"read word <%s; echo heard $word; test ! -e built\"},"
        "{\"name\":\"last\",\"command\":\"test ! -e built && test -e more\"}]",
        pipe, pipe);
    const struct js *result = run(verify, good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "verified");
    static const char *const names[] = {"first", "tell", "hear", "last"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ck_assert_str_eq(of_check(result, i, "name"), names[i]);
    ck_assert_str_eq(kit_artifact(&kit, of_check(result, 2, "reportSha256")), "heard hello\n");
}
END_TEST

/* The first leaves what it can in its tree, its home and its repository. */
START_TEST(a_check_finds_nothing_of_the_one_before)
{
    const struct js *result = run(
        "\"verify\":[{\"name\":\"first\",\"command\":\"echo three >file.txt; touch stray ~/rc; "
        "git config user.name changed; git commit -qam all; echo $PWD $HOME\"},"
        "{\"name\":\"second\",\"command\":\"grep -x two file.txt && test ! -e stray && "
        "test ! -e ~/rc && test $(git config user.name) = drover && "
        "test $(git diff --cached --name-only HEAD) = file.txt && echo $PWD $HOME\"}]",
        good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "verified");
    const char *first = kit_artifact(&kit, of_check(result, 0, "reportSha256"));
    const char *second = kit_artifact(&kit, of_check(result, 1, "reportSha256"));
    ck_assert_str_eq(second, arena_printf(&kit.arena, "two\n%s", first)); /* The same places. */
}
END_TEST

/* make compares times: sources of a later checkout must not look newer than what was built. */
START_TEST(what_was_built_is_up_to_date_for_later_checks)
{
    const struct js *result = run(
        "\"verify\":[{\"name\":\"build\",\"command\":\"mkdir out; cp file.txt out/copy\","
        "\"outputs\":[\"out\"]},"
        "{\"name\":\"test\",\"command\":\"test ! file.txt -nt out/copy && "
        "git diff --quiet && grep -x two out/copy\"}]",
        good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "verified");
}
END_TEST

START_TEST(outputs_that_cannot_be_carried_fail_their_check)
{
    const struct js *result = run("\"verify\":[{\"name\":\"build\",\"command\":\"mkdir out; "
                                  "truncate -s 5G out/sparse\",\"outputs\":[\"out\"]},"
                                  "{\"name\":\"test\",\"command\":\"test ! -e out/sparse\"}]",
                                  good);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "failed");
    ck_assert_str_eq(of_check(result, 0, "status"), "failed");
    ck_assert_str_eq(of_check(result, 0, "category"), "resource_limit");
    ck_assert_ptr_nonnull(strstr(of_check(result, 0, "summary"), "more bytes"));
    ck_assert_str_eq(of_check(result, 1, "status"), "passed");
}
END_TEST

START_TEST(a_check_that_cannot_be_run_is_errored)
{
    kit.site.sandbox.data_dir = "/proc/no/such"; /* bubblewrap cannot make that. */
    const struct js *result = run("\"verify\":[{\"name\":\"x\",\"command\":\"true\"}]", good);
    ck_assert_str_eq(of_check(result, 0, "status"), "errored");
    ck_assert_str_eq(of_check(result, 0, "category"), "infrastructure");
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "failed");
}
END_TEST

START_TEST(checks_run_behind_the_walls_in_a_tree_of_their_own)
{
    setenv("SERVER_SECRET", "hunter2", 1);
    kit_sh(&kit, "mkdir -p data/work/runs/%s/tree; echo agent >data/work/runs/%s/tree/left",
           kit.run_id.text, kit.run_id.text);
    const char *verify = arena_printf(
        &kit.arena,
        "\"verify\":[{\"name\":\"walls\",\"command\":\"ls; env; cat %s/data/admin.token; "
        "cat %s/runs/%s/tree/left; ls /tmp; true\"}]",
        kit.dir, kit.work_dir, kit.run_id.text);
    const struct js *result = run(verify, good);
    const char *report = kit_artifact(&kit, of_check(result, 0, "reportSha256"));
    ck_assert(text_starts(report, "file.txt\n"));
    ck_assert_ptr_null(strstr(report, "hunter2"));
    ck_assert_ptr_null(strstr(report, "top-secret"));
    ck_assert_ptr_null(strstr(report, "agent\n"));
    ck_assert_ptr_null(strstr(report, "DROVER_TOKEN"));
}
END_TEST

/* A filter that an attribute of the patch names has no configuration behind it. */
START_TEST(attributes_in_a_patch_run_nothing)
{
    const struct js *result = run(
        "\"verify\":[{\"name\":\"x\",\"command\":\"cat .gitattributes\"}]",
        "diff --git a/.gitattributes b/.gitattributes\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/.gitattributes\n@@ -0,0 +1 @@\n+* filter=evil diff=evil\n");
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "verified");
}
END_TEST

START_TEST(output_of_a_check_is_bounded)
{
    const struct js *result = run(
        "\"verify\":[{\"name\":\"loud\",\"command\":\"head -c 20000000 /dev/zero | tr '\\\\0' "
        "x; echo; echo 'error: at the very end'; exit 1\"}]",
        good);
    const char *report = kit_artifact(&kit, of_check(result, 0, "reportSha256"));
    ck_assert_uint_le(strlen(report), 16 * 1024 * 1024 + 100);
    ck_assert(text_ends(report, "[output truncated here]\n"));
}
END_TEST

START_TEST(many_checks_fit_into_a_result)
{
    CLEANUP(buf_release) struct buf verify;
    buf_init(&verify, 1024 * 1024);
    buf_adds(&verify, "\"verify\":[");
    for (int i = 0; i < CONFIG_VERIFIERS_MAX; i++)
        buf_addf(&verify, "%s{\"name\":\"check-%030d\",\"command\":\"%s%0900d >&2; exit 1\"}",
                 i ? "," : "", i, "echo error: ", i);
    buf_addc(&verify, ']');
    const struct js *result = run(buf_text(&verify), good);
    ck_assert_uint_le(kit.result.len, STEP_RESULT_MAX);
    ck_assert_uint_eq(js_count(js_get(result, "checks")), CONFIG_VERIFIERS_MAX);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "failed");
}
END_TEST

static void *cancel_soon(void *ctx)
{
    kit_await_file(&kit, ctx);
    stop_ask(&kit.stop, STOP_CANCEL);
    return NULL;
}

START_TEST(a_cancel_ends_the_checks)
{
    struct step step = step_of(
        arena_printf(&kit.arena, "\"verify\":[{\"name\":\"x\",\"command\":\"touch ready; %s\"}]",
                     kit.sleep),
        good);
    pthread_t thread;
    char *ready = arena_printf(&kit.arena, "%s/verify-1/tree/ready", step.run_dir);
    pthread_create(&thread, NULL, cancel_soon, ready);
    struct err err = {0};
    ck_assert_int_eq(step_verify(&step, &err), RC_CANCELLED);
    pthread_join(thread, NULL);
    ck_assert(!kit_sleeps(&kit));
}
END_TEST

START_TEST(without_a_sandbox_nothing_runs)
{
    struct step step = step_of("\"verify\":[{\"name\":\"x\",\"command\":\"touch /tmp/ran\"}]",
                               good);
    struct err err = {0};
    kit.site.sandbox.kind = SANDBOX_UNAVAILABLE;
    ck_assert_int_eq(step_verify(&step, &err), RC_DENIED);
    ck_assert(sandbox_is_unavailable(&err));
}
END_TEST

Suite *verify_step_suite(void)
{
    Suite *suite = suite_create("verify_step");
    TCase *tests = tcase_create("verify_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, checks_that_pass_verify_the_patch);
    tcase_add_test(tests, a_check_that_fails_is_summarized_for_the_agent);
    tcase_add_test(tests, a_check_that_hangs_is_timed_out);
    tcase_add_test(tests, a_check_killed_by_a_signal_fails);
    tcase_add_test(tests, without_checks_nothing_is_verifiable);
    tcase_add_test(tests, a_patch_that_does_not_apply_fails);
    tcase_add_loop_test(tests, an_optional_check_fails_nothing, 0, (int)COUNT_OF(optional));
    tcase_add_test(tests, neighbours_that_say_so_run_at_the_same_time);
    tcase_add_test(tests, a_check_finds_nothing_of_the_one_before);
    tcase_add_test(tests, what_was_built_is_up_to_date_for_later_checks);
    tcase_add_test(tests, outputs_that_cannot_be_carried_fail_their_check);
    tcase_add_test(tests, a_check_that_cannot_be_run_is_errored);
    tcase_add_test(tests, checks_run_behind_the_walls_in_a_tree_of_their_own);
    tcase_add_test(tests, attributes_in_a_patch_run_nothing);
    tcase_add_test(tests, output_of_a_check_is_bounded);
    tcase_add_test(tests, many_checks_fit_into_a_result);
    tcase_add_test(tests, a_cancel_ends_the_checks);
    tcase_add_test(tests, without_a_sandbox_nothing_runs);
    suite_add_tcase(suite, tests);
    return suite;
}
