/*
 * test_store_issue_states.c - rows of issues, what they wait for, heartbeats, results, milestones.
 */
#include "store/issue_states.h"
#include "tests/store/fixture.h"

static struct issue_row row_of(struct fixture *f, const char *issue, int64_t priority)
{
    return (struct issue_row){.id = fixture_id(f),
                              .workspace_id = f->workspace_id,
                              .issue_id = issue,
                              .life = {.stage = STAGE_WAITING, .priority = priority},
                              .last_event_id = fixture_id(f)};
}

static struct issue_row insert(struct fixture *fixture, const char *issue, int64_t priority,
                               const char *depends_on)
{
    struct fixture f = *fixture;
    struct issue_row row = row_of(fixture, issue, priority);
    row.life.depends_on = str_of(depends_on);
    must(issue_states_insert(f.db, &row, &f.err));
    return row;
}

static void move(struct fixture *fixture, struct issue_row *row, enum issue_stage stage,
                 const char *agent)
{
    struct fixture f = *fixture;
    row->life.stage = stage;
    row->life.life.assigned_to = agent;
    must(issue_states_save(f.db, row, &f.err));
}

START_TEST(issues_are_ready_by_priority_when_all_before_them_are_done)
{
    FIXTURE(f);
    struct issue_row late = insert(&f, "late", 200, NULL);
    struct issue_row first = insert(&f, "first", 100, NULL);
    struct issue_row blocked = insert(&f, "blocked", 1, "[\"first\",\"unknown\"]");
    const struct issue_ready_ask all = {.limit = 10};
    struct issue_row *rows;
    size_t count;
    int64_t open;
    must(issue_states_ready(f.db, &all, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].issue_id, "first");
    ck_assert_str_eq(rows[1].issue_id, "late");
    must(issue_states_blocked(f.db, &blocked.id, &open, &f.err));
    ck_assert_int_eq(open, 2);
    move(&f, &first, STAGE_DONE, "a");
    struct issue_row unknown = insert(&f, "unknown", 100, NULL);
    move(&f, &unknown, STAGE_DONE, "a");
    must(issue_states_ready(f.db, &all, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].issue_id, "blocked");
    must(issue_states_ready(f.db, &(struct issue_ready_ask){10, 1, NULL}, &f.arena, &rows, &count,
                            &f.err));
    ck_assert_uint_eq(count, 1);
    must(issue_states_ready(f.db, &(struct issue_ready_ask){10, 0, "web"}, &f.arena, &rows, &count,
                            &f.err));
    ck_assert_uint_eq(count, 0);
    must(issue_states_ready(f.db, &(struct issue_ready_ask){10, 0, ""}, &f.arena, &rows, &count,
                            &f.err));
    ck_assert_uint_eq(count, 2);
    blocked.life.depends_on = STR("[\"late\"]");
    must(issue_states_save_needs(f.db, &blocked, &f.err));
    must(issue_states_blocked(f.db, &blocked.id, &open, &f.err));
    ck_assert_int_eq(open, 1);
    move(&f, &late, STAGE_WORKING, "a");
}
END_TEST

