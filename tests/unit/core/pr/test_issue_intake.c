/*
 * Which issues become tasks: who asks, who may, what was approved; commands; what is taken back.
 */
#include "base/clock.h"
#include "base/str.h"
#include "core/pr/intake.h"
#include <check.h>
#include <string.h>

static struct arena arena;
static struct intake_rules rules;

static void setup(void)
{
    arena = (struct arena){0};
    rules = intake_rules_default();
    rules.enabled = true;
    rules.labels[0] = "drover";
    rules.assignees[0] = "drover-bot";
    rules.people[0] = "carol";
    rules.teams[0] = "team/core";
}

static void teardown(void)
{
    arena_release(&arena);
}

/* What was known of title and body. */
enum text { TEXT_UNSEEN, TEXT_SAME, TEXT_OTHER };

/* One issue, what is known of it, and what is decided.  Times are small numbers; alice is a MEMBER,
   eve is NONE. */
struct row {
    const char *name;
    enum issue_do want;
    enum issue_state state;
    const char *started_by; /* NULL: it was never looked at. */
    const char *author;
    const char *labelled_by; /* NULL: no label; "?": by somebody whom the forge does not name. */
    int64_t labelled_at;
    const char *said_by, *said; /* The last comment, or NULL. */
    int64_t said_at;
    int64_t updated_at;
    enum text text;
    int64_t text_at;
    int64_t act_at;
    bool handled; /* The comment, earlier. */
    bool closed;
    bool completed;
};

