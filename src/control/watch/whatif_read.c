#include "control/watch/whatif_read.h"
#include "base/clock.h"
#include "base/merge_patch.h"
#include "control/watch/replay.h"
#include "control/watch/whatif_trail.h"
#include "core/config/repo_document.h"
#include "store/history.h"
#include "store/repositories.h"
#include "store/workspaces.h"
#include <string.h>

enum { PAGE_RUNS = 1000, NAMES_MAX = 16384, SLOTS = 2 * NAMES_MAX };
#define NEAR_US US_PER_SECOND /* Less is no wait. */

/* ---- names as numbers ---- */

struct names { /* Open addressing; never full: RC_TOO_LARGE before. */
    const char **texts;
    uint32_t *slots; /* Place + 1; 0: free. */
    uint32_t count;
};

static void names_init(struct names *names, struct arena *arena)
{
    names->texts = arena_array(arena, NAMES_MAX, sizeof *names->texts);
    names->slots = arena_array(arena, SLOTS, sizeof *names->slots);
}

static enum rc names_place(struct names *names, const char *text, struct arena *arena,
                           uint32_t *ret_place, struct err *err)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    text = text != NULL ? text : "";
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    uint32_t slot = hash % SLOTS;
    for (; names->slots[slot] != 0; slot = (slot + 1) % SLOTS)
        if (strcmp(names->texts[names->slots[slot] - 1], text) == 0) {
            *ret_place = names->slots[slot] - 1;
            return RC_OK;
        }
    if (names->count == NAMES_MAX)
        return err_set(err, RC_TOO_LARGE, "WHATIF_TOO_LARGE",
                       "the history has more than %d users, repositories or types: give since",
                       NAMES_MAX);
    names->texts[names->count] = arena_strdup(arena, text);
    names->slots[slot] = names->count + 1;
    *ret_place = names->count++;
    return RC_OK;
}

/* ---- repositories ---- */

struct reader {
    struct db *db;
    const struct whatif_question *question;
    struct arena *arena;
    struct err *err;
    struct names repos, users, types;
    const char **repo_names;
    struct whatif_repo *now, *other; /* By repository. */
    struct whatif_run *runs;
    size_t count, room;
    bool with_paths;
    int64_t trails;
    int64_t approvals, approval_us; /* Of those that were asked. */
};

static void take_config(const struct repo_config *config, struct arena *arena,
                        struct whatif_repo *to)
{
    size_t globs = 0;
    while (config->policy.forbidden[globs] != NULL)
        globs++;
    const char **forbidden = arena_array(arena, globs + 1, sizeof *forbidden);
    for (size_t i = 0; i < globs; i++)
        forbidden[i] = arena_strdup(arena, config->policy.forbidden[i]);
    *to = (struct whatif_repo){
        .active_max = config->limits.max_active_runs,
        .configured = {config->limits.max_turns, config->limits.max_budget_microusd,
                       config->limits.max_tokens},
        .approval = config->approval,
        .budget = config->budget,
        .run_us = config->timeouts.run_ms * US_PER_MS,
        .forbidden = forbidden,
    };
}

static enum rc decode(struct reader *reader, const struct repo_layers *layers,
                      struct whatif_repo *to, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct repo_config *config = arena_alloc(&scratch, sizeof *config);
    enum rc rc = repo_layers_decode(layers, &scratch, &tree, config, err);
    if (rc == RC_OK)
        take_config(config, reader->arena, to);
    return rc;
}

/* The layers "*" and NAME of the question, put together; empty: neither. */
static enum rc layer_for(struct reader *reader, const char *name, struct str *ret_layer)
{
    const struct js *layers = reader->question->other.repositories;
    const struct js *all = js_get(layers, "*"), *own = js_get(layers, name);
    if (all == NULL && own == NULL)
        return RC_OK;
    if (all == NULL || own == NULL) {
        *ret_layer = str_of(js_text(all != NULL ? all : own, reader->arena));
        return RC_OK;
    }
    return merge_patch(str_of(js_text(all, reader->arena)), own, reader->arena, ret_layer,
                       reader->err);
}

/* A document that is stored and does not decode any more has no limits. */
static enum rc read_repository(struct reader *reader, const struct id *id, uint32_t place)
{
    struct repository_row row;
    const struct whatif_question *question = reader->question;
    enum rc rc = repositories_get(reader->db, id, reader->arena, &row, reader->err);
    if (rc != RC_OK)
        return rc;
    reader->repo_names[place] = row.name;
    struct repo_layers layers = {.platform = question->defaults, .repository = row.config};
    reader->now[place] = (struct whatif_repo){.budget = budget_default()};
    if (decode(reader, &layers, &reader->now[place], NULL) != RC_OK) {
        reader->other[place] = reader->now[place];
        return RC_OK;
    }
    layers.platform = question->other.defaults;
    rc = layer_for(reader, row.name, &layers.task);
    if (rc == RC_OK)
        rc = decode(reader, &layers, &reader->other[place], reader->err);
    if (rc != RC_OK)
        return err_wrap(reader->err, RC_INVALID, row.name);
    reader->with_paths |= reader->other[place].forbidden[0] != NULL;
    return RC_OK;
}

