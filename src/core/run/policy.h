/*
 * policy.h - what people allow, as tables, and every decision explained.
 *
 *     execution_mode    may a task of this risk run in this mode?            policy.c, table
 *     forbidden_paths   does a patch touch a forbidden path?                 policy.forbiddenPaths
 *
 * A decision names the question, the policy that decided, the reason, what would be allowed instead
 * and who may override it.  Secrets in a patch are no policy of this kind: no role overrides them.
 */
#ifndef CORE_RUN_POLICY_H
#define CORE_RUN_POLICY_H
#include "base/jw.h"
#include "core/run/task.h"

enum policy_verdict { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };
enum approval_rule { APPROVAL_AUTO, APPROVAL_ALWAYS, APPROVAL_NEVER, APPROVAL_RULE_COUNT };

extern const char *const approval_rule_names[]; /* NULL-terminated: auto always never. */

#define POLICY_EXECUTION_MODE  "execution_mode"
#define POLICY_FORBIDDEN_PATHS "forbidden_paths"
#define POLICY_FORBIDDEN_CODE  "policy.forbidden_path" /* A run that fails by it. */

/* always asks where the table allows; never allows where it asks; a denial stands. */
enum policy_verdict policy_decide(enum mode mode, enum risk risk, enum approval_rule rule);
const char *policy_deny_code(void); /* policy.execution_mode_not_allowed */

struct policy_decision {
    const char *policy_id;
    enum policy_verdict verdict;
    const char *reason_code; /* approval_required, forbidden_path, ... */
    const char *reason;      /* A sentence. */
    const char *resource_type;
    const char *resource_id;
    struct str details;      /* A JSON object. */
    const char *allowed;     /* What would be allowed; NULL unless denied. */
    const char *override_by; /* Who may override, and how; NULL: not possible, or nothing to. */
};
/* policyId, decision (allowed, asked, denied), reasonCode, ... as members of an open object. */
void policy_write(struct jw *jw, const struct policy_decision *decision);

struct mode_question {
    const char *resource_type, *resource_id; /* task, or the patch that is to be published */
    enum mode mode;
    enum risk risk;
    enum approval_rule rule;
    bool overridden; /* An admin has let it in: what the table denies is allowed. */
};
struct policy_decision policy_on_mode(const struct mode_question *question, struct arena *arena);

struct patch_question {
    const char *patch_id;
    const char *const *forbidden; /* NULL-terminated globs */
    const char *const *paths;     /* Of the patch. */
    size_t path_count;
    int64_t forbidden_count; /* As the worker counted them, of all that the patch has. */
    bool overridable;        /* policy.override: ask */
};
enum { POLICY_PATHS_MAX = 64 }; /* So many are named in a decision. */
/* *ret_paths: those that are forbidden, in order, at most POLICY_PATHS_MAX; may be NULL. */
struct policy_decision policy_on_patch(const struct patch_question *question, struct arena *arena,
                                       const char *ret_paths[POLICY_PATHS_MAX], size_t *ret_count);
/* The glob that forbids the path, or NULL. */
const char *policy_forbids(const char *const *forbidden, const char *path);

/* A list of policy names, as a run keeps them: "execution_mode,forbidden_paths". */
bool policy_list_has(const char *list, const char *policy_id);
const char *policy_list_add(const char *list, const char *policy_id, struct arena *arena);
#endif
