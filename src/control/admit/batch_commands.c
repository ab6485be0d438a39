#include "control/admit/batch_commands.h"
#include "control/admit/batch_flow.h"
#include "control/run/run_batch.h"
#include "core/event_types.h"
#include "store/repositories.h"
#include "store/tasks.h"
#include <stdlib.h>
#include <string.h>

enum { NAMES_PAGE = 500 };
#define IDEMPOTENCY_TTL_US (24 * US_PER_HOUR)

/* ---- which repositories ---- */

/* Names of repositories, in their order. */
struct name_page {
    struct repository_name *rows;
    size_t count;
    struct name_page *next;
};

/* The members while they are found. */
struct roster {
    struct context *ctx;
    const struct cmd_batch_submit *cmd;
    struct batch_part *parts; /* BATCH_MEMBERS_MAX of them. */
    size_t count;
    struct batch_part **by_key; /* Sorted by sort_keys. */
    struct name_page *names;    /* All repositories; NULL: not read yet. */
    size_t globs;
};

static enum rc too_large(struct roster *roster)
{
    return err_set(roster->ctx->err, RC_INVALID, "BATCH_TOO_LARGE",
                   "a batch has at most %d members; make several batches of it", BATCH_MEMBERS_MAX);
}

static struct batch_part *find_part(const struct roster *roster, const char *key)
{
    for (size_t i = 0; i < roster->count; i++)
        if (text_same(roster->parts[i].key, key))
            return &roster->parts[i];
    return NULL;
}

static enum rc add_part(struct roster *roster, const struct batch_part *part)
{
    if (roster->count == BATCH_MEMBERS_MAX)
        return too_large(roster);
    roster->parts[roster->count++] = *part;
    return RC_OK;
}

/* A repository that two patterns name is one member. */
static enum rc add_repository(struct roster *roster, const struct repository_name *row)
{
    if (find_part(roster, row->name) != NULL)
        return RC_OK;
    const struct batch_part part = {
        .key = row->name,
        .repository = row->name,
        .problem = row->quarantined ? "the repository is quarantined" : NULL,
    };
    return add_part(roster, &part);
}

/* Once for all patterns: there may be a thousand of these, and other commits wait meanwhile. */
static enum rc read_names(struct roster *roster)
{
    struct context *ctx = roster->ctx;
    struct name_page **next = &roster->names;
    const char *after = NULL;
    size_t count = NAMES_PAGE;
    enum rc rc = RC_OK;
    if (roster->names != NULL)
        return RC_OK;
    while (rc == RC_OK && count == NAMES_PAGE) {
        struct name_page *page = arena_alloc(ctx->arena, sizeof *page);
        rc = repositories_names(ctx->db, &ctx->workspace_id, after, NAMES_PAGE, ctx->arena,
                                &page->rows, &page->count, ctx->err);
        count = page->count;
        after = count > 0 ? page->rows[count - 1].name : NULL;
        *next = page;
        next = &page->next;
    }
    return rc;
}

static enum rc add_matches(struct roster *roster, size_t at)
{
    struct context *ctx = roster->ctx;
    const char *pattern = roster->cmd->patterns[at];
    size_t matches = 0;
    if (++roster->globs > BATCH_GLOBS_MAX)
        return err_field(ctx->err, RC_INVALID, "BATCH_TOO_LARGE",
                         arena_printf(ctx->arena, "repositories[%zu]", at),
                         "a batch has at most %d globs; write fewer that match more, or names",
                         BATCH_GLOBS_MAX);
    enum rc rc = read_names(roster);
    for (const struct name_page *page = roster->names; rc == RC_OK && page != NULL;
         page = page->next) {
        for (size_t i = 0; rc == RC_OK && i < page->count; i++) {
            if (!glob_match(pattern, page->rows[i].name))
                continue;
            matches++;
            rc = add_repository(roster, &page->rows[i]);
        }
    }
    if (rc == RC_OK && matches == 0)
        return err_field(ctx->err, RC_INVALID, "NO_REPOSITORY_MATCHES",
                         arena_printf(ctx->arena, "repositories[%zu]", at),
                         "no onboarded repository matches %.200s; drover repo list shows them "
                         "(* stops at a slash, ** does not)",
                         pattern);
    return rc;
}

