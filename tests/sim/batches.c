/*
 * batches.c - those who submit batches, hold them up and call them off; and what must be true of
 * batches whatever is lost, repeated or killed:
 *
 *   - no more members are under way than may be, but for those that a person retried
 *   - no member has a task before those that it depends on have completed
 *   - none waits in a batch that does not go on
 *   - all come to their end, and have ended as their rule says
 *   - members and tasks belong to each other, one to one: the doctor says so (model.c)
 */
#include "store/batches.h"
#include "control/admit/batch_commands.h"
#include "control/admit/retry.h"
#include "tests/sim/model.h"
#include "tests/sim/people.h"

enum { BATCHES_MAX = 5, MEMBERS_MAX = 6 };

static int64_t wanted; /* Batches that are still to be submitted. */

/* ---- what must be true ---- */

static const struct batch_member_view *member_at(const struct batch_member_view *views, int64_t no)
{
    return &views[no - 1];
}

static bool has_completed(const struct batch_member_view *view)
{
    return view->row.state == MEMBER_SUBMITTED && view->status == TASK_COMPLETED;
}

/* Nothing un-completes a task, so this holds at any later time as well. */
static void check_dependencies(const struct world *world, const struct batch_member_view *views,
                               size_t at)
{
    const struct batch_member_view *view = &views[at];
    struct js *numbers = NULL;
    if (view->row.state != MEMBER_SUBMITTED || view->row.depends_on.len == 0)
        return;
    if (js_parse(view->row.depends_on.at, view->row.depends_on.len, &numbers, NULL) != RC_OK)
        world_broken(world, "the dependencies of a member cannot be read");
    for (size_t i = 0; i < js_count(numbers); i++)
        if (!has_completed(member_at(views, js_int(js_at(numbers, i), 1))))
            world_broken(world, "member %s became a task before one that it depends on completed",
                         view->row.key);
    js_free(numbers);
}

static void check(const struct world *world, const struct batch_row *batch,
                  const struct batch_member_view *views, size_t count)
{
    int64_t active = 0, failed = 0, waiting = 0, retried = 0;
    for (size_t i = 0; i < count; i++) {
        enum member_phase phase = member_phase(views[i].row.state, views[i].status);
        active += phase == PHASE_ACTIVE;
        failed += phase == PHASE_FAILED;
        waiting += phase == PHASE_WAITING;
        retried += views[i].run_count > 1;
        check_dependencies(world, views, i);
    }
    if (batch->max_active > 0 && active > batch->max_active + retried)
        world_broken(world, "%lld members of a batch are under way", (long long)active);
    if (waiting > 0 && !batch_goes_on(batch->status))
        world_broken(world, "a member waits in a batch that is %s",
                     batch_status_name(batch->status));
    if (!batch_has_ended(batch->status) || retried > 0)
        return;
    bool too_many = batch->stop_failures > 0 && failed >= batch->stop_failures;
    if (batch->status == BATCH_COMPLETED && too_many)
        world_broken(world, "%lld members failed, and the batch completed", (long long)failed);
    if (batch->status == BATCH_STOPPED && !too_many)
        world_broken(world, "a batch stopped after %lld failures", (long long)failed);
    if (active + waiting > 0)
        world_broken(world, "a batch ended before its members");
}

typedef void visit(struct world *world, const struct batch_row *batch,
                   const struct batch_member_view *views, size_t count);

/* Checks all batches, and calls the visitor for each, if there is one. */
static int64_t look(struct world *world, visit *each)
{
    struct arena arena = {0};
    struct db *db = store_writer(world->store);
    const struct batch_filter filter = {.status = -1, .limit = 1000};
    struct batch_row *rows;
    size_t count, members;
    int64_t open = 0;
    if (batches_list(db, &filter, &arena, &rows, &count, NULL) != RC_OK)
        world_broken(world, "the batches cannot be read");
    for (size_t i = 0; i < count; i++) {
        struct batch_member_view *views;
        if (batch_members_all(db, &rows[i].id, &arena, &views, &members, NULL) != RC_OK)
            world_broken(world, "the members of a batch cannot be read");
        check(world, &rows[i], views, members);
        open += !batch_has_ended(rows[i].status);
        if (each != NULL)
            each(world, &rows[i], views, members);
    }
    arena_release(&arena);
    return open;
}

int64_t batches_left(struct world *world)
{
    return wanted + look(world, NULL);
}

