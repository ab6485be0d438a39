/*
 * test_batch_submit.c - what becomes a member of a batch, and what does not.
 */
#include "control/admit/submit.h"
#include "control/run/quarantine.h"
#include "core/event_types.h"
#include "tests/unit/batch_kit.h"
#include <check.h>
#include <string.h>

/* ---- submitting ---- */

START_TEST(patterns_are_resolved_and_tasks_change_or_add_members)
{
    static const char *const patterns[] = {"acme/r2", "acme/r[01]", "acme/*", "other/gone"};
    static const char *const on[] = {"acme/r2"}, *const docs_on[] = {"acme/r0", "acme/r1"};
    const struct batch_item items[] = {
        {.key = "acme/r0",
         .depends_on = on,
         .depends_count = 1,
         .task = STR("{\"maxTurns\":7,\"description\":\"Other\"}")},
        {.key = "docs", .repository = "acme/r0", .depends_on = docs_on, .depends_count = 2},
        {.repository = "acme/r9"},
    };
    fleet_open(_i, 3);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->patterns = patterns;
    cmd->pattern_count = COUNT_OF(patterns);
    cmd->items = items;
    cmd->item_count = COUNT_OF(items);
    struct id id = fleet_submit(cmd);
    static const struct {
        const char *key, *repository, *depends;
    } want[] = {
        {"acme/r2", "acme/r2", ""},       {"acme/r0", "acme/r0", "[1]"}, {"acme/r1", "acme/r1", ""},
        {"other/gone", "other/gone", ""}, {"docs", "acme/r0", "[2,3]"},  {"acme/r9", "acme/r9", ""},
    };
    size_t count;
    struct batch_member_view *views = fleet_members(&id, &count);
    ck_assert_uint_eq(count, COUNT_OF(want));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(views[i].row.key, want[i].key);
        ck_assert_str_eq(views[i].row.repository, want[i].repository);
        ck_assert(str_is(views[i].row.depends_on, want[i].depends));
    }
    fleet_expect(&id, BATCH_RUNNING, "awarwr");
    ck_assert_str_eq(fleet_member(&id, 4).row.error_code, "REPO_NOT_ONBOARDED");
    fleet_complete(&id, 1);
    fleet_expect(&id, BATCH_RUNNING, "caarwr");
    /* Its own fields over the common ones. */
    struct id run_id = fleet_member(&id, 2).run_id;
    struct task_row task = lab_task(&fleet, &run_id);
    ck_assert_str_eq(task.description, "Other");
    ck_assert_int_eq(task.max_turns, 7);
    ck_assert_int_eq(task.mode, MODE_PATCH_ONLY);
    ck_assert_str_eq(task.requested_by, "ada");
    ck_assert_str_eq(task.batch_id.text, id.text);
    ck_assert_str_eq(lab_run(&fleet, &run_id).batch_id.text, id.text);
    fleet_complete(&id, 2);
    fleet_complete(&id, 3);
    fleet_complete(&id, 5);
    fleet_expect(&id, BATCH_COMPLETED, "cccrcr");
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_CREATED), 1);
    ck_assert_int_eq(fleet_events(&id, EV_BATCH_COMPLETED), 1);
    fleet_close();
}
END_TEST

static const char *const unknown[] = {"acme/r0", "nowhere"}, *const itself[] = {"acme/r0"};
static const char *const none_match[] = {"acme/r0", "other-*"};
static const struct batch_item duplicate_items[] = {{.key = "a", .repository = "acme/r0"},
                                                    {.key = "a", .repository = "acme/r1"}};
static const struct batch_item moved_item[] = {{.key = "acme/r0", .repository = "acme/r1"}};
static const struct batch_item unknown_item[] = {
    {.key = "acme/r1", .depends_on = unknown, .depends_count = 2}};
static const struct batch_item circle_item[] = {
    {.key = "acme/r0", .depends_on = itself, .depends_count = 1}};

static const struct {
    const char *what, *code, *field;
    const struct batch_item *items;
    size_t item_count;
    const char *const *patterns;
    size_t pattern_count;
    bool silent; /* Says not what to do. */
} bad[] = {
    {"two members of one key", "INVALID_FIELD", "tasks[1].key", duplicate_items, 2, NULL, 0, false},
    {"a key that is another repository", "INVALID_FIELD", "tasks[0].key", moved_item, 1, fleet_all,
     1, false},
    {"an unknown dependency", "INVALID_FIELD", "tasks[0].dependsOn", unknown_item, 1, fleet_all, 1,
     false},
    {"a circle", "INVALID_FIELD", "tasks", circle_item, 1, fleet_all, 1, false},
    {"a glob without a match", "NO_REPOSITORY_MATCHES", "repositories[1]", NULL, 0, none_match, 2,
     false},
    {"no member", "INVALID_FIELD", "repositories", NULL, 0, NULL, 0, false},
    {"no description", "INVALID_FIELD", "task.description", NULL, 0, fleet_all, 1, true},
};

