/*
 * test_audit_trail.c - audit rows are written with the change they tell of, or not at all.  On both
 * engines.
 */
#include "control/commit/audit_trail.h"
#include "control/commit/context.h"
#include "control/commit/isolate.h"
#include "control/watch/audit.h"
#include "core/event_types.h"
#include "store/audit.h"
#include "store/query.h"
#include "store/settings.h"
#include "tests/unit/lab.h"
#include <check.h>
#include <string.h>

static struct lab lab;

static void open_lab(int engine)
{
    lab_open(&lab, &(struct lab_options){.engine = engine});
}

static void teardown(void)
{
    struct audit_chain chain;
    struct err err = {0};
    audit_chain_begin(&chain, &(struct audit_chain_options){0});
    ck_assert_int_eq(audit_verify(lab.db, &chain, &err), RC_OK);
    ck_assert_msg(chain.damage == AUDIT_SOUND, "%s", chain.text);
    lab_close(&lab);
}

/* A command that does as it is told. */
struct cmd_test {
    struct command base;
    const char *key;  /* A setting that it writes; or NULL. */
    const char *note; /* The action of a row beside its own; or NULL. */
    enum rc outcome, denied;
    bool isolated; /* Its note is made, and fails, in isolation. */
    bool waits;
    int applied;
};

static enum rc note_and_fail(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    context_audit(ctx, &(struct audit_entry){.action = subject});
    return err_set(ctx->err, RC_IO, "TEST", "as told");
}

static enum rc give_up(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx, (void)subject, (void)why;
    return RC_OK;
}

static enum rc apply_test(struct context *ctx, struct command *command)
{
    static isolate_try *const tries[] = {note_and_fail, give_up, NULL};
    struct cmd_test *cmd = (struct cmd_test *)command;
    enum rc rc = RC_OK;
    if (cmd->isolated)
        rc = isolate(ctx, &(struct isolated){"test", "x", (void *)(uintptr_t)cmd->note, tries});
    else if (cmd->note != NULL)
        context_audit(ctx, &(struct audit_entry){.action = cmd->note, .resource_id = "beside"});
    if (rc == RC_OK && cmd->outcome != RC_OK)
        return err_set(ctx->err, cmd->outcome, "TEST_REFUSED", "as told");
    if (rc == RC_OK && cmd->key != NULL)
        rc = settings_put(ctx->db, cmd->key, "x", ctx->err);
    command->refused = cmd->denied;
    if (cmd->denied != RC_OK)
        (void)err_set(ctx->err, cmd->denied, "TEST_DENIED", "as told");
    command->wait_until_us = ctx->now_us + US_PER_SECOND;
    cmd->applied++;
    return rc;
}

static bool test_may_wait(const struct command *command)
{
    return ((const struct cmd_test *)command)->waits;
}

static bool test_wants(const struct command *command, const char *queue)
{
    (void)command, (void)queue;
    return true;
}

static const struct command_ops ops = {
    .name = "test", .apply = apply_test, .may_wait = test_may_wait, .wants = test_wants};

static struct cmd_test *make(const char *action)
{
    struct cmd_test *cmd = command_new(&ops, sizeof *cmd);
    struct audit_call *call = arena_alloc(&cmd->base.arena, sizeof *call);
    *call = (struct audit_call){.action = action,
                                .resource_id = "it",
                                .role = "operator",
                                .address = "::1",
                                .request_id = "r1"};
    cmd->base.actor = (struct actor){"user", "ann"};
    cmd->base.audit = action != NULL ? call : NULL;
    return cmd;
}

