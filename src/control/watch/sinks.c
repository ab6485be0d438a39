#include "control/watch/sinks.h"
#include "base/str.h"
#include "control/commit/context.h"
#include "store/events.h"
#include "store/workspaces.h"
#include <assert.h>

/* ---- the relay's ---- */

static enum rc settle_letters(struct context *ctx, const struct cmd_sink *cmd,
                              const struct lease_proof *proof)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < cmd->delivered; i++)
        rc = sink_letters_remove(ctx->db, proof, &cmd->letters[i], ctx->err);
    return rc == RC_OK && cmd->again != NULL
               ? sink_letters_keep(ctx->db, proof, cmd->again, ctx->err)
               : rc;
}

static enum rc apply_sink(struct context *ctx, struct command *command)
{
    struct cmd_sink *cmd = (struct cmd_sink *)command;
    struct sink_row row = cmd->row;
    struct sink_dead_letter letter = {0};
    struct lease_proof proof;
    row.updated_us = ctx->now_us;
    if (cmd->make)
        row.created_us = ctx->now_us;
    if (cmd->refused != NULL) {
        letter = *cmd->refused;
        letter.sink = row.name;
        letter.created_us = ctx->now_us;
    }
    enum rc rc = leases_enter(ctx->db, &cmd->turn, &proof, ctx->err);
    if (rc != RC_OK)
        return rc;
    if (cmd->make)
        return sinks_make(ctx->db, &proof, &row, ctx->err);
    rc = sinks_save(ctx->db, &proof, &row, cmd->refused != NULL ? &letter : NULL, ctx->err);
    return rc == RC_OK ? settle_letters(ctx, cmd, &proof) : rc;
}

static const struct command_ops sink_command_ops = {.name = "sink", .apply = apply_sink};

struct cmd_sink *cmd_sink_new(void)
{
    return command_new(&sink_command_ops, sizeof(struct cmd_sink));
}

/* ---- what people see ---- */

const char *sink_state_name(enum sink_state state)
{
    static const char *const names[] = {[SINK_STARTING] = "starting",
                                        [SINK_RUNNING] = "running",
                                        [SINK_RETRYING] = "retrying",
                                        [SINK_OPEN] = "open",
                                        [SINK_PAUSED] = "paused"};
    assert((size_t)state < COUNT_OF(names));
    return names[state];
}

static enum sink_state state_of(const struct sink_row *row)
{
    if (row->paused)
        return SINK_PAUSED;
    if (row->breaker_open)
        return SINK_OPEN;
    return row->last_error == NULL ? SINK_RUNNING : SINK_RETRYING;
}

enum rc sink_look(struct db *db, const char *name, int64_t now_us, struct arena *arena,
                  struct sink_view *ret_view, struct err *err)
{
    struct sink_view view = {.state = SINK_STARTING};
    enum rc rc = sinks_get(db, name, arena, &view.row, err);
    if (rc == RC_NOT_FOUND) {
        *ret_view = view;
        return RC_OK;
    }
    struct event *next = NULL;
    size_t count = 0;
    int64_t last_seq = 0;
    struct event_filter behind = {.after_seq = view.row.cursor_seq, .limit = 1};
    if (rc == RC_OK)
        rc = events_last_seq(db, &last_seq, err);
    if (rc == RC_OK)
        rc = events_list(db, &behind, arena, &next, &count, err);
    if (rc != RC_OK)
        return rc;
    view.state = state_of(&view.row);
    if (count > 0 && last_seq > view.row.cursor_seq)
        view.lag = last_seq - view.row.cursor_seq;
    if (count > 0 && now_us > next->time_us)
        view.lag_us = now_us - next->time_us;
    *ret_view = view;
    return RC_OK;
}