/* ---- those who submit them ---- */

static void ignore(struct world *world, void *who, int64_t what, struct command *command)
{
    (void)who;
    (void)what;
    if (command->rc != RC_OK && command->rc != RC_CONFLICT && command->rc != RC_DENIED)
        world_broken(world, "%s: %s", command->ops->name, command->err.text);
}

/* Members of one or two repositories, of which later ones may depend on earlier ones. */
static struct batch_item *make_items(struct world *world, struct arena *arena, size_t count)
{
    struct batch_item *items = arena_array(arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i].key = arena_printf(arena, "k%zu", i);
        /* The last of them is not onboarded. */
        size_t repository = (size_t)world_between(world, 0, SIM_REPOSITORIES);
        items[i].repository = arena_printf(arena, SIM_REPOSITORY_NAME, repository);
        if (i == 0 || !world_chance(world, 400))
            continue;
        const char **on = arena_array(arena, 1, sizeof *on);
        on[0] = items[world_between(world, 0, (int64_t)i - 1)].key;
        items[i].depends_on = on;
        items[i].depends_count = 1;
    }
    return items;
}

static struct cmd_batch_submit *make_batch(struct world *world, int64_t number)
{
    struct cmd_batch_submit *cmd = cmd_batch_submit_new();
    struct arena *arena = &cmd->base.arena;
    cmd->base.actor = (struct actor){"user", "ann"};
    cmd->name = "fleet";
    cmd->task = STR("{\"description\":\"Mend it\",\"executionMode\":\"patch_only\"}");
    cmd->says_what = true;
    cmd->item_count = (size_t)world_between(world, 2, MEMBERS_MAX);
    cmd->items = make_items(world, arena, cmd->item_count);
    cmd->limits.max_active = world_between(world, 0, 3);
    cmd->limits.stop_failures = world_between(world, 0, 3);
    cmd->limits.stop_after = BATCH_STOP_AFTER_DEFAULT;
    cmd->stop_cancels = world_chance(world, 500);
    cmd->idempotency_key = arena_printf(arena, "batch-%lld", (long long)number);
    cmd->body_sha256 = cmd->idempotency_key;
    return cmd;
}

static void submit(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    if (wanted == 0)
        return;
    world_send(world, &make_batch(world, wanted)->base, ignore, NULL, 0);
    wanted--;
    world_after(world, world_between(world, 0, 200 * US_PER_SECOND), submit, NULL, 0);
}

/* ---- those who hold them up ---- */

static void move(struct world *world, const struct batch_row *batch, enum batch_event event)
{
    struct cmd_batch_move *cmd = cmd_batch_move_new(event);
    cmd->base.actor = (struct actor){"user", "ann"};
    cmd->batch_id = batch->id;
    world_send(world, &cmd->base, ignore, NULL, 0);
}

static void retry_some(struct world *world, const struct batch_member_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool failed = views[i].row.state == MEMBER_SUBMITTED && views[i].status == TASK_FAILED;
        if (!failed || views[i].run_count > 2 || !world_chance(world, 100))
            continue;
        struct cmd_retry *cmd = cmd_retry_new();
        cmd->task_id = views[i].row.task_id;
        world_send(world, &cmd->base, ignore, NULL, 0);
    }
}

/* All that are paused are resumed some day. */
static void steer_one(struct world *world, const struct batch_row *batch,
                      const struct batch_member_view *views, size_t count)
{
    if (batch_has_ended(batch->status))
        return;
    if (batch->status == BATCH_PAUSED && world_chance(world, 400))
        move(world, batch, BATCH_EV_RESUME);
    else if (world_chance(world, 40))
        move(world, batch, BATCH_EV_PAUSE);
    else if (world_chance(world, 10))
        move(world, batch, BATCH_EV_CANCEL);
    retry_some(world, views, count);
}

static void steer(struct world *world, void *who, int64_t what)
{
    (void)who;
    (void)what;
    (void)look(world, steer_one);
    world_after(world, world_between(world, US_PER_SECOND, 20 * US_PER_SECOND), steer, NULL, 0);
}

void batches_start(struct world *world)
{
    wanted = world_between(world, 0, BATCHES_MAX);
    world_after(world, 2 * US_PER_SECOND, submit, NULL, 0);
    world_after(world, 2 * US_PER_SECOND, steer, NULL, 0);
}
