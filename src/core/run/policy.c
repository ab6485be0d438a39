/*
 * policy.c - mode x risk, one table; forbidden paths; and how both are explained.
 */
#include "core/run/policy.h"
#include "base/rc.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { DETAILS_BYTES_MAX = 64 * 1024 };

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

static const char *const decision_names[] = {
    [POLICY_ALLOW] = "allowed",
    [POLICY_ASK] = "asked",
    [POLICY_DENY] = "denied",
};

enum policy_verdict policy_decide(enum mode mode, enum risk risk, enum approval_rule rule)
{
    assert((unsigned)mode < MODE_COUNT);
    assert((unsigned)risk < RISK_COUNT);
    assert((unsigned)rule < APPROVAL_RULE_COUNT);
    return ruled[rule][table[mode][risk]];
}

const char *policy_deny_code(void)
{
    return "policy.execution_mode_not_allowed";
}

/* ---- decisions, explained ---- */

void policy_write(struct jw *jw, const struct policy_decision *decision)
{
    jw_kstr(jw, "policyId", decision->policy_id);
    jw_kstr(jw, "decision", decision_names[decision->verdict]);
    jw_kstr(jw, "reasonCode", decision->reason_code);
    jw_kstr(jw, "reason", decision->reason);
    jw_kstr(jw, "resourceType", decision->resource_type);
    jw_kstr(jw, "resourceId", decision->resource_id);
    jw_kraw(jw, "details", decision->details);
    jw_optstr(jw, "allowed", decision->allowed);
    jw_optstr(jw, "overrideBy", decision->override_by);
}

static struct str details_end(struct buf *buf, struct jw *jw, struct arena *arena)
{
    jw_end(jw, '}');
    assert(!buf->overflow);
    return (struct str){str_dup(arena, buf_str(buf)), buf->len};
}

static struct str mode_details(const struct mode_question *question, struct arena *arena)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, DETAILS_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "executionMode", mode_name(question->mode));
    jw_kstr(&jw, "riskLevel", risk_name(question->risk));
    jw_kstr(&jw, "approval", approval_rule_names[question->rule]);
    jw_kbool(&jw, "overridden", question->overridden);
    return details_end(&buf, &jw, arena);
}

/* The modes in which a task of this risk is accepted. */
static const char *modes_allowed(enum risk risk, struct arena *arena)
{
    const char *list = "";
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (table[mode][risk] != POLICY_DENY)
            list = arena_printf(arena, "%s%s%s%s", list, list[0] == '\0' ? "" : ", ",
                                mode_name((enum mode)mode),
                                table[mode][risk] == POLICY_ASK ? " (a person is asked)" : "");
    return list;
}

struct policy_decision policy_on_mode(const struct mode_question *question, struct arena *arena)
{
    static const char *const codes[] = {
        [POLICY_ALLOW] = "mode_and_risk_allowed",
        [POLICY_ASK] = "approval_required",
        [POLICY_DENY] = "execution_mode_not_allowed",
    };
    static const char *const words[] = {
        [POLICY_ALLOW] = "is allowed",
        [POLICY_ASK] = "needs a person's approval",
        [POLICY_DENY] = "is not allowed",
    };
    enum policy_verdict verdict = policy_decide(question->mode, question->risk, question->rule);
    if (verdict == POLICY_DENY && question->overridden)
        verdict = ruled[question->rule][POLICY_ALLOW];
    bool denied = verdict == POLICY_DENY;
    return (struct policy_decision){
        .policy_id = POLICY_EXECUTION_MODE,
        .verdict = verdict,
        .reason_code = codes[verdict],
        .reason = arena_printf(arena, "%s %s for tasks of %s risk", mode_name(question->mode),
                               words[verdict], risk_name(question->risk)),
        .resource_type = question->resource_type,
        .resource_id = question->resource_id,
        .details = mode_details(question, arena),
        .allowed = denied ? modes_allowed(question->risk, arena) : NULL,
        .override_by = denied ? "an admin, with override: {reason}" : NULL,
    };
}

/* ---- forbidden paths ---- */

const char *policy_forbids(const char *const *forbidden, const char *path)
{
    for (size_t i = 0; forbidden[i] != NULL; i++)
        if (glob_covers(forbidden[i], path))
            return forbidden[i];
    return NULL;
}

struct forbidden_paths {
    const char *paths[POLICY_PATHS_MAX];
    const char *globs[POLICY_PATHS_MAX];
    size_t count;
};

static void find_forbidden(const struct patch_question *question, struct forbidden_paths *found)
{
    found->count = 0;
    for (size_t i = 0; i < question->path_count && found->count < POLICY_PATHS_MAX; i++) {
        const char *glob = policy_forbids(question->forbidden, question->paths[i]);
        if (glob != NULL) {
            found->paths[found->count] = question->paths[i];
            found->globs[found->count++] = glob;
        }
    }
}

static struct str path_details(const struct forbidden_paths *found, struct arena *arena)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, DETAILS_BYTES_MAX * 2);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '{');
    if (found->count > 0) {
        jw_kstr(&jw, "path", found->paths[0]);
        jw_kstr(&jw, "rule", found->globs[0]);
    }
    jw_key(&jw, "paths");
    jw_begin(&jw, '[');
    for (size_t i = 0; i < found->count; i++)
        jw_str(&jw, found->paths[i]);
    jw_end(&jw, ']');
    return details_end(&buf, &jw, arena);
}

static const char *describe_forbidden(const struct forbidden_paths *found, struct arena *arena)
{
    if (found->count == 0)
        return "the patch changes a path that policy.forbiddenPaths forbids";
    return arena_printf(arena, "the patch changes %s, which %s forbids%s", found->paths[0],
                        found->globs[0], found->count > 1 ? ", and more like it" : "");
}

struct policy_decision policy_on_patch(const struct patch_question *question, struct arena *arena,
                                       const char *ret_paths[POLICY_PATHS_MAX], size_t *ret_count)
{
    struct forbidden_paths found;
    find_forbidden(question, &found);
    bool denied = found.count > 0 || question->forbidden_count > 0;
    struct policy_decision decision = {
        .policy_id = POLICY_FORBIDDEN_PATHS,
        .verdict = denied ? POLICY_DENY : POLICY_ALLOW,
        .reason_code = denied ? "forbidden_path" : "paths_allowed",
        .reason = "the patch touches no forbidden path",
        .resource_type = "patch",
        .resource_id = question->patch_id,
        .details = path_details(&found, arena),
    };
    if (denied) {
        decision.reason = describe_forbidden(&found, arena);
        decision.allowed = "a patch that leaves the paths of policy.forbiddenPaths alone";
        decision.override_by = question->overridable
                                   ? "the person who answers the approval, with a reason"
                                   : NULL;
    }
    if (ret_paths != NULL) {
        memcpy(ret_paths, found.paths, found.count * sizeof found.paths[0]);
        *ret_count = found.count;
    }
    return decision;
}

/* ---- lists of policies ---- */

bool policy_list_has(const char *list, const char *policy_id)
{
    size_t len = strlen(policy_id);
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, ",");
        if (word == len && strncmp(list, policy_id, len) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

const char *policy_list_add(const char *list, const char *policy_id, struct arena *arena)
{
    if (text_empty(list))
        return policy_id;
    return policy_list_has(list, policy_id) ? list : arena_printf(arena, "%s,%s", list, policy_id);
}
