#include "control/run/schemas.h"
#include "core/config/schema_text.h"
#include "store/workspaces.h"
#include <string.h>

enum {
    EVENT_STEPS_MAX = 20000,
    COMMAND_STEPS_MAX = 500000, /* All commands wait for one that checks. */
    STEP_BYTES = 8,             /* Of a document: to open it takes as long as a step. */
    SHOWN_MAX = 3,
};

/* ---- registering ---- */

/* One at a time, so that versions follow each other and the limit holds on many nodes too. */
static enum rc take_turn(struct context *ctx)
{
    return db_is_shared(ctx->db) ? workspaces_lock(ctx->db, &ctx->workspace_id, ctx->err) : RC_OK;
}

static enum rc check_room(struct context *ctx, const struct cmd_schema_put *cmd, int64_t last)
{
    bool is_there = cmd->changes != NULL; /* It was compared with the version before. */
    int64_t count = 0;
    if (last >= SCHEMA_VERSIONS_MAX)
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_SCHEMAS",
                       "%s has %d versions, and no more are possible; register it by another name",
                       cmd->name, SCHEMA_VERSIONS_MAX);
    enum rc rc = schemas_count(ctx->db, &count, ctx->err);
    if (rc == RC_OK && !is_there && count >= SCHEMAS_MAX)
        return err_set(ctx->err, RC_CONFLICT, "TOO_MANY_SCHEMAS",
                       "there are %d schemas, and no more are possible; remove one that is not "
                       "used",
                       SCHEMAS_MAX);
    return rc;
}

static enum rc refuse_breaking(struct context *ctx, const struct cmd_schema_put *cmd,
                               int64_t version)
{
    const struct schema_changes *changes = cmd->changes;
    const char *shown = "";
    size_t count = 0;
    for (size_t i = 0; i < changes->count && count < SHOWN_MAX; i++) {
        const struct schema_change *each = &changes->items[i];
        if (!each->breaking)
            continue;
        shown = arena_printf(ctx->arena, "%s%s%s%s%s", shown, count > 0 ? "; " : "", each->path,
                             each->path[0] != '\0' ? ": " : "", each->why);
        count++;
    }
    return err_set(ctx->err, RC_CONFLICT, "SCHEMA_BREAKING",
                   "%zu breaking change%s from version %lld: %.240s. Register it by another name, "
                   "or send it with ?force=true",
                   changes->breaking, changes->breaking == 1 ? "" : "s", (long long)version, shown);
}

/* Compares with the latest version.  *ret_same: it is that one. */
static enum rc compare_latest(struct context *ctx, struct cmd_schema_put *cmd, bool *ret_same)
{
    CLEANUP(schema_release) struct schema before = {0};
    CLEANUP(schema_release) struct schema after = {0};
    struct schema_row row;
    enum rc rc = schemas_get(ctx->db, cmd->name, 0, ctx->arena, &row, ctx->err);
    if (rc == RC_NOT_FOUND) {
        err_clear(ctx->err);
        return RC_OK;
    }
    if (rc == RC_OK)
        rc = schema_open(&before, row.document, ctx->err);
    if (rc == RC_OK)
        rc = schema_open(&after, cmd->document, ctx->err);
    if (rc != RC_OK)
        return rc;
    const struct schema_compare_options options = {cmd->same_meaning};
    cmd->changes = arena_alloc(&cmd->base.arena, sizeof *cmd->changes);
    (void)schema_compare(&before, &after, &options, &cmd->base.arena, cmd->changes);
    *ret_same = text_same(js_text(before.tree, ctx->arena), js_text(after.tree, ctx->arena));
    if (*ret_same)
        cmd->version = row.version;
    else if (cmd->changes->breaking > 0 && !cmd->force)
        return refuse_breaking(ctx, cmd, row.version);
    return RC_OK;
}

static enum rc apply_put(struct context *ctx, struct command *command)
{
    struct cmd_schema_put *cmd = (struct cmd_schema_put *)command;
    int64_t last = 0;
    bool same = false;
    cmd->changes = NULL;
    enum rc rc = take_turn(ctx);
    if (rc == RC_OK)
        rc = compare_latest(ctx, cmd, &same);
    cmd->is_new = !same;
    if (rc != RC_OK || same)
        return rc;
    rc = schemas_last_version(ctx->db, cmd->name, &last, ctx->err);
    if (rc == RC_OK)
        rc = check_room(ctx, cmd, last);
    if (rc != RC_OK)
        return rc;
    cmd->version = last + 1;
    const struct schema_row row = {.name = cmd->name,
                                   .version = cmd->version,
                                   .document = cmd->document,
                                   .created_by = ctx->actor.id,
                                   .created_us = ctx->now_us};
    return schemas_insert(ctx->db, &row, ctx->err);
}

