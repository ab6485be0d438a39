#include "control/messaging/consumers.h"
#include "base/clock.h"
#include "store/processed_events.h"
#include "store/settled.h"
#include "store/workspaces.h"
#include <time.h>

enum { END_TRIES = 50, PRUNE_BATCH = 1000 };

/* ---- places ---- */

/* Where other nodes write, the end is known when the transactions that had begun have ended. */
static enum rc find_end(struct db *db, int64_t *ret_seq, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10 * US_PER_MS * 1000};
    struct settled end = {0};
    enum rc rc = settled_last(db, &end, err);
    for (int i = 0; i < END_TRIES && rc == RC_BUSY; i++) {
        (void)nanosleep(&pause, NULL);
        rc = settled_last(db, &end, err);
    }
    if (rc == RC_OK)
        *ret_seq = end.after_seq;
    return rc;
}

/* In the order of the log, whatever its clocks did: the first event that is not older. */
static enum rc find_time(struct db *db, int64_t time_us, struct arena *arena, int64_t *cursor_seq,
                         struct err *err)
{
    struct event *events = NULL;
    size_t count = 0;
    const struct event_filter filter = {.since_us = time_us, .limit = 1};
    enum rc rc = events_list(db, &filter, arena, &events, &count, err);
    if (rc == RC_OK && count > 0 && events[0].seq - 1 < *cursor_seq)
        *cursor_seq = events[0].seq - 1;
    return rc;
}

enum rc consumer_place_find(struct db *db, const struct consumer_place *place, struct arena *arena,
                            int64_t *ret_cursor_seq, struct err *err)
{
    int64_t end = 0;
    if (place->to == CONSUMER_TO_START) {
        *ret_cursor_seq = 0;
        return RC_OK;
    }
    /* One that is named needs no end that is settled: reads stop before a gap. */
    enum rc rc = place->to == CONSUMER_TO_SEQ ? events_last_seq(db, &end, err)
                                              : find_end(db, &end, err);
    if (rc == RC_OK && place->to == CONSUMER_TO_TIME)
        rc = find_time(db, place->time_us, arena, &end, err);
    if (rc != RC_OK)
        return rc;
    if (place->to == CONSUMER_TO_SEQ && place->seq - 1 > end)
        return err_field(err, RC_INVALID, "INVALID_FIELD", "to",
                         "the log ends at sequence %lld; to begin behind it, give \"end\"",
                         (long long)end);
    *ret_cursor_seq = place->to == CONSUMER_TO_SEQ ? place->seq - 1 : end;
    return RC_OK;
}

/* ---- making ---- */

/* One at a time, so that the limit holds on many nodes too. */
static enum rc check_room(struct context *ctx)
{
    int64_t count = 0;
    enum rc rc = RC_OK;
    if (db_is_shared(ctx->db))
        rc = workspaces_lock(ctx->db, &ctx->workspace_id, ctx->err);
    if (rc == RC_OK)
        rc = consumers_count(ctx->db, &count, ctx->err);
    if (rc == RC_OK && count >= CONSUMERS_MAX)
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_CONSUMERS",
                       "there are %d consumers, and no more are possible; remove one that is not "
                       "used: drover consumer list",
                       CONSUMERS_MAX);
    return rc;
}

/* Makes row, unless there is one of its name: then that is loaded, locked. */
static enum rc make_or_lock(struct context *ctx, struct consumer_row *row, bool *ret_made)
{
    struct consumer_row found;
    enum rc rc = consumers_get(ctx->db, row->name, ctx->arena, &found, ctx->err);
    bool made = false;
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        row->epoch = row->created_us = row->updated_us = ctx->now_us;
        rc = check_room(ctx);
        if (rc == RC_OK)
            rc = consumers_make(ctx->db, row, &made, ctx->err);
        if (rc == RC_OK && !made) /* Another node was first. */
            rc = consumers_get(ctx->db, row->name, ctx->arena, &found, ctx->err);
    }
    if (rc != RC_OK)
        return rc;
    if (!made)
        *row = found;
    *ret_made = made;
    return RC_OK;
}

/* Texts of a row that answers a command live as long as the command. */
static struct consumer_row keep(struct command *command, const struct consumer_row *row)
{
    struct consumer_row kept = *row;
    kept.name = arena_strdup(&command->arena, row->name);
    if (row->types.len > 0)
        kept.types.at = arena_strndup(&command->arena, row->types.at, row->types.len);
    return kept;
}

static enum rc apply_put(struct context *ctx, struct command *command)
{
    struct cmd_consumer_put *cmd = (struct cmd_consumer_put *)command;
    struct consumer_row row = {
        .name = cmd->name, .types = cmd->types, .cursor_seq = cmd->cursor_seq};
    enum rc rc = make_or_lock(ctx, &row, &cmd->created);
    if (rc == RC_OK && !cmd->created && cmd->retype) {
        row.types = cmd->types;
        row.updated_us = ctx->now_us;
        rc = consumers_save(ctx->db, &row, ctx->err);
    }
    if (rc == RC_OK)
        cmd->row = keep(command, &row);
    return rc;
}

static const struct command_ops put_ops = {.name = "consumer_put", .apply = apply_put};