static const struct row rows[] = {
    {"nobody asks", ISSUE_NOTHING, .author = "alice", .updated_at = 10},
    {"a stranger writes", ISSUE_NOTHING, .author = "eve", .updated_at = 10},

    /* Labels. */
    {"a member labels a member's issue", ISSUE_SUBMIT, .author = "alice", .labelled_by = "alice",
     .labelled_at = 20, .updated_at = 30},
    {"a member labels a stranger's issue, and nothing changed since", ISSUE_SUBMIT, .author = "eve",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 20},
    {"something changed since, it may be the text", ISSUE_AWAIT, .author = "eve",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 21},
    {"something changed since, it was not the text", ISSUE_SUBMIT, ISSUE_SEEN, "", .author = "eve",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 30, .text = TEXT_SAME, .text_at = 10},
    {"the text is younger than the label", ISSUE_AWAIT, ISSUE_SEEN, "", .author = "eve",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 30, .text = TEXT_SAME, .text_at = 25},
    {"the text changed, perhaps in the same second", ISSUE_AWAIT, ISSUE_SEEN, "", .author = "eve",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 20, .text = TEXT_OTHER,
     .text_at = 10},
    {"a stranger labels by a template", ISSUE_AWAIT, .author = "eve", .labelled_by = "eve",
     .labelled_at = 10, .updated_at = 10},
    {"a stranger labels a member's issue", ISSUE_AWAIT, .author = "alice", .labelled_by = "eve",
     .labelled_at = 10, .updated_at = 10},
    {"the forge does not tell who labelled a member's issue", ISSUE_SUBMIT, .author = "alice",
     .labelled_by = "?", .updated_at = 10},
    {"the forge does not tell who labelled a stranger's issue", ISSUE_AWAIT, .author = "eve",
     .labelled_by = "?", .updated_at = 10},
    {"a closed issue is labelled", ISSUE_NOTHING, .author = "alice", .labelled_by = "alice",
     .labelled_at = 10, .updated_at = 10, .closed = true},
    {"it waits, and still does", ISSUE_AWAIT, ISSUE_AWAITING, "label drover", .author = "eve",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 40, .text = TEXT_SAME, .text_at = 30,
     .act_at = 20},
    {"it waits, and the label is put there anew", ISSUE_SUBMIT, ISSUE_AWAITING, "label drover",
     .author = "eve", .labelled_by = "alice", .labelled_at = 35, .updated_at = 40,
     .text = TEXT_SAME, .text_at = 30, .act_at = 20},
    {"it waits, and the text is edited after that", ISSUE_AWAIT, ISSUE_AWAITING, "label drover",
     .author = "eve", .labelled_by = "alice", .labelled_at = 35, .updated_at = 40,
     .text = TEXT_OTHER, .text_at = 30, .act_at = 20},
    {"it is worked on", ISSUE_NOTHING, ISSUE_ACTIVE, "label drover", .author = "alice",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 20, .act_at = 20},
    {"it was worked on for this label", ISSUE_NOTHING, ISSUE_DONE, "label drover",
     .author = "alice", .labelled_by = "alice", .labelled_at = 20, .updated_at = 20, .act_at = 20},
    {"the label was put there anew", ISSUE_SUBMIT, ISSUE_DONE, "label drover", .author = "alice",
     .labelled_by = "alice", .labelled_at = 30, .updated_at = 30, .act_at = 20},

    /* Taken back. */
    {"the label is gone while it runs", ISSUE_CANCEL, ISSUE_ACTIVE, "label drover",
     .author = "alice", .updated_at = 20},
    {"the issue is closed while it runs", ISSUE_CANCEL, ISSUE_ACTIVE, "label drover",
     .author = "alice", .labelled_by = "alice", .labelled_at = 20, .updated_at = 30,
     .closed = true},
    {"closed while a command runs", ISSUE_CANCEL, ISSUE_ACTIVE, "command", .author = "alice",
     .updated_at = 30, .closed = true},
    {"a run by command needs no label", ISSUE_NOTHING, ISSUE_ACTIVE, "command", .author = "alice",
     .updated_at = 30},
    {"the label is gone while it waits", ISSUE_FORGET, ISSUE_AWAITING, "label drover",
     .author = "eve", .updated_at = 30},
    {"the label is gone after the end", ISSUE_FORGET, ISSUE_DONE, "label drover", .author = "alice",
     .updated_at = 30},
    {"closed after the end", ISSUE_NOTHING, ISSUE_DONE, "label drover", .author = "alice",
     .labelled_by = "alice", .labelled_at = 20, .updated_at = 30, .act_at = 20, .closed = true},

    /* Commands. */
    {"a member wants it run", ISSUE_SUBMIT, .author = "alice", .said_by = "alice",
     .said = "/drover run", .said_at = 20, .updated_at = 20},
    {"a stranger wants it run", ISSUE_NOTHING, .author = "eve", .said_by = "eve",
     .said = "/drover run", .said_at = 20, .updated_at = 20},
    {"a stranger wants a member's issue run", ISSUE_NOTHING, .author = "alice", .said_by = "eve",
     .said = "/drover run", .said_at = 20, .updated_at = 20},
    {"a member approves a stranger's text", ISSUE_SUBMIT, ISSUE_AWAITING, "label drover",
     .author = "eve", .labelled_by = "eve", .labelled_at = 5, .said_by = "alice",
     .said = "/drover run", .said_at = 20, .updated_at = 20, .text = TEXT_SAME, .text_at = 10},
    {"the stranger edits it before drover looks", ISSUE_AWAIT, ISSUE_AWAITING, "label drover",
     .author = "eve", .labelled_by = "eve", .labelled_at = 5, .said_by = "alice",
     .said = "/drover run", .said_at = 20, .updated_at = 25, .text = TEXT_OTHER, .text_at = 10},
    {"the same command again", ISSUE_NOTHING, ISSUE_DONE, "command", .author = "alice",
     .said_by = "alice", .said = "/drover run", .said_at = 20, .updated_at = 20, .handled = true},
    {"run while it runs", ISSUE_STATUS, ISSUE_ACTIVE, "command", .author = "alice",
     .said_by = "alice", .said = "/drover run", .said_at = 20, .updated_at = 20},
    {"run after the end", ISSUE_SUBMIT, ISSUE_DONE, "command", .author = "alice",
     .said_by = "alice", .said = "/drover run", .said_at = 20, .updated_at = 20, .completed = true},
    {"run a closed issue", ISSUE_STATUS, ISSUE_SEEN, "", .author = "alice", .said_by = "alice",
     .said = "/drover run", .said_at = 20, .updated_at = 20, .closed = true},
    {"cancel while it runs", ISSUE_CANCEL, ISSUE_ACTIVE, "command", .author = "alice",
     .said_by = "alice", .said = "/drover cancel", .said_at = 20, .updated_at = 20},
    {"a stranger cancels", ISSUE_NOTHING, ISSUE_ACTIVE, "command", .author = "alice",
     .said_by = "eve", .said = "/drover cancel", .said_at = 20, .updated_at = 20},
    {"cancel while it waits", ISSUE_FORGET, ISSUE_AWAITING, "command", .author = "eve",
     .said_by = "alice", .said = "/drover cancel", .said_at = 20, .updated_at = 20},
    {"cancel nothing", ISSUE_STATUS, ISSUE_SEEN, "", .author = "alice", .said_by = "alice",
     .said = "/drover cancel", .said_at = 20, .updated_at = 20},
    {"retry after a failure", ISSUE_RETRY, ISSUE_DONE, "label drover", .author = "alice",
     .labelled_by = "alice", .labelled_at = 10, .said_by = "alice", .said = "/drover retry",
     .said_at = 20, .updated_at = 20, .act_at = 10},
    {"retry after success is a run", ISSUE_SUBMIT, ISSUE_DONE, "command", .author = "alice",
     .said_by = "alice", .said = "/drover retry", .said_at = 20, .updated_at = 20,
     .completed = true},
    {"retry while it runs", ISSUE_STATUS, ISSUE_ACTIVE, "command", .author = "alice",
     .said_by = "alice", .said = "/drover retry", .said_at = 20, .updated_at = 20},
    {"a stranger retries", ISSUE_NOTHING, ISSUE_DONE, "command", .author = "alice",
     .said_by = "eve", .said = "/drover retry", .said_at = 20, .updated_at = 20},
    {"status", ISSUE_STATUS, ISSUE_ACTIVE, "command", .author = "alice", .said_by = "alice",
     .said = "/drover status", .said_at = 20, .updated_at = 20},
    {"help", ISSUE_HELP, .author = "alice", .said_by = "alice", .said = "/drover help",
     .said_at = 20, .updated_at = 20},
    {"behind code", ISSUE_HELP, .author = "alice", .said_by = "alice",
     .said = "```c\r\nx\r\n```\r\n  /drover help", .said_at = 20, .updated_at = 20},
    {"a word that is not known", ISSUE_HELP, .author = "alice", .said_by = "alice",
     .said = "/drover dance", .said_at = 20, .updated_at = 20},
    {"a command in a quote", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "> /drover run\nno", .said_at = 20, .updated_at = 20},
    {"a command in code", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "```\n/drover run\n```", .said_at = 20, .updated_at = 20},
    {"code in longer marks", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "````\n```\n/drover run\n````", .said_at = 20, .updated_at = 20},
    {"code with other marks in it", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "```\n~~~\n/drover run\n~~~\n```", .said_at = 20, .updated_at = 20},
    {"marks with words close nothing", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "```\n```sh\n/drover run\n```", .said_at = 20, .updated_at = 20},
    {"code by its indent", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "As in\n\n    /drover run\n", .said_at = 20, .updated_at = 20},
    {"code by a tab", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "As in\n\n\t/drover run\n", .said_at = 20, .updated_at = 20},
    {"drover's own comment", ISSUE_NOTHING, .author = "alice", .said_by = "alice",
     .said = "/drover run\n<!-- drover:issue -->", .said_at = 20, .updated_at = 20},
    {"a quote of drover's comment", ISSUE_SUBMIT, .author = "alice", .said_by = "alice",
     .said = "> waits\n> <!-- drover:issue -->\n\n/drover run", .said_at = 20, .updated_at = 20},
    {"a command from before the repository was known", ISSUE_NOTHING, .author = "alice",
     .said_by = "alice", .said = "/drover run", .said_at = 1, .updated_at = 20},
};

