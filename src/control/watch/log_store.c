#include "control/watch/log_store.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/watch/log_keep.h"

enum { PRUNE_ROWS = 500, PRUNE_AFTER_ROWS = 250 };
#define GATHER_US (250 * US_PER_MS)
#define PRUNE_US  US_PER_HOUR

struct log_store {
    struct log_store_options options;
    struct log_sink *sink;
    /* Of the thread. */
    int64_t unpruned; /* Rows that were written since the last time. */
    int64_t prune_us; /* On the monotonic clock: when it is due in any case. */
};

static void fill_row(const struct log_store *store, const struct envelope *line,
                     struct arena *arena, struct log_line_row *row)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum log_level level = LOG_INFO;
    const char *message = "";
    if (js_parse(line->data.at, line->data.len, &tree, NULL) == RC_OK) {
        message = js_get_str(tree, "msg", "");
        if (!log_level_parse(js_get_str(tree, "level", ""), &level))
            level = LOG_INFO;
    }
    *row = (struct log_line_row){
        .time_us = line->time_us,
        .level = (int64_t)level,
        .node = store->options.node,
        .run_id = line->run_id,
        .message = arena_strdup(arena, message),
        .fields = {arena_strndup(arena, line->data.at, line->data.len), line->data.len},
    };
}

static bool prune_due(const struct log_store *store)
{
    return store->unpruned >= PRUNE_AFTER_ROWS || clock_mono_us() >= store->prune_us;
}

static void set_limits(const struct log_store *store, struct cmd_log_keep *cmd)
{
    const struct log_store_config *config = &store->options.config;
    struct clock clock = clock_real();
    cmd->limits = (struct log_line_limits){
        .before_us = clock_now_us(&clock) - config->keep_days * US_PER_DAY,
        .rows_max = config->rows_max,
        .limit = PRUNE_ROWS,
    };
}

/* Without lines: called from time to time, to prune. */
static enum rc write_lines(void *ctx, struct envelope *const *lines, size_t count, struct err *err)
{
    struct log_store *store = ctx;
    bool prunes = prune_due(store);
    if (count == 0 && !prunes)
        return RC_OK;
    struct cmd_log_keep *cmd = cmd_log_keep_new();
    struct log_line_row *rows = arena_array(&cmd->base.arena, count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        fill_row(store, lines[i], &cmd->base.arena, &rows[i]);
    cmd->rows = rows;
    cmd->count = count;
    if (prunes)
        set_limits(store, cmd);
    enum rc rc = committer_call(store->options.committer, &cmd->base);
    if (rc != RC_OK)
        *err = cmd->base.err;
    else if (prunes && cmd->removed < PRUNE_ROWS) {
        store->unpruned = 0;
        store->prune_us = clock_mono_us() + PRUNE_US;
    }
    if (rc == RC_OK)
        store->unpruned += (int64_t)count;
    command_free(&cmd->base);
    return rc;
}

enum rc log_store_start(const struct log_store_options *options, struct log_store **ret_store,
                        struct err *err)
{
    struct log_store *store = mem_alloc(sizeof *store);
    store->options = *options;
    const struct log_sink_spec spec = {
        .bus = options->bus,
        .who = BUS_LOG_STORE,
        .level = options->config.level,
        .gather_us = GATHER_US,
        .idle_us = PRUNE_US,
        .write = write_lines,
        .ctx = store,
    };
    enum rc rc = log_sink_start(&spec, &store->sink, err);
    if (rc != RC_OK) {
        mem_free(store);
        return rc;
    }
    *ret_store = store;
    return RC_OK;
}

int64_t log_store_stop(struct log_store *store, int64_t until_us)
{
    if (store == NULL)
        return 0;
    int64_t left = log_sink_stop(store->sink, until_us);
    mem_free(store);
    return left;
}
