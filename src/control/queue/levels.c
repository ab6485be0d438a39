#include "control/queue/levels.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/commit/context.h"
#include "control/commit/event_body.h"
#include "control/commit/isolate.h"
#include "control/commit/queue_book.h"
#include "core/event_types.h"
#include "core/queue/scale.h"
#include <string.h>

/* ---- the look ---- */

enum { WAITING, LEASED, DEAD, KINDS };

/* The state of one look: the queues that have a row, and those that hold jobs. */
struct sight {
    struct db *db;
    int64_t now_us;
    struct cmd_levels *cmd;
    bool busy;
    struct queue_level_row *rows;
    size_t row_count;
    struct queues_with {
        struct queue_count *queues;
        size_t count;
    } with[KINDS];
};

static enum rc sight_read(struct sight *sight, struct arena *arena, struct err *err)
{
    struct db *db = sight->db;
    struct queues_with *with = sight->with;
    enum rc rc = queue_levels_list(db, arena, &sight->rows, &sight->row_count, err);
    if (rc == RC_OK)
        rc = queue_levels_waiting(db, arena, &with[WAITING].queues, &with[WAITING].count, err);
    if (rc == RC_OK)
        rc = queue_levels_leased(db, arena, &with[LEASED].queues, &with[LEASED].count, err);
    if (rc == RC_OK)
        rc = queue_levels_dead(db, arena, &with[DEAD].queues, &with[DEAD].count, err);
    return rc;
}

static const struct queue_count *find(const struct sight *sight, int kind, const char *queue)
{
    const struct queues_with *with = &sight->with[kind];
    for (size_t i = 0; i < with->count; i++)
        if (strcmp(with->queues[i].queue, queue) == 0)
            return &with->queues[i];
    return NULL;
}

/* The configured rules, over the defaults. */
static struct queue_config rules_of(const struct queue_level_row *row)
{
    if (row->config.len == 0)
        return queue_config_default(row->queue);
    return queue_rules_of(&(struct queue_row){.name = row->queue, .config = row->config}).config;
}

static struct scale_rule scale_rule_of(const struct queue_config *config)
{
    return (struct scale_rule){
        .min = config->scale.min,
        .max = config->scale.max,
        .jobs_per_worker = config->scale.jobs_per_worker,
        .up_us = config->scale.up_us,
        .down_us = config->scale.down_us,
    };
}

/* Neither the level nor the number of workers depends on more. */
static int64_t depth_limit(const struct queue_config *config)
{
    int64_t of_levels = level_depth_max(config);
    int64_t of_scale = config->scale.max * config->scale.jobs_per_worker;
    return 1 + (of_levels > of_scale ? of_levels : of_scale);
}

static void decide(const struct queue_config *config, const struct queue_depth *depth,
                   int64_t now_us, struct level_change *change)
{
    struct queue_level_row *after = &change->after;
    struct level_load load = {.depth = change->depth};
    if (depth->oldest_us > 0 && depth->oldest_us < now_us)
        load.age_us = now_us - depth->oldest_us;
    change->oldest_ms = load.age_us / US_PER_MS;
    after->level = level_next(config, change->before.level, &load);
    if (after->level != change->before.level)
        after->level_us = now_us;
    after->dead_alert = change->dead_alert_at > 0 && change->dead >= change->dead_alert_at;
    struct scale_rule rule = scale_rule_of(config);
    struct scale scale = {
        .desired = after->desired, .changed_us = after->desired_us, .spare_us = after->desired_us};
    struct scale_load work = {.waiting = after->paused ? 0 : depth->queued, .busy = change->leased};
    if (scale_step(&rule, &work, now_us, &scale)) {
        after->desired = scale.desired;
        after->desired_us = now_us;
    }
}

static bool differs(const struct queue_level_row *a, const struct queue_level_row *b)
{
    return a->level != b->level || a->dead_alert != b->dead_alert || a->desired != b->desired;
}

