/*
 * issues.c - issues on their way to production: a person who approves them, agents that work, fall
 * silent, come back late and write twice or too early, and two Conductors that die.  See main.c.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "control/agents/registry.h"
#include "control/conductor/conduct.h"
#include "control/run/append_event.h"
#include "control/watch/conductor.h"
#include "store/issue_states.h"
#include "tests/sim/issues_model.h"
#include "tests/sim/sims.h"
#include <inttypes.h>
#include <stdio.h>

enum { CONDUCTORS = 2, PERSONAS = 3, STEPS_MAX_PER_ISSUE = 20000, APPROVALS_MAX = 3 };

#define SIM_WORKSPACE "00000000-0000-7000-8000-000000000001" /* The one that there is. */

struct sim_conductor {
    struct world *world;
    struct conductor *conductor; /* NULL: it is dead. */
    bool answered;
};

struct sim_agent {
    int64_t number;
    bool silent; /* It is dead, or hangs. */
};

static struct scene {
    struct world *world;
    struct issues_model *model;
    struct conductor_config config;
    struct sim_conductor conductors[CONDUCTORS];
    struct sim_agent agents[SIM_AGENTS];
    int64_t issues, next; /* To be approved. */
    int64_t written, deaths, silences, branches;
    bool calm;
    bool resting; /* All have come to an end once: none is approved again. */
} scene;

/* ---- events of clients ---- */

struct letter {
    enum issue_kind kind;
    enum issue_writer writer;
    int64_t issue, agent; /* agent -1: none */
    const char *more;     /* Members of the data, behind a comma; or NULL */
    bool again;           /* It arrives twice. */
};

static void ignore(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)who;
    (void)what;
    bool refused = command->rc == RC_CONFLICT && text_starts(command->err.code, "issue.");
    if (command->rc != RC_OK && command->rc != RC_IO && !refused)
        world_broken(world, "%s: %s", command->ops->name, command->err.text);
}

static struct command *make_letter(const struct letter *letter, int64_t id)
{
    struct cmd_append_events *cmd = cmd_append_events_new();
    struct arena *arena = &cmd->base.arena;
    const char *agent = letter->agent < 0
                            ? ""
                            : arena_printf(arena, ",\"agentId\":\"" SIM_AGENT_NAME "\"",
                                           (long long)letter->agent);
    const char *json = arena_printf(arena, "{\"issueId\":\"" SIM_ISSUE_NAME "\"%s%s}",
                                    (long long)letter->issue, agent,
                                    letter->more != NULL ? letter->more : "");
    struct cloud_event *event = arena_alloc(arena, sizeof *event);
    if (js_parse(json, str_of(json).len, &cmd->base.tree, NULL) != RC_OK)
        world_broken(scene.world, "no JSON: %s", json);
    *event = (struct cloud_event){.id = arena_printf(arena, "e%" PRId64, id),
                                  .source = "/sim",
                                  .type = issue_kind_type(letter->kind),
                                  .value = cmd->base.tree,
                                  .data = str_of(json)};
    cmd->base.actor = (struct actor){"user", "sim"};
    cmd->events = event;
    cmd->count = 1;
    cmd->claim.writers = WRITERS(letter->writer);
    return &cmd->base;
}

static void send(struct world *world, const struct letter *letter)
{
    int64_t id = ++scene.written;
    world_send(world, make_letter(letter, id), ignore, NULL, 0);
    if (letter->again)
        world_send(world, make_letter(letter, id), ignore, NULL, 0);
}

/* ---- the one who approves ---- */

static void approve_again(struct world *world, void *who, int64_t issue)
{
    (void)who;
    send(world, &(struct letter){ISSUE_EV_APPROVED, WRITER_CTO, issue, -1, NULL, false});
}

static const char *about(struct world *world, int64_t issue, struct arena *arena)
{
    const char *depends = "";
    if (issue > 2 && world_chance(world, 300))
        depends = arena_printf(arena,
                               ",\"dependsOn\":[\"" SIM_ISSUE_NAME "\",\"" SIM_ISSUE_NAME "\"]",
                               (long long)world_between(world, 0, issue - 1),
                               (long long)world_between(world, 0, issue - 1));
    const char *labels = world_chance(world, 300) ? ",\"labels\":[\"sla:1h\"]" : "";
    return arena_printf(arena, ",\"persona\":\"p%d\",\"priority\":%d,\"milestone\":\"m%d\"%s%s",
                        (int)world_between(world, 0, PERSONAS - 1),
                        (int)world_between(world, 1, 3) * 100,
                        (int)world_between(world, 0, SIM_MILESTONES - 1), labels, depends);
}

