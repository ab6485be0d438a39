/*
 * test_steps.c - prepare, hydrate, judge, publish and clean, each against a real repository.
 */
#include "base/boot.h"
#include "base/fd.h"
#include "tests/unit/git_host.h"
#include "work/agent/agent_tree.h"
#include "work/job/attachments.h"
#include "work/tree/mirror.h"
#include "work/tree/worktree.h"
#include <check.h>
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

static const char patch[] = "diff --git a/file.txt b/file.txt\n"
                            "--- a/file.txt\n"
                            "+++ b/file.txt\n"
                            "@@ -1 +1 @@\n"
                            "-one\n"
                            "+two\n";

static const char *head(void)
{
    return kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
}

static const char *in_run(const char *name)
{
    return arena_printf(&kit.arena, "%s/runs/%s/%s", kit.work_dir, kit.run_id.text, name);
}

/* ---- payload ---- */

static const struct {
    const char *payload, *field;
} bad_payloads[] = {
    {"\"baseCommit\":\"--evil\"", "baseCommit"},
    {"\"baseCommit\":\"main\"", "baseCommit"},
    {"\"patchSha256\":\"../../etc/passwd\"", "patchSha256"},
    {"\"promptSha256\":\"x\"", "promptSha256"},
    {"\"scope\":[7]", "scope"},
    {"\"runDeadline\":\"soon\"", "runDeadline"},
};

START_TEST(a_payload_that_makes_no_sense_is_refused_by_name)
{
    char *text = kit_payload(&kit, &(struct kit_task){.payload = bad_payloads[_i].payload});
    struct js *tree = NULL;
    struct err err = {0};
    struct step_input input;
    ck_assert_int_eq(js_parse(text, strlen(text), &tree, &err), RC_OK);
    ck_assert_int_eq(step_decode(tree, &kit.arena, &input, &err), RC_INVALID);
    ck_assert_str_eq(err.field, bad_payloads[_i].field);
    js_free(tree);
}
END_TEST

START_TEST(long_texts_fit_into_a_result)
{
    static const char *const texts[] = {"", "short", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
                                        "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01",
                                        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        CLEANUP(buf_release) struct buf out;
        buf_init(&out, 100);
        struct jw jw = jw_to(&out);
        step_write_text(&jw, "k", texts[i], 12);
        ck_assert_uint_le(out.len, 4 + 12);
        ck_assert(text_utf8_valid(buf_text(&out), out.len));
    }
}
END_TEST

/* ---- time ---- */

