/*
 * test_budget_tree.c - what a task and its sub-tasks may use together.
 */
#include "base/str.h"
#include "core/run/budget_tree.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>

/* Nodes are named by letters; a run has the letter of its task, or the next one when retried. */
struct sketch {
    char name, parent; /* 0: the root */
    int64_t used, limit;
    int64_t tokens, max_tokens;
    enum run_status status;
    bool stopping, still;
    char task; /* 0: as name */
    int64_t deadline_us;
};

#define RUN(n, p, ...)                          \
    {                                           \
        .name = (n), .parent = (p), __VA_ARGS__ \
    }
#define SPENT(n, p, u, l, ...) RUN(n, p, .used = (u), .limit = (l), __VA_ARGS__)
#define TOKENS(n, p, u, l, t, m, ...) \
    RUN(n, p, .used = (u), .limit = (l), .tokens = (t), .max_tokens = (m), __VA_ARGS__)

static struct id id_for(char letter)
{
    struct id id = {""};
    if (letter != 0)
        snprintf(id.text, sizeof id.text, "00000000-0000-7000-8000-00000000000%c", letter);
    return id;
}

enum { NODES_MAX = 8 };
static struct budget_node nodes[NODES_MAX];

static struct budget_tree draw(const struct sketch *sketches)
{
    struct budget_tree tree = {nodes, 0};
    for (const struct sketch *s = sketches; s->name != 0; s++)
        nodes[tree.count++] = (struct budget_node){
            .run_id = id_for(s->name),
            .task_id = id_for(s->task != 0 ? s->task : s->name),
            .parent_run_id = id_for(s->parent),
            .status = s->status,
            .stopping = s->stopping,
            .still = s->still,
            .used = {s->used, s->tokens},
            .limit = {s->limit, s->max_tokens},
            .work_us = s->used,
            .deadline_us = s->deadline_us,
        };
    return tree;
}

static int at(const struct budget_tree *tree, char letter)
{
    struct id id = id_for(letter);
    return budget_tree_find(tree, &id);
}

static struct budget_tree linked(const struct sketch *sketches)
{
    struct budget_tree tree = draw(sketches);
    ck_assert_int_eq(budget_tree_link(&tree, NULL), RC_OK);
    return tree;
}

/* ---- sums ---- */

#define NO_LIMIT INT64_MAX
static const struct {
    struct sketch tree[NODES_MAX + 1];
    struct {
        char name;
        int64_t total, left;
    } want[NODES_MAX];
} sums[] = {
    {{SPENT('a', 0, 3, 0)}, {{'a', 3, NO_LIMIT}}},
    {{SPENT('a', 0, 3, 5)}, {{'a', 3, 2}}},
    {{SPENT('a', 0, 9, 5)}, {{'a', 9, 0}}},
    /* The picture of the header, parents after their children. */
    {{SPENT('d', 'c', 40, 100), SPENT('b', 'a', 120, 200), SPENT('c', 'a', 110, 0),
      SPENT('a', 0, 50, 500)},
     {{'a', 320, 180}, {'b', 120, 80}, {'c', 150, 180}, {'d', 40, 60}}},
    /* A child with more than its parent has left. */
    {{SPENT('a', 0, 1, 10), SPENT('b', 'a', 2, 100)}, {{'a', 3, 7}, {'b', 2, 7}}},
    /* Only the root has a limit, and it is passed. */
    {{SPENT('a', 0, 1, 4), SPENT('b', 'a', 2, 0), SPENT('c', 'b', 3, 0)},
     {{'a', 6, 0}, {'b', 5, 0}, {'c', 3, 0}}},
    /* Every run of a task counts. */
    {{SPENT('a', 0, 1, 10), SPENT('b', 'a', 2, 0, .status = RUN_FAILED),
      SPENT('c', 'a', 3, 0, .task = 'b')},
     {{'a', 6, 4}, {'b', 2, 4}, {'c', 3, 4}}},
};

