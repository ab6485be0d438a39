/*
 * test_setup.c - setup commands: when they run, for whom, and what of them is kept.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/tree/setup_store.h"
#include <check.h>
#include <string.h>

static struct kit kit;
static struct step step;
static struct err err;

/* Every time that it runs it makes another deps/id. */
#define SETUP                                                                                 \
    "\"setup\":[{\"name\":\"deps\",\"command\":\"mkdir deps; cat lock* >deps/lock; "          \
    "head -c 8 /dev/urandom | od -An -tx1 >deps/id; ln -s id deps/link; echo stray >stray\"," \
    "\"keys\":[\"lock*\"],\"outputs\":[\"deps\"]}]"

static void setup(void)
{
    kit_open(&kit);
    kit_commit(&kit, "echo 1 >lock");
    err = (struct err){0};
}

static void teardown(void)
{
    kit_close(&kit);
}

static const char *in_run(const char *name)
{
    return arena_printf(&kit.arena, "%s/runs/%s/%s", kit.work_dir, kit.run_id.text, name);
}

/* deps/id in the tree of a new run. */
static const char *prepared(const struct kit_task *task)
{
    kit_other_run(&kit);
    step = kit_step(&kit, task);
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    return kit_sh(&kit, "cat %s", in_run("tree/deps/id"));
}

static int kept(void)
{
    int64_t count = -1;
    const char *words = kit_sh(&kit, "ls %s/setup 2>/dev/null | grep -v lock | wc -l",
                               kit.work_dir);
    ck_assert(text_to_i64(words, &count));
    return (int)count;
}

START_TEST(one_lock_file_is_set_up_once)
{
    const struct kit_task task = {.config = SETUP};
    const char *first = prepared(&task);
    ck_assert_str_eq(kit_sh(&kit, "cd %s; ls; cat deps/lock", in_run("tree")),
                     "deps\nfile.txt\nlock\n1");
    ck_assert_str_eq(kit_sh(&kit, "git -C %s status --porcelain", in_run("tree")), "");
    ck_assert(!file_exists(in_run("setup")));
    kit_commit(&kit, "echo more >other");
    ck_assert_str_eq(prepared(&task), first);
    ck_assert_int_eq(kept(), 1);
    kit_commit(&kit, "echo 2 >lock");
    ck_assert_str_ne(prepared(&task), first);
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/deps/lock")), "2");
    ck_assert_int_eq(kept(), 2);
    kit_commit(&kit, "echo 1 >lock");
    ck_assert_str_eq(prepared(&task), first);
}
END_TEST

START_TEST(what_differs_is_set_up_apart)
{
    static const char *const configs[] = {
        SETUP,
        "\"setup\":[{\"name\":\"deps\",\"command\":\"mkdir deps; echo x >deps/id\","
        "\"keys\":[\"lock*\"],\"outputs\":[\"deps\"]}]",
        "\"setup\":[{\"name\":\"deps\",\"command\":\"mkdir deps; echo x >deps/id; touch two\","
        "\"keys\":[\"lock*\"],\"outputs\":[\"deps\",\"two\"]}]",
    };
    prepared(&(struct kit_task){.config = SETUP});
    for (size_t i = 1; i < COUNT_OF(configs); i++) {
        prepared(&(struct kit_task){.config = configs[i]});
        ck_assert_int_eq(kept(), (int)i + 1);
    }
    prepared(&(struct kit_task){.config = SETUP,
                                .agent = "\"command\":[\"true\"],\"env\":[\"MODE=x\"]"});
    ck_assert_int_eq(kept(), (int)COUNT_OF(configs) + 1);
}
END_TEST

START_TEST(a_commit_that_is_not_in_the_default_branch_shares_with_itself_only)
{
    const struct kit_task task = {.config = SETUP},
                          side = {.config = SETUP, .target_branch = "side"};
    kit_sh(&kit, "git clone -q origin.git side && cd side && git checkout -qb side &&"
                 " echo evil >tool && git add tool &&"
                 " git -c user.name=x -c user.email=x@x commit -qm x && git push -q origin side");
    const char *evil = prepared(&side);
    const char *good = prepared(&task);
    ck_assert_str_ne(evil, good);
    ck_assert_str_eq(prepared(&side), evil);
    ck_assert_str_eq(prepared(&task), good);
}
END_TEST

