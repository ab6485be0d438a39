/*
 * test_memories.c - what a finished run leaves behind, and who is told of it.
 */
#include "control/run/memories.h"
#include "core/event_types.h"
#include "core/run/memory.h"
#include "store/memories.h"
#include "tests/unit/honest.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void setup(void)
{
    lab_open(&lab, NULL);
    lab_repository(&lab, "acme/billing", NULL);
}

static void teardown(void)
{
    lab_check(&lab);
    lab_close(&lab);
}

static struct memory_row *memories(size_t want)
{
    struct memory_row *rows;
    size_t count;
    struct memory_filter filter = {.limit = 100};
    ck_assert_int_eq(memories_list(lab.db, &filter, &lab.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, want);
    return rows;
}

#define AGENT_DONE(summary, path)                                                            \
    "{\"outcome\":\"ended\",\"report\":\"success\",\"summary\":\"" summary "\",\"turns\":2," \
    "\"costUsd\":0.5,\"patch\":{\"sha256\":\"bb\",\"files\":1,\"linesAdded\":2,"             \
    "\"linesDeleted\":1,\"treeHash\":\"cc\",\"paths\":[\"" path "\"]}}"

/* From submission to a pull request, with a failed check on the way. */
static struct id repaired_run(void)
{
    struct id run_id = lab_submit(&lab, "acme/billing");
    lab_step(&lab, "prepare", RESULT_PREPARE);
    lab_step(&lab, "hydrate", RESULT_HYDRATE);
    lab_step(&lab, "agent", AGENT_DONE("first try", "src/clock.c"));
    lab_step(&lab, "verify", RESULT_UNVERIFIED);
    lab_step(&lab, "agent", AGENT_DONE("took the leap second into account", "src/clock.c"));
    lab_step(&lab, "verify", RESULT_VERIFIED);
    lab_step(&lab, "judge", RESULT_JUDGED);
    lab_step(&lab, "publish", RESULT_PUBLISHED);
    lab_step(&lab, "clean", "{}");
    return run_id;
}

START_TEST(a_finished_run_leaves_what_failed_and_how_it_was_mended)
{
    struct id run_id = repaired_run();
    struct memory_row row = memories(1)[0];
    ck_assert_str_eq(row.run_id.text, run_id.text);
    ck_assert_str_eq(row.repository, "acme/billing");
    ck_assert_str_eq(row.outcome, "completed");
    ck_assert_ptr_null(row.error_code);
    long long number = honest_number(run_id.text, &lab.arena);
    ck_assert_str_eq(row.summary,
                     arena_printf(&lab.arena,
                                  "Task: Fix the clock\n"
                                  "Outcome: completed after 2 attempts, pull request #%lld\n"
                                  "Failed on the way: unit: 1 of 3 failed\n"
                                  "Mended by: took the leap second into account\n",
                                  number));
    ck_assert(str_is(row.paths, "[\"src/clock.c\"]"));
    ck_assert_str_eq(row.pull_request, arena_printf(&lab.arena, "%lld", number));
    ck_assert_str_eq(row.head_commit, honest_commit("22", &lab.arena));
    ck_assert_int_eq(row.turns, 4);
    ck_assert_int_eq(row.cost_microusd, 1000000);
    ck_assert_int_eq(lab_count_events(&lab, &run_id, EV_MEMORY_RECORDED), 1);
}
END_TEST

START_TEST(a_failed_run_leaves_why)
{
    (void)lab_submit(&lab, "acme/billing");
    struct job_row job = lab_take(&lab, "prepare");
    (void)lab_fail(&lab, &job, "branch_not_found", false);
    struct memory_row row = memories(1)[0];
    ck_assert_str_eq(row.outcome, "failed");
    ck_assert_str_eq(row.error_code, "branch_not_found");
    ck_assert_ptr_nonnull(strstr(row.summary, "Outcome: failed (branch_not_found)\nError: "));
    ck_assert_uint_eq(row.paths.len, 0);
}
END_TEST

START_TEST(a_login_that_was_refused_is_nothing_to_remember)
{
    static const char *const codes[] = {"agent_command_not_found", "agent_login_failed",
                                        "credential_missing", "sandbox_unavailable"};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        (void)lab_submit(&lab, "acme/billing");
        struct job_row job = lab_take(&lab, "prepare");
        (void)lab_fail(&lab, &job, codes[i], false);
    }
    (void)memories(0);
}
END_TEST