START_TEST(issues_are_found_by_name_agent_and_task)
{
    FIXTURE(f);
    struct issue_row row = insert(&f, "42", 100, NULL), found, *rows;
    struct issue_ref ref = {f.workspace_id, "42"};
    size_t count;
    bool has;
    row.life.task_id = fixture_id(&f);
    move(&f, &row, STAGE_WORKING, "dev");
    must(issue_states_find(f.db, &ref, &f.arena, &found, &f.err));
    ck_assert_id_eq(found.id, row.id);
    ck_assert_str_eq(found.life.life.assigned_to, "dev");
    must(issue_states_of_task(f.db, &row.life.task_id, &f.arena, &found, &f.err));
    must(issue_states_has_task(f.db, &row.id, &has, &f.err));
    ck_assert(!has);
    const struct issue_filter mine = {.agent = "dev", .stage = -1, .at_work = true, .limit = 9};
    must(issue_states_list(f.db, &mine, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 1);
    move(&f, &row, STAGE_DONE, "dev");
    must(issue_states_list(f.db, &mine, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 0);
    ref.issue_id = "43";
    must_be(RC_NOT_FOUND, issue_states_peek(f.db, &ref, &f.arena, &found, &f.err));
    ck_assert_str_eq(f.err.code, "ISSUE_UNKNOWN");
    int64_t counts[STAGE_COUNT];
    must(issue_states_count(f.db, counts, &f.err));
    ck_assert_int_eq(counts[STAGE_DONE], 1);
}
END_TEST

START_TEST(heartbeats_move_forward_and_are_pruned)
{
    FIXTURE(f);
    struct issue_beat beat = {fixture_id(&f), "a", 100};
    int64_t seen = -1, pruned = 0;
    must(issue_beats_seen(f.db, &beat, &seen, &f.err));
    ck_assert_int_eq(seen, 0);
    must(issue_beats_put(f.db, &beat, &f.err));
    beat.seen_us = 50; /* A late one. */
    must(issue_beats_put(f.db, &beat, &f.err));
    must(issue_beats_seen(f.db, &beat, &seen, &f.err));
    ck_assert_int_eq(seen, 100);
    beat.agent = "b";
    must(issue_beats_seen(f.db, &beat, &seen, &f.err));
    ck_assert_int_eq(seen, 0);
    must(issue_beats_prune(f.db, &(struct issue_beat_prune){101, 10}, &pruned, &f.err));
    ck_assert_int_eq(pruned, 1);
}
END_TEST

START_TEST(results_of_agents_add_up)
{
    FIXTURE(f);
    struct agent_standing *rows;
    size_t count;
    struct issue_row row = insert(&f, "1", 100, NULL);
    move(&f, &row, STAGE_WORKING, "b");
    must(agent_results_add(f.db, &(struct agent_result){"a", 1, 10, 0}, &f.err));
    must(agent_results_add(f.db, &(struct agent_result){"a", 1, 20, 1}, &f.err));
    must(agent_standings(f.db, 10, &f.arena, &rows, &count, &f.err));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(rows[0].result.agent, "a");
    ck_assert(rows[0].result.done == 2 && rows[0].result.work_us == 30 && rows[0].load == 0);
    ck_assert_int_eq(rows[0].result.stuck, 1);
    ck_assert(rows[1].result.done == 0 && rows[1].load == 1);
}
END_TEST

START_TEST(milestones_count_their_issues)
{
    FIXTURE(f);
    struct milestone_row given = {
        .workspace_id = f.workspace_id, .name = "m", .id = fixture_id(&f)};
    struct milestone_row first, again;
    struct milestone_counts counts;
    must(milestones_enter(f.db, &given, &f.arena, &first, &f.err));
    given.id = fixture_id(&f);
    must(milestones_enter(f.db, &given, &f.arena, &again, &f.err));
    ck_assert_id_eq(again.id, first.id);
    struct issue_row row = row_of(&f, "1", 100);
    row.life.milestone = "m";
    must(issue_states_insert(f.db, &row, &f.err));
    must(milestones_count(f.db, &first, &counts, &f.err));
    ck_assert(counts.issues == 1 && counts.done == 0);
    move(&f, &row, STAGE_DONE, "a");
    must(milestones_count(f.db, &first, &counts, &f.err));
    ck_assert(counts.issues == 1 && counts.done == 1);
}
END_TEST

Suite *store_issue_states_suite(void)
{
    Suite *suite = suite_create("store_issue_states");
    TCase *tc = tcase_create("issue states");
    case_add(tc, issues_are_ready_by_priority_when_all_before_them_are_done);
    case_add(tc, issues_are_found_by_name_agent_and_task);
    case_add(tc, heartbeats_move_forward_and_are_pruned);
    case_add(tc, results_of_agents_add_up);
    case_add(tc, milestones_count_their_issues);
    suite_add_tcase(suite, tc);
    return suite;
}
