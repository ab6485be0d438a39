#include "core/run/whatif_course.h"
#include <string.h>

static const char *const codes[WHATIF_STOP_COUNT] = {
    [WHATIF_STOP_TURNS] = "max_turns_exceeded",   [WHATIF_STOP_COST] = "max_budget_exceeded",
    [WHATIF_STOP_TOKENS] = "max_tokens_exceeded", [WHATIF_STOP_RETRIES] = "retry_budget_exhausted",
    [WHATIF_STOP_TIME] = "run_timed_out",         [WHATIF_STOP_PATHS] = POLICY_FORBIDDEN_CODE,
};

const char *whatif_stop_code(enum whatif_stop stop)
{
    return codes[stop];
}

enum whatif_stop whatif_stop_of(const char *error_code)
{
    for (int i = WHATIF_NO_STOP + 1; error_code != NULL && i < WHATIF_STOP_COUNT; i++)
        if (strcmp(codes[i], error_code) == 0)
            return (enum whatif_stop)i;
    return WHATIF_NO_STOP;
}

/* ---- limits of one run ---- */

static struct task_limits resolve(const struct whatif_run *run, const struct whatif_world *world)
{
    const struct limit_sources sources = {
        .task = run->own,
        .configured = world->repos[run->repo].configured,
        .server = {world->run_microusd, world->day_microusd},
    };
    return task_limits_resolve(&sources);
}

static int64_t changed(int64_t recorded, int64_t base, int64_t now)
{
    return base == now ? recorded : now;
}

/* Those that were in force, but for what the two worlds see differently: a run may have been under
   the budget of a tree, or of another configuration. */
static struct task_limits limits_of(const struct whatif_run *run, const struct whatif_world *base,
                                    const struct whatif_world *world)
{
    struct task_limits was = resolve(run, base), is = resolve(run, world);
    return (struct task_limits){
        .turns = changed(run->recorded.turns, was.turns, is.turns),
        .cost_microusd = changed(run->recorded.cost_microusd, was.cost_microusd, is.cost_microusd),
        .tokens = changed(run->recorded.tokens, was.tokens, is.tokens),
    };
}

/* ---- stops ---- */

struct stop {
    enum whatif_stop why;
    int64_t work_us, cost_microusd;
};

static void earlier(struct stop *stop, const struct stop *other)
{
    if (stop->why == WHATIF_NO_STOP || other->work_us < stop->work_us)
        *stop = *other;
}

static int64_t part_of(int64_t whole, int64_t used, int64_t limit)
{
    return (int64_t)((double)whole * ((double)limit / (double)used));
}

typedef int64_t sum_fn(const struct whatif_point *point);

static int64_t turns_at(const struct whatif_point *point)
{
    return point->turns;
}

static int64_t tokens_at(const struct whatif_point *point)
{
    return point->tokens;
}

static int64_t cost_at(const struct whatif_point *point)
{
    return point->cost_microusd;
}

/* The first recorded moment at which a sum was above its limit. */
static void stop_at_limit(const struct whatif_run *run, enum whatif_stop why, sum_fn *sum,
                          int64_t used, int64_t limit, struct stop *stop)
{
    if (limit == 0 || used <= limit)
        return;
    struct stop found = {why, part_of(run->work_us, used, limit),
                         part_of(run->cost_microusd, used, limit)};
    for (size_t i = 0; i < run->point_count; i++) {
        if (sum(&run->points[i]) <= limit)
            continue;
        found.work_us = run->points[i].work_us;
        found.cost_microusd = run->points[i].cost_microusd;
        break;
    }
    earlier(stop, &found);
}

/* Each attempt but the first is paid from the budget, as in production. */
static void stop_at_retry(const struct whatif_run *run, const struct budget *budget,
                          struct stop *stop)
{
    struct spending after;
    for (size_t i = 0; i < run->point_count; i++) {
        const struct whatif_point *point = &run->points[i];
        struct spending before = {.used[BUDGET_AGENT] = point->attempt - 1,
                                  .wall_us = point->work_us,
                                  .cost_microusd = point->cost_microusd};
        if (point->attempt < 2 ||
            budget_spend(budget, &before, BUDGET_AGENT, &after, NULL) == RC_OK)
            continue;
        earlier(stop, &(struct stop){WHATIF_STOP_RETRIES, point->work_us, point->cost_microusd});
        return;
    }
}

/* When it used them up was not recorded: it is said to have worked to its end. */
static void stop_at_end(const struct whatif_run *run, const struct budget *budget,
                        enum budget_kind kind, struct stop *stop)
{
    struct spending before = {.wall_us = 0}, after;
    struct budget counts = {0};
    memcpy(counts.max, budget->max, sizeof counts.max);
    before.used[kind] = run->used[kind] - 1;
    if (run->used[kind] == 0)
        return;
    if (budget_spend(&counts, &before, kind, &after, NULL) != RC_OK)
        earlier(stop, &(struct stop){WHATIF_STOP_RETRIES, run->work_us, run->cost_microusd});
}