START_TEST(nothing_has_more_time_than_its_step_and_none_has_no_limit)
{
    static const struct {
        int64_t left_ms, own_ms, least, most;
    } table[] = {
        {60000, 500, 500, 500}, {60000, 90000, 50000, 60000},
        {0, 500, 1, 1},         {-1000, 500, 1, 1},
        {60000, 0, 1, 1},       {60000, -5, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct step step = {.deadline_us = clock_mono_us() + table[i].left_ms * US_PER_MS};
        int64_t ms = step_time_ms(&step, table[i].own_ms);
        ck_assert_msg(ms >= table[i].least && ms <= table[i].most, "row %zu: %lld", i,
                      (long long)ms);
    }
}
END_TEST

START_TEST(what_is_about_a_repository_belongs_to_no_run)
{
    static const char *const names[] = {"notify",  "publish", "judge",  "verify",
                                        "collect", "agent",   "custom", "plan",
                                        "hydrate", "prepare", "clean",  "unpublish"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ck_assert_int_eq(step_find(names[i])->bare, text_same(names[i], "notify"));
}
END_TEST

/* ---- prepare ---- */

static enum rc prepare(const struct kit_task *task, struct step *ret_step, struct err *err)
{
    *ret_step = kit_step(&kit, task);
    return step_prepare(ret_step, err);
}

START_TEST(prepare_makes_mirror_and_tree)
{
    struct step step;
    struct err err = {0};
    ck_assert_msg(prepare(&(struct kit_task){0}, &step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(js_get_str(kit_result(&kit), "baseCommit", ""), head());
    const char *tree = in_run("tree");
    ck_assert_str_eq(kit_sh(&kit, "cat %s/file.txt", tree), "one");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s rev-parse --abbrev-ref HEAD", tree),
                     step.input.branch);
    ck_assert_str_eq(kit_sh(&kit, "git -C %s config user.name", tree), "drover");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s status --porcelain", tree), "");
    ck_assert_str_eq(kit_sh(&kit, "find %s/.git/hooks -type f 2>/dev/null | wc -l", tree), "0");
}
END_TEST

START_TEST(prepare_starts_fresh_and_follows_the_branch)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_sh(&kit, "echo left >%s", in_run("tree/left-over"));
    const char *second = kit_commit(&kit, "echo more >more.txt");
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    ck_assert_str_eq(js_get_str(kit_result(&kit), "baseCommit", ""), second);
    ck_assert(!file_exists(in_run("tree/left-over")));
    ck_assert(file_exists(in_run("tree/more.txt")));
}
END_TEST

START_TEST(prepare_keeps_to_the_given_commit_and_patch)
{
    const char *first = head();
    kit_commit(&kit, "echo more >more.txt");
    const char *sha256 = kit_put(&kit, patch);
    struct step step;
    struct err err = {0};
    struct kit_task task = {.payload = arena_printf(&kit.arena,
                                                    "\"baseCommit\":\"%s\",\"patchSha256\":\"%s\"",
                                                    first, sha256)};
    ck_assert_msg(prepare(&task, &step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(js_get_str(kit_result(&kit), "baseCommit", ""), first);
    ck_assert(!file_exists(in_run("tree/more.txt")));
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/file.txt")), "two");
}
END_TEST

static const struct {
    const char *origin;
    struct kit_task task;
    const char *code;
    bool retryable;
} prepare_failures[] = {
    {"origin.git", {.target_branch = "none"}, "branch_not_found", false},
    {"origin.git",
     {.payload = "\"baseCommit\":\"0123456789012345678901234567890123456789\""},
     "base_commit_not_found",
     false},
    {"gone.git", {.target_branch = "main"}, "repository_unreachable", true},
};

START_TEST(prepare_says_what_is_missing)
{
    kit.origin = arena_printf(&kit.arena, "%s/%s", kit.dir, prepare_failures[_i].origin);
    struct step step;
    struct err err = {0};
    ck_assert_int_ne(prepare(&prepare_failures[_i].task, &step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, prepare_failures[_i].code);
    ck_assert_int_eq(step.failure.retryable, prepare_failures[_i].retryable);
    ck_assert_uint_gt(strlen(step.failure.message), 10);
}
END_TEST

/* value: of the variable that credentials.forge names, if it names one; NULL: there is none. */
static const struct {
    const char *config, *value, *code, *says;
} credentials[] = {
    {"\"credentials\":{\"forge\":\"FORGE_TOKEN\"}", GIT_HOST_TOKEN, NULL, NULL},
    {"\"credentials\":{\"forge\":\"FORGE_TOKEN\"}", NULL, "credential_missing", "has FORGE_TOKEN"},
    {"\"credentials\":{\"forge\":\"FORGE_TOKEN\"}", "not-the-t0ken", "credential_refused",
     "credential in FORGE_TOKEN"},
    {NULL, GIT_HOST_TOKEN, "credential_refused", "name a variable"},
};

START_TEST(prepare_fetches_with_the_credential_or_says_what_to_do)
{
    struct git_host host;
    struct err err = {0};
    git_host_start(&host, &kit);
    ck_assert_int_eq(unsetenv("FORGE_TOKEN"), 0);
    if (credentials[_i].value != NULL)
        ck_assert_int_eq(setenv("FORGE_TOKEN", credentials[_i].value, 1), 0);
    struct step step = kit_step(&kit, &(struct kit_task){.config = credentials[_i].config});
    step.input.config.url = git_host_url(&host, "origin.git"); /* People must use TLS. */
    step_place(&step);
    enum rc rc = step_prepare(&step, &err);
    git_host_stop(&host);
    if (credentials[_i].code == NULL) {
        ck_assert_msg(rc == RC_OK, "%s", err.text);
        ck_assert_str_eq(kit_sh(&kit, "grep -rl %s %s || true", GIT_HOST_TOKEN, kit.work_dir), "");
        return;
    }
    ck_assert_int_ne(rc, RC_OK);
    ck_assert_str_eq(step.failure.code, credentials[_i].code);
    ck_assert(!step.failure.retryable);
    ck_assert_msg(strstr(step.failure.message, credentials[_i].says) != NULL, "%s",
                  step.failure.message);
    ck_assert_ptr_null(strstr(step.failure.message, "t0ken"));
    ck_assert_int_le(host.strangers, 1); /* Nobody who was refused asks again. */
}
END_TEST

START_TEST(locks_of_a_dead_git_do_not_stop_the_mirror)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_commit(&kit, "echo more >more.txt");
    kit_sh(&kit, "touch %s/refs/heads/main.lock %s/packed-refs.lock", step.mirror, step.mirror);
    ck_assert_msg(prepare(&(struct kit_task){0}, &step, &err) == RC_OK, "%s", err.text);
    ck_assert(file_exists(in_run("tree/more.txt")));
}
END_TEST

START_TEST(locks_at_the_top_of_the_mirror_are_removed)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_commit(&kit, "echo more >more.txt");
    kit_sh(&kit, "cd %s && rm HEAD && touch HEAD.lock config.lock packed-refs.lock index.lock",
           step.mirror);
    ck_assert_msg(prepare(&(struct kit_task){0}, &step, &err) == RC_OK, "%s", err.text);
    ck_assert(file_exists(in_run("tree/more.txt")));
}
END_TEST

/* Objects, HEAD and refs as they may be after a loss of power. */
static const char *const damages[] = {
    "find objects -type f | while read -r file; do chmod 600 $file; : >$file; done",
    "find objects -name '*.pack' -exec rm -f '{}' +",
    ": >HEAD",
    "for ref in refs/heads/*; do : >$ref; done; : >packed-refs",
};

START_TEST(a_damaged_mirror_is_moved_aside_and_fetched_anew)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_sh(&kit, "cd %s && %s", step.mirror, damages[_i]);
    kit_sh(&kit, "printf another >%s.fetching", step.mirror);
    ck_assert_msg(prepare(&(struct kit_task){0}, &step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=%s fsck 2>&1 | sed /^notice/d", step.mirror), "");
    ck_assert(file_exists(in_run("tree/file.txt")));
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s.fetching", step.mirror)));
}
END_TEST

/* Nothing says that it is damaged before git does. */
START_TEST(a_mirror_in_which_git_fails_is_replaced_for_the_next_try)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_sh(&kit, "cd %s && %s", step.mirror, damages[0]);
    enum rc rc = RC_IO;
    for (int i = 0; i < 2 && rc == RC_IO; i++) {
        struct err why = {0};
        rc = prepare(&(struct kit_task){0}, &step, &why);
        if (rc == RC_IO)
            mirror_examine(&step);
    }
    ck_assert_int_eq(rc, RC_OK);
    ck_assert_str_eq(kit_sh(&kit, "ls -d %s.damaged-1 | wc -l", step.mirror), "1");
}
END_TEST

START_TEST(few_damaged_mirrors_are_kept)
{
    struct step step;
    struct err err = {0};
    for (int i = 0; i < 5; i++) {
        ck_assert_msg(prepare(&(struct kit_task){0}, &step, &err) == RC_OK, "%s", err.text);
        kit_sh(&kit, "cd %s && %s; printf another >%s.fetching", step.mirror, damages[0],
               step.mirror);
    }
    ck_assert_str_eq(
        kit_sh(&kit, "cd %s/mirrors && ls -d *.damaged-* | sed 's/.*-//' | xargs", kit.work_dir),
        "3 4");
}
END_TEST

START_TEST(a_stop_ends_prepare)
{
    stop_ask(&kit.stop, STOP_CANCEL);
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_CANCELLED);
}
END_TEST

START_TEST(a_tree_is_kept_only_while_it_shows_the_truth)
{
    struct step step;
    struct err err = {0};
    const char *base = head();
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_sh(&kit, "echo built >%s", in_run("tree/cache"));
    ck_assert_int_eq(agent_tree_keep_or_make(&step, base, &err), RC_OK);
    ck_assert(file_exists(in_run("tree/cache")));
    ck_assert_int_eq(worktree_hand_out(&step, base, &err), RC_OK);
    ck_assert_int_eq(agent_tree_keep_or_make(&step, base, &err), RC_OK);
    ck_assert(!file_exists(in_run("tree/cache")));
    kit_sh(&kit, "echo built >%s", in_run("tree/cache"));
    step.input.patch_sha256 = kit_put(&kit, patch);
    ck_assert_int_eq(agent_tree_keep_or_make(&step, base, &err), RC_OK);
    ck_assert(!file_exists(in_run("tree/cache")));
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/file.txt")), "two");
}
END_TEST

/* What was written before the power went may be empty now, and the mark is whole. */
START_TEST(a_tree_of_another_boot_is_made_anew)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_sh(&kit, ": >%s; sed -i 's/%s/another/' %s", in_run("tree/file.txt"), boot_id(),
           in_run("tree.mark"));
    ck_assert_int_eq(agent_tree_keep_or_make(&step, head(), &err), RC_OK);
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/file.txt")), "one");
}
END_TEST

/* ---- hydrate ---- */

START_TEST(hydrate_puts_task_and_rules_into_the_prompt)
{
    kit_commit(&kit, "echo 'Use tabs.' >AGENTS.md; echo 'Be kind.' >CONTRIBUTING.md; "
                     "mkdir -p .cursor/rules; echo 'Rule one.' >.cursor/rules/a.mdc; "
                     "ln -s /etc/passwd CLAUDE.md");
    struct step step = kit_step(
        &kit, &(struct kit_task){.payload = "\"description\":\"Fix the rounding\"",
                                 .config = "\"prompt\":{\"system\":\"You are careful.\"}"});
    struct err err = {0};
    ck_assert_msg(step_hydrate(&step, &err) == RC_OK, "%s", err.text);
    const struct js *result = kit_result(&kit);
    const char *prompt = kit_artifact(&kit, js_get_str(result, "promptSha256", NULL));
    ck_assert_ptr_nonnull(prompt);
    static const char *const parts[] = {"You are careful.", "Use tabs.", "Be kind.", "Rule one.",
                                        "Fix the rounding"};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        ck_assert_msg(strstr(prompt, parts[i]) != NULL, "%s is not in\n%s", parts[i], prompt);
    ck_assert_ptr_null(strstr(prompt, "/etc/passwd"));
    ck_assert_uint_eq(js_count(js_get(result, "sources")), 3);
    ck_assert_uint_eq(js_count(js_get(result, "artifacts")), 1);
    ck_assert_int_gt(js_get_int(result, "tokenEstimate", 0), 10);
}
END_TEST

START_TEST(hydrate_bounds_large_rules_and_skips_what_is_no_text)
{
    kit_commit(&kit, "head -c 300000 /dev/zero | tr '\\0' r >AGENTS.md; "
                     "head -c 1000 /dev/zero >CLAUDE.md");
    struct step step = kit_step(
        &kit, &(struct kit_task){.payload = "\"description\":\"Fix the rounding\""});
    struct err err = {0};
    ck_assert_msg(step_hydrate(&step, &err) == RC_OK, "%s", err.text);
    const char *prompt = kit_artifact(&kit, js_get_str(kit_result(&kit), "promptSha256", NULL));
    ck_assert_uint_lt(strlen(prompt), 70000);
    ck_assert_ptr_nonnull(strstr(prompt, "rrrr"));
    ck_assert_ptr_nonnull(strstr(prompt, "Fix the rounding"));
}
END_TEST

START_TEST(an_issue_that_nobody_has_is_left_out_or_fatal)
{
    struct err err = {0};
    struct step step = kit_step(
        &kit, &(struct kit_task){.payload = "\"issueNumber\":7,\"description\":\"Fix it\""});
    ck_assert_int_eq(step_hydrate(&step, &err), RC_OK);
    step = kit_step(&kit, &(struct kit_task){.payload = "\"issueNumber\":7"});
    ck_assert_int_ne(step_hydrate(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "issue_unavailable");
    ck_assert(!step.failure.retryable);
}
END_TEST

/* Memory service unavailable: proceed without memory context. */
START_TEST(hydrate_goes_on_without_memory_that_cannot_be_read)
{
    struct err err = {0};
    struct step step = kit_step(
        &kit, &(struct kit_task){.payload = "\"memory\":null,\"description\":\"Fix it\""});
    ck_assert_int_eq(step_hydrate(&step, &err), RC_OK);
    const struct js *degraded = js_get(kit_result(&kit), "degraded");
    ck_assert_uint_eq(js_count(degraded), 1);
    ck_assert_str_eq(js_str(js_at(degraded, 0), ""), "memory");
}
END_TEST

START_TEST(attachments_become_files_and_only_safe_names_do)
{
    struct err err = {0};
    const char *sha256 = kit_put(&kit, "hello");
    const char *payload = arena_printf(
        &kit.arena,
        "\"attachments\":[{\"name\":\"a.txt\",\"sha256\":\"%s\"},"
        "{\"name\":\"../b.txt\",\"sha256\":\"%s\"},{\"name\":\"c\",\"sha256\":\"x\"}]",
        sha256, sha256);
    struct step step = kit_step(&kit, &(struct kit_task){.payload = payload});
    const char *dir = arena_printf(&kit.arena, "%s/attached", kit.dir);
    ck_assert_msg(attachments_place(&step, dir, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls -A attached; cat attached/a.txt"), "a.txt\nhello");
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/b.txt", kit.dir)));
}
END_TEST

/* ---- judge ---- */

START_TEST(the_judge_passes_what_the_rules_allow)
{
    const char *sha256 = kit_put(&kit, patch);
    struct step step = kit_step(
        &kit,
        &(struct kit_task){.config = "\"judge\":[{\"rules\":{\"maxFiles\":5}}]",
                           .payload = arena_printf(&kit.arena, "\"patchSha256\":\"%s\"", sha256)});
    struct err err = {0};
    ck_assert_msg(step_judge(&step, &err) == RC_OK, "%s", err.text);
    const struct js *result = kit_result(&kit);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "pass");
    ck_assert_ptr_null(js_get_str(result, "feedbackSha256", NULL));
    ck_assert(kit_saw_event(&kit, "agent.judge.started"));
}
END_TEST

START_TEST(the_judge_fails_forbidden_paths_and_tells_the_agent)
{
    const char *sha256 = kit_put(&kit, patch);
    struct step step = kit_step(
        &kit, &(struct kit_task){
                  .config = "\"judge\":[{\"rules\":{\"forbiddenPaths\":[\"*.txt\"]}}]",
                  .payload = arena_printf(
                      &kit.arena, "\"patchSha256\":\"%s\",\"scope\":[\"src/**\"]", sha256)});
    struct err err = {0};
    ck_assert_msg(step_judge(&step, &err) == RC_OK, "%s", err.text);
    const struct js *result = kit_result(&kit);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "fail");
    const struct js *judge = js_at(js_get(result, "judges"), 0);
    ck_assert_uint_eq(js_count(js_get(judge, "findings")), 2);
    ck_assert_str_eq(js_get_str(judge, "category", ""), "forbidden_path");
    const char *feedback = kit_artifact(&kit, js_get_str(result, "feedbackSha256", NULL));
    ck_assert_ptr_nonnull(feedback);
    ck_assert_ptr_nonnull(strstr(feedback, "file.txt"));
}
END_TEST

START_TEST(many_findings_fit_into_a_result)
{
    CLEANUP(buf_release) struct buf diff;
    buf_init(&diff, 1024 * 1024);
    for (int i = 0; i < 60; i++) {
        char name[300];
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        buf_addf(&diff,
                 "diff --git a/%s%d.txt b/%s%d.txt\nnew file mode 100644\n--- /dev/null\n"
                 "+++ b/%s%d.txt\n@@ -0,0 +1 @@\n+x\n",
                 name, i, name, i, name, i);
    }
    const char *sha256 = kit_put(&kit, buf_text(&diff));
    struct step step = kit_step(
        &kit,
        &(struct kit_task){.config = "\"judge\":[{\"rules\":{\"forbiddenPaths\":[\"*.txt\"]}}]",
                           .payload = arena_printf(&kit.arena, "\"patchSha256\":\"%s\"", sha256)});
    struct err err = {0};
    ck_assert_msg(step_judge(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_uint_le(kit.result.len, STEP_RESULT_MAX);
    const struct js *judge = js_at(js_get(kit_result(&kit), "judges"), 0);
    ck_assert_int_eq(js_get_int(judge, "findingsCount", 0), 50);
    ck_assert_uint_lt(js_count(js_get(judge, "findings")), 50);
}
END_TEST

/* ---- publish ---- */

static struct step publish_step(void)
{
    const char *tree = kit_sh(&kit, "export GIT_DIR=origin.git GIT_INDEX_FILE=$PWD/index.tmp; "
                                    "git read-tree main && git update-index --cacheinfo "
                                    "100644,$(echo two | git hash-object -w --stdin),file.txt && "
                                    "git write-tree");
    const char *certificate = kit_put(
        &kit, arena_printf(&kit.arena,
                           "{\"version\":1,\"verdict\":\"verified\",\"treeHash\":\"%s\","
                           "\"checks\":[{\"name\":\"unit\",\"status\":\"passed\",\"exitCode\":0}]}",
                           tree));
    return kit_step(
        &kit, &(struct kit_task){.payload = arena_printf(
                                     &kit.arena,
                                     "\"baseCommit\":\"%s\",\"patchSha256\":\"%s\",\"draft\":true,"
                                     "\"certificateSha256\":\"%s\","
                                     "\"description\":\"Make it two\\nand explain why\"",
                                     head(), kit_put(&kit, patch), certificate)});
}

START_TEST(publish_is_the_same_however_often)
{
    struct err err = {0};
    struct step step = publish_step();
    ck_assert_msg(step_publish(&step, &err) == RC_OK, "%s", err.text);
    const struct js *result = kit_result(&kit);
    ck_assert_int_eq(js_get_int(result, "number", 0), 1);
    ck_assert(js_get_bool(result, "draft", false));
    const char *first = arena_strdup(&kit.arena, js_get_str(result, "headCommit", ""));
    step = publish_step();
    kit_sh(&kit, "rm -rf data/work/runs data/work/mirrors"); /* Another worker. */
    ck_assert_msg(step_publish(&step, &err) == RC_OK, "%s", err.text);
    result = kit_result(&kit);
    ck_assert_int_eq(js_get_int(result, "number", 0), 1);
    ck_assert_str_eq(js_get_str(result, "headCommit", ""), first);
    const char *message = kit_sh(&kit, "git --git-dir=origin.git log -1 --format=%%B %s", first);
    ck_assert(text_starts(message, "Make it two\n\nMake it two\nand explain why\n"));
    ck_assert_ptr_nonnull(strstr(message, "- unit: passed (exit 0)"));
    ck_assert_ptr_nonnull(strstr(message, kit.run_id.text));
    ck_assert(kit_saw_event(&kit, "agent.pr.creation.requested"));
    ck_assert(!file_exists(in_run("publish.git")));
}
END_TEST

START_TEST(publish_without_a_lease_touches_nothing)
{
    struct step step = publish_step();
    kit.port.lost = _i == 0;
    kit.port.cancel = _i == 1;
    struct err err = {0};
    ck_assert_int_ne(step_publish(&step, &err), RC_OK);
    ck_assert_int_eq(stop_asked(&kit.stop), _i == 0 ? STOP_LOST : STOP_CANCEL);
    ck_assert_str_eq(kit_sh(&kit, "git --git-dir=origin.git for-each-ref --format='%%(refname)'"),
                     "refs/heads/main");
}
END_TEST

START_TEST(publish_needs_a_patch)
{
    struct step step = kit_step(&kit, &(struct kit_task){0});
    struct err err = {0};
    ck_assert_int_eq(step_publish(&step, &err), RC_INVALID);
    ck_assert_str_eq(step.failure.code, "publish_failed");
    ck_assert(!step.failure.retryable);
}
END_TEST

/* ---- clean ---- */

START_TEST(clean_removes_the_run_and_keeps_the_mirror)
{
    struct step step;
    struct err err = {0};
    ck_assert_int_eq(prepare(&(struct kit_task){0}, &step, &err), RC_OK);
    kit_sh(&kit,
           "mkdir outside; touch outside/kept; cd %s; ln -s %s/outside out; "
           "mkdir -p a/b; chmod 0 a",
           in_run("tree"), kit.dir);
    for (int i = 0; i < 2; i++) {
        step = kit_step(&kit, &(struct kit_task){0});
        ck_assert_msg(step_clean(&step, &err) == RC_OK, "%s", err.text);
        ck_assert(!file_exists(step.run_dir));
        ck_assert(file_exists(step.mirror));
        ck_assert_int_eq(js_type(kit_result(&kit)), JS_OBJECT);
    }
    ck_assert(file_exists(arena_printf(&kit.arena, "%s/outside/kept", kit.dir)));
}
END_TEST

Suite *steps_suite(void)
{
    Suite *suite = suite_create("steps");
    TCase *tests = tcase_create("steps");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_payload_that_makes_no_sense_is_refused_by_name, 0,
                        (int)COUNT_OF(bad_payloads));
    tcase_add_test(tests, long_texts_fit_into_a_result);
    tcase_add_test(tests, nothing_has_more_time_than_its_step_and_none_has_no_limit);
    tcase_add_test(tests, what_is_about_a_repository_belongs_to_no_run);
    tcase_add_test(tests, prepare_makes_mirror_and_tree);
    tcase_add_test(tests, prepare_starts_fresh_and_follows_the_branch);
    tcase_add_test(tests, prepare_keeps_to_the_given_commit_and_patch);
    tcase_add_loop_test(tests, prepare_says_what_is_missing, 0, (int)COUNT_OF(prepare_failures));
    tcase_add_loop_test(tests, prepare_fetches_with_the_credential_or_says_what_to_do, 0,
                        (int)COUNT_OF(credentials));
    tcase_add_test(tests, locks_of_a_dead_git_do_not_stop_the_mirror);
    tcase_add_test(tests, locks_at_the_top_of_the_mirror_are_removed);
    tcase_add_loop_test(tests, a_damaged_mirror_is_moved_aside_and_fetched_anew, 0,
                        (int)COUNT_OF(damages));
    tcase_add_test(tests, a_mirror_in_which_git_fails_is_replaced_for_the_next_try);
    tcase_add_test(tests, few_damaged_mirrors_are_kept);
    tcase_add_test(tests, a_tree_of_another_boot_is_made_anew);
    tcase_add_test(tests, a_stop_ends_prepare);
    tcase_add_test(tests, a_tree_is_kept_only_while_it_shows_the_truth);
    tcase_add_test(tests, hydrate_puts_task_and_rules_into_the_prompt);
    tcase_add_test(tests, hydrate_goes_on_without_memory_that_cannot_be_read);
    tcase_add_test(tests, attachments_become_files_and_only_safe_names_do);
    tcase_add_test(tests, hydrate_bounds_large_rules_and_skips_what_is_no_text);
    tcase_add_test(tests, an_issue_that_nobody_has_is_left_out_or_fatal);
    tcase_add_test(tests, the_judge_passes_what_the_rules_allow);
    tcase_add_test(tests, the_judge_fails_forbidden_paths_and_tells_the_agent);
    tcase_add_test(tests, many_findings_fit_into_a_result);
    tcase_add_test(tests, publish_is_the_same_however_often);
    tcase_add_loop_test(tests, publish_without_a_lease_touches_nothing, 0, 2);
    tcase_add_test(tests, publish_needs_a_patch);
    tcase_add_test(tests, clean_removes_the_run_and_keeps_the_mirror);
    suite_add_tcase(suite, tests);
    return suite;
}
