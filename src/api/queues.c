/*
 * queues.c - queues: their counts, and their rules.
 */
#include "control/queue/queues.h"
#include "api/listing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "control/commit/queue_book.h"
#include "store/jobs.h"
#include "store/queues.h"
#include <string.h>

static enum rc check_name(const struct call *call, struct err *err)
{
    if (queue_name_valid(call->vars[0]))
        return RC_OK;
    return err_set(err, RC_MALFORMED, "INVALID_NAME",
                   "a queue's name has letters, digits, '.', '_' and '-', at most 100 bytes");
}

/* ---- Reading ---- */

static void write_rules(struct jw *jw, const struct queue_row *row)
{
    jw_kbool(jw, "paused", row->paused);
    jw_kstr(jw, "level", row->level != NULL ? row->level : "normal");
    jw_ktime(jw, "levelSince", row->level_us);
    jw_kint(jw, "desiredWorkers", row->desired);
    jw_kint(jw, "version", row->version);
}

static const struct queue_row no_row = {.config = {"{}", 2}};

/* Both lists are by name; a queue may be in one of them only. */
struct merge {
    const struct queue_counts *counts;
    const struct queue_row *rows;
    size_t count, row_count, at, row_at;
};

static bool next_queue(struct merge *merge, struct queue_counts *ret_counts,
                       const struct queue_row **ret_row)
{
    bool counted = merge->at < merge->count, ruled = merge->row_at < merge->row_count;
    if (!counted && !ruled)
        return false;
    int order = !counted ? 1
                : !ruled ? -1
                         : strcmp(merge->counts[merge->at].queue, merge->rows[merge->row_at].name);
    *ret_row = order >= 0 ? &merge->rows[merge->row_at++] : &no_row;
    *ret_counts = order <= 0 ? merge->counts[merge->at++]
                             : (struct queue_counts){.queue = (*ret_row)->name};
    return true;
}

static enum rc read_all(struct call *call, struct db *db, struct merge *ret_merge, struct err *err)
{
    struct queue_counts *counts = NULL;
    struct queue_row *rows = NULL;
    size_t count = 0, row_count = 0;
    enum rc rc = jobs_count(db, &call->http.arena, &counts, &count, err);
    if (rc == RC_OK)
        rc = queues_list(db, &call->http.arena, &rows, &row_count, err);
    if (rc == RC_OK)
        *ret_merge = (struct merge){
            .counts = counts, .rows = rows, .count = count, .row_count = row_count};
    return rc;
}

enum rc api_queue_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct merge merge;
    struct queue_counts counts;
    const struct queue_row *row;
    listing_open(&list, call, CURSOR_NONE, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = read_all(call, db, &merge, err);
    while (rc == RC_OK && next_queue(&merge, &counts, &row)) {
        shape_queue_open(&list.jw, &counts);
        write_rules(&list.jw, row);
        jw_end(&list.jw, '}');
    }
    return listing_end(&list, rc);
}

/* A queue exists from its first job or its first rule on; before that it has the defaults. */
enum rc api_queue_get(struct call *call, struct db *db, struct err *err)
{
    struct merge merge;
    struct queue_counts counts;
    const struct queue_row *row;
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = check_name(call, err);
    if (rc == RC_OK)
        rc = read_all(call, db, &merge, err);
    if (rc != RC_OK)
        return rc;
    bool found = false;
    while (!found && next_queue(&merge, &counts, &row))
        found = text_same(counts.queue, call->vars[0]);
    if (!found) {
        counts = (struct queue_counts){.queue = call->vars[0]};
        row = &no_row;
    }
    struct queue_row named = *row;
    named.name = call->vars[0];
    struct queue_config effective = queue_rules_of(&named).config;
    struct jw jw = call_answer(call, 200);
    shape_queue_open(&jw, &counts);
    write_rules(&jw, row);
    jw_kraw(&jw, "config", row->config);
    jw_key(&jw, "effective");
    queue_config_write(&jw, &effective);
    jw_end(&jw, '}');
    return RC_OK;
}

/* ---- Changing ---- */

static struct cmd_queue *begin(struct call *call, enum queue_change change)
{
    struct cmd_queue *cmd = cmd_queue_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    cmd->change = change;
    return cmd;
}

enum rc api_queue_put(struct call *call, struct err *err)
{
    struct cmd_queue *cmd = begin(call, QUEUE_CONFIGURE);
    struct params params;
    struct queue_config checked;
    enum rc rc = check_name(call, err);
    if (rc == RC_OK)
        rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "version", &(struct param_range){0, INT64_MAX}, &cmd->version);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    cmd->document = cmd->base.tree;
    return rc == RC_OK ? queue_config_decode(cmd->name, cmd->document, &checked, err) : rc;
}

static enum rc build_plain(struct call *call, enum queue_change change, struct err *err)
{
    (void)begin(call, change);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_no_fields(call, err);
    return rc == RC_OK ? check_name(call, err) : rc;
}

enum rc api_queue_pause(struct call *call, struct err *err)
{
    return build_plain(call, QUEUE_PAUSE, err);
}

enum rc api_queue_resume(struct call *call, struct err *err)
{
    return build_plain(call, QUEUE_RESUME, err);
}

void api_queue_answer(struct call *call, struct command *command)
{
    const struct cmd_queue *cmd = (const struct cmd_queue *)command;
    struct jw jw = call_answer(call, 200);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "name", cmd->name);
    jw_kint(&jw, "version", cmd->new_version);
    jw_end(&jw, '}');
}