START_TEST(what_a_run_uses_counts_at_every_ancestor)
{
    struct budget_tree tree = linked(sums[_i].tree);
    for (size_t i = 0; i < COUNT_OF(sums[_i].want) && sums[_i].want[i].name != 0; i++) {
        int place = at(&tree, sums[_i].want[i].name);
        ck_assert_int_eq(tree.nodes[place].total[MEASURE_COST], sums[_i].want[i].total);
        ck_assert_int_eq(tree.nodes[place].total_work_us, sums[_i].want[i].total);
        ck_assert_int_eq(budget_tree_left(&tree, place, MEASURE_COST), sums[_i].want[i].left);
        ck_assert_int_eq(budget_tree_left(&tree, place, MEASURE_TOKENS), NO_LIMIT);
    }
}
END_TEST

START_TEST(a_tree_is_added_up_as_often_as_it_is_linked)
{
    struct budget_tree tree = linked(sums[3].tree);
    ck_assert_int_eq(budget_tree_link(&tree, NULL), RC_OK);
    ck_assert_int_eq(tree.nodes[at(&tree, 'a')].total[MEASURE_COST], 320);
}
END_TEST

/* ---- limits ---- */

static const struct {
    struct sketch tree[NODES_MAX + 1];
    char run;
    char used_up, passed; /* Whose limit it is; 0: none. */
    enum budget_measure measure;
} bounds[] = {
    {{SPENT('a', 0, 4, 5)}, 'a', 0, 0, MEASURE_COST},
    {{SPENT('a', 0, 5, 5)}, 'a', 'a', 0, MEASURE_COST},
    {{SPENT('a', 0, 6, 5)}, 'a', 'a', 'a', MEASURE_COST},
    {{SPENT('a', 0, 600, 0)}, 'a', 0, 0, MEASURE_COST},
    /* An ancestor's, for what a sibling used. */
    {{SPENT('a', 0, 0, 5), SPENT('b', 'a', 1, 9), SPENT('c', 'a', 5, 9)},
     'b',
     'a',
     'a',
     MEASURE_COST},
    {{SPENT('a', 0, 0, 5), SPENT('b', 'a', 1, 9), SPENT('c', 'a', 4, 9)},
     'b',
     'a',
     0,
     MEASURE_COST},
    /* The nearest of two. */
    {{SPENT('a', 0, 0, 5), SPENT('b', 'a', 0, 3), SPENT('c', 'b', 9, 0)},
     'c',
     'b',
     'b',
     MEASURE_COST},
    /* A sibling's limit is no bound. */
    {{SPENT('a', 0, 0, 50), SPENT('b', 'a', 1, 9), SPENT('c', 'a', 5, 1)}, 'b', 0, 0, MEASURE_COST},
    /* Tokens are held to their own limit. */
    {{TOKENS('a', 0, 1, 5, 10, 9), TOKENS('b', 'a', 1, 0, 5, 0)}, 'b', 'a', 'a', MEASURE_TOKENS},
    {{TOKENS('a', 0, 1, 5, 4, 9), TOKENS('b', 'a', 1, 0, 5, 0)}, 'b', 'a', 0, MEASURE_TOKENS},
};

static char letter_at(const struct budget_tree *tree, int place)
{
    if (place == BUDGET_TREE_NONE)
        return 0;
    const char *text = tree->nodes[place].run_id.text;
    return text[strlen(text) - 1];
}

START_TEST(a_limit_is_used_up_when_it_is_reached_and_passed_above_it)
{
    struct budget_tree tree = linked(bounds[_i].tree);
    int place = at(&tree, bounds[_i].run);
    struct budget_bound used_up = budget_tree_used_up(&tree, place);
    struct budget_bound passed = budget_tree_passed(&tree, place);
    ck_assert_int_eq(letter_at(&tree, used_up.at), bounds[_i].used_up);
    ck_assert_int_eq(letter_at(&tree, passed.at), bounds[_i].passed);
    if (used_up.at != BUDGET_TREE_NONE)
        ck_assert_int_eq(used_up.measure, bounds[_i].measure);
}
END_TEST