/* One queue: counts what its rules need and adds it to the command if something changed. */
static enum rc examine(struct sight *sight, const struct queue_level_row *row, struct err *err)
{
    struct queue_config config = rules_of(row);
    struct queue_depth depth = {0};
    const struct queue_count *leased = find(sight, LEASED, row->queue);
    struct level_change change = {
        .before = *row, .after = *row, .dead_alert_at = config.dead.alert_at};
    enum rc rc = RC_OK;
    if (find(sight, WAITING, row->queue) != NULL)
        rc = queue_levels_depth(sight->db, row->queue, depth_limit(&config), &depth, err);
    if (rc == RC_OK && config.dead.alert_at > 0 && find(sight, DEAD, row->queue) != NULL)
        rc = queue_levels_dead_count(sight->db, row->queue, config.dead.alert_at + 1, &change.dead,
                                     err);
    if (rc != RC_OK)
        return rc;
    change.depth = depth.queued + depth.blocked;
    change.leased = leased != NULL ? leased->count : 0;
    decide(&config, &depth, sight->now_us, &change);
    if (change.depth > 0 || change.after.level != LEVEL_NORMAL ||
        change.after.desired > config.scale.min)
        sight->busy = true;
    if (differs(&change.before, &change.after))
        sight->cmd->changes[sight->cmd->count++] = change;
    return RC_OK;
}

/* Was it examined as one that has a row, or as one of an earlier kind? */
static bool examined(const struct sight *sight, int kind, const char *queue)
{
    bool seen = queue_levels_find(sight->rows, sight->row_count, queue) != NULL;
    for (int earlier = 0; earlier < kind; earlier++)
        seen = seen || find(sight, earlier, queue) != NULL;
    return seen;
}

enum rc levels_look(struct db *db, int64_t now_us, struct cmd_levels *cmd, bool *ret_busy,
                    struct err *err)
{
    struct arena *arena = &cmd->base.arena;
    struct sight sight = {.db = db, .now_us = now_us, .cmd = cmd};
    enum rc rc = sight_read(&sight, arena, err);
    if (rc != RC_OK)
        return rc;
    size_t most = sight.row_count + 1;
    for (int kind = 0; kind < KINDS; kind++)
        most += sight.with[kind].count;
    cmd->count = 0;
    cmd->changes = arena_array(arena, most, sizeof *cmd->changes);
    for (size_t i = 0; rc == RC_OK && i < sight.row_count; i++)
        rc = examine(&sight, &sight.rows[i], err);
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; rc == RC_OK && i < sight.with[kind].count; i++) {
            struct queue_level_row calm = {.queue = sight.with[kind].queues[i].queue};
            if (!examined(&sight, kind, calm.queue))
                rc = examine(&sight, &calm, err);
        }
    }
    if (rc == RC_OK)
        *ret_busy = sight.busy;
    return rc;
}

/* ---- the command ---- */

static enum rc emit(struct context *ctx, const char *type, const char *queue,
                    struct event_body *body)
{
    struct event event = {
        .type = type,
        .subject = arena_printf(ctx->arena, "queue/%s", queue),
        .data = event_body_close(body),
    };
    return context_append(ctx, &event, NULL);
}

static enum rc emit_level(struct context *ctx, const struct level_change *change)
{
    const struct queue_level_row *before = &change->before, *after = &change->after;
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "queue", after->queue);
    jw_kstr(&body.jw, "from", level_name(before->level));
    jw_kstr(&body.jw, "to", level_name(after->level));
    jw_kint(&body.jw, "depth", change->depth);
    jw_kint(&body.jw, "oldestMs", change->oldest_ms);
    jw_kint(&body.jw, "leased", change->leased);
    jw_kint(&body.jw, "desiredWorkers", after->desired);
    bool raised = after->level > before->level;
    return emit(ctx, raised ? EV_QUEUE_LEVEL_RAISED : EV_QUEUE_LEVEL_LOWERED, after->queue, &body);
}

static enum rc emit_dead_letters(struct context *ctx, const struct level_change *change)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "queue", change->after.queue);
    jw_kint(&body.jw, "count", change->dead);
    jw_kint(&body.jw, "threshold", change->dead_alert_at);
    return emit(ctx, EV_DEAD_LETTERS_ALERT, change->after.queue, &body);
}

/* A row that another transaction has changed since the look is left to the next one. */
static enum rc try_change(struct context *ctx, void *subject, const struct failure *why)
{
    (void)why;
    const struct level_change *change = subject;
    const struct queue_level_row *before = &change->before, *after = &change->after;
    struct queue_level_row now;
    enum rc rc = queue_levels_get(ctx->db, after->queue, ctx->arena, &now, ctx->err);
    if (rc != RC_OK || differs(&now, before))
        return rc;
    rc = queue_levels_save(ctx->db, after, ctx->now_us, ctx->err);
    if (rc == RC_OK && after->level != before->level)
        rc = emit_level(ctx, change);
    if (rc == RC_OK && after->dead_alert && !before->dead_alert)
        rc = emit_dead_letters(ctx, change);
    return rc;
}

