#include "control/watch/audit.h"
#include "control/commit/context.h"
#include "store/settings.h"
#include <inttypes.h>

/* The version of the schema that the audit log knows of. */
#define SCHEMA_SETTING "audit_schema"

static enum rc apply_audit(struct context *ctx, struct command *command)
{
    context_audit(ctx, &((struct cmd_audit *)command)->entry);
    return RC_OK;
}

static const struct command_ops audit_ops = {.name = "audit", .apply = apply_audit};

struct cmd_audit *cmd_audit_new(void)
{
    return command_new(&audit_ops, sizeof(struct cmd_audit));
}

static enum rc apply_schema(struct context *ctx, struct command *command)
{
    (void)command;
    const char *known = NULL;
    const char *now = arena_printf(ctx->batch_arena, "%" PRId64, store_schema_version());
    enum rc rc = settings_get(ctx->db, SCHEMA_SETTING, ctx->batch_arena, &known, ctx->err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    if (text_same(known, now))
        return RC_OK;
    context_audit(ctx, &(struct audit_entry){
                           .action = "schema.migrate",
                           .resource_id = now,
                           .details = audit_details(ctx->batch_arena, "from", known, NULL),
                       });
    return settings_put(ctx->db, SCHEMA_SETTING, now, ctx->err);
}

static const struct command_ops schema_ops = {.name = "audit_schema", .apply = apply_schema};

struct cmd_audit_schema *cmd_audit_schema_new(void)
{
    return command_new(&schema_ops, sizeof(struct cmd_audit_schema));
}