/* One that is not onboarded is a member too: its task will be refused. */
static enum rc look_up(struct roster *roster, const char *name, const char **ret_problem)
{
    struct context *ctx = roster->ctx;
    struct repository_row row;
    enum rc rc = repositories_by_name(ctx->db, &ctx->workspace_id, name, ctx->arena, &row,
                                      ctx->err);
    *ret_problem = NULL;
    if (rc == RC_NOT_FOUND || (rc == RC_OK && row.removed))
        *ret_problem = "the repository is not onboarded";
    else if (rc == RC_OK && row.quarantined_us > 0)
        *ret_problem = "the repository is quarantined";
    if (rc == RC_NOT_FOUND)
        err_clear(ctx->err);
    return rc == RC_NOT_FOUND ? RC_OK : rc;
}

static enum rc add_pattern(struct roster *roster, size_t at)
{
    const char *pattern = roster->cmd->patterns[at];
    if (!glob_is_plain(pattern))
        return add_matches(roster, at);
    struct batch_part part = {.key = pattern, .repository = pattern};
    if (find_part(roster, pattern) != NULL)
        return RC_OK;
    enum rc rc = look_up(roster, pattern, &part.problem);
    return rc == RC_OK ? add_part(roster, &part) : rc;
}

/* ---- tasks of their own ---- */

static enum rc fail_item(struct roster *roster, size_t at, const char *member, const char *text)
{
    return err_field(roster->ctx->err, RC_INVALID, "INVALID_FIELD",
                     arena_printf(roster->ctx->arena, "tasks[%zu].%s", at, member), "%s", text);
}

static enum rc add_item(struct roster *roster, size_t at)
{
    struct context *ctx = roster->ctx;
    const struct batch_item *item = &roster->cmd->items[at];
    const char *key = item->key != NULL ? item->key : item->repository;
    const char *repository = item->repository != NULL ? item->repository : item->key;
    struct batch_part *known = find_part(roster, key);
    if (known != NULL && known->item == NULL && text_same(known->repository, repository)) {
        known->item = item;
        return RC_OK;
    }
    if (known != NULL)
        return fail_item(roster, at, "key",
                         arena_printf(ctx->arena, "two members have the key %.200s", key));
    struct batch_part part = {.key = key, .repository = repository, .item = item};
    enum rc rc = look_up(roster, repository, &part.problem);
    return rc == RC_OK ? add_part(roster, &part) : rc;
}

static enum rc check_description(struct roster *roster)
{
    for (size_t i = 0; !roster->cmd->says_what && i < roster->count; i++) {
        const struct batch_part *part = &roster->parts[i];
        if (part->item == NULL || !part->item->says_what)
            return err_field(roster->ctx->err, RC_INVALID, "INVALID_FIELD", "task.description",
                             "%.200s has neither a description nor an issueNumber; give task one",
                             part->key);
    }
    return RC_OK;
}

/* ---- dependencies ---- */

