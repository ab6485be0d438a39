/*
 * whatif.c - see whatif.h.
 *
 * The queued runs of each repository are a heap by rank.  A round of admission merges the heads as
 * control/admit/admit.c does: a full repository leaves its line out, a full system ends the round,
 * and a run that is held back for reasons of its own is passed over, LINE_LOOKS_MAX of a line at
 * most.  Agenda and lines are binary heaps over arrays of fixed room: a run has at most one event
 * in the agenda at a time, beside the one of midnight.
 */
#include "core/run/whatif.h"
#include "base/clock.h"
#include "core/run/whatif_course.h"
#include <assert.h>
#include <string.h>

enum { ROUND_LOOKS_MAX = 1000, LINE_LOOKS_MAX = 100 };
#define NEAR_US US_PER_SECOND

/* In this order at one time. */
enum moment_kind { MOMENT_END, MOMENT_ASK, MOMENT_ARRIVE, MOMENT_READY, MOMENT_DAY };

struct moment {
    int64_t time_us;
    enum moment_kind kind;
    uint32_t run;
};

struct line { /* Heap of runs by (rank, place). */
    uint32_t *runs;
    size_t count;
    int passed_over;
    bool left_out;
    enum admission_check full; /* What it was left out for last. */
};

struct user {
    int64_t active;
    int64_t *submitted; /* Times; from head on: within the last hour. */
    size_t head, count;
};

struct sim {
    const struct whatif_history *history;
    const struct whatif_world *base, *world;
    struct whatif_outcome *outcomes;
    struct whatif_course *courses;
    struct moment *agenda;
    size_t agenda_count;
    struct line *lines;
    struct user *users;
    int64_t *repo_active, *type_active;
    uint32_t *active;    /* Runs, in any order. */
    uint32_t *active_at; /* Place of a run in it. */
    size_t active_count;
    int64_t working;                /* Active, and no person is waited for. */
    int64_t day_us, ended_microusd; /* Of the day that began then. */
    bool waits_for_day;
    enum admission_check full;
    int64_t now_us;
};

static const struct whatif_run *run_of(const struct sim *sim, uint32_t at)
{
    return &sim->history->runs[at];
}

/* ---- the agenda ---- */

static bool moment_before(const struct moment *a, const struct moment *b)
{
    if (a->time_us != b->time_us)
        return a->time_us < b->time_us;
    return a->kind != b->kind ? a->kind < b->kind : a->run < b->run;
}

static void agenda_add(struct sim *sim, struct moment moment)
{
    size_t at = sim->agenda_count++;
    assert(at < sim->history->count + 1);
    for (size_t up; at > 0 && moment_before(&moment, &sim->agenda[up = (at - 1) / 2]); at = up)
        sim->agenda[at] = sim->agenda[up];
    sim->agenda[at] = moment;
}

static struct moment agenda_take(struct sim *sim)
{
    struct moment first = sim->agenda[0], last = sim->agenda[--sim->agenda_count];
    size_t at = 0, count = sim->agenda_count;
    for (size_t down; (down = 2 * at + 1) < count; at = down) {
        if (down + 1 < count && moment_before(&sim->agenda[down + 1], &sim->agenda[down]))
            down++;
        if (!moment_before(&sim->agenda[down], &last))
            break;
        sim->agenda[at] = sim->agenda[down];
    }
    sim->agenda[at] = last;
    return first;
}

/* ---- lines ---- */

static bool run_before(const struct sim *sim, uint32_t a, uint32_t b)
{
    int64_t rank_a = run_of(sim, a)->rank, rank_b = run_of(sim, b)->rank;
    return rank_a != rank_b ? rank_a < rank_b : a < b;
}

static void line_add(struct sim *sim, struct line *line, uint32_t run)
{
    size_t at = line->count++;
    for (size_t up; at > 0 && run_before(sim, run, line->runs[up = (at - 1) / 2]); at = up)
        line->runs[at] = line->runs[up];
    line->runs[at] = run;
}