/* Until each has arrived: a message may be lost. */
static void approve(struct world *world, void *who, int64_t issue)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct letter letter = {ISSUE_EV_APPROVED, WRITER_CTO, issue, -1, NULL, false};
    struct issue_row row;
    struct issue_ref ref = {.issue_id = arena_printf(&arena, SIM_ISSUE_NAME, (long long)issue)};
    (void)who;
    text_copy(ref.workspace_id.text, sizeof ref.workspace_id.text, SIM_WORKSPACE);
    if (issue_states_peek(store_writer(world->store), &ref, &arena, &row, NULL) != RC_OK) {
        struct letter full = letter;
        full.more = about(world, issue, &arena);
        send(world, &full);
        world_after(world, 30 * US_PER_SECOND, approve, NULL, issue);
        return;
    }
}

static void approve_next(struct world *world, void *who, int64_t what)
{
    (void)what;
    if (scene.next == scene.issues)
        return;
    approve(world, who, scene.next++);
    world_after(world, world_between(world, 0, 20 * US_PER_SECOND), approve_next, NULL, 0);
}

/* What waits for a person: gates, and issues that were escalated. */
static void decide(struct world *world, const struct issue_row *row, int64_t issue)
{
    if (row->life.gate_us > 0 && world_chance(world, 100)) {
        bool rejects = world_chance(world, 50);
        send(world, &(struct letter){rejects ? ISSUE_EV_GATE_REJECTED : ISSUE_EV_GATE_APPROVED,
                                     WRITER_CTO, issue, -1, NULL, world_chance(world, 100)});
    }
    bool over = row->life.stage == STAGE_ESCALATED && row->life.life.assigned_to == NULL;
    /* In the end all are approved again, as long as others wait for them. */
    if (over && !scene.resting && (scene.calm || row->life.life.assignments < APPROVALS_MAX) &&
        world_chance(world, 100))
        approve_again(world, NULL, issue);
}

/* ---- agents ---- */

static const char *new_branch(const struct issue_life *life, struct arena *arena,
                              struct world *world)
{
    /* Now and then one that was abandoned is tried. */
    struct str rest = str_of(life->abandoned), line;
    if (life->abandoned != NULL && world_chance(world, 100) && str_take_line(&rest, &line))
        return str_dup(arena, line);
    return arena_printf(arena, "b%" PRId64, ++scene.branches);
}

static const char *pull_request(const struct issue_life *life, const char *branch,
                                struct arena *arena, struct world *world)
{
    bool old = life->pull_request != NULL &&
               (life->stage == STAGE_CI_FAILED || world_chance(world, 50));
    return arena_printf(arena, ",\"branch\":\"%s\",\"pullRequest\":\"%s\"", branch,
                        old ? life->pull_request
                            : arena_printf(arena, "pr%" PRId64, scene.branches));
}

static enum issue_kind next_kind(struct world *world, const struct issue_life *life)
{
    switch (life->stage) {
    case STAGE_ASSIGNED:
        return ISSUE_EV_WORK_STARTED;
    case STAGE_WORKING:
        if (life->merged && world_chance(world, 500))
            return ISSUE_EV_DEPLOYED_STAGING;
        return life->branch == NULL ? ISSUE_EV_BRANCH_CREATED : ISSUE_EV_PR_CREATED;
    case STAGE_IN_CI:
        return world_chance(world, 200) ? ISSUE_EV_CI_FAILED : ISSUE_EV_CI_PASSED;
    case STAGE_CI_FAILED:
    case STAGE_SMOKE_FAILED:
        return ISSUE_EV_PR_CREATED;
    case STAGE_GREEN:
        if (!life->reviewed && world_chance(world, 300))
            return ISSUE_EV_REVIEW_PASSED;
        return world_chance(world, 50) ? ISSUE_EV_GATE_TRIGGERED : ISSUE_EV_MERGED;
    case STAGE_MERGED:
        return world_chance(world, 900) ? ISSUE_EV_DEPLOYED_STAGING : ISSUE_EV_DEPLOYED_PRODUCTION;
    case STAGE_STAGED:
        return world_chance(world, 250) ? ISSUE_EV_SMOKE_FAILED : ISSUE_EV_SMOKE_PASSED;
    case STAGE_SMOKE_PASSED:
        return ISSUE_EV_DEPLOYED_PRODUCTION;
    case STAGE_IN_PRODUCTION:
        return world_chance(world, 50) ? ISSUE_EV_SMOKE_FAILED : ISSUE_EV_VERIFIED;
    default:
        return ISSUE_EV_DONE;
    }
}