static struct issue_person person(const char *login)
{
    return (struct issue_person){.login = login,
                                 .association = text_same(login, "alice") ? "MEMBER" : "NONE"};
}

static struct issue_decision decide(const struct row *row)
{
    const char **labels = arena_array(&arena, 2, sizeof *labels);
    struct issue_act *act = arena_alloc(&arena, sizeof *act);
    struct issue_comment_view *comment = arena_alloc(&arena, sizeof *comment);
    struct issue_view view = {
        .number = 12,
        .title = "Totals",
        .body = "are wrong",
        .open = !row->closed,
        .author = person(row->author),
        .updated_us = row->updated_at,
        .labels = labels,
        .comments = comment,
        .comment_count = row->said != NULL,
        .acts = act,
    };
    labels[0] = row->labelled_by != NULL ? "Drover" : NULL;
    if (row->labelled_by != NULL && !text_same(row->labelled_by, "?")) {
        *act = (struct issue_act){
            .what = "drover", .by = person(row->labelled_by), .at_us = row->labelled_at};
        view.act_count = 1;
    }
    if (row->said != NULL)
        *comment = (struct issue_comment_view){
            .id = 5, .author = person(row->said_by), .body = row->said, .created_us = row->said_at};
    char *sha256 = arena_alloc(&arena, SHA256_TEXT_BYTES);
    issue_text_sha256(&view, sha256);
    const struct issue_known known = {
        .there = row->started_by != NULL,
        .state = row->state,
        .completed = row->completed,
        .started_by = text_empty(row->started_by) ? NULL : row->started_by,
        .text_sha256 = row->text == TEXT_SAME    ? sha256
                       : row->text == TEXT_OTHER ? "another"
                                                 : NULL,
        .text_us = row->text_at,
        .last_comment_id = row->handled ? 5 : 0,
        .act_us = row->act_at,
        .since_us = 2,
    };
    return issue_decide(&rules, &view, &known, &arena);
}