static int compare_keys(const void *a, const void *b)
{
    const struct batch_part *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

static void sort_keys(struct roster *roster)
{
    roster->by_key = arena_array(roster->ctx->arena, roster->count, sizeof *roster->by_key);
    for (size_t i = 0; i < roster->count; i++)
        roster->by_key[i] = &roster->parts[i];
    qsort(roster->by_key, roster->count, sizeof *roster->by_key, compare_keys);
}

static enum rc resolve_item(struct roster *roster, struct batch_part *part, size_t at)
{
    struct context *ctx = roster->ctx;
    const struct batch_item *item = part->item;
    part->depends_count = item->depends_count;
    part->depends_on = arena_array(ctx->arena, item->depends_count + 1, sizeof(size_t));
    for (size_t i = 0; i < item->depends_count; i++) {
        const struct batch_part wanted = {.key = item->depends_on[i]}, *named = &wanted;
        struct batch_part **found = bsearch(&named, roster->by_key, roster->count,
                                            sizeof *roster->by_key, compare_keys);
        if (found == NULL)
            return fail_item(
                roster, at, "dependsOn",
                arena_printf(ctx->arena, "no member of this batch has the key %.200s", wanted.key));
        part->depends_on[i] = (size_t)(*found - roster->parts);
    }
    return RC_OK;
}

static enum rc check_circle(struct roster *roster)
{
    struct context *ctx = roster->ctx;
    struct batch_member *members = arena_array(ctx->arena, roster->count, sizeof *members);
    size_t at;
    for (size_t i = 0; i < roster->count; i++) {
        members[i].depends_on = roster->parts[i].depends_on;
        members[i].depends_count = roster->parts[i].depends_count;
    }
    if (!batch_has_circle(members, roster->count, ctx->arena, &at))
        return RC_OK;
    return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "tasks",
                     "%.200s depends on itself, by way of others or directly; take one dependency "
                     "of the circle away",
                     roster->parts[at].key);
}

static enum rc resolve_dependencies(struct roster *roster)
{
    size_t edges = 0;
    enum rc rc = RC_OK;
    sort_keys(roster);
    for (size_t i = 0; rc == RC_OK && i < roster->count; i++) {
        struct batch_part *part = &roster->parts[i];
        if (part->item == NULL)
            continue;
        edges += part->item->depends_count;
        rc = resolve_item(roster, part, (size_t)(part->item - roster->cmd->items));
    }
    if (rc == RC_OK && edges > BATCH_EDGES_MAX)
        return err_field(roster->ctx->err, RC_INVALID, "INVALID_FIELD", "tasks",
                         "the members have %zu dependencies together, %d are possible", edges,
                         BATCH_EDGES_MAX);
    return rc == RC_OK ? check_circle(roster) : rc;
}

/* All that can be wrong with the members is found here, before anything is written. */
static enum rc resolve(struct context *ctx, struct cmd_batch_submit *cmd)
{
    struct roster roster = {
        .ctx = ctx,
        .cmd = cmd,
        .parts = arena_array(ctx->arena, BATCH_MEMBERS_MAX, sizeof(struct batch_part)),
    };
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < cmd->pattern_count; i++)
        rc = add_pattern(&roster, i);
    for (size_t i = 0; rc == RC_OK && i < cmd->item_count; i++)
        rc = add_item(&roster, i);
    if (rc == RC_OK && roster.count == 0)
        return err_field(ctx->err, RC_INVALID, "INVALID_FIELD", "repositories",
                         "a batch has at least one member: give repositories, tasks, or both");
    if (rc == RC_OK)
        rc = check_description(&roster);
    if (rc == RC_OK)
        rc = resolve_dependencies(&roster);
    cmd->parts = roster.parts;
    cmd->part_count = roster.count;
    return rc;
}

/* ---- submit ---- */

/* Keys of batches are apart from those of tasks. */
static const char *key_of(struct context *ctx, const struct cmd_batch_submit *cmd)
{
    return arena_printf(ctx->arena, "batch/%s", cmd->idempotency_key);
}