START_TEST(without_a_key_file_it_is_kept_for_the_commit)
{
    const struct kit_task task = {
        .config =
            "\"setup\":[{\"name\":\"deps\",\"command\":\"mkdir deps; head -c 8 /dev/urandom | "
            "od -An -tx1 >deps/id\",\"keys\":[\"*.toml\"],\"outputs\":[\"deps\"]}]"};
    const char *first = prepared(&task);
    ck_assert_str_eq(prepared(&task), first);
    kit_commit(&kit, "echo more >other");
    ck_assert_str_ne(prepared(&task), first);
}
END_TEST

START_TEST(a_later_setup_finds_what_an_earlier_one_made)
{
    const struct kit_task task = {
        .config = "\"setup\":[{\"name\":\"a\",\"command\":\"mkdir deps; echo a >deps/a\",\"keys\":"
                  "[\"lock\"],\"outputs\":[\"deps\"]},{\"name\":\"b\",\"command\":\"cp deps/a "
                  "id\",\"keys\":[\"lock\"],\"outputs\":[\"id\"]}]"};
    step = kit_step(&kit, &task);
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/id")), "a");
}
END_TEST

/* ---- failures ---- */

static const struct {
    const char *setup, *message;
    bool retryable;
} failures[] = {
    {"\"command\":\"echo registry is away >&2; exit 3\",\"outputs\":[\"deps\"]",
     "status 3. Its last words: registry is away", true},
    {"\"command\":\"sleep 60\",\"outputs\":[\"deps\"],\"timeoutMs\":300", "took longer", true},
    {"\"command\":\"true\",\"outputs\":[\"deps\"]", "no output deps", false},
    {"\"command\":\"mkdir deps; ln -s /etc/passwd deps/x\",\"outputs\":[\"deps\"]",
     "leads out of the tree", false},
    {"\"command\":\"mkdir deps; ln -s ../.. deps/x\",\"outputs\":[\"deps\"]",
     "leads out of the tree", false},
};