static const struct command_ops put_ops = {.name = "schema_put", .apply = apply_put};

struct cmd_schema_put *cmd_schema_put_new(void)
{
    return command_new(&put_ops, sizeof(struct cmd_schema_put));
}

static enum rc apply_remove(struct context *ctx, struct command *command)
{
    const struct cmd_schema_remove *cmd = (const struct cmd_schema_remove *)command;
    return schemas_remove(ctx->db, cmd->name, ctx->now_us, ctx->err);
}

static const struct command_ops remove_ops = {.name = "schema_remove", .apply = apply_remove};

struct cmd_schema_remove *cmd_schema_remove_new(void)
{
    return command_new(&remove_ops, sizeof(struct cmd_schema_remove));
}

/* ---- events ---- */

void schema_use_release(struct schema_use *use)
{
    schema_release(&use->schema);
}

static enum rc load(struct context *ctx, struct schema_use *use, const char *wanted)
{
    char name[SCHEMA_NAME_MAX + 1];
    int64_t version;
    bool is_urn = text_starts(wanted, SCHEMA_URN); /* Names of documents are no types. */
    struct schema_row row = {
        .document = schema_text_of(is_urn ? wanted
                                          : arena_printf(ctx->arena, SCHEMA_URN "%s", wanted))};
    enum rc rc = RC_OK;
    schema_release(&use->schema);
    text_copy(use->name, sizeof use->name, wanted);
    use->is_known = false;
    if (row.document.len == 0) {
        if (!schema_name_parse(wanted, name, &version))
            return RC_OK;
        rc = schemas_get(ctx->db, name, version, ctx->arena, &row, ctx->err);
        if (rc == RC_NOT_FOUND) {
            err_clear(ctx->err);
            return RC_OK;
        }
    }
    use->steps += row.document.len / STEP_BYTES;
    if (rc == RC_OK)
        rc = schema_open(&use->schema, row.document, ctx->err);
    use->is_known = rc == RC_OK;
    return rc;
}

static enum rc check_data(struct context *ctx, struct schema_use *use,
                          const struct cloud_event *event)
{
    const struct schema_options options = {.steps_max = EVENT_STEPS_MAX, .used = &use->steps};
    struct faults faults = {0};
    if (event->is_binary || !cloud_event_is_json(event->data_type))
        return err_field(ctx->err, RC_INVALID, "SCHEMA_MISMATCH", "datacontenttype",
                         "the schema %s is of JSON, and the data is not", use->name);
    if (schema_check(&use->schema, event->value, &options, ctx->arena, &faults))
        return RC_OK;
    const struct fault *first = &faults.items[0];
    const char *path = arena_printf(ctx->arena, "data%s%s",
                                    first->path[0] == '\0' || first->path[0] == '[' ? "" : ".",
                                    first->path);
    size_t more = faults.count + faults.left_out - 1;
    const char *rest = more > 0 ? arena_printf(ctx->arena, " (and %zu more)", more) : "";
    return err_field(ctx->err, RC_INVALID, "SCHEMA_MISMATCH", path,
                     "%.80s %.250s%s: the schema is %.100s", path, first->message, rest, use->name);
}

enum rc schema_check_event(struct context *ctx, struct schema_use *use,
                           const struct cloud_event *event)
{
    bool named = event->data_schema != NULL && text_starts(event->data_schema, SCHEMA_URN);
    const char *wanted = named ? event->data_schema : event->type;
    enum rc rc = RC_OK;
    if (use->steps > COMMAND_STEPS_MAX)
        return err_set(ctx->err, RC_TOO_LARGE, "TOO_MANY_EVENTS",
                       "to check these events by their schemas takes too long: send them in parts");
    if (strcmp(use->name, wanted) != 0)
        rc = load(ctx, use, wanted);
    if (rc != RC_OK)
        return rc;
    if (use->is_known)
        return check_data(ctx, use, event);
    if (named)
        return err_field(ctx->err, RC_INVALID, "SCHEMA_NOT_FOUND", "dataschema",
                         "there is no schema %.250s; GET /v1/schemas lists them", wanted);
    return RC_OK;
}