static uint32_t line_take(struct sim *sim, struct line *line)
{
    uint32_t first = line->runs[0], last = line->runs[--line->count];
    size_t at = 0;
    for (size_t down; (down = 2 * at + 1) < line->count; at = down) {
        if (down + 1 < line->count && run_before(sim, line->runs[down + 1], line->runs[down]))
            down++;
        if (!run_before(sim, line->runs[down], last))
            break;
        line->runs[at] = line->runs[down];
    }
    line->runs[at] = last;
    return first;
}

static struct line *first_line(struct sim *sim)
{
    struct line *first = NULL;
    for (uint32_t i = 0; i < sim->history->repos; i++) {
        struct line *line = &sim->lines[i];
        if (line->count > 0 && !line->left_out &&
            (first == NULL || run_before(sim, line->runs[0], first->runs[0])))
            first = line;
    }
    return first;
}

/* ---- money of the day ---- */

static int64_t day_of(int64_t time_us)
{
    return time_us - time_us % US_PER_DAY;
}

/* What an active run has cost so far: in proportion to its work. */
static int64_t spent_so_far(const struct sim *sim, uint32_t at)
{
    const struct whatif_course *course = &sim->courses[at];
    int64_t worked = sim->now_us - sim->outcomes[at].start_us;
    if (worked >= course->work_us)
        return course->charged_microusd;
    return (int64_t)((double)course->charged_microusd * ((double)worked / (double)course->work_us));
}

static int64_t spent_today(const struct sim *sim)
{
    int64_t spent = sim->day_us == day_of(sim->now_us) ? sim->ended_microusd : 0;
    for (size_t i = 0; i < sim->active_count; i++)
        spent += spent_so_far(sim, sim->active[i]);
    return spent;
}

/* ---- submission ---- */

static int64_t submitted_last_hour(struct sim *sim, struct user *user)
{
    while (user->head < user->count && user->submitted[user->head] < sim->now_us - US_PER_HOUR)
        user->head++;
    return (int64_t)(user->count - user->head);
}

/* The name of the check outlives the error. */
static const char *reason_of(const struct err *err)
{
    for (int i = 0; i < CHECK_FIRST_AT_START; i++)
        if (text_same(admission_reason((enum admission_check)i), err->code))
            return admission_reason((enum admission_check)i);
    return "rejected";
}

static void arrive(struct sim *sim, uint32_t at)
{
    const struct whatif_run *run = run_of(sim, at);
    const struct whatif_world *world = sim->world;
    struct user *user = &sim->users[run->user];
    struct err err = {0};
    const struct submit_facts facts = {
        .repository = "",
        .onboarded = true,
        .mode = run->mode,
        .risk = run->risk,
        .approval = world->repos[run->repo].approval,
        .overridden = run->overridden,
        .submitted_last_hour = submitted_last_hour(sim, user),
        .rate_per_hour_max = world->tasks_per_hour,
        .spent_microusd = world->day_microusd > 0 ? spent_today(sim) : 0,
        .budget_microusd_max = world->day_microusd,
    };
    if (admission_submit(&facts, &err) != RC_OK) {
        sim->outcomes[at].denied = reason_of(&err);
        return;
    }
    if (!run->retried)
        user->submitted[user->count++] = sim->now_us;
    int64_t ready_us = run->ready_us > sim->now_us ? run->ready_us : sim->now_us;
    agenda_add(sim, (struct moment){ready_us, MOMENT_READY, at});
}

/* ---- starting ---- */

static enum admission_check check_start(struct sim *sim, const struct whatif_run *run,
                                        bool day_spent)
{
    const struct whatif_world *world = sim->world;
    int64_t active = (int64_t)sim->active_count;
    struct start_facts facts = {0};
    facts.of[CHECK_USER] = (struct start_fact){sim->users[run->user].active, world->user_max, ""};
    facts.of[CHECK_REPOSITORY] = (struct start_fact){sim->repo_active[run->repo],
                                                     world->repos[run->repo].active_max, ""};
    facts.of[CHECK_TASK_TYPE] = (struct start_fact){sim->type_active[run->type],
                                                    world->type_max[run->type], ""};
    facts.of[CHECK_WORKSPACE] = (struct start_fact){active, world->workspace_max, ""};
    facts.of[CHECK_SANDBOX] = (struct start_fact){sim->working, world->sandboxes, ""};
    facts.of[CHECK_SYSTEM] = (struct start_fact){active, world->active_max, ""};
    if (day_spent)
        facts.of[CHECK_COST_TODAY] = (struct start_fact){1, 1, ""};
    return admission_start(&facts);
}