/* All of them before the first run: they decide what is read of runs. */
static enum rc read_repositories(struct reader *reader)
{
    const char *after = NULL;
    enum rc rc = RC_OK;
    for (size_t count = PAGE_RUNS; rc == RC_OK && count == PAGE_RUNS;) {
        CLEANUP(arena_release) struct arena page = {0};
        struct repository_row *rows;
        rc = repositories_list(reader->db, &reader->question->workspace_id, after, PAGE_RUNS, &page,
                               &rows, &count, reader->err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            uint32_t place;
            rc = names_place(&reader->repos, rows[i].id.text, reader->arena, &place, reader->err);
            if (rc == RC_OK)
                rc = read_repository(reader, &rows[i].id, place);
            after = arena_strdup(reader->arena, rows[i].name);
        }
    }
    return rc;
}

/* ---- runs ---- */

static bool above(int64_t used, int64_t a, int64_t b)
{
    return (a > 0 && used > a) || (b > 0 && used > b);
}

/* Could the moment matter at which it passed a limit? */
static bool passes_limit(const struct reader *reader, const struct whatif_run *run)
{
    const struct whatif_repo *now = &reader->now[run->repo], *other = &reader->other[run->repo];
    const struct committer_limits *limits = &reader->question->other.limits;
    const struct cost_limits server = {limits->cost_per_run_microusd,
                                       limits->cost_per_day_microusd};
    return above(run->turns, now->configured.turns, other->configured.turns) ||
           above(run->tokens, now->configured.tokens, other->configured.tokens) ||
           above(run->cost_microusd, now->configured.cost_microusd,
                 other->configured.cost_microusd) ||
           above(run->cost_microusd, run->own.cost_microusd, cost_limit_per_run(&server)) ||
           above(run->turns, run->own.turns, 0) || above(run->tokens, run->own.tokens, 0);
}

static enum rc read_paths(struct reader *reader, struct str json, struct whatif_run *run)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (json.len == 0)
        return RC_OK;
    enum rc rc = js_parse(json.at, json.len, &tree, reader->err);
    if (rc != RC_OK)
        return rc;
    const char **paths = arena_array(reader->arena, js_count(tree) + 1, sizeof *paths);
    for (size_t i = 0; i < js_count(tree); i++)
        paths[i] = arena_strdup(reader->arena, js_str(js_at(tree, i), ""));
    run->paths = paths;
    run->path_count = js_count(tree);
    return RC_OK;
}

static void take_row(const struct reader *reader, const struct history_row *row,
                     struct whatif_run *run)
{
    int64_t end_us = row->ended_us > 0 ? row->ended_us : reader->question->now_us;
    run->id = row->run_id;
    run->rank = row->rank;
    run->queued_us = run->ready_us = row->queued_us;
    run->admitted_us = row->admitted_us;
    run->work_us = row->work_us;
    if (row->work_since_us > 0 && end_us > row->work_since_us)
        run->work_us += end_us - row->work_since_us;
    run->turns = row->turns;
    run->tokens = row->tokens;
    run->cost_microusd = row->cost_microusd;
    run->own = row->own;
    run->recorded = row->limits;
    memcpy(run->used, row->used, sizeof run->used);
    run->mode = row->mode;
    run->risk = row->risk;
    run->overridden = policy_list_has(row->overridden, POLICY_EXECUTION_MODE);
    run->retried = row->run_no > 1;
    run->published = row->status == RUN_COMPLETED || row->has_pull_request;
    run->unfinished = row->ended_us == 0;
    run->ended_by = whatif_stop_of(row->error_code);
}

static enum rc add_run(struct reader *reader, const struct history_row *row)
{
    struct whatif_run *run = &reader->runs[reader->count];
    take_row(reader, row, run);
    uint32_t repos = reader->repos.count;
    enum rc rc = names_place(&reader->repos, row->repository_id.text, reader->arena, &run->repo,
                             reader->err);
    if (rc == RC_OK && reader->repos.count > repos) /* It was removed. */
        rc = read_repository(reader, &row->repository_id, run->repo);
    if (rc == RC_OK)
        rc = names_place(&reader->users, row->requested_by, reader->arena, &run->user, reader->err);
    if (rc == RC_OK)
        rc = names_place(&reader->types, row->task_type, reader->arena, &run->type, reader->err);
    if (rc == RC_OK)
        rc = read_paths(reader, row->paths, run);
    if (rc != RC_OK)
        return rc;
    int64_t end_us = row->ended_us > 0 ? row->ended_us : reader->question->now_us;
    bool began = row->admitted_us > 0 || row->started_us > 0;
    bool held = began && end_us - row->admitted_us - run->work_us >= NEAR_US;
    bool waited = began && row->admitted_us - row->queued_us >= NEAR_US;
    if (began && (held || waited || row->admitted_us == 0 || run->used[BUDGET_AGENT] > 1 ||
                  passes_limit(reader, run))) {
        reader->trails++;
        rc = whatif_trail(reader->db, run, end_us, reader->arena, reader->err);
    }
    if (run->asking_us > 0) {
        reader->approvals++;
        reader->approval_us += run->asking_us;
    }
    reader->count++;
    return rc;
}