struct cmd_consumer_put *cmd_consumer_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_consumer_put));
}

/* ---- moving ---- */

static enum rc check_cursor(struct context *ctx, const struct cmd_consumer_ack *cmd,
                            const struct consumer_row *row)
{
    int64_t last = 0;
    if (cmd->epoch != row->epoch)
        return err_set(ctx->err, RC_CONFLICT, "CURSOR_STALE",
                       "consumer %s was moved or made again after this cursor was given; ask for "
                       "its next events",
                       row->name);
    if (cmd->seq < row->cursor_seq)
        return err_set(ctx->err, RC_CONFLICT, "CURSOR_STALE",
                       "consumer %s has acknowledged events up to %lld already, this cursor is of "
                       "%lld; to go back, use seek",
                       row->name, (long long)row->cursor_seq, (long long)cmd->seq);
    enum rc rc = events_last_seq(ctx->db, &last, ctx->err);
    if (rc == RC_OK && cmd->seq > last && cmd->seq > row->cursor_seq)
        return err_field(ctx->err, RC_INVALID, "INVALID_CURSOR", "cursor",
                         "the cursor lies behind the end of the log");
    return rc;
}

static enum rc apply_ack(struct context *ctx, struct command *command)
{
    struct cmd_consumer_ack *cmd = (struct cmd_consumer_ack *)command;
    struct consumer_row row;
    enum rc rc = consumers_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    if (rc == RC_OK)
        rc = check_cursor(ctx, cmd, &row);
    if (rc != RC_OK)
        return rc;
    row.cursor_seq = cmd->seq;
    row.acked_us = row.updated_us = ctx->now_us;
    cmd->row = keep(command, &row);
    return consumers_save(ctx->db, &row, ctx->err);
}

static const struct command_ops ack_ops = {.name = "consumer_ack", .apply = apply_ack};

struct cmd_consumer_ack *cmd_consumer_ack_new(void)
{
    return command_new(&ack_ops, sizeof(struct cmd_consumer_ack));
}

static enum rc apply_seek(struct context *ctx, struct command *command)
{
    struct cmd_consumer_seek *cmd = (struct cmd_consumer_seek *)command;
    struct consumer_row row = {.name = cmd->name, .cursor_seq = cmd->cursor_seq};
    bool made;
    enum rc rc = make_or_lock(ctx, &row, &made);
    if (rc == RC_OK && !made) {
        row.cursor_seq = cmd->cursor_seq;
        row.epoch = ctx->now_us > row.epoch ? ctx->now_us : row.epoch + 1;
        row.updated_us = ctx->now_us;
        rc = consumers_save(ctx->db, &row, ctx->err);
    }
    if (rc == RC_OK)
        cmd->row = keep(command, &row);
    return rc;
}

static const struct command_ops seek_ops = {.name = "consumer_seek", .apply = apply_seek};

struct cmd_consumer_seek *cmd_consumer_seek_new(void)
{
    return command_new(&seek_ops, sizeof(struct cmd_consumer_seek));
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_consumer_remove *cmd = (struct cmd_consumer_remove *)command;
    struct consumer_row row;
    enum rc rc = consumers_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    return rc == RC_OK ? consumers_remove(ctx->db, cmd->name, ctx->err) : rc;
}

static const struct command_ops remove_ops = {.name = "consumer_remove", .apply = apply_remove};

struct cmd_consumer_remove *cmd_consumer_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_consumer_remove));
}

/* ---- processed events ---- */

/* A consumer that is made again under an old name has processed nothing: its rows have another
   key, and the old ones end by their age. */
static const char *handler_key(struct context *ctx, const struct consumer_row *row)
{
    return arena_printf(ctx->arena, "%s@%lld", row->name, (long long)row->created_us);
}

static enum rc apply_processed(struct context *ctx, struct command *command)
{
    struct cmd_consumer_processed *cmd = (struct cmd_consumer_processed *)command;
    struct consumer_row row;
    cmd->first = arena_array(&command->arena, cmd->count, sizeof *cmd->first);
    enum rc rc = consumers_get(ctx->db, cmd->name, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    const char *key = handler_key(ctx, &row);
    for (size_t i = 0; rc == RC_OK && i < cmd->count; i++) {
        const struct processed_event event = {key, cmd->ids[i], ctx->now_us};
        rc = processed_events_enter(ctx->db, &event, &cmd->first[i], ctx->err);
    }
    return rc;
}

static const struct command_ops processed_ops = {.name = "consumer_processed",
                                                 .apply = apply_processed};

struct cmd_consumer_processed *cmd_consumer_processed_new(void)
{
    return command_new(&processed_ops, sizeof(struct cmd_consumer_processed));
}

enum rc consumers_prune(struct context *ctx, bool *ret_more)
{
    const struct processed_prune prune = {.before_us = ctx->now_us - PROCESSED_DAYS * US_PER_DAY,
                                          .limit = PRUNE_BATCH};
    int64_t count = 0;
    enum rc rc = processed_events_prune(ctx->db, &prune, &count, ctx->err);
    *ret_more |= rc == RC_OK && count == PRUNE_BATCH;
    return rc;
}
