/*
 * schemas.h - the registry: schemas that clients register for the types of their events, version by
 * version, and events against them.
 *
 * A new version must be compatible with the latest one (core/config/schema_change.h), unless it is
 * forced.  The same document again makes no new version.
 */
#ifndef CONTROL_RUN_SCHEMAS_H
#define CONTROL_RUN_SCHEMAS_H
#include "control/commit/command.h"
#include "control/commit/context.h"
#include "core/cloud_event.h"
#include "core/config/schema_change.h"
#include "store/schemas.h"

enum { SCHEMAS_MAX = 1000, SCHEMA_VERSIONS_MAX = 1000, SCHEMA_DOCUMENT_MAX = 256 * 1024 };

struct cmd_schema_put { /* RC_CONFLICT: SCHEMA_BREAKING, TOO_MANY_SCHEMAS. */
    struct command base;
    const char *name;
    struct str document; /* JSON that opens as a schema. */
    bool force;          /* A breaking change is accepted, */
    bool same_meaning;   /* or the descriptions that changed mean the same. */
    int64_t version;     /* Out */
    bool is_new;
    struct schema_changes *changes; /* From the version before; NULL: it is the first. */
};
struct cmd_schema_put *cmd_schema_put_new(void);

struct cmd_schema_remove { /* With all its versions.  RC_NOT_FOUND */
    struct command base;
    const char *name;
};
struct cmd_schema_remove *cmd_schema_remove_new(void);

/* Schemas that one command has used: the last one is kept open. */
struct schema_use {
    char name[256]; /* As it was asked for; "": none yet. */
    bool is_known;
    size_t steps; /* That all events have taken. */
    struct schema schema;
};
void schema_use_release(struct schema_use *use); /* For CLEANUP too. */

/*
 * Does the data fit the schema that dataschema names (urn:drover:schema:NAME:VERSION), else the
 * latest one that is registered for the type, if there is one?
 * RC_INVALID: SCHEMA_NOT_FOUND, SCHEMA_MISMATCH.  RC_TOO_LARGE: the events before it have taken as
 * long as one command may.
 */
MUST_USE enum rc schema_check_event(struct context *ctx, struct schema_use *use,
                                    const struct cloud_event *event);
#endif