static enum rc make_room(struct reader *reader, size_t more)
{
    if (reader->count + more <= reader->room)
        return RC_OK;
    if (reader->room >= WHATIF_RUNS_MAX)
        return err_set(reader->err, RC_TOO_LARGE, "WHATIF_TOO_LARGE",
                       "the history has more than %d runs: give since, to take a part of it",
                       WHATIF_RUNS_MAX);
    size_t room = reader->room == 0 ? 4 * (size_t)PAGE_RUNS : 2 * reader->room;
    struct whatif_run *runs = arena_array(reader->arena, room + PAGE_RUNS, sizeof *runs);
    if (reader->count > 0)
        memcpy(runs, reader->runs, reader->count * sizeof *runs);
    reader->runs = runs;
    reader->room = room;
    return RC_OK;
}

static enum rc read_runs(struct reader *reader)
{
    struct history_query query = {.since_us = reader->question->since_us,
                                  .with_paths = reader->with_paths,
                                  .limit = PAGE_RUNS};
    enum rc rc = RC_OK;
    for (size_t count = PAGE_RUNS; rc == RC_OK && count == PAGE_RUNS;) {
        CLEANUP(arena_release) struct arena page = {0};
        struct history_row *rows;
        rc = make_room(reader, PAGE_RUNS);
        if (rc == RC_OK)
            rc = history_runs(reader->db, &query, &page, &rows, &count, reader->err);
        for (size_t i = 0; rc == RC_OK && i < count; i++)
            rc = add_run(reader, &rows[i]);
        if (rc == RC_OK && count > 0)
            query.after = rows[count - 1].run_id;
    }
    return rc;
}

/* ---- worlds ---- */

static struct whatif_world world_of(const struct reader *reader,
                                    const struct committer_limits *limits, int64_t workspace_max,
                                    const struct whatif_repo *repos)
{
    int64_t *type_max = arena_array(reader->arena, reader->types.count + 1, sizeof *type_max);
    for (uint32_t i = 0; i < reader->types.count; i++)
        for (size_t j = 0; j < limits->task_type_count; j++)
            if (text_same(limits->task_types[j].name, reader->types.texts[i]))
                type_max[i] = limits->task_types[j].max;
    return (struct whatif_world){
        .active_max = limits->max_active_runs,
        .user_max = limits->max_active_runs_user,
        .workspace_max = workspace_max > 0 ? workspace_max : limits->max_active_runs_workspace,
        .sandboxes = limits->sandboxes,
        .tasks_per_hour = limits->tasks_per_hour_user,
        .day_microusd = limits->cost_per_day_microusd,
        .run_microusd = limits->cost_per_run_microusd,
        .type_max = type_max,
        .repos = repos,
    };
}

enum rc whatif_read(struct db *db, const struct whatif_question *question, struct arena *arena,
                    struct whatif_worlds *ret_worlds, struct err *err)
{
    struct reader reader = {.db = db, .question = question, .arena = arena, .err = err};
    int64_t workspace_max = 0;
    names_init(&reader.repos, arena);
    names_init(&reader.users, arena);
    names_init(&reader.types, arena);
    reader.now = arena_array(arena, NAMES_MAX, sizeof *reader.now);
    reader.other = arena_array(arena, NAMES_MAX, sizeof *reader.other);
    reader.repo_names = arena_array(arena, NAMES_MAX, sizeof *reader.repo_names);
    enum rc rc = workspaces_max_active_runs(db, &question->workspace_id, &workspace_max, err);
    if (rc == RC_OK)
        rc = read_repositories(&reader);
    if (rc == RC_OK)
        rc = read_runs(&reader);
    if (rc != RC_OK)
        return rc;
    *ret_worlds = (struct whatif_worlds){
        .history = {.runs = reader.runs,
                    .count = reader.count,
                    .repos = reader.repos.count,
                    .users = reader.users.count,
                    .types = reader.types.count,
                    .approval_us = reader.approvals > 0 ? reader.approval_us / reader.approvals
                                                        : 0},
        .now = world_of(&reader, question->limits, workspace_max, reader.now),
        .other = world_of(&reader, &question->other.limits, workspace_max, reader.other),
        .events_read = reader.trails,
        .repo_names = reader.repo_names,
    };
    return RC_OK;
}
