#include "control/watch/sinks.h"
#include "base/str.h"
#include "control/commit/context.h"
#include "store/events.h"
#include <assert.h>

static enum rc apply_sink(struct context *ctx, struct command *command)
{
    struct cmd_sink *cmd = (struct cmd_sink *)command;
    struct sink_row row = cmd->row;
    struct sink_dead_letter letter = {0};
    struct lease_proof proof;
    row.created_us = row.updated_us = ctx->now_us;
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
    return sinks_save(ctx->db, &proof, &row, cmd->refused != NULL ? &letter : NULL, ctx->err);
}

static const struct command_ops sink_command_ops = {.name = "sink", .apply = apply_sink};

struct cmd_sink *cmd_sink_new(void)
{
    return command_new(&sink_command_ops, sizeof(struct cmd_sink));
}

const char *sink_state_name(enum sink_state state)
{
    static const char *const names[] = {
        [SINK_STARTING] = "starting", [SINK_RUNNING] = "running", [SINK_RETRYING] = "retrying"};
    assert((size_t)state < COUNT_OF(names));
    return names[state];
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
    view.state = view.row.last_error == NULL ? SINK_RUNNING : SINK_RETRYING;
    if (count > 0 && last_seq > view.row.cursor_seq)
        view.lag = last_seq - view.row.cursor_seq;
    if (count > 0 && now_us > next->time_us)
        view.lag_us = now_us - next->time_us;
    *ret_view = view;
    return RC_OK;
}
