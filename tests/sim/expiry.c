#include "tests/sim/expiry.h"
#include "base/clock.h"
#include "control/watch/doctor.h"
#include "control/watch/doctor_log.h"
#include "control/watch/doctor_metrics.h"
#include "control/watch/expiry_rounds.h"
#include "store/query.h"
#include "store/retention_sums.h"
#include <inttypes.h>

enum { STEPS_MAX = 100000, LOOK_EVERY = 40 };

static const struct sql sql_roots = {"sim_roots",
                                     "SELECT count(*) FROM tasks WHERE parent_id IS NULL", ""};
static const struct sql sql_orphans = {
    "sim_orphans",
    "SELECT count(*) FROM event_log e WHERE e.run_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = e.task_id)"
    " AND NOT EXISTS (SELECT 1 FROM expired_tasks x WHERE x.task_id = e.task_id)",
    ""};

/* But for the newest event. */
static const struct sql sql_refused = {
    "sim_refused",
    "SELECT count(*) FROM event_log e WHERE e.task_id IS NOT NULL AND e.run_id IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = e.task_id)"
    " AND NOT EXISTS (SELECT 1 FROM expired_tasks x WHERE x.task_id = e.task_id)",
    ""};

static int64_t number(struct world *world, const struct sql *sql)
{
    struct err err = {0};
    int64_t value = 0;
    if (query_int(store_writer(world->store), sql, NULL, 0, &value, &err) != RC_OK)
        world_broken(world, "%s: %s", sql->name, err.text);
    return value;
}

static int64_t sum_of(struct world *world, const char *prefix)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct err err = {0};
    struct retention_sum *sums;
    size_t count;
    int64_t value = 0;
    if (retention_sums_list(store_writer(world->store), prefix, &arena, &sums, &count, &err) !=
        RC_OK)
        world_broken(world, "%s: %s", prefix, err.text);
    for (size_t i = 0; i < count; i++)
        value += sums[i].value;
    return value;
}

static void check(struct world *world, const struct doctor_check *found)
{
    if (found->bad > 0)
        world_broken(world, "retention: %s: %s", found->name, found->first);
}

static void look(struct world *world)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct db *db = store_writer(world->store);
    struct doctor_report report;
    struct doctor_check history, metrics;
    struct err err = {0};
    if (doctor_examine(db, &arena, &report, &err) != RC_OK ||
        doctor_history(db, &arena, &history, &err) != RC_OK ||
        doctor_metrics(db, &arena, &metrics, &err) != RC_OK)
        world_broken(world, "the doctor cannot look: %s", err.text);
    for (size_t i = 0; i < report.check_count; i++)
        check(world, &report.checks[i]);
    check(world, &history);
    check(world, &metrics);
    if (number(world, &sql_orphans) > 0)
        world_broken(world, "events of a task are there, and nothing will delete them");
}

/* ---- rounds ---- */

static int64_t now_of(void *ctx)
{
    return world_server_now(ctx);
}

static void note_done(struct command *command)
{
    *(bool *)command->owner = true;
}

static enum rc call(void *ctx, struct command *command)
{
    struct world *world = ctx;
    bool done = false;
    command->owner = &done;
    command->done = note_done;
    if (committer_post(world->committer, command) != RC_OK)
        world_broken(world, "the committer takes no command");
    while (!done && committer_round(world->committer)) {
    }
    if (!done || command->rc != RC_OK)
        world_broken(world, "%s failed: %s", command->ops->name, command->err.text);
    return command->rc;
}

static struct expiry_rounds *rounds_of(struct world *world)
{
    struct expiry_rules rules = expiry_rules_default();
    rules.unpublished_us = rules.tasks_us; /* All of it: the world has no disk. */
    return expiry_rounds_new(&(const struct expiry_rounds_options){
        .rules = rules,
        .store = world->store,
        .clock = {now_of, world},
        .turn = world->turn,
        .call = call,
        .ctx = world,
    });
}

/* From its first step to its last; a process that is killed knows nothing of the step before. */
static void one_round(struct world *world, unsigned killed)
{
    struct expiry_rounds *rounds = rounds_of(world);
    for (int steps = 0; expiry_rounds_done(rounds) == 0; steps++) {
        if (steps == STEPS_MAX)
            world_broken(world, "a round of retention does not come to an end");
        (void)expiry_rounds_step(rounds);
        if (steps % LOOK_EVERY == 0)
            look(world);
        if (world_chance(world, killed)) {
            expiry_rounds_free(rounds);
            rounds = rounds_of(world);
        }
    }
    expiry_rounds_free(rounds);
}

int64_t world_expire(struct world *world)
{
    static const int days[] = {15, 170};
    for (size_t i = 0; i < COUNT_OF(days); i++) {
        world->mono_us += days[i] * US_PER_DAY;
        one_round(world, 50);
        look(world);
    }
    one_round(world, 0);
    if (number(world, &sql_refused) > 0)
        world_broken(world, "events of tasks that were refused are still there");
    int64_t left = number(world, &sql_roots), kept = sum_of(world, RETENTION_KEPT);
    if (left != kept)
        world_broken(world, "%" PRId64 " tasks are left, and %" PRId64 " are kept for a reason",
                     left, kept);
    return sum_of(world, RETENTION_EXPIRED "tasks");
}