static bool touches_forbidden(const struct whatif_run *run, const struct whatif_repo *repo)
{
    for (size_t i = 0; repo->forbidden != NULL && i < run->path_count; i++)
        if (policy_forbids(repo->forbidden, run->paths[i]) != NULL)
            return true;
    return false;
}

static struct stop find_stop(const struct whatif_run *run, const struct whatif_repo *repo,
                             const struct task_limits *limits)
{
    struct stop stop = {WHATIF_NO_STOP, run->work_us, run->cost_microusd};
    struct budget budget = repo->budget;
    budget.cost_microusd_max = limits->cost_microusd;
    stop_at_limit(run, WHATIF_STOP_TURNS, turns_at, run->turns, limits->turns, &stop);
    stop_at_limit(run, WHATIF_STOP_COST, cost_at, run->cost_microusd, limits->cost_microusd, &stop);
    stop_at_limit(run, WHATIF_STOP_TOKENS, tokens_at, run->tokens, limits->tokens, &stop);
    stop_at_retry(run, &budget, &stop);
    stop_at_end(run, &budget, BUDGET_VERIFIER, &stop);
    stop_at_end(run, &budget, BUDGET_TOOL, &stop);
    if (repo->run_us > 0 && run->work_us > repo->run_us)
        earlier(&stop, &(struct stop){WHATIF_STOP_TIME, repo->run_us,
                                      part_of(run->cost_microusd, run->work_us, repo->run_us)});
    if (touches_forbidden(run, repo))
        earlier(&stop, &(struct stop){WHATIF_STOP_PATHS, run->work_us, run->cost_microusd});
    return stop;
}

static bool above(int64_t limit, int64_t used)
{
    return limit == 0 || limit > used;
}

/* It was stopped by a limit: would this world have let it continue? */
static bool would_go_on(const struct whatif_run *run, const struct whatif_repo *repo,
                        const struct task_limits *limits)
{
    switch (run->ended_by) {
    case WHATIF_STOP_TURNS:
        return above(limits->turns, run->recorded.turns);
    case WHATIF_STOP_COST:
        return above(limits->cost_microusd, run->recorded.cost_microusd);
    case WHATIF_STOP_TOKENS:
        return above(limits->tokens, run->recorded.tokens);
    case WHATIF_STOP_RETRIES:
        return repo->budget.max[BUDGET_AGENT] > run->used[BUDGET_AGENT];
    case WHATIF_STOP_TIME:
        return above(repo->run_us, run->work_us);
    case WHATIF_STOP_PATHS:
        return !touches_forbidden(run, repo);
    default:
        return false;
    }
}

/* ---- people ---- */

static bool is_asked(const struct whatif_run *run, const struct whatif_world *world)
{
    return run->published &&
           policy_decide(run->mode, run->risk, world->repos[run->repo].approval) == POLICY_ASK;
}

/* As it was recorded, but for an approval that only one of the worlds asks for. */
static int64_t asking_us(const struct whatif_history *history, const struct whatif_run *run,
                         bool was_asked, bool asked)
{
    if (was_asked == asked)
        return run->asking_us;
    return asked ? run->asking_us + history->approval_us : 0;
}

struct whatif_course whatif_course(const struct whatif_history *history,
                                   const struct whatif_run *run, const struct whatif_world *base,
                                   const struct whatif_world *world)
{
    const struct whatif_repo *repo = &world->repos[run->repo];
    struct task_limits limits = limits_of(run, base, world);
    struct stop stop = find_stop(run, repo, &limits);
    bool asks = is_asked(run, world);
    struct whatif_course course = {
        .work_us = stop.work_us,
        .asking_us = asking_us(history, run, is_asked(run, base), asks),
        .cost_microusd = stop.cost_microusd,
        .stop = stop.why,
        .asks = asks,
    };
    bool cut = stop.why != WHATIF_NO_STOP && stop.work_us < run->work_us;
    if (run->ended_by != WHATIF_NO_STOP && !cut) {
        course.goes_on = would_go_on(run, repo, &limits);
        course.stop = course.goes_on ? WHATIF_NO_STOP : run->ended_by;
    }
    if (cut) {
        course.asking_us = 0; /* It ends before its patch is shown to a person. */
        course.asks = false;
    }
    const struct cost_limits server = {world->run_microusd, world->day_microusd};
    int64_t most = limits.cost_microusd > 0 ? limits.cost_microusd : cost_limit_per_run(&server);
    course.charged_microusd = most > 0 && course.cost_microusd > most ? most : course.cost_microusd;
    return course;
}