/* The root and two children, of which b has spent all that the root has. */
START_TEST(runs_that_may_call_a_model_are_stopped)
{
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        bool stops = status == RUN_QUEUED || status == RUN_PREPARING ||
                     status == RUN_CONTEXT_LOADING || status == RUN_PLANNING ||
                     status == RUN_RUNNING;
        for (int asked = 0; asked < 2; asked++) {
            const struct sketch sketches[] = {
                SPENT('a', 0, 0, 5, .status = RUN_RUNNING),
                SPENT('b', 'a', 6, 0, .status = RUN_RUNNING),
                SPENT('c', 'a', 0, 0, .status = (enum run_status)status, .stopping = asked == 1),
                {0}};
            struct budget_tree tree = linked(sketches);
            struct budget_bound bound;
            ck_assert_int_eq(budget_tree_stops(&tree, at(&tree, 'c'), &bound), stops && !asked);
            ck_assert(budget_tree_stops(&tree, at(&tree, 'b'), &bound));
            ck_assert(budget_tree_stops(&tree, at(&tree, 'a'), &bound));
            ck_assert_int_eq(bound.at, at(&tree, 'a'));
        }
    }
}
END_TEST

START_TEST(the_explanation_names_the_ancestor)
{
    struct arena arena = {0};
    const struct sketch sketches[] = {
        TOKENS('a', 0, 5000000, 5000000, 70, 50), TOKENS('b', 'a', 20000, 0, 0, 0), {0}};
    struct budget_tree tree = linked(sketches);
    struct budget_bound money = budget_tree_passed(&tree, at(&tree, 'b'));
    const char *text = budget_tree_explain(&tree, at(&tree, 'b'), money, &arena);
    ck_assert_str_eq(text, "The budget of the parent task 00000000-0000-7000-8000-00000000000a, "
                           "5.00 USD, is used up: it and its sub-tasks have spent 5.02 USD");
    struct budget_bound tokens = {at(&tree, 'a'), MEASURE_TOKENS};
    text = budget_tree_explain(&tree, at(&tree, 'a'), tokens, &arena);
    ck_assert_str_eq(text, "The budget of this task 00000000-0000-7000-8000-00000000000a, "
                           "50 tokens, is used up: it and its sub-tasks have used 70 tokens");
    ck_assert_str_eq(budget_measure_code(MEASURE_TOKENS), "max_tokens_exceeded");
    arena_release(&arena);
}
END_TEST

/* ---- room ---- */

static const struct {
    struct sketch tree[NODES_MAX + 1];
    char parent, task; /* task: one that is retried */
    struct subtask_limits limits;
    const char *word; /* Of the refusal; NULL: there is room. */
} rooms[] = {
    {{RUN('a', 0)}, 'a', 0, {1, 1, 2}, NULL},
    {{RUN('a', 0)}, 'a', 0, {0, 1, 2}, "subtaskDepth"},
    {{RUN('a', 0), RUN('b', 'a')}, 'b', 0, {1, 9, 9}, "subtaskDepth"},
    {{RUN('a', 0), RUN('b', 'a')}, 'b', 0, {2, 9, 9}, NULL},
    {{RUN('a', 0), RUN('b', 'a')}, 'a', 0, {1, 1, 9}, "subtasksPerTask"},
    {{RUN('a', 0), RUN('b', 'a')}, 'a', 0, {1, 2, 2}, "subtasksPerTree"},
    /* A sub-task with two runs is one, and may have a third. */
    {{RUN('a', 0), RUN('b', 'a'), RUN('c', 'a', .task = 'b')}, 'a', 0, {1, 2, 9}, NULL},
    {{RUN('a', 0), RUN('b', 'a'), RUN('c', 'a', .task = 'b')}, 'a', 'b', {1, 1, 9}, NULL},
    {{RUN('a', 0), RUN('b', 'a'), RUN('c', 'a', .task = 'b')},
     'a',
     'b',
     {1, 1, 3},
     "subtasksPerTree"},
    /* Children of others do not count. */
    {{RUN('a', 0), RUN('b', 'a'), RUN('c', 'b'), RUN('d', 'b')}, 'a', 0, {2, 2, 9}, NULL},
};

