/*
 * people.c - those who want something of the server.
 */
#include "tests/sim/people.h"
#include "control/admit/answer.h"
#include "control/admit/decide.h"
#include "control/admit/repositories.h"
#include "control/admit/retry.h"
#include "control/admit/submit.h"
#include "control/run/messages.h"
#include "control/run/pause.h"
#include "control/run/stop.h"
#include "store/approvals.h"
#include "tests/sim/model.h"
#include <stdio.h>

static int64_t submitted, tasks_wanted;
static char names[SIM_REPOSITORIES][32];
static struct id last_task; /* That was accepted: the parent of some of those that follow. */

static void on_onboarded(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)who;
    (void)what;
    if (command->rc != RC_OK)
        world_broken(world, "a repository was refused: %s", command->err.text);
}

/* Every kind of blueprint: the plain one, with steps of its own, with a plan, a whole sequence. */
static const char *const blueprints[] = {
    "",
    "\"steps\":[{\"name\":\"scan\",\"command\":\"x\"},"
    "{\"name\":\"lint\",\"phase\":\"post-agent\",\"url\":\"http://h\"}],",
    "\"plan\":{\"approval\":\"always\"},",
    "\"steps\":[{\"name\":\"tell\",\"command\":\"x\"}],"
    "\"sequence\":[\"prepare\",\"hydrate\",\"plan\",\"agent\",\"publish\",\"tell\"],",
};

static const char *accounts_of(size_t i, struct arena *arena)
{
    if (i < SIM_PLAIN)
        return arena_printf(arena, "\"account\":\"" SIM_ACCOUNT_NAME "\"", i % SIM_PLAIN_ACCOUNTS);
    return arena_printf(arena, "\"accounts\":[\"%s\",\"%s\"]", sim_accounts.items[0].name,
                        sim_accounts.items[1].name);
}

static void onboard(struct world *world, size_t i)
{
    struct cmd_repository_put *put = cmd_repository_put_new();
    snprintf(names[i], sizeof names[i], SIM_REPOSITORY_NAME, i);
    put->name = names[i];
    put->config = str_of(arena_printf(
        &put->base.arena,
        "{\"url\":\"/srv/x.git\",\"verify\":[{\"name\":\"unit\",\"command\":\"make\"}],"
        "\"agent\":{\"command\":[\"./a\"],\"adapter\":\"claude\",%s},%s"
        "\"limits\":{\"maxActiveRuns\":%d},\"policy\":{\"approval\":\"%s\"},"
        "\"timeouts\":{\"runMs\":600000,\"queueMs\":%d,\"approvalMs\":60000,\"cancelMs\":20000}}",
        accounts_of(i, &put->base.arena), blueprints[i % COUNT_OF(blueprints)], SIM_REPOSITORY_MAX,
        i % 3 == 0 ? "always" : "auto", i % 2 == 0 ? 3600000 : 0));
    world_send(world, &put->base, on_onboarded, NULL, 0);
}

/* ---- tasks ---- */

static void cancel(struct world *world, const struct id *task_id);
static void retry(struct world *world, const struct id *task_id);

static void ignore(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)who;
    (void)what;
    /* A sub-task may find nothing left of its parent's budget, or no room below it. */
    bool fine = command->rc == RC_OK || command->rc == RC_CONFLICT || command->rc == RC_DENIED ||
                command->rc == RC_LIMIT;
    if (!fine)
        world_broken(world, "%s: %s", command->ops->name, command->err.text);
}

static void on_submitted(struct world *world, void *who, int64_t what, struct command *command)
{
    const struct cmd_submit *cmd = (const struct cmd_submit *)command;
    (void)who;
    (void)what;
    bool no_room = !id_is_none(&cmd->task.parent_id) &&
                   (command->rc == RC_CONFLICT || command->rc == RC_LIMIT);
    if (command->rc != RC_OK && command->rc != RC_DENIED && !no_room)
        world_broken(world, "a task was refused: %s", command->err.text);
    if (command->rc != RC_OK)
        return;
    last_task = cmd->answer.task_id;
    if (world_chance(world, 150))
        cancel(world, &cmd->answer.task_id);
    if (world_chance(world, 150))
        retry(world, &cmd->answer.task_id);
}

struct wish {
    int64_t number;
    unsigned kind;
    struct id parent; /* or none */
    int64_t budget_microusd;
};

static struct cmd_submit *task(const struct wish *wish)
{
    unsigned kind = wish->kind;
    int64_t number = wish->number;
    struct cmd_submit *cmd = cmd_submit_new();
    cmd->task.parent_id = wish->parent;
    cmd->task.max_budget_microusd = wish->budget_microusd;
    cmd->task.risk_given = cmd->task.mode_given = cmd->task.priority_given = true;
    cmd->task.repository = names[(size_t)number % SIM_REPOSITORIES];
    cmd->task.description = "Mend it";
    cmd->task.priority = (int64_t)(kind % 5) * 50;
    cmd->task.risk = (enum risk)(kind / 5 % RISK_COUNT);
    cmd->task.mode = (enum mode)(kind / 15 % MODE_COUNT);
    cmd->task.idempotency_key = arena_printf(&cmd->base.arena, "task-%lld", (long long)number);
    cmd->task.body_sha256 = cmd->task.idempotency_key;
    return cmd;
}