static void start(struct sim *sim, uint32_t at)
{
    const struct whatif_run *run = run_of(sim, at);
    struct whatif_outcome *outcome = &sim->outcomes[at];
    struct whatif_course *course = &sim->courses[at];
    *course = whatif_course(sim->history, run, sim->base, sim->world);
    outcome->start_us = sim->now_us;
    outcome->end_us = sim->now_us + course->work_us + course->asking_us;
    outcome->work_us = course->work_us;
    outcome->asking_us = course->asking_us;
    outcome->cost_microusd = course->cost_microusd;
    outcome->stop = course->stop;
    outcome->asks = course->asks;
    outcome->goes_on = course->goes_on;
    if (sim->now_us > run->ready_us && outcome->held_by == ADMISSION_PASSED)
        outcome->held_by = sim->lines[run->repo].full != ADMISSION_PASSED
                               ? sim->lines[run->repo].full
                               : sim->full; /* It was behind others all the time. */
    sim->users[run->user].active++;
    sim->repo_active[run->repo]++;
    sim->type_active[run->type]++;
    sim->working++;
    sim->active_at[at] = (uint32_t)sim->active_count;
    sim->active[sim->active_count++] = at;
    bool asks = course->asking_us > 0;
    agenda_add(sim,
               (struct moment){sim->now_us + course->work_us, asks ? MOMENT_ASK : MOMENT_END, at});
}

/* People are asked at the end of the work: that is where they are asked most often. */
static void ask(struct sim *sim, uint32_t at)
{
    sim->working--;
    agenda_add(sim, (struct moment){sim->outcomes[at].end_us, MOMENT_END, at});
}

static void end(struct sim *sim, uint32_t at)
{
    const struct whatif_run *run = run_of(sim, at);
    sim->users[run->user].active--;
    sim->repo_active[run->repo]--;
    sim->type_active[run->type]--;
    if (sim->courses[at].asking_us == 0)
        sim->working--;
    uint32_t last = sim->active[--sim->active_count], place = sim->active_at[at];
    sim->active[place] = last;
    sim->active_at[last] = place;
    if (sim->day_us != day_of(sim->now_us)) {
        sim->day_us = day_of(sim->now_us);
        sim->ended_microusd = 0;
    }
    sim->ended_microusd += sim->courses[at].charged_microusd;
}

/* Passed over: it goes back into its line when the round is over. */
struct passed {
    uint32_t runs[ROUND_LOOKS_MAX];
    size_t count;
};

static bool look(struct sim *sim, struct line *line, bool day_spent, struct passed *passed)
{
    uint32_t at = line->runs[0];
    enum admission_check check = check_start(sim, run_of(sim, at), day_spent);
    if (check == ADMISSION_PASSED) {
        start(sim, line_take(sim, line));
        line->passed_over = 0;
        return true;
    }
    sim->outcomes[at].held_by = check;
    switch (admission_reach(check)) {
    case REACH_RUN:
        passed->runs[passed->count++] = line_take(sim, line);
        line->left_out = ++line->passed_over == LINE_LOOKS_MAX;
        return true;
    case REACH_REPOSITORY:
        line->left_out = true;
        line->full = check;
        return true;
    case REACH_EVERYONE:
        sim->full = check;
        return false;
    }
    return false;
}

static void wait_for_day(struct sim *sim)
{
    if (sim->waits_for_day)
        return;
    sim->waits_for_day = true;
    agenda_add(sim, (struct moment){day_of(sim->now_us) + US_PER_DAY, MOMENT_DAY, 0});
}