START_TEST(trees_are_bounded_in_depth_and_number)
{
    struct budget_tree tree = linked(rooms[_i].tree);
    struct id task = id_for(rooms[_i].task);
    struct err err = {0};
    enum rc rc = budget_tree_has_room(&tree, at(&tree, rooms[_i].parent),
                                      rooms[_i].task != 0 ? &task : NULL, &rooms[_i].limits, &err);
    ck_assert_int_eq(rc, rooms[_i].word == NULL ? RC_OK : RC_LIMIT);
    if (rooms[_i].word != NULL) {
        ck_assert_str_eq(err.code, "subtask_limit_exceeded");
        ck_assert_ptr_nonnull(strstr(err.text, rooms[_i].word));
    }
}
END_TEST

START_TEST(defaults_are_the_documented_ones)
{
    struct subtask_limits limits = subtask_limits_default();
    ck_assert_int_eq(limits.depth, 4);
    ck_assert_int_eq(limits.per_task, 32);
    ck_assert_int_eq(limits.per_tree, 256);
    ck_assert_int_le(limits.depth, SUBTASK_DEPTH_MAX);
}
END_TEST

/* ---- time ---- */

static const struct {
    struct sketch tree[NODES_MAX + 1];
    int64_t want;
} deadlines[] = {
    {{RUN('c', 0, .deadline_us = 50)}, 0}, /* Its own is not an ancestor's. */
    {{RUN('a', 0, .deadline_us = 50), RUN('c', 'a')}, 50},
    {{RUN('a', 0), RUN('c', 'a')}, 0},
    {{RUN('a', 0, .deadline_us = 50), RUN('b', 'a', .deadline_us = 40), RUN('c', 'b')}, 40},
    {{RUN('a', 0, .deadline_us = 30), RUN('b', 'a', .deadline_us = 40), RUN('c', 'b')}, 30},
    /* It is 20. */
    {{RUN('a', 0, .status = RUN_RUNNING, .deadline_us = 10), RUN('c', 'a')}, 10},
    {{RUN('a', 0, .status = RUN_FAILED, .deadline_us = 10), RUN('c', 'a')}, 0},
    {{RUN('a', 0, .status = RUN_RUNNING, .still = true, .deadline_us = 10), RUN('c', 'a')}, 0},
    {{RUN('a', 0, .status = RUN_COMPLETED, .deadline_us = 30), RUN('c', 'a')}, 30},
};

START_TEST(a_deadline_is_at_most_that_of_the_ancestors)
{
    struct budget_tree tree = linked(deadlines[_i].tree);
    ck_assert_int_eq(budget_tree_deadline(&tree, at(&tree, 'c'), 20), deadlines[_i].want);
}
END_TEST

/* ---- damage ---- */

START_TEST(a_tree_with_a_missing_parent_or_a_circle_is_refused)
{
    static const struct sketch broken[][3] = {{RUN('a', 0), RUN('b', 'f'), {0}},
                                              {RUN('a', 'b'), RUN('b', 'a'), {0}},
                                              {RUN('a', 'a'), {0}}};
    struct budget_tree tree = draw(broken[_i]);
    struct err err = {0};
    ck_assert_int_eq(budget_tree_link(&tree, &err), RC_CORRUPT);
    ck_assert_str_eq(err.code, "BUDGET_TREE");
}
END_TEST

Suite *budget_tree_suite(void)
{
    Suite *suite = suite_create("budget_tree");
    TCase *tc = tcase_create("budget_tree");
    tcase_add_loop_test(tc, what_a_run_uses_counts_at_every_ancestor, 0, (int)COUNT_OF(sums));
    tcase_add_test(tc, a_tree_is_added_up_as_often_as_it_is_linked);
    tcase_add_loop_test(tc, a_limit_is_used_up_when_it_is_reached_and_passed_above_it, 0,
                        (int)COUNT_OF(bounds));
    tcase_add_test(tc, runs_that_may_call_a_model_are_stopped);
    tcase_add_test(tc, the_explanation_names_the_ancestor);
    tcase_add_loop_test(tc, trees_are_bounded_in_depth_and_number, 0, (int)COUNT_OF(rooms));
    tcase_add_test(tc, defaults_are_the_documented_ones);
    tcase_add_loop_test(tc, a_deadline_is_at_most_that_of_the_ancestors, 0,
                        (int)COUNT_OF(deadlines));
    tcase_add_loop_test(tc, a_tree_with_a_missing_parent_or_a_circle_is_refused, 0, 3);
    suite_add_tcase(suite, tc);
    return suite;
}