START_TEST(a_run_that_never_began_has_learned_nothing)
{
    lab_repository(&lab, "acme/idle", "\"limits\":{\"maxActiveRuns\":1}");
    (void)lab_submit(&lab, "acme/idle");
    struct id run_id = lab_submit(&lab, "acme/idle");
    lab_cancel(&lab, &run_id);
    ck_assert_int_eq(lab_run(&lab, &run_id).status, RUN_CANCELLED);
    (void)memories(0);
}
END_TEST

static const struct js *payload_of(const char *step)
{
    static struct js *tree;
    struct job_row job = lab_take(&lab, step);
    js_free(tree);
    tree = NULL;
    struct err err = {0};
    ck_assert_msg(js_parse(job.payload.at, job.payload.len, &tree, &err) == RC_OK, "%s", err.text);
    lab_finish(&lab, &job, strcmp(step, "prepare") == 0 ? RESULT_PREPARE : RESULT_HYDRATE);
    return tree;
}

START_TEST(the_next_run_is_told)
{
    struct id first = repaired_run();
    (void)lab_submit(&lab, "acme/billing");
    ck_assert_ptr_null(js_get(payload_of("prepare"), "memory")); /* It has no use for it. */
    const struct js *memory = js_get(payload_of("hydrate"), "memory");
    ck_assert_uint_eq(js_count(memory), 1);
    const struct js *note = js_at(memory, 0);
    ck_assert_str_eq(js_get_str(note, "runId", ""), first.text);
    ck_assert_str_eq(js_get_str(note, "outcome", ""), "completed");
    ck_assert_ptr_nonnull(strstr(js_get_str(note, "text", ""), "leap second"));
    ck_assert_ptr_nonnull(strstr(js_get_str(note, "text", ""), "Files: src/clock.c"));
}
END_TEST

START_TEST(other_repositories_and_those_who_do_not_want_it_are_not)
{
    (void)repaired_run();
    lab_repository(&lab, "acme/web", NULL);
    (void)lab_submit(&lab, "acme/web");
    (void)payload_of("prepare");
    ck_assert_uint_eq(js_count(js_get(payload_of("hydrate"), "memory")), 0);
    lab_repository(&lab, "acme/billing", "\"prompt\":{\"memory\":false}");
    (void)lab_submit(&lab, "acme/billing");
    (void)payload_of("prepare");
    ck_assert_ptr_null(js_get(payload_of("hydrate"), "memory"));
}
END_TEST

/* Memory service unavailable: proceed without memory context. */
START_TEST(memory_that_cannot_be_read_stops_nobody)
{
    struct id first = repaired_run();
    struct run_row run = lab_run(&lab, &first);
    struct memory_row broken = memories(1)[0];
    struct tx tx;
    broken.id = run.task_id; /* Any id that no memory has. */
    broken.paths = STR("{\"not\":\"a list\"}");
    ck_assert_int_eq(tx_begin(lab.db, &tx, NULL), RC_OK);
    ck_assert_int_eq(memories_insert(lab.db, &broken, NULL), RC_OK);
    ck_assert_int_eq(tx_commit(&tx, NULL), RC_OK);
    (void)lab_submit(&lab, "acme/billing");
    (void)payload_of("prepare");
    const struct js *payload = payload_of("hydrate");
    size_t at = 0;
    const char *key;
    const struct js *value = payload;
    bool there = false;
    while (js_next(payload, &at, &key, &value))
        there |= strcmp(key, "memory") == 0 && js_type(value) == JS_NULL;
    ck_assert(there);
}
END_TEST

START_TEST(a_wrong_memory_can_be_removed)
{
    (void)repaired_run();
    struct cmd_memory_remove *cmd = cmd_memory_remove_new();
    cmd->memory_id = memories(1)[0].id;
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
    (void)memories(0);
    ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_NOT_FOUND);
    command_free(&cmd->base);
}
END_TEST

Suite *memories_suite(void)
{
    Suite *suite = suite_create("memories");
    TCase *tests = tcase_create("memories");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_finished_run_leaves_what_failed_and_how_it_was_mended);
    tcase_add_test(tests, a_failed_run_leaves_why);
    tcase_add_test(tests, a_login_that_was_refused_is_nothing_to_remember);
    tcase_add_test(tests, a_run_that_never_began_has_learned_nothing);
    tcase_add_test(tests, the_next_run_is_told);
    tcase_add_test(tests, other_repositories_and_those_who_do_not_want_it_are_not);
    tcase_add_test(tests, memory_that_cannot_be_read_stops_nobody);
    tcase_add_test(tests, a_wrong_memory_can_be_removed);
    suite_add_tcase(suite, tests);
    return suite;
}