static size_t rows_of(struct audit_entry **ret_rows)
{
    struct err err = {0};
    size_t count = 0;
    enum rc rc = audit_list(lab.db, &(struct audit_filter){.limit = 100}, &lab.arena, ret_rows,
                            &count, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    return count;
}

static int64_t count_events(const char *type)
{
    struct event *events;
    size_t count = 0;
    struct err err = {0};
    struct event_filter filter = {.type_pattern = type, .limit = 100};
    ck_assert_int_eq(events_list(lab.db, &filter, &lab.arena, &events, &count, &err), RC_OK);
    return (int64_t)count;
}

static bool has_setting(const char *key)
{
    const char *value;
    struct err err = {0};
    return settings_get(lab.db, key, &lab.arena, &value, &err) == RC_OK;
}

static void run(struct cmd_test *cmd, enum rc want)
{
    enum rc rc = lab_call(&lab, &cmd->base);
    ck_assert_msg(rc == want, "%s: %s", rc_name(rc), cmd->base.err.text);
    command_free(&cmd->base);
}

START_TEST(a_recorded_command_has_its_row_and_others_have_none)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmd = make("queue.pause");
    cmd->key = "one";
    run(cmd, RC_OK);
    run(make(NULL), RC_OK);
    ck_assert_uint_eq(rows_of(&rows), 1);
    ck_assert_int_eq(rows[0].seq, 1);
    ck_assert_str_eq(rows[0].actor_id, "ann");
    ck_assert_str_eq(rows[0].action, "queue.pause");
    ck_assert_str_eq(rows[0].resource_type, "queue");
    ck_assert_str_eq(rows[0].resource_id, "it");
    ck_assert_str_eq(rows[0].outcome, AUDIT_DONE);
    ck_assert_str_eq(rows[0].address, "::1");
    ck_assert_str_eq(rows[0].request_id, "r1");
    ck_assert_int_eq(rows[0].count, 1);
    ck_assert_int_eq(rows[0].time_us, lab.now_us);
    ck_assert_int_eq(count_events(EV_AUDIT_RECORDED), 0);
}
END_TEST

START_TEST(a_refused_command_leaves_no_row_here)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmd = make("queue.pause");
    cmd->outcome = RC_CONFLICT;
    cmd->note = "policy.override";
    run(cmd, RC_CONFLICT);
    ck_assert_uint_eq(rows_of(&rows), 0);
}
END_TEST

START_TEST(a_denial_that_left_a_record_has_a_row_and_an_event)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmd = make("task.submit");
    cmd->denied = RC_DENIED;
    cmd->key = "one";
    run(cmd, RC_DENIED);
    ck_assert_uint_eq(rows_of(&rows), 1);
    ck_assert_str_eq(rows[0].outcome, AUDIT_DENIED);
    ck_assert_str_eq(rows[0].code, "TEST_DENIED");
    ck_assert_int_eq(count_events(EV_AUDIT_RECORDED), 1);
}
END_TEST

START_TEST(rows_of_a_command_come_in_their_order_with_who_called)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmd = make("task.submit");
    cmd->note = "policy.override";
    run(cmd, RC_OK);
    ck_assert_uint_eq(rows_of(&rows), 2);
    ck_assert_str_eq(rows[0].action, "policy.override");
    ck_assert_str_eq(rows[0].resource_id, "beside");
    ck_assert_str_eq(rows[0].role, "operator");
    ck_assert_str_eq(rows[1].action, "task.submit");
    ck_assert_str_eq(rows[1].prev_hash, rows[0].hash);
    ck_assert_int_eq(count_events(EV_AUDIT_RECORDED), 1);
}
END_TEST

/* The batch is rolled back and its commands run one by one. */
START_TEST(after_a_rollback_each_change_has_one_row_and_the_lost_one_none)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmds[3];
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        cmds[i] = make("queue.pause");
        cmds[i]->key = arena_printf(&lab.arena, "key%zu", i);
    }
    cmds[1]->outcome = RC_IO;
    for (size_t i = 0; i < COUNT_OF(cmds); i++)
        lab_post(&lab, &cmds[i]->base);
    lab_rounds(&lab);
    for (size_t i = 0; i < COUNT_OF(cmds); i++) {
        ck_assert_int_eq(cmds[i]->base.rc, i == 1 ? RC_IO : RC_OK);
        ck_assert_int_eq(has_setting(cmds[i]->key), i != 1);
        command_free(&cmds[i]->base);
    }
    ck_assert_uint_eq(rows_of(&rows), 2);
}
END_TEST