static void admit(struct sim *sim)
{
    struct passed passed = {.count = 0};
    int64_t budget = sim->world->day_microusd;
    bool day_spent = budget > 0 && spent_today(sim) >= budget;
    for (uint32_t i = 0; i < sim->history->repos; i++) {
        sim->lines[i].left_out = false;
        sim->lines[i].passed_over = 0;
    }
    for (int looks = 0; looks < ROUND_LOOKS_MAX; looks++) {
        struct line *line = first_line(sim);
        if (line == NULL || !look(sim, line, day_spent, &passed))
            break;
    }
    for (size_t i = 0; i < passed.count; i++)
        line_add(sim, &sim->lines[run_of(sim, passed.runs[i])->repo], passed.runs[i]);
    if (day_spent)
        wait_for_day(sim);
}

/* ---- the whole ---- */

static void happen(struct sim *sim, const struct moment *moment)
{
    switch (moment->kind) {
    case MOMENT_END:
        end(sim, moment->run);
        break;
    case MOMENT_ASK:
        ask(sim, moment->run);
        break;
    case MOMENT_ARRIVE:
        arrive(sim, moment->run);
        break;
    case MOMENT_READY:
        line_add(sim, &sim->lines[run_of(sim, moment->run)->repo], moment->run);
        break;
    case MOMENT_DAY:
        sim->waits_for_day = false;
        break;
    }
}

static void make_rooms(struct sim *sim, struct arena *arena)
{
    const struct whatif_history *history = sim->history;
    size_t count = history->count;
    size_t *repo_runs = arena_array(arena, history->repos + 1, sizeof *repo_runs);
    size_t *user_runs = arena_array(arena, history->users + 1, sizeof *user_runs);
    sim->outcomes = arena_array(arena, count + 1, sizeof *sim->outcomes);
    sim->courses = arena_array(arena, count + 1, sizeof *sim->courses);
    sim->agenda = arena_array(arena, count + 1, sizeof *sim->agenda);
    sim->lines = arena_array(arena, history->repos + 1, sizeof *sim->lines);
    sim->users = arena_array(arena, history->users + 1, sizeof *sim->users);
    sim->repo_active = arena_array(arena, history->repos + 1, sizeof *sim->repo_active);
    sim->type_active = arena_array(arena, history->types + 1, sizeof *sim->type_active);
    sim->active = arena_array(arena, count + 1, sizeof *sim->active);
    sim->active_at = arena_array(arena, count + 1, sizeof *sim->active_at);
    for (size_t i = 0; i < count; i++) {
        repo_runs[history->runs[i].repo]++;
        user_runs[history->runs[i].user]++;
    }
    for (uint32_t i = 0; i < history->repos; i++) {
        sim->lines[i].runs = arena_array(arena, repo_runs[i] + 1, sizeof *sim->lines[i].runs);
        sim->lines[i].full = ADMISSION_PASSED;
    }
    for (uint32_t i = 0; i < history->users; i++)
        sim->users[i].submitted = arena_array(arena, user_runs[i] + 1, sizeof(int64_t));
}

struct whatif_outcome *whatif_simulate(const struct whatif_history *history,
                                       const struct whatif_world *base,
                                       const struct whatif_world *world, struct arena *arena)
{
    struct sim sim = {.history = history, .base = base, .world = world, .full = ADMISSION_PASSED};
    make_rooms(&sim, arena);
    for (size_t i = 0; i < history->count; i++) {
        sim.outcomes[i].held_by = ADMISSION_PASSED;
        if (history->runs[i].admitted_us > 0)
            agenda_add(&sim,
                       (struct moment){history->runs[i].queued_us, MOMENT_ARRIVE, (uint32_t)i});
    }
    while (sim.agenda_count > 0) {
        struct moment moment = agenda_take(&sim);
        assert(moment.time_us >= sim.now_us);
        sim.now_us = moment.time_us;
        happen(&sim, &moment);
        /* One round for all that happens at one time. */
        if (sim.agenda_count == 0 || sim.agenda[0].time_us > sim.now_us)
            admit(&sim);
    }
    return sim.outcomes;
}

/* ---- the difference ---- */