static enum rc look_up_key(struct context *ctx, struct cmd_batch_submit *cmd)
{
    struct idempotency_row row;
    cmd->repeated = false;
    if (cmd->idempotency_key == NULL)
        return RC_OK;
    enum rc rc = idempotency_get(ctx->db, &ctx->workspace_id, key_of(ctx, cmd), ctx->now_us,
                                 ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (!text_same(row.body_sha256, cmd->body_sha256))
        return err_set(ctx->err, RC_INVALID, "IDEMPOTENCY_KEY_REUSED",
                       "this key was used with another body (batch %s); use a new key for a new "
                       "batch",
                       row.task_id.text);
    cmd->repeated = true;
    cmd->batch_id = row.task_id;
    return RC_OK;
}

/* run_id has no meaning here, and may not be none. */
static enum rc keep_key(struct context *ctx, const struct cmd_batch_submit *cmd)
{
    if (cmd->idempotency_key == NULL)
        return RC_OK;
    const struct idempotency_row row = {
        .workspace_id = ctx->workspace_id,
        .key = key_of(ctx, cmd),
        .body_sha256 = cmd->body_sha256,
        .task_id = cmd->batch_id,
        .run_id = cmd->batch_id,
        .expires_us = ctx->now_us + IDEMPOTENCY_TTL_US,
    };
    return idempotency_put(ctx->db, &row, ctx->now_us, ctx->err);
}

static enum rc emit_created(struct context *ctx, const struct cmd_batch_submit *cmd,
                            struct batch_row *row)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "batchId", row->id.text);
    jw_kstr(&body.jw, "name", row->name);
    jw_kint(&body.jw, "members", (int64_t)cmd->part_count);
    if (row->max_active > 0)
        jw_kint(&body.jw, "maxActive", row->max_active);
    if (row->budget_microusd > 0)
        jw_kreal(&body.jw, "maxBudgetUsd", (double)row->budget_microusd / 1e6);
    jw_kstr(&body.jw, "requestedBy", row->requested_by);
    return batch_emit(ctx, row, EV_BATCH_CREATED, &body);
}

/* Numbers of members, as the store has them. */
static struct str write_depends(struct context *ctx, const struct batch_part *part)
{
    if (part->depends_count == 0)
        return (struct str){0};
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, part->depends_count * sizeof "1000," + sizeof "[]");
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < part->depends_count; i++)
        jw_int(&jw, (int64_t)part->depends_on[i] + 1);
    jw_end(&jw, ']');
    return (struct str){arena_strndup(ctx->arena, buf_text(&text), text.len), text.len};
}

static enum rc insert_members(struct context *ctx, const struct cmd_batch_submit *cmd)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < cmd->part_count; i++) {
        const struct batch_part *part = &cmd->parts[i];
        const struct batch_member_row row = {
            .id = context_id(ctx),
            .batch_id = cmd->batch_id,
            .no = (int64_t)i + 1,
            .key = part->key,
            .repository = part->repository,
            .task = part->item != NULL ? part->item->task : (struct str){0},
            .depends_on = write_depends(ctx, part),
            .state = MEMBER_WAITING,
            .updated_us = ctx->now_us,
        };
        rc = batch_members_insert(ctx->db, &row, ctx->err);
    }
    return rc;
}

static enum rc insert(struct context *ctx, struct cmd_batch_submit *cmd)
{
    struct batch_row row = {
        .id = context_id(ctx),
        .workspace_id = ctx->workspace_id,
        .name = cmd->name,
        .status = BATCH_RUNNING,
        .task = cmd->task,
        .max_active = cmd->limits.max_active,
        .budget_microusd = cmd->limits.budget_microusd,
        .stop_failures = cmd->limits.stop_failures,
        .stop_percent = cmd->limits.stop_percent,
        .stop_after = cmd->limits.stop_after,
        .stop_cancels = cmd->stop_cancels,
        .requested_by = ctx->actor.id,
        .created_us = ctx->now_us,
        .updated_us = ctx->now_us,
    };
    cmd->batch_id = row.id;
    enum rc rc = emit_created(ctx, cmd, &row);
    if (rc == RC_OK)
        rc = batches_insert(ctx->db, &row, ctx->err);
    if (rc == RC_OK)
        rc = insert_members(ctx, cmd);
    if (rc == RC_OK)
        rc = timer_start(ctx, TIMER_BATCH, &row.id, ctx->now_us);
    return rc == RC_OK ? keep_key(ctx, cmd) : rc;
}

static enum rc apply_submit(struct context *ctx, struct command *command)
{
    struct cmd_batch_submit *cmd = (struct cmd_batch_submit *)command;
    enum rc rc = cmd->dry_run ? RC_OK : look_up_key(ctx, cmd);
    if (rc != RC_OK || cmd->repeated)
        return rc;
    rc = resolve(ctx, cmd);
    if (rc == RC_OK && !cmd->dry_run)
        rc = insert(ctx, cmd);
    command->made = cmd->batch_id;
    return rc;
}