START_TEST(a_setup_that_fails_fails_the_step_and_leaves_nothing)
{
    const char *config = arena_printf(&kit.arena, "\"setup\":[{\"name\":\"deps\",%s}]",
                                      failures[_i].setup);
    step = kit_step(&kit, &(struct kit_task){.config = config});
    ck_assert_int_ne(step_prepare(&step, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "setup_failed");
    ck_assert_msg(strstr(step.failure.message, failures[_i].message) != NULL, "%s",
                  step.failure.message);
    ck_assert_int_eq(step.failure.retryable, failures[_i].retryable);
    ck_assert_int_eq(kept(), 0);
    ck_assert_str_eq(kit_sh(&kit, "ls -A %s/setup | grep -v lock$ || true", kit.work_dir), "");
    ck_assert(!file_exists(in_run("setup")));
}
END_TEST

/* ---- checks ---- */

static const char *patch_of(const char *file)
{
    return kit_put(&kit,
                   arena_printf(&kit.arena,
                                "diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n"
                                "@@ -1 +1 @@\n-%s\n+two\n",
                                file, file, file, file, text_same(file, "lock") ? "1" : "one"));
}

static const char *verified(const char *patch, const char *config)
{
    kit_other_run(&kit);
    step = kit_step(&kit, &(struct kit_task){
                              .payload = arena_printf(&kit.arena, "\"patchSha256\":\"%s\"", patch),
                              .config = config});
    ck_assert_msg(step_verify(&step, &err) == RC_OK, "%s", err.text);
    return js_text(kit_result(&kit), &kit.arena);
}

START_TEST(checks_find_what_was_kept)
{
    const char *id = prepared(&(struct kit_task){.config = SETUP});
    const char *config = arena_printf(
        &kit.arena,
        "\"verify\":[{\"name\":\"one\",\"command\":\"grep -q '%s' deps/link && echo x >deps/id\"},"
        "{\"name\":\"two\",\"command\":\"grep -q '%s' deps/id\",\"parallel\":true},"
        "{\"name\":\"three\",\"command\":\"grep -q '%s' deps/id\",\"parallel\":true}],%s",
        id, id, id, SETUP);
    const char *found = verified(patch_of("file.txt"), config);
    ck_assert_msg(strstr(found, "\"verified\"") != NULL, "%s", found);
    ck_assert_str_eq(prepared(&(struct kit_task){.config = SETUP}), id);
}
END_TEST

START_TEST(a_patch_that_changes_a_key_file_is_set_up_for_itself)
{
    const char *id = prepared(&(struct kit_task){.config = SETUP});
    const char *found = verified(patch_of("lock"),
                                 "\"verify\":[{\"name\":\"one\",\"command\":\"grep -q two "
                                 "deps/lock\"}]," SETUP);
    ck_assert_msg(strstr(found, "\"verified\"") != NULL, "%s", found);
    ck_assert_int_eq(kept(), 1);
    ck_assert_str_eq(prepared(&(struct kit_task){.config = SETUP}), id);
}
END_TEST

START_TEST(a_patch_that_breaks_the_setup_fails_verification)
{
    const char *config = "\"setup\":[{\"name\":\"deps\",\"command\":\"mkdir deps; grep 1 lock\","
                         "\"keys\":[\"lock\"],\"outputs\":[\"deps\"]}],"
                         "\"verify\":[{\"name\":\"one\",\"command\":\"true\"}]";
    const char *patch = patch_of("lock");
    const char *found = verified(patch, config);
    ck_assert_msg(strstr(found, "\"failed\"") != NULL && strstr(found, "setup-deps") != NULL, "%s",
                  found);
    /* The agent begins without: it can mend that. */
    step = kit_step(&kit, &(struct kit_task){
                              .payload = arena_printf(&kit.arena, "\"patchSha256\":\"%s\"", patch),
                              .config = config});
    ck_assert_msg(step_prepare(&step, &err) == RC_OK, "%s", err.text);
    ck_assert(!file_exists(in_run("tree/deps")));
    ck_assert_str_eq(kit_sh(&kit, "cat %s", in_run("tree/lock")), "two");
}
END_TEST

/* ---- what is kept ---- */

/* 64 times the same digit. */
static const char *key_of(char digit)
{
    char *key = arena_alloc(&kit.arena, 65);
    memset(key, digit, 64);
    return key;
}

static void put(char digit, int bytes, const char *used)
{
    kit_sh(&kit, "mkdir -p %s/setup/%s/files; cd %s/setup/%s; echo %d >bytes; touch -d %s .",
           kit.work_dir, key_of(digit), kit.work_dir, key_of(digit), bytes, used);
}

START_TEST(what_was_not_used_for_long_is_removed_first)
{
    const struct setup_limits limits = {.count = 3, .bytes = 100, .used_after_us = 1};
    struct git git = {0};
    const struct setup_store store = {
        .work_dir = kit.work_dir, .key = key_of('5'), .arena = &kit.arena, .git = &git};
    put('1', 10, "2001-01-01");
    put('2', 50, "2001-01-02");
    put('3', 20, "2001-01-03");
    put('4', 20, "2001-01-04");
    put('5', 20, "2001-01-01");
    kit_sh(&kit, "mkdir -p %s/setup/.new-%s/files", kit.work_dir, key_of('6'));
    int lock = -1;
    const char *files = NULL;
    ck_assert_int_eq(setup_store_open(&store, &files, &lock, &err), RC_OK); /* Used now. */
    ck_assert_int_eq(setup_store_clear(kit.work_dir, &limits), 2);
    ck_assert_str_eq(kit_sh(&kit, "ls -A %s/setup | grep -v lock | cut -c 1-3", kit.work_dir),
                     "333\n444\n555");
    const struct setup_limits none = {.count = 0};
    ck_assert_int_eq(setup_store_clear(kit.work_dir, &none), 2); /* All but the one in use. */
    ck_assert(file_exists(files));
    fd_close(lock);
    ck_assert_int_eq(setup_store_clear(kit.work_dir, &none), 1);
}
END_TEST

Suite *setup_suite(void)
{
    Suite *suite = suite_create("setup");
    TCase *tests = tcase_create("setup");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, one_lock_file_is_set_up_once);
    tcase_add_test(tests, what_differs_is_set_up_apart);
    tcase_add_test(tests, a_commit_that_is_not_in_the_default_branch_shares_with_itself_only);
    tcase_add_test(tests, without_a_key_file_it_is_kept_for_the_commit);
    tcase_add_test(tests, a_later_setup_finds_what_an_earlier_one_made);
    tcase_add_loop_test(tests, a_setup_that_fails_fails_the_step_and_leaves_nothing, 0,
                        (int)COUNT_OF(failures));
    tcase_add_test(tests, checks_find_what_was_kept);
    tcase_add_test(tests, a_patch_that_changes_a_key_file_is_set_up_for_itself);
    tcase_add_test(tests, a_patch_that_breaks_the_setup_fails_verification);
    tcase_add_test(tests, what_was_not_used_for_long_is_removed_first);
    suite_add_tcase(suite, tests);
    return suite;
}