START_TEST(a_row_decides)
{
    const struct row *row = &rows[_i];
    struct issue_decision decision = decide(row);
    ck_assert_msg(decision.what == row->want, "%s: %s (%s)", row->name,
                  issue_do_name(decision.what), decision.reason);
    ck_assert_ptr_nonnull(decision.reason);
    ck_assert_int_eq(decision.last_comment_id, row->said != NULL ? 5 : 0);
    ck_assert_uint_eq(strlen(decision.text_sha256), 64);
    if (decision.what == ISSUE_SUBMIT)
        ck_assert_uint_eq(strlen(decision.prompt_sha256), 64);
}
END_TEST

/* To the second look the changed text is no news; it is as young as before. */
START_TEST(a_text_that_changed_in_the_second_of_the_label_stays_unapproved)
{
    struct row row = {"",
                      ISSUE_AWAIT,
                      ISSUE_SEEN,
                      "",
                      .author = "eve",
                      .labelled_by = "alice",
                      .labelled_at = 20 * US_PER_SECOND,
                      .updated_at = 20 * US_PER_SECOND,
                      .text = TEXT_OTHER,
                      .text_at = 10 * US_PER_SECOND};
    const struct issue_decision first = decide(&row);
    ck_assert_int_eq(first.what, ISSUE_AWAIT);
    row.state = ISSUE_AWAITING;
    row.started_by = "label drover";
    row.text = TEXT_SAME;
    row.text_at = first.text_us;
    row.act_at = first.act_us;
    ck_assert_int_eq(decide(&row).what, ISSUE_AWAIT);
    row.labelled_at += US_PER_SECOND; /* Put there anew. */
    ck_assert_int_eq(decide(&row).what, ISSUE_SUBMIT);
}
END_TEST

START_TEST(nothing_is_decided_where_intake_is_off)
{
    rules.enabled = false;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_int_eq(decide(&rows[i]).what, ISSUE_NOTHING);
}
END_TEST

START_TEST(commands_may_be_switched_off)
{
    const struct row row = {
        .author = "alice", .said_by = "alice", .said = "/drover run", .said_at = 9};
    ck_assert_int_eq(decide(&row).what, ISSUE_SUBMIT);
    rules.commands = false;
    ck_assert_int_eq(decide(&row).what, ISSUE_NOTHING);
}
END_TEST

