/*
 * audit.h - commands for audit rows without a change of their own: refusals, and what the server
 * itself does.
 */
#ifndef CONTROL_WATCH_AUDIT_H
#define CONTROL_WATCH_AUDIT_H
#include "control/commit/command.h"
#include "core/audit/audit.h"

/* The entry's texts live in the command's arena, or longer.  Without actor_type it is the
   command's actor. */
struct cmd_audit {
    struct command base;
    struct audit_entry entry;
};
struct cmd_audit *cmd_audit_new(void);

/* At the start of a server: records that the schema of the store was brought forward, or made. */
struct cmd_audit_schema {
    struct command base;
};
struct cmd_audit_schema *cmd_audit_schema_new(void);
#endif
