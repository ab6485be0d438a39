/*
 * policy.h - may a task of this risk run in this mode?  One table.
 */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H
#include "core/task.h"

enum policy_verdict { POLICY_ALLOW, POLICY_ASK, POLICY_DENY };
enum approval_rule { APPROVAL_AUTO, APPROVAL_ALWAYS, APPROVAL_NEVER, APPROVAL_RULE_COUNT };

extern const char *const approval_rule_names[]; /* NULL-terminated: auto always never. */

/* always asks where the table allows; never allows where it asks; a denial stands. */
enum policy_verdict policy_decide(enum mode mode, enum risk risk, enum approval_rule rule);
const char *policy_verdict_name(enum policy_verdict verdict);
const char *policy_deny_code(void); /* policy.execution_mode_not_allowed */
#endif