/* Now and then something that it must not do. */
static enum issue_kind wrong_kind(struct world *world)
{
    static const enum issue_kind kinds[] = {
        ISSUE_EV_DONE,     ISSUE_EV_MERGED,           ISSUE_EV_PR_CREATED, ISSUE_EV_CI_PASSED,
        ISSUE_EV_VERIFIED, ISSUE_EV_DEPLOYED_STAGING, ISSUE_EV_STUCK,      ISSUE_EV_WORK_STARTED};
    return kinds[world_between(world, 0, (int64_t)COUNT_OF(kinds) - 1)];
}

static void write_step(struct world *world, const struct sim_agent *agent,
                       const struct issue_row *row, int64_t issue)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct issue_life *life = &row->life;
    struct letter letter = {.kind = next_kind(world, life),
                            .writer = WRITER_DEV_AGENT,
                            .issue = issue,
                            .agent = agent->number,
                            .again = world_chance(world, 50)};
    if (world_chance(world, 60))
        letter.kind = wrong_kind(world);
    if (letter.kind == ISSUE_EV_BRANCH_CREATED)
        letter.more = arena_printf(&arena, ",\"branch\":\"%s\"", new_branch(life, &arena, world));
    if (letter.kind == ISSUE_EV_PR_CREATED) {
        bool fresh = life->branch == NULL || life->stage == STAGE_SMOKE_FAILED;
        const char *branch = fresh ? new_branch(life, &arena, world) : life->branch;
        letter.more = pull_request(life, branch, &arena, world);
    }
    if (letter.kind == ISSUE_EV_SMOKE_FAILED)
        letter.more = world_chance(world, 100) ? ",\"reason\":\"external_dependency\""
                                               : ",\"reason\":\"code\"";
    if (letter.kind == ISSUE_EV_REVIEW_PASSED)
        letter.writer = WRITER_REVIEW_AGENT;
    if (letter.kind == ISSUE_EV_GATE_TRIGGERED)
        letter.writer = WRITER_CI;
    /* An agent that lost the issue without noticing is another one than the row says. */
    if (world_chance(world, 20))
        letter.agent = world_between(world, 0, SIM_AGENTS - 1);
    send(world, &letter);
}

static int64_t issue_number(const struct issue_row *row)
{
    int64_t number;
    return text_to_i64(row->issue_id + 1, &number) ? number : -1;
}

static void work(struct world *world, void *who, int64_t what)
{
    struct sim_agent *agent = who;
    CLEANUP(arena_release) struct arena arena = {0};
    const char *name = arena_printf(&arena, SIM_AGENT_NAME, (long long)agent->number);
    const struct issue_filter mine = {
        .agent = name, .stage = -1, .at_work = true, .limit = SIM_CAPACITY + 1};
    struct issue_row *rows = NULL;
    size_t count = 0;
    (void)what;
    agent->silent = false;
    if (issue_states_list(store_writer(world->store), &mine, &arena, &rows, &count, NULL) != RC_OK)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t issue = issue_number(&rows[i]);
        const struct letter beat = {
            ISSUE_EV_HEARTBEAT, WRITER_DEV_AGENT, issue, agent->number, NULL, false};
        send(world, &beat);
        if (world_chance(world, 500))
            write_step(world, agent, &rows[i], issue);
    }
    int64_t pause_us = world_between(world, 10 * US_PER_SECOND, 60 * US_PER_SECOND);
    if (!scene.calm && world_chance(world, 10)) {
        agent->silent = true;
        scene.silences++;
        pause_us = world_between(world, 4 * US_PER_MINUTE, 40 * US_PER_MINUTE);
    }
    world_after(world, pause_us, work, agent, 0);
}

