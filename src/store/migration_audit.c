/*
 * migration_audit.c - the tables of audit.c: the audit log and its head.
 */
#include "store/migrate.h"

const char *const migration_audit[] = {
    /* No row is ever changed or deleted.  seq is not made by the database: see audit.h. */
    "CREATE TABLE audit_log ("
    " seq {int} NOT NULL PRIMARY KEY,"
    " time_us {int} NOT NULL,"
    " actor_type {text},"
    " actor_id {text},"
    " token_id {text},"
    " role {text},"
    " address {text},"
    " action {text} NOT NULL,"
    " resource_type {text},"
    " resource_id {text},"
    " outcome {text} NOT NULL,"
    " code {text},"
    " count {int} NOT NULL,"
    " request_id {text},"
    " details {text}," /* JSON, as text: the hash is over its bytes. */
    " prev_hash {text} NOT NULL,"
    " hash {text} NOT NULL) {plain_table}",
    "CREATE INDEX audit_log_time ON audit_log (time_us)",

    "CREATE TABLE audit_head ("
    " id {int} NOT NULL PRIMARY KEY CHECK (id = 1),"
    " seq {int} NOT NULL,"
    " hash {text} NOT NULL) {keyed_table}",
    "INSERT INTO audit_head (id, seq, hash) VALUES (1, 0,"
    " '0000000000000000000000000000000000000000000000000000000000000000')",
    NULL,
};