enum rc sink_from_seq(struct db *db, const struct sink_from *from, struct arena *arena,
                      int64_t *ret_seq, struct err *err)
{
    struct event_filter since = {.since_us = from->value, .limit = 1};
    struct event *first = NULL;
    size_t count = 0;
    enum rc rc = RC_OK;
    if (from->kind == SINK_FROM_START) {
        *ret_seq = 0;
        return RC_OK;
    }
    if (from->kind == SINK_FROM_SEQ) {
        *ret_seq = from->value - 1;
        return RC_OK;
    }
    if (from->kind == SINK_FROM_TIME)
        rc = events_list(db, &since, arena, &first, &count, err);
    if (rc == RC_OK && count == 0)
        return err_set(err, RC_NOT_FOUND, "NOT_FOUND", "the log has no event from there on");
    if (rc == RC_OK)
        *ret_seq = first->seq - 1;
    return rc;
}

/* ---- the API's ---- */

/* One change of sinks at a time, also on many nodes. */
static enum rc lock_sinks(struct context *ctx)
{
    return db_is_shared(ctx->db) ? workspaces_lock(ctx->db, &ctx->workspace_id, ctx->err) : RC_OK;
}

static enum rc get_row(struct context *ctx, const char *name, struct sink_row *ret_row)
{
    enum rc rc = sinks_get(ctx->db, name, ctx->arena, ret_row, ctx->err);
    if (rc == RC_NOT_FOUND)
        return err_set(ctx->err, rc, "NOT_FOUND", "there is no sink %s", name);
    return rc;
}

/* The relay takes note of the row when its revision has changed. */
static enum rc configure(struct context *ctx, struct sink_row *row)
{
    row->revision = ctx->now_us > row->revision ? ctx->now_us : row->revision + 1;
    return sinks_configure(ctx->db, row, ctx->err);
}

static enum rc check_apart(struct context *ctx, const struct sink_config *config,
                           const struct sink_row *other)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct sink_config decoded;
    struct err ignored = {0};
    if (other->config.len == 0 || text_same(other->name, config->name) ||
        js_parse(other->config.at, other->config.len, &tree, &ignored) != RC_OK ||
        sink_config_decode(tree, "", other->name, ctx->arena, &decoded, &ignored) != RC_OK)
        return RC_OK;
    enum rc rc = sink_config_apart(config, &decoded, "", ctx->err);
    return rc == RC_OK ? rc : RC_CONFLICT;
}

static enum rc check_room(struct context *ctx, bool is_new, const struct sink_config *config)
{
    struct sink_row *rows = NULL;
    size_t count = 0;
    int64_t made = 0;
    enum rc rc = sinks_list(ctx->db, ctx->arena, &rows, &count, ctx->err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        rc = check_apart(ctx, config, &rows[i]);
    if (rc == RC_OK)
        rc = sinks_count_made(ctx->db, &made, ctx->err);
    if (rc == RC_OK && is_new && (made >= SINKS_MADE_MAX || count >= SINK_ROWS_MAX))
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_SINKS",
                       "there are %lld sinks made by the API, and no more are possible: remove one "
                       "first",
                       (long long)made);
    return rc;
}

static enum rc insert_row(struct context *ctx, const struct cmd_sink_put *cmd)
{
    struct sink_row row = {.name = cmd->config.name,
                           .config = cmd->document,
                           .revision = ctx->now_us,
                           .created_us = ctx->now_us,
                           .updated_us = ctx->now_us};
    int64_t last_seq = 0;
    enum rc found = sink_from_seq(ctx->db, &cmd->config.from, ctx->arena, &row.cursor_seq,
                                  ctx->err);
    if (found != RC_OK && found != RC_NOT_FOUND)
        return found;
    enum rc rc = events_last_seq(ctx->db, &last_seq, ctx->err);
    if (rc == RC_OK && found == RC_NOT_FOUND)
        row.cursor_seq = last_seq;
    if (rc == RC_OK && row.cursor_seq > last_seq)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "from",
                         "the log ends at sequence %lld; to begin behind it, give \"end\"",
                         (long long)last_seq);
    return rc == RC_OK ? sinks_insert(ctx->db, &row, ctx->err) : rc;
}