START_TEST(what_was_undone_in_isolation_leaves_no_row)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmd = make("queue.pause");
    cmd->isolated = true;
    cmd->note = "secret.detected";
    run(cmd, RC_OK);
    ck_assert_uint_eq(rows_of(&rows), 1);
    ck_assert_str_eq(rows[0].action, "queue.pause");
}
END_TEST

START_TEST(a_command_that_waits_and_is_applied_again_has_one_row)
{
    open_lab(_i);
    struct audit_entry *rows;
    struct cmd_test *cmd = make("run.ask");
    cmd->waits = true;
    lab_post(&lab, &cmd->base);
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, 0);
    ck_assert_uint_eq(rows_of(&rows), 1);
    committer_want_look(lab.committer);
    lab_rounds(&lab);
    ck_assert_int_gt(cmd->applied, 1);
    lab.now_us += 2 * US_PER_SECOND;
    lab_rounds(&lab);
    ck_assert_int_eq(lab.answered, 1);
    ck_assert_uint_eq(rows_of(&rows), 1);
    command_free(&cmd->base);
}
END_TEST

/* Without the head nothing can be recorded, so nothing that is recorded can be done. */
START_TEST(without_a_head_recorded_commands_fail_and_others_go_on)
{
    static const struct sql take = {"take", "DELETE FROM audit_head", ""};
    static const struct sql put = {"put",
                                   "INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, $1)", "t"};
    open_lab(_i);
    struct err err = {0};
    ck_assert_int_eq(db_exec(lab.db, &take, NULL, 0, NULL, &err), RC_OK);
    struct cmd_test *cmd = make("queue.pause");
    cmd->key = "one";
    run(cmd, RC_CORRUPT);
    ck_assert(!has_setting("one"));
    cmd = make(NULL);
    cmd->key = "two";
    run(cmd, RC_OK);
    ck_assert(has_setting("two"));
    ck_assert_int_eq(db_exec(lab.db, &put, P_LIST(P_TEXT(AUDIT_NO_HASH)), NULL, &err), RC_OK);
}
END_TEST

START_TEST(the_schema_is_recorded_once)
{
    open_lab(_i);
    struct audit_entry *rows;
    for (int i = 0; i < 2; i++) {
        struct cmd_audit_schema *cmd = cmd_audit_schema_new();
        ck_assert_int_eq(lab_call(&lab, &cmd->base), RC_OK);
        command_free(&cmd->base);
    }
    ck_assert_uint_eq(rows_of(&rows), 1);
    ck_assert_str_eq(rows[0].action, "schema.migrate");
    ck_assert_str_eq(rows[0].actor_type, "system");
}
END_TEST

Suite *audit_trail_suite(void)
{
    Suite *suite = suite_create("audit_trail");
    TCase *tests = tcase_create("audit_trail");
    tcase_add_checked_fixture(tests, NULL, teardown);
    int engines = lab_engines();
    tcase_add_loop_test(tests, a_recorded_command_has_its_row_and_others_have_none, 0, engines);
    tcase_add_loop_test(tests, a_refused_command_leaves_no_row_here, 0, engines);
    tcase_add_loop_test(tests, a_denial_that_left_a_record_has_a_row_and_an_event, 0, engines);
    tcase_add_loop_test(tests, rows_of_a_command_come_in_their_order_with_who_called, 0, engines);
    tcase_add_loop_test(tests, after_a_rollback_each_change_has_one_row_and_the_lost_one_none, 0,
                        engines);
    tcase_add_loop_test(tests, what_was_undone_in_isolation_leaves_no_row, 0, engines);
    tcase_add_loop_test(tests, a_command_that_waits_and_is_applied_again_has_one_row, 0, engines);
    tcase_add_loop_test(tests, without_a_head_recorded_commands_fail_and_others_go_on, 0, engines);
    tcase_add_loop_test(tests, the_schema_is_recorded_once, 0, engines);
    suite_add_tcase(suite, tests);
    return suite;
}