/* People look at what waits for them, newest first. */
static void people_look(struct world *world, void *who, int64_t what)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const int stages[] = {STAGE_ESCALATED, STAGE_IN_CI,  STAGE_CI_FAILED,   STAGE_GREEN,
                                 STAGE_MERGED,    STAGE_STAGED, STAGE_SMOKE_PASSED};
    (void)what;
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        const struct issue_filter filter = {.stage = stages[i], .limit = 50};
        struct issue_row *rows = NULL;
        size_t count = 0;
        if (issue_states_list(store_writer(world->store), &filter, &arena, &rows, &count, NULL) !=
            RC_OK)
            break;
        for (size_t k = 0; k < count; k++)
            decide(world, &rows[k], issue_number(&rows[k]));
    }
    world_after(world, 5 * US_PER_MINUTE, people_look, who, 0);
}

/* ---- Conductors ---- */

static int64_t steady(void *ctx)
{
    return ((struct world *)ctx)->mono_us;
}

static void on_done(struct command *command)
{
    ((struct sim_conductor *)command->owner)->answered = true;
}

/* Straight to the committer.  It may die before its turn, in it, or before it hears of it. */
static enum rc call(void *ctx, struct command *command)
{
    struct sim_conductor *it = ctx;
    struct world *world = it->world;
    bool dies = !scene.calm && world_chance(world, 20);
    if (dies && world_chance(world, 500))
        return RC_UNREACHABLE;
    it->answered = false;
    command->done = on_done;
    command->owner = it;
    if (committer_post(world->committer, command) != RC_OK)
        return RC_BUSY;
    if (dies && world_chance(world, 300))
        world_crash(world); /* The commit went through, or it did not. */
    while (!it->answered && committer_round(world->committer)) {
    }
    if (!it->answered)
        world_broken(world, "a turn of the Conductor was not answered");
    issues_model_look(scene.model);
    return dies ? RC_UNREACHABLE : command->rc;
}

static void conduct(struct world *world, void *who, int64_t what)
{
    struct sim_conductor *it = who;
    (void)what;
    if (it->conductor != NULL && !scene.calm && world_chance(world, 10)) {
        conductor_free(it->conductor);
        it->conductor = NULL;
        scene.deaths++;
        world_after(world, world_between(world, 0, 300 * US_PER_SECOND), conduct, it, 0);
        return;
    }
    if (it->conductor == NULL)
        it->conductor = conductor_new(&(struct conductor_options){.config = &scene.config,
                                                                  .store = world->store,
                                                                  .clock = {steady, world},
                                                                  .call = call,
                                                                  .ctx = it});
    int64_t wait_us = conductor_round(it->conductor);
    /* New events would wake it; here it is late. */
    int64_t late_us = world_between(world, 50 * US_PER_MS, 30 * US_PER_SECOND);
    world_after(world, wait_us < US_PER_SECOND ? wait_us + US_PER_MS : late_us, conduct, it, 0);
}

/* ---- the world ---- */

static void must_call(struct world *world, struct command *command)
{
    struct sim_conductor waiter = {.world = world};
    command->done = on_done;
    command->owner = &waiter;
    if (committer_post(world->committer, command) != RC_OK)
        world_broken(world, "no room for a command");
    while (!waiter.answered && committer_round(world->committer)) {
    }
    if (command->rc != RC_OK)
        world_broken(world, "%s: %s", command->ops->name, command->err.text);
    command_free(command);
}

static void register_agent(struct world *world, int64_t number)
{
    struct cmd_agent_register *cmd = cmd_agent_register_new();
    struct arena *arena = &cmd->base.arena;
    cmd->base.actor = (struct actor){"user", "sim"};
    cmd->row = (struct agent_row){
        .name = arena_printf(arena, SIM_AGENT_NAME, (long long)number),
        .persona = arena_printf(arena, "p%lld", (long long)(number % PERSONAS)),
        .capacity = SIM_CAPACITY,
        .queue = "agents",
        .heartbeat_ms = INSTANCE_HEARTBEAT_MS_MAX,
        .restart_max = RESTARTS_DEFAULT,
        .backoff_ms = RESTART_BACKOFF_MS_DEFAULT,
    };
    must_call(world, &cmd->base);
}

struct totals {
    struct issues_stats issues;
    int64_t worlds, steps, crashes, jumps, lost, deaths, silences;
};