START_TEST(people_may_ask_by_association_name_or_team)
{
    static const char *const core[] = {"team/core", NULL}, *const others[] = {"team/x", NULL};
    static const struct {
        struct issue_person person;
        bool may;
    } cases[] = {
        {{"a", "OWNER", NULL}, true},        {{"a", "MEMBER", NULL}, true},
        {{"a", "COLLABORATOR", NULL}, true}, {{"a", "CONTRIBUTOR", NULL}, false},
        {{"a", "NONE", NULL}, false},        {{"a", NULL, NULL}, false},
        {{"Carol", "NONE", NULL}, true},     {{"carola", "NONE", NULL}, false},
        {{"a", "NONE", core}, true},         {{"a", "NONE", others}, false},
        {{"", "OWNER", NULL}, false},        {{NULL, "OWNER", NULL}, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_msg(intake_may_ask(&rules, &cases[i].person) == cases[i].may, "case %zu", i);
    memset(rules.associations, 0, sizeof rules.associations);
    ck_assert(!intake_may_ask(&rules, &cases[0].person));
}
END_TEST

START_TEST(rules_that_match_apply_in_order)
{
    static const struct intake_rule all[] = {
        {.label = "drover", .task = {"fix", RISK_LOW, -1, 50, 0, NULL}},
        {.label = "absent", .task = {"none", RISK_HIGH, 0, 0, 1, "never"}},
        {.command = "docs", .task = {"docs", -1, MODE_PATCH_ONLY, -1, 2000000, "next"}},
    };
    memcpy(rules.rules, all, sizeof all);
    rules.rule_count = COUNT_OF(all);
    const struct row by_label = {.author = "alice", .labelled_by = "alice", .labelled_at = 9};
    struct issue_task task = decide(&by_label).task;
    ck_assert_str_eq(task.task_type, "fix");
    ck_assert_int_eq(task.risk, RISK_LOW);
    ck_assert_int_eq(task.mode, -1);
    ck_assert_int_eq(task.priority, 50);
    ck_assert_ptr_null(task.target_branch);
    struct row by_command = by_label;
    by_command.said_by = "alice";
    by_command.said = "Please.\n/drover run docs now";
    by_command.said_at = 9;
    task = decide(&by_command).task;
    ck_assert_str_eq(task.task_type, "docs");
    ck_assert_int_eq(task.risk, RISK_LOW);
    ck_assert_int_eq(task.mode, MODE_PATCH_ONLY);
    ck_assert_int_eq(task.priority, 50);
    ck_assert_int_eq(task.max_budget_microusd, 2000000);
    ck_assert_str_eq(task.target_branch, "next");
}
END_TEST

START_TEST(comments_after_the_request_and_edited_ones_of_strangers_are_left_out)
{
    struct issue_comment_view comments[] = {
        {1, {.login = "eve"}, "early", 5, false},
        {2, {.login = "eve"}, "edited", 6, true},
        {3, {.login = "alice", .association = "MEMBER"}, "edited by one who may", 7, true},
        {4, {.login = "alice", .association = "MEMBER"}, "/drover run\n", 10, false},
        {5, {.login = "eve"}, "late", 11, false},
        {6, {.login = "drover-bot"}, "status\n<!-- drover:issue -->", 8, false},
    };
    const struct issue_view view = {.number = 1,
                                    .title = "t",
                                    .body = "b",
                                    .open = true,
                                    .author = {.login = "alice", .association = "MEMBER"},
                                    .updated_us = 12,
                                    .comments = comments,
                                    .comment_count = COUNT_OF(comments)};
    const struct issue_known known = {.there = false};
    struct issue_decision decision = issue_decide(&rules, &view, &known, &arena);
    ck_assert_int_eq(decision.what, ISSUE_SUBMIT);
    ck_assert_uint_eq(decision.comment_count, 2);
    ck_assert_int_eq(decision.comment_ids[0], 1);
    ck_assert_int_eq(decision.comment_ids[1], 3);
    ck_assert_int_eq(decision.last_comment_id, 6);
    ck_assert_int_eq(decision.act_us, 10);
}
END_TEST

START_TEST(the_last_command_wins)
{
    struct issue_comment_view comments[] = {
        {1, {.login = "alice", .association = "MEMBER"}, "/drover run", 5, false},
        {2, {.login = "eve"}, "/drover run", 6, false},
        {3, {.login = "alice", .association = "MEMBER"}, "/drover cancel", 7, false},
    };
    const struct issue_view view = {.number = 1,
                                    .title = "t",
                                    .body = "b",
                                    .open = true,
                                    .author = {.login = "alice", .association = "MEMBER"},
                                    .comments = comments,
                                    .comment_count = COUNT_OF(comments)};
    const struct issue_known known = {.there = false};
    struct issue_decision decision = issue_decide(&rules, &view, &known, &arena);
    ck_assert_int_eq(decision.what, ISSUE_STATUS);
    ck_assert_uint_eq(decision.denied, 1);
}
END_TEST

START_TEST(states_have_names)
{
    for (int i = 0; i < ISSUE_STATE_COUNT; i++) {
        enum issue_state state = ISSUE_STATE_COUNT;
        ck_assert(issue_state_parse(issue_state_name((enum issue_state)i), &state));
        ck_assert_int_eq(state, i);
    }
    enum issue_state state;
    ck_assert(!issue_state_parse("gone", &state));
    for (int i = 0; i < ISSUE_DO_COUNT; i++)
        ck_assert_ptr_nonnull(issue_do_name((enum issue_do)i));
}
END_TEST

Suite *issue_intake_suite(void)
{
    Suite *suite = suite_create("issue_intake");
    TCase *tc = tcase_create("issue_intake");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_row_decides, 0, COUNT_OF(rows));
    tcase_add_test(tc, a_text_that_changed_in_the_second_of_the_label_stays_unapproved);
    tcase_add_test(tc, nothing_is_decided_where_intake_is_off);
    tcase_add_test(tc, commands_may_be_switched_off);
    tcase_add_test(tc, people_may_ask_by_association_name_or_team);
    tcase_add_test(tc, rules_that_match_apply_in_order);
    tcase_add_test(tc, comments_after_the_request_and_edited_ones_of_strangers_are_left_out);
    tcase_add_test(tc, the_last_command_wins);
    tcase_add_test(tc, states_have_names);
    suite_add_tcase(suite, tc);
    return suite;
}