static enum rc apply_put(struct context *ctx, struct command *command)
{
    struct cmd_sink_put *cmd = (struct cmd_sink_put *)command;
    const char *name = cmd->config.name;
    struct sink_row row = {0};
    enum rc rc = lock_sinks(ctx);
    if (rc != RC_OK)
        return rc;
    rc = sinks_get(ctx->db, name, ctx->arena, &row, ctx->err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    cmd->created = rc == RC_NOT_FOUND;
    rc = check_room(ctx, row.config.len == 0, &cmd->config);
    if (rc == RC_OK && cmd->created)
        rc = insert_row(ctx, cmd);
    row.config = cmd->document;
    if (rc == RC_OK && !cmd->created)
        rc = configure(ctx, &row);
    if (rc != RC_OK)
        return rc;
    return sink_look(ctx->db, name, ctx->now_us, &command->arena, &cmd->view, ctx->err);
}

static const struct command_ops put_ops = {.name = "sink_put", .apply = apply_put};

struct cmd_sink_put *cmd_sink_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_sink_put));
}

static enum rc apply_pause(struct context *ctx, struct command *command)
{
    struct cmd_sink_pause *cmd = (struct cmd_sink_pause *)command;
    struct sink_row row = {0};
    enum rc rc = lock_sinks(ctx);
    if (rc == RC_OK)
        rc = get_row(ctx, cmd->name, &row);
    if (rc == RC_NOT_FOUND && cmd->configured)
        return err_set(ctx->err, RC_CONFLICT, "SINK_STARTING",
                       "the sink %s has not started yet: try again in a moment", cmd->name);
    if (rc != RC_OK)
        return rc;
    bool changes = !cmd->pause || !row.paused;
    row.paused = cmd->pause;
    if (changes)
        rc = configure(ctx, &row);
    if (rc != RC_OK)
        return rc;
    return sink_look(ctx->db, cmd->name, ctx->now_us, &command->arena, &cmd->view, ctx->err);
}

static const struct command_ops pause_ops = {.name = "sink_pause", .apply = apply_pause};

struct cmd_sink_pause *cmd_sink_pause_new(void)
{
    return command_new(&pause_ops, sizeof(struct cmd_sink_pause));
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    struct cmd_sink_remove *cmd = (struct cmd_sink_remove *)command;
    struct sink_row row;
    enum rc rc = lock_sinks(ctx);
    if (rc == RC_OK)
        rc = get_row(ctx, cmd->name, &row);
    return rc == RC_OK ? sinks_remove(ctx->db, cmd->name, ctx->err) : rc;
}

static const struct command_ops remove_ops = {.name = "sink_remove", .apply = apply_remove};

struct cmd_sink_remove *cmd_sink_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_sink_remove));
}

static enum rc change_letters(struct context *ctx, struct cmd_sink_letters *cmd, int64_t seq)
{
    const struct sink_letter_key key = {cmd->name, seq};
    int64_t changed = 0;
    enum rc rc = cmd->discard ? sink_letters_discard(ctx->db, &key, &changed, ctx->err)
                              : sink_letters_replay(ctx->db, &key, &changed, ctx->err);
    cmd->changed += changed;
    return rc;
}

/* A relay that stands still since there are too many of them continues, too. */
static enum rc apply_letters(struct context *ctx, struct command *command)
{
    struct cmd_sink_letters *cmd = (struct cmd_sink_letters *)command;
    struct sink_row row;
    cmd->changed = 0;
    enum rc rc = lock_sinks(ctx);
    if (rc == RC_OK)
        rc = get_row(ctx, cmd->name, &row);
    if (rc == RC_OK && cmd->sequence_count == 0)
        rc = change_letters(ctx, cmd, 0);
    for (size_t i = 0; rc == RC_OK && i < cmd->sequence_count; i++)
        rc = change_letters(ctx, cmd, cmd->sequences[i]);
    return rc == RC_OK && cmd->changed > 0 ? configure(ctx, &row) : rc;
}

static const struct command_ops letters_ops = {.name = "sink_letters", .apply = apply_letters};

struct cmd_sink_letters *cmd_sink_letters_new(void)
{
    return command_new(&letters_ops, sizeof(struct cmd_sink_letters));
}