/* The next look is within a second. */
static enum rc leave_change(struct context *ctx, void *subject, const struct failure *why)
{
    (void)ctx;
    (void)subject;
    (void)why;
    return RC_OK;
}

static enum rc apply_levels(struct context *ctx, struct command *command)
{
    static isolate_try *const tries[] = {try_change, leave_change, NULL};
    struct cmd_levels *cmd = (struct cmd_levels *)command;
    struct lease_proof proof;
    enum rc rc = leases_enter(ctx->db, &cmd->turn, &proof, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++) {
        struct level_change *change = &cmd->changes[i];
        const struct isolated one = {"queue", change->after.queue, change, tries};
        rc = isolate(ctx, &one);
    }
    return rc;
}

static const struct command_ops levels_ops = {.name = "levels", .apply = apply_levels};

struct cmd_levels *cmd_levels_new(void)
{
    return command_new(&levels_ops, sizeof(struct cmd_levels));
}

/* ---- watching ---- */

struct levels {
    struct committer *committer;
    struct store *store;
    struct clock clock;
    struct db *db;     /* NULL: not opened yet. */
    int64_t looked_us; /* Monotonic; 0: never. */
    bool blind;        /* The last look failed; logged once. */
};

struct levels *levels_new(struct committer *committer, struct store *store, struct clock clock)
{
    struct levels *levels = mem_alloc(sizeof *levels);
    levels->committer = committer;
    levels->store = store;
    levels->clock = clock;
    return levels;
}

static void close_reader(struct levels *levels)
{
    store_reader_close(levels->store, levels->db);
    levels->db = NULL;
}

void levels_free(struct levels *levels)
{
    if (levels == NULL)
        return;
    close_reader(levels);
    mem_free(levels);
}

static void log_changes(const struct cmd_levels *cmd)
{
    for (size_t i = 0; i < cmd->count; i++) {
        const struct level_change *change = &cmd->changes[i];
        if (change->after.level != change->before.level)
            LOG(change->after.level > change->before.level ? LOG_WARN : LOG_INFO,
                "the level of a queue has changed", LOG_STR("queue", change->after.queue),
                LOG_STR("from", level_name(change->before.level)),
                LOG_STR("to", level_name(change->after.level)), LOG_INT("depth", change->depth),
                LOG_INT("oldestMs", change->oldest_ms));
        if (change->after.dead_alert && !change->before.dead_alert)
            LOG(LOG_WARN, "dead letters pile up", LOG_STR("queue", change->after.queue),
                LOG_INT("count", change->dead));
    }
}

static void log_sight(struct levels *levels, enum rc rc, const struct err *err)
{
    bool blind = rc != RC_OK && rc != RC_BUSY && rc != RC_STALE; /* Another node's turn. */
    if (blind && !levels->blind)
        LOG(LOG_ERROR, "cannot look at the levels of queues", LOG_STR("code", err->code),
            LOG_STR("error", err->text));
    levels->blind = blind;
}

static enum rc check_and_emit(struct levels *levels, const struct lease_fence *turn, bool *ret_busy,
                              struct err *err)
{
    if (levels->db == NULL) {
        enum rc opened = store_reader_open(levels->store, &levels->db, err);
        if (opened != RC_OK)
            return opened;
    }
    struct cmd_levels *cmd = cmd_levels_new();
    cmd->turn = *turn;
    enum rc rc = levels_look(levels->db, clock_now_us(&levels->clock), cmd, ret_busy, err);
    if (rc == RC_OK && cmd->count > 0) {
        rc = committer_call(levels->committer, &cmd->base);
        if (rc == RC_OK)
            log_changes(cmd);
        else
            *err = cmd->base.err;
    }
    command_free(&cmd->base);
    return rc;
}

int64_t levels_watch(struct levels *levels, const struct lease_fence *turn)
{
    int64_t now_us = clock_mono_us();
    int64_t next_us = clock_now_us(&levels->clock) + LEVELS_EVERY_US;
    if (levels->looked_us != 0 && now_us - levels->looked_us < LEVELS_EVERY_US)
        return next_us - (now_us - levels->looked_us);
    levels->looked_us = now_us;
    struct err err = {0};
    bool busy = false;
    enum rc rc = check_and_emit(levels, turn, &busy, &err);
    log_sight(levels, rc, &err);
    bool rest = rc == RC_OK && !busy;
    if (rest)
        close_reader(levels); /* A server without work should be small. */
    return rest ? 0 : next_us;
}
