/*
 * audit.h - one row of the audit log: who did what to which resource, how it ended, and the hash
 * that chains it to the row before it.
 *
 * The hash is SHA-256, in hexadecimal, over the members as netstrings (LENGTH:BYTES,) in this
 * order; a number is decimal, a missing text is empty:
 *
 *     "drover-audit-1" seq timeUs actorType actorId tokenId role address action resourceType
 *     resourceId outcome code count requestId details prevHash
 *
 * prevHash is the hash of row seq - 1; of row 1 it is AUDIT_NO_HASH.  So no member, no order and no
 * row but the last ones can change without a hash that no longer fits.
 */
#ifndef CORE_AUDIT_AUDIT_H
#define CORE_AUDIT_AUDIT_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/js.h"
#include "base/jw.h"
#include <stdbool.h>
#include <stdint.h>

#define AUDIT_NO_HASH "0000000000000000000000000000000000000000000000000000000000000000"

/* How it ended. */
#define AUDIT_DONE    "done"
#define AUDIT_DENIED  "denied"  /* By role, scope or policy. */
#define AUDIT_REFUSED "refused" /* Not valid, or not in this state. */
#define AUDIT_FAILED  "failed"  /* The server, the database or a forge. */

/* Of texts that clients choose, which are cut; of details; of a row as JSON. */
enum { AUDIT_TEXT_MAX = 256, AUDIT_DETAILS_MAX = 2048, AUDIT_JSON_MAX = 16 * 1024 };

/* Also stored: a new member means a column in store/audit.c, a migration, and another version of
   the hash.  Texts may be NULL. */
struct audit_entry {
    int64_t seq; /* From 1, without a gap, in the order of commits. */
    int64_t time_us;
    const char *actor_type, *actor_id; /* As of events: core/event.h */
    const char *token_id;              /* Of a token of the store. */
    const char *role;
    const char *address; /* An IP address, or "socket:UID". */
    const char *action;  /* "task.submit" */
    const char *resource_type, *resource_id;
    const char *outcome; /* AUDIT_... */
    const char *code;    /* Why, unless it was done: "ROLE_NOT_ALLOWED" */
    int64_t count;       /* Calls that the row stands for: refusals are gathered. */
    const char *request_id;
    const char *details;          /* A JSON object, without secrets and bodies. */
    const char *prev_hash, *hash; /* As stored. */
};

/* What the hash of the entry should be, by its members and prev_hash. */
void audit_hash(const struct audit_entry *entry, char to[SHA256_TEXT_BYTES]);

/* Should the event log have a copy, for those who watch for abuse: denials, overrides, tokens,
   secrets? */
bool audit_is_security(const struct audit_entry *entry);

/* As a JSON object: in listings, exports and events. */
void audit_write(struct jw *jw, const struct audit_entry *entry);
/* The inverse.  Texts live in the tree or the arena.  false: members are missing or wrong. */
MUST_USE bool audit_read(const struct js *tree, struct arena *arena, struct audit_entry *ret_entry);

/* The first bytes of a text, cut between characters; NULL for NULL. */
const char *audit_text(const char *text, struct arena *arena);
/* The same without what looks like a secret (core/text/secrets.h). */
const char *audit_words(const char *text, struct arena *arena);
/* {"key": "text", ...} of pairs, ended by a NULL key.  Texts go through audit_words; a pair whose
   text is NULL or empty is left out.  NULL when none is left. */
const char *audit_details(struct arena *arena, const char *key, ...) __attribute__((sentinel));
#endif
