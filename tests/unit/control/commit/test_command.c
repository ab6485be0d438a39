/*
 * test_command.c - a command is as it was when its transaction is rolled back.
 */
#include "control/commit/command.h"
#include "tests/unit/suites.h"
#include <check.h>
#include <string.h>

struct cmd_thing {
    struct command base;
    int64_t input;
    int64_t answers[4];
};

static const struct command_ops ops = {.name = "thing"};
static struct cmd_thing *cmd;
static struct arena memory;

static void setup(void)
{
    memory = (struct arena){0};
    cmd = command_new(&ops, sizeof *cmd);
    cmd->input = 7;
    (void)arena_strdup(&cmd->base.arena, "an input");
}

static void teardown(void)
{
    command_free(&cmd->base);
    arena_release(&memory);
}

static void apply(int64_t answer)
{
    command_stage(&cmd->base, &memory);
    cmd->base.rc = cmd->base.refused = RC_CONFLICT;
    (void)err_set(&cmd->base.err, RC_CONFLICT, "TAKEN", "somebody has it");
    cmd->base.wait_until_us = cmd->base.look_us = answer;
    cmd->base.waiter = arena_strdup(&cmd->base.arena, "worker");
    cmd->answers[3] = answer;
    (void)arena_alloc(&cmd->base.arena, 100000);
}

START_TEST(undo_puts_back_every_byte_and_all_memory)
{
    struct cmd_thing before = *cmd;
    size_t used_bytes = cmd->base.arena.used_bytes;
    apply(42);
    apply(43); /* A second time in the same transaction. */
    command_undo(&cmd->base);
    size_t from = offsetof(struct command, rc);
    ck_assert_mem_eq((char *)cmd + from, (char *)&before + from, sizeof before - from);
    ck_assert_uint_eq(cmd->base.arena.used_bytes, used_bytes);
    ck_assert_ptr_null(cmd->base.before);
    command_undo(&cmd->base); /* Not staged: nothing. */
}
END_TEST

START_TEST(what_was_kept_stays_when_a_later_transaction_is_undone)
{
    apply(42);
    command_keep(&cmd->base);
    apply(43);
    command_undo(&cmd->base);
    ck_assert_int_eq(cmd->answers[3], 42);
    ck_assert_str_eq(cmd->base.waiter, "worker");
    ck_assert_str_eq(cmd->base.err.code, "TAKEN");
}
END_TEST

START_TEST(who_hung_up_is_gone_whatever_becomes_of_the_transaction)
{
    apply(42);
    cmd->base.abandoned = true;
    command_undo(&cmd->base);
    ck_assert(cmd->base.abandoned);
}
END_TEST

Suite *command_suite(void)
{
    Suite *suite = suite_create("command");
    TCase *tc = tcase_create("command");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, undo_puts_back_every_byte_and_all_memory);
    tcase_add_test(tc, what_was_kept_stays_when_a_later_transaction_is_undone);
    tcase_add_test(tc, who_hung_up_is_gone_whatever_becomes_of_the_transaction);
    suite_add_tcase(suite, tc);
    return suite;
}