unsigned whatif_changes(const struct whatif_outcome *before, const struct whatif_outcome *after)
{
    unsigned changes = 0;
    if (after->denied != NULL)
        return before->denied == NULL ? WHATIF_DENIED : 0;
    if (before->denied != NULL)
        return WHATIF_ACCEPTED;
    if (after->start_us > before->start_us)
        changes |= WHATIF_DEFERRED;
    if (after->start_us < before->start_us)
        changes |= WHATIF_SOONER;
    if (after->stop != WHATIF_NO_STOP &&
        (before->stop != after->stop || after->work_us < before->work_us))
        changes |= WHATIF_STOPPED;
    if (after->asks != before->asks)
        changes |= after->asks ? WHATIF_ASKED : WHATIF_NOT_ASKED;
    if (after->goes_on && !before->goes_on)
        changes |= WHATIF_GOES_ON;
    return changes;
}

static void add_wait(struct whatif_wait *wait, int64_t us)
{
    wait->runs++;
    wait->total_us += us;
    if (us > wait->longest_us)
        wait->longest_us = us;
}

static void add_saving(struct whatif_saving *saving, const struct whatif_outcome *before,
                       const struct whatif_outcome *after)
{
    saving->runs++;
    saving->cost_microusd += before->cost_microusd - after->cost_microusd;
    saving->work_us += before->work_us - after->work_us;
}

static void compare_run(const struct whatif_outcome *before, const struct whatif_outcome *after,
                        struct whatif_difference *difference)
{
    unsigned changes = whatif_changes(before, after);
    if (changes & WHATIF_DENIED)
        add_saving(&difference->denied, before, after);
    difference->accepted += (changes & WHATIF_ACCEPTED) != 0;
    if (changes & WHATIF_DEFERRED) {
        add_wait(&difference->deferred, after->start_us - before->start_us);
        if (after->held_by != ADMISSION_PASSED)
            difference->deferred_by[after->held_by]++;
    }
    if (changes & WHATIF_SOONER)
        add_wait(&difference->sooner, before->start_us - after->start_us);
    if (changes & WHATIF_STOPPED)
        add_saving(&difference->stopped[after->stop], before, after);
    difference->asked += (changes & WHATIF_ASKED) != 0;
    difference->not_asked += (changes & WHATIF_NOT_ASKED) != 0;
    difference->goes_on += (changes & WHATIF_GOES_ON) != 0;
    difference->saved_microusd += before->cost_microusd - after->cost_microusd;
    difference->saved_work_us += before->work_us - after->work_us;
    difference->saved_asking_us += before->asking_us - after->asking_us;
}

void whatif_compare(const struct whatif_history *history, const struct whatif_outcome *before,
                    const struct whatif_outcome *after, struct whatif_difference *ret_difference)
{
    struct whatif_difference difference = {.accepted = 0};
    for (size_t i = 0; i < history->count; i++) {
        difference.never_started += history->runs[i].admitted_us == 0;
        difference.unfinished += history->runs[i].unfinished;
        if (history->runs[i].admitted_us == 0)
            continue;
        compare_run(&before[i], &after[i], &difference);
        const int64_t ends[] = {before[i].end_us, after[i].end_us};
        for (size_t world = 0; world < COUNT_OF(ends); world++)
            if (ends[world] > difference.end_us[world])
                difference.end_us[world] = ends[world];
    }
    *ret_difference = difference;
}

struct whatif_fidelity whatif_fidelity(const struct whatif_history *history,
                                       const struct whatif_outcome *outcomes)
{
    struct whatif_fidelity fidelity = {.runs = 0};
    for (size_t i = 0; i < history->count; i++) {
        if (history->runs[i].admitted_us == 0)
            continue;
        int64_t off = outcomes[i].start_us - history->runs[i].admitted_us;
        off = off < 0 ? -off : off;
        fidelity.runs++;
        fidelity.near += outcomes[i].denied == NULL && off <= NEAR_US;
        if (outcomes[i].denied == NULL && off > fidelity.furthest_us)
            fidelity.furthest_us = off;
    }
    return fidelity;
}