static void submit(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (submitted == tasks_wanted)
        return;
    struct wish wish = {.number = submitted++, .kind = (unsigned)world_between(world, 0, 44)};
    if (world_chance(world, 300)) /* Part of the last one, or of what that is a part of. */
        wish.parent = last_task;
    if (world_chance(world, 300)) /* An attempt of an agent costs 0.50 USD. */
        wish.budget_microusd = world_between(world, 1, 4) * 400000;
    world_send(world, &task(&wish)->base, on_submitted, NULL, 0);
    if (world_chance(world, 100)) /* Not sure that it arrived: the same once more. */
        world_send(world, &task(&wish)->base, on_submitted, NULL, 0);
    world_after(world, world_between(world, 0, 4 * US_PER_SECOND), submit, NULL, 0);
}

static void cancel(struct world *world, const struct id *task_id)
{
    struct cmd_cancel *cmd = cmd_cancel_new();
    cmd->task_id = *task_id;
    world_send(world, &cmd->base, ignore, NULL, 0);
}

static void retry(struct world *world, const struct id *task_id)
{
    struct cmd_retry *cmd = cmd_retry_new();
    cmd->task_id = *task_id;
    world_send(world, &cmd->base, ignore, NULL, 0);
}

/* ---- the person who decides ---- */

static void decide(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    struct arena arena = {0};
    struct waiting_filter filter = {.status = "pending", .limit = 20};
    struct approval_row *rows;
    size_t count;
    if (approvals_list(store_writer(world->store), &filter, &arena, &rows, &count, NULL) != RC_OK)
        world_broken(world, "the approvals cannot be read");
    for (size_t i = 0; i < count; i++) {
        if (world_chance(world, 500))
            continue;
        struct cmd_decide *cmd = cmd_decide_new();
        cmd->approval_id = rows[i].id;
        cmd->approve = world_chance(world, 800);
        world_send(world, &cmd->base, ignore, NULL, 0);
    }
    arena_release(&arena);
    world_after(world, world_between(world, US_PER_SECOND, 20 * US_PER_SECOND), decide, NULL, 0);
}

/* ---- those who look after agents ---- */

static void answer(struct world *world)
{
    struct arena arena = {0};
    struct waiting_filter filter = {.status = "pending", .limit = 20};
    struct question_row *rows;
    size_t count;
    if (questions_list(store_writer(world->store), &filter, &arena, &rows, &count, NULL) != RC_OK)
        world_broken(world, "the questions cannot be read");
    for (size_t i = 0; i < count; i++) {
        if (world_chance(world, 600))
            continue;
        struct cmd_answer *cmd = cmd_answer_new();
        cmd->id = rows[i].id;
        cmd->answer = "yes";
        world_send(world, &cmd->base, ignore, NULL, 0);
    }
    arena_release(&arena);
}

static void say(struct world *world, const struct id *run_id)
{
    struct cmd_say *cmd = cmd_say_new();
    cmd->run_id = *run_id;
    cmd->text = "mind the gap";
    cmd->base.actor = (struct actor){"user", "eve"};
    world_send(world, &cmd->base, ignore, NULL, 0);
}

/* All that are paused are resumed some day. */
static void steer_run(struct world *world, const struct run_row *run)
{
    bool paused = run->paused_us > 0;
    if (world_chance(world, 40))
        say(world, &run->id);
    if (!world_chance(world, paused ? 300 : 30))
        return;
    struct cmd_pause *cmd = paused ? cmd_resume_new() : cmd_pause_new();
    cmd->run_id = run->id;
    cmd->base.actor = (struct actor){"user", "eve"};
    world_send(world, &cmd->base, ignore, NULL, 0);
}

static void steer(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    struct arena arena = {0};
    for (int status = 0; status < RUN_STATUS_COUNT; status++) {
        struct run_filter filter = {.status = status, .limit = 200};
        struct run_row *rows;
        size_t count = 0;
        if (run_is_terminal((enum run_status)status))
            continue;
        if (runs_list(store_writer(world->store), &filter, &arena, &rows, &count, NULL) != RC_OK)
            world_broken(world, "the runs cannot be read");
        for (size_t i = 0; i < count; i++)
            steer_run(world, &rows[i]);
    }
    arena_release(&arena);
    answer(world);
    world_after(world, world_between(world, US_PER_SECOND, 20 * US_PER_SECOND), steer, NULL, 0);
}

static void begin(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    struct faults faults = world->faults;
    world->faults = (struct faults){0}; /* Onboarding is not what is tested here. */
    for (size_t i = 0; i < SIM_REPOSITORIES; i++)
        onboard(world, i);
    world->faults = faults;
    world_after(world, US_PER_SECOND, submit, NULL, 0);
    world_after(world, US_PER_SECOND, decide, NULL, 0);
    world_after(world, US_PER_SECOND, steer, NULL, 0);
}

void people_start(struct world *world, int64_t tasks_max)
{
    submitted = 0;
    last_task = (struct id){0};
    tasks_wanted = tasks_max;
    world_after(world, 0, begin, NULL, 0);
}

int64_t people_submitted(void)
{
    return submitted;
}