static void open_scene(struct world *world, int64_t issues)
{
    scene = (struct scene){.world = world, .issues = issues, .config = conductor_config_default()};
    scene.model = issues_model_new(world, issues);
    for (int64_t i = 0; i < SIM_AGENTS; i++) {
        register_agent(world, i);
        scene.agents[i].number = i;
        world_after(world, world_between(world, 0, 30 * US_PER_SECOND), work, &scene.agents[i], 0);
    }
    for (size_t i = 0; i < CONDUCTORS; i++) {
        scene.conductors[i].world = world;
        world_after(world, (int64_t)i * US_PER_SECOND, conduct, &scene.conductors[i], 0);
    }
    world_after(world, US_PER_SECOND, approve_next, NULL, 0);
    world_after(world, US_PER_MINUTE, people_look, NULL, 0);
}

static void add_up(struct totals *totals, const struct world *world)
{
    const struct issues_stats *one = issues_model_stats(scene.model);
    totals->issues.issues += one->issues;
    totals->issues.done += one->done;
    totals->issues.escalated += one->escalated;
    totals->issues.assignments += one->assignments;
    totals->issues.reassignments += one->reassignments;
    totals->issues.reminders += one->reminders;
    totals->issues.stuck += one->stuck;
    totals->issues.events += one->events;
    totals->worlds++;
    totals->steps += world->steps;
    totals->crashes += world->crashes;
    totals->jumps += world->jumps;
    totals->lost += world->lost;
    totals->deaths += scene.deaths;
    totals->silences += scene.silences;
}

static void until_all_end(struct world *world, int64_t steps_max, int64_t late_us)
{
    while (issues_model_open(scene.model) > 0 && world_step(world))
        if (world->steps > steps_max || world->mono_us > late_us)
            world_broken(world, "%" PRId64 " issues come to no end",
                         issues_model_open(scene.model));
}

static void simulate(uint64_t seed, int64_t issues, struct totals *totals)
{
    struct world world;
    world_open(&world, seed, NULL);
    world.faults.trouble = 0;
    open_scene(&world, issues);
    int64_t steps_max = issues * STEPS_MAX_PER_ISSUE;
    while (issues_model_approved(scene.model) < issues && world_step(&world)) {
    }
    int64_t storm_us = world.mono_us + 2 * US_PER_HOUR;
    while (world.mono_us < storm_us && issues_model_open(scene.model) > 0 && world_step(&world)) {
    }
    world.faults = (struct faults){0};
    scene.calm = true;
    int64_t late_us = storm_us + 2000 * US_PER_HOUR;
    /* An approval that was on its way may open an issue again. */
    do {
        until_all_end(&world, steps_max, late_us);
        scene.resting = true;
        int64_t rest_us = world.mono_us + US_PER_HOUR;
        while (world.mono_us < rest_us && world_step(&world)) {
        }
    } while (issues_model_open(scene.model) > 0);
    issues_model_look(scene.model);
    issues_model_look_at_the_end(scene.model);
    add_up(totals, &world);
    for (size_t i = 0; i < CONDUCTORS; i++)
        conductor_free(scene.conductors[i].conductor);
    world_close(&world);
    issues_model_free(scene.model);
}

void sim_issues(const struct sim_options *options)
{
    int64_t begin_us = clock_mono_us();
    struct totals t = {0};
    while (t.issues.issues < options->issues)
        simulate((uint64_t)(options->seed + t.worlds), options->batch, &t);
    double seconds = (double)(clock_mono_us() - begin_us) / 1e6;
    printf("sim: %" PRId64 " worlds, %" PRId64 " issues: %" PRId64 " done, %" PRId64
           " escalated; %" PRId64 " assignments, %" PRId64 " again, %" PRId64 " stuck, %" PRId64
           " reminders, %" PRId64 " events\n",
           t.worlds, t.issues.issues, t.issues.done, t.issues.escalated, t.issues.assignments,
           t.issues.reassignments, t.issues.stuck, t.issues.reminders, t.issues.events);
    printf("sim: %" PRId64 " steps, %" PRId64 " messages lost, %" PRId64 " crashes, %" PRId64
           " clock jumps, %" PRId64 " Conductors died, %" PRId64 " agents fell silent, %.1f s\n",
           t.steps, t.lost, t.crashes, t.jumps, t.deaths, t.silences, seconds);
}