START_TEST(what_cannot_be_resolved_is_refused_and_leaves_nothing)
{
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        fleet_open(_i, 2);
        struct cmd_batch_submit *cmd = fleet_batch();
        cmd->items = bad[i].items;
        cmd->item_count = bad[i].item_count;
        cmd->patterns = bad[i].patterns;
        cmd->pattern_count = bad[i].pattern_count;
        cmd->says_what = !bad[i].silent;
        ck_assert_msg(lab_call(&fleet, &cmd->base) == RC_INVALID, "%s", bad[i].what);
        ck_assert_str_eq(cmd->base.err.code, bad[i].code);
        ck_assert_str_eq(cmd->base.err.field, bad[i].field);
        command_free(&cmd->base);
        struct batch_row *rows;
        size_t count;
        const struct batch_filter filter = {.status = -1, .limit = 10};
        ck_assert_int_eq(batches_list(fleet.db, &filter, &fleet.arena, &rows, &count, NULL), RC_OK);
        ck_assert_uint_eq(count, 0);
        fleet_close();
    }
}
END_TEST

START_TEST(more_members_than_possible_are_refused)
{
    fleet_open(_i, 1);
    struct cmd_batch_submit *cmd = fleet_batch();
    struct batch_item *items = arena_array(&fleet.arena, BATCH_MEMBERS_MAX + 1, sizeof *items);
    for (int i = 0; i <= BATCH_MEMBERS_MAX; i++)
        items[i] = (struct batch_item){.key = arena_printf(&fleet.arena, "k%d", i),
                                       .repository = "acme/r0"};
    cmd->items = items;
    cmd->item_count = BATCH_MEMBERS_MAX;
    cmd->pattern_count = 0;
    cmd->dry_run = true;
    ck_assert_int_eq(lab_call(&fleet, &cmd->base), RC_OK);
    ck_assert_uint_eq(cmd->part_count, BATCH_MEMBERS_MAX);
    cmd->item_count++;
    ck_assert_int_eq(lab_call(&fleet, &cmd->base), RC_INVALID);
    ck_assert_str_eq(cmd->base.err.code, "BATCH_TOO_LARGE");
    command_free(&cmd->base);
    fleet_close();
}
END_TEST

START_TEST(many_globs_read_the_names_once_and_too_many_are_refused)
{
    fleet_open(_i, 2);
    struct cmd_batch_submit *cmd = fleet_batch();
    const char *patterns[BATCH_GLOBS_MAX + 2];
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        patterns[i] = "acme/r?";
    patterns[0] = "acme/r1"; /* A name is no glob. */
    cmd->patterns = patterns;
    cmd->pattern_count = BATCH_GLOBS_MAX + 1;
    cmd->dry_run = true;
    ck_assert_int_eq(lab_call(&fleet, &cmd->base), RC_OK);
    ck_assert_uint_eq(cmd->part_count, 2);
    cmd->pattern_count++;
    ck_assert_int_eq(lab_call(&fleet, &cmd->base), RC_INVALID);
    ck_assert_str_eq(cmd->base.err.code, "BATCH_TOO_LARGE");
    ck_assert_str_eq(cmd->base.err.field, "repositories[101]");
    command_free(&cmd->base);
    fleet_close();
}
END_TEST

START_TEST(a_dry_run_tells_what_would_be_and_writes_nothing)
{
    static const char *const patterns[] = {"acme/*", "other/gone"};
    fleet_open(_i, 2);
    struct cmd_quarantine *quarantine = cmd_quarantine_new();
    quarantine->name = "acme/r1";
    ck_assert_int_eq(lab_call(&fleet, &quarantine->base), RC_OK);
    command_free(&quarantine->base);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->patterns = patterns;
    cmd->pattern_count = 2;
    cmd->dry_run = true;
    int64_t changes = db_changes(fleet.db);
    ck_assert_int_eq(lab_call(&fleet, &cmd->base), RC_OK);
    ck_assert_int_eq(db_changes(fleet.db), changes);
    ck_assert_uint_eq(cmd->part_count, 3);
    ck_assert_ptr_null(cmd->parts[0].problem);
    ck_assert_ptr_nonnull(strstr(cmd->parts[1].problem, "quarantined"));
    ck_assert_ptr_nonnull(strstr(cmd->parts[2].problem, "not onboarded"));
    command_free(&cmd->base);
    struct task_row *rows;
    size_t count;
    const struct task_filter filter = {.status = -1, .limit = 10};
    ck_assert_int_eq(tasks_list(fleet.db, &filter, &fleet.arena, &rows, &count, NULL), RC_OK);
    ck_assert_uint_eq(count, 0);
    fleet_close();
}
END_TEST

