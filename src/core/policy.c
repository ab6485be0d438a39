/*
 * policy.c - mode x risk, one table.
 */
#include "core/policy.h"
#include <assert.h>
#include <stddef.h>

static const enum policy_verdict table[MODE_COUNT][RISK_COUNT] = {
    /*                       low           medium        high */
    [MODE_PATCH_ONLY] = {POLICY_ALLOW, POLICY_ALLOW, POLICY_ALLOW},
    [MODE_SUPERVISED_PR] = {POLICY_ALLOW, POLICY_ALLOW, POLICY_ASK},
    [MODE_AUTONOMOUS_PR] = {POLICY_ALLOW, POLICY_ASK, POLICY_DENY},
};

/* What a rule makes of the table's verdict. */
static const enum policy_verdict ruled[APPROVAL_RULE_COUNT][POLICY_DENY + 1] = {
    /*                   allow         ask           deny */
    [APPROVAL_AUTO] = {POLICY_ALLOW, POLICY_ASK, POLICY_DENY},
    [APPROVAL_ALWAYS] = {POLICY_ASK, POLICY_ASK, POLICY_DENY},
    [APPROVAL_NEVER] = {POLICY_ALLOW, POLICY_ALLOW, POLICY_DENY},
};

const char *const approval_rule_names[] = {
    [APPROVAL_AUTO] = "auto",
    [APPROVAL_ALWAYS] = "always",
    [APPROVAL_NEVER] = "never",
    [APPROVAL_RULE_COUNT] = NULL,
};

static const char *const verdict_names[] = {
    [POLICY_ALLOW] = "allow",
    [POLICY_ASK] = "ask",
    [POLICY_DENY] = "deny",
};

enum policy_verdict policy_decide(enum mode mode, enum risk risk, enum approval_rule rule)
{
    assert((unsigned)mode < MODE_COUNT);
    assert((unsigned)risk < RISK_COUNT);
    assert((unsigned)rule < APPROVAL_RULE_COUNT);
    return ruled[rule][table[mode][risk]];
}

const char *policy_verdict_name(enum policy_verdict verdict)
{
    assert((unsigned)verdict <= POLICY_DENY);
    return verdict_names[verdict];
}

const char *policy_deny_code(void)
{
    return "policy.execution_mode_not_allowed";
}