static const struct command_ops submit_ops = {.name = "batch_submit", .apply = apply_submit};

struct cmd_batch_submit *cmd_batch_submit_new(void)
{
    return command_new(&submit_ops, sizeof(struct cmd_batch_submit));
}

/* ---- pause, resume, cancel ---- */

static const struct batch_order {
    enum batch_status to;
    const char *event, *word;
} orders[BATCH_EV_COUNT] = {
    [BATCH_EV_PAUSE] = {BATCH_PAUSED, EV_BATCH_PAUSED, "paused"},
    [BATCH_EV_RESUME] = {BATCH_RUNNING, EV_BATCH_RESUMED, "resumed"},
    [BATCH_EV_CANCEL] = {BATCH_CANCELLING, EV_BATCH_STOPPING, "cancelled"},
};

static enum rc refuse_move(struct context *ctx, const struct batch_row *row, const char *word)
{
    bool ended = batch_has_ended(row->status);
    return err_set(ctx->err, RC_CONFLICT, ended ? "BATCH_FINISHED" : "BATCH_STOPPING",
                   "batch %s is %s and cannot be %s", row->id.text, batch_status_name(row->status),
                   word);
}

static enum rc emit_order(struct context *ctx, struct batch_row *row,
                          const struct cmd_batch_move *cmd)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "batchId", row->id.text);
    jw_kstr(&body.jw, "name", row->name);
    jw_kstr(&body.jw, "status", batch_status_name(row->status));
    jw_optstr(&body.jw, "reasonCode", row->reason_code);
    jw_optstr(&body.jw, "reason", cmd->reason);
    jw_kstr(&body.jw, "requestedBy", ctx->actor.id);
    return batch_emit(ctx, row, orders[cmd->event].event, &body);
}

static void note_order(struct context *ctx, struct batch_row *row, const struct cmd_batch_move *cmd)
{
    bool goes_on = cmd->event == BATCH_EV_RESUME;
    row->status = orders[cmd->event].to;
    row->stopped_by = goes_on ? NULL : ctx->actor.id;
    row->reason_code = cmd->event == BATCH_EV_CANCEL ? "cancelled" : NULL;
    row->reason = goes_on ? NULL : cmd->reason;
    if (cmd->event == BATCH_EV_CANCEL && cmd->reason == NULL)
        row->reason = arena_printf(ctx->arena, "cancelled by %s", ctx->actor.id);
}

static enum rc apply_move(struct context *ctx, struct command *command)
{
    struct cmd_batch_move *cmd = (struct cmd_batch_move *)command;
    struct batch_row row;
    enum batch_status next;
    enum rc rc = batches_get(ctx->db, &cmd->batch_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    cmd->status = row.status;
    if (row.status == orders[cmd->event].to)
        return RC_OK;
    rc = batch_step(row.status, cmd->event, &next);
    if (rc != RC_OK)
        return refuse_move(ctx, &row, orders[cmd->event].word);
    const struct batch_row stored = row;
    note_order(ctx, &row, cmd);
    rc = emit_order(ctx, &row, cmd);
    if (rc == RC_OK && cmd->event == BATCH_EV_CANCEL)
        rc = timer_start(ctx, TIMER_BATCH_STOP, &row.id, ctx->now_us);
    if (rc == RC_OK)
        rc = batch_advance(ctx, &row, &stored);
    ctx->round->admit = true; /* Queued runs of its members wait for the end of a pause, too. */
    cmd->status = row.status;
    return rc;
}

static const struct command_ops move_ops = {.name = "batch_move", .apply = apply_move};

struct cmd_batch_move *cmd_batch_move_new(enum batch_event event)
{
    struct cmd_batch_move *cmd = command_new(&move_ops, sizeof *cmd);
    cmd->event = event;
    return cmd;
}