START_TEST(the_same_key_is_the_same_batch)
{
    fleet_open(_i, 2);
    struct cmd_batch_submit *first = fleet_batch(), *second = fleet_batch(), *third = fleet_batch();
    first->idempotency_key = second->idempotency_key = third->idempotency_key = "k";
    first->body_sha256 = second->body_sha256 = "aa";
    third->body_sha256 = "bb";
    struct id id = fleet_submit(first);
    ck_assert_int_eq(lab_call(&fleet, &second->base), RC_OK);
    ck_assert(second->repeated);
    ck_assert_str_eq(second->batch_id.text, id.text);
    ck_assert_int_eq(lab_call(&fleet, &third->base), RC_INVALID);
    ck_assert_str_eq(third->base.err.code, "IDEMPOTENCY_KEY_REUSED");
    command_free(&second->base);
    command_free(&third->base);
    /* A task may have the same one. */
    struct cmd_submit *task = cmd_submit_new();
    task->task.repository = "acme/r0";
    task->task.description = "x";
    task->task.idempotency_key = "k";
    task->task.body_sha256 = "cc";
    ck_assert_int_eq(lab_call(&fleet, &task->base), RC_OK);
    ck_assert(!task->answer.repeated);
    command_free(&task->base);
    fleet_close();
}
END_TEST

/* ---- joining ---- */

static enum rc join(const struct id *id, const char *code, struct id *ret_run_id)
{
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.repository = "acme/r0";
    cmd->task.description = "One more";
    cmd->task.mode = MODE_PATCH_ONLY;
    cmd->task.batch_id = *id;
    cmd->task.batch_joins = true;
    enum rc rc = lab_call(&fleet, &cmd->base);
    ck_assert_str_eq(cmd->base.err.code, code);
    if (rc == RC_OK)
        *ret_run_id = cmd->answer.run_id;
    command_free(&cmd->base);
    return rc;
}

START_TEST(a_task_can_join_and_waits_for_its_place)
{
    struct id run_id = {0};
    fleet_open(_i, 1);
    struct cmd_batch_submit *cmd = fleet_batch();
    cmd->limits.max_active = 1;
    struct id id = fleet_submit(cmd);
    ck_assert_int_eq(join(&id, "", &run_id), RC_OK);
    fleet_pass_ms(1);
    fleet_expect(&id, BATCH_RUNNING, "aa");
    ck_assert_str_eq(fleet_member(&id, 2).row.key, lab_run(&fleet, &run_id).task_id.text);
    ck_assert_str_eq(lab_run(&fleet, &run_id).deferred_reason, "batch_holds");
    ck_assert_str_eq(lab_run(&fleet, &run_id).deferred_detail,
                     "1 of 1 members of batch fleet are under way");
    fleet_complete(&id, 1);
    fleet_complete(&id, 2);
    fleet_expect(&id, BATCH_COMPLETED, "cc");
    ck_assert_int_eq(join(&id, "BATCH_FINISHED", &run_id), RC_CONFLICT);
    struct id run = run_id; /* No batch. */
    ck_assert_int_eq(join(&run, "INVALID_FIELD", &run_id), RC_INVALID);
    fleet_close();
}
END_TEST

Suite *batch_submit_suite(void);
Suite *batch_submit_suite(void)
{
    Suite *suite = suite_create("batch_submit");
    TCase *tc = tcase_create("submit");
    int engines = lab_engines();
    tcase_add_loop_test(tc, patterns_are_resolved_and_tasks_change_or_add_members, 0, engines);
    tcase_add_loop_test(tc, what_cannot_be_resolved_is_refused_and_leaves_nothing, 0, engines);
    tcase_add_loop_test(tc, more_members_than_possible_are_refused, 0, engines);
    tcase_add_loop_test(tc, a_dry_run_tells_what_would_be_and_writes_nothing, 0, engines);
    tcase_add_loop_test(tc, many_globs_read_the_names_once_and_too_many_are_refused, 0, engines);
    tcase_add_loop_test(tc, the_same_key_is_the_same_batch, 0, engines);
    tcase_add_loop_test(tc, a_task_can_join_and_waits_for_its_place, 0, engines);
    suite_add_tcase(suite, tc);
    return suite;
}
