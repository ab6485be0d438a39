#include "core/run/worker_report.h"
#include "core/event_types.h"
#include "core/judge_kind.h"
#include "core/publish_parts.h"
#include "core/report_shape.h"
#include "core/run/tool_facts.h"
#include "core/step_kind.h"
#include <stdio.h>

enum { ARTIFACTS_MAX = 64 };

/* ---- results ----
   What the result of every step may have; the rest is in the row of the step. */

static const char *const artifact_kinds[] = {
    "prompt",      "plan",     "patch",      "redacted_patch", "given_patch", "agent_log", "report",
    "certificate", "feedback", "attachment", "judge_report",   "issue",       NULL};

static const struct report_field artifact_fields[] = {
    {"kind", KIND_CHOICE, REQUIRED, .choices = artifact_kinds},
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"sha256", KIND_SHA256, .required = REQUIRED},
    {"bytes", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
};
static const struct report_shape artifact_shape = REPORT_SHAPE(artifact_fields);

static const struct report_field common_fields[] = {
    {"artifacts", KIND_LIST, OPTIONAL, .max = ARTIFACTS_MAX, .shape = &artifact_shape},
};
static const struct report_shape common_shape = REPORT_SHAPE(common_fields);

/* ---- events ----
   What an agent may leave out or choose is optional and free text: a call that is refused loses all
   its events, and an agent must not be able to hide its tool calls behind an event of its own. */

static const char *const tool_statuses[] = {"requested", "allowed", "started",   "completed",
                                            "failed",    "denied",  "timed_out", NULL};
static const char *const snapshot_reasons[] = {"interval", "cancelled", "timed_out", "cut_off",
                                               "failed",   "shutdown",  "recovered", "ended",
                                               "swept",    NULL};

static const struct report_field message_fields[] = {
    {"text", KIND_TEXT, OPTIONAL, .max = TEXT_MAX}};
static const struct report_field tool_fields[] = {
    {"name", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"runId", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"toolNamespace", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"toolName", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"riskLevel", KIND_CHOICE, OPTIONAL, .choices = tool_risk_names},
    {"summary", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"status", KIND_CHOICE, OPTIONAL, .choices = tool_statuses},
    {"toolCallId", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"argumentsHash", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"exitCode", KIND_INT, .required = OPTIONAL},
};
static const char *const account_statuses[] = {"allowed", "allowed_warning", "rejected", NULL};
static const struct report_field account_fields[] = {
    {"account", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES}, /* What it says; not believed. */
    {"window", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"utilization", KIND_NUMBER, OPTIONAL, .max = 1},
    {"resetsAt", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"status", KIND_CHOICE, OPTIONAL, .choices = account_statuses},
};
static const struct report_field turn_fields[] = {
    {"turns", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"cachedInputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const struct report_field verification_fields[] = {
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"verifierName", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"command", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct report_field judge_started_fields[] = {
    {"judgeType", KIND_CHOICE, OPTIONAL, .choices = judge_kind_names},
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
};
static const struct report_field request_fields[] = {
    {"branch", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES}};
static const struct report_field publish_failed_fields[] = {
    {"branch", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"parts", KIND_LIST, REQUIRED, .max = PART_COUNT, .shape = &publish_parts_shape},
};
static const struct report_field cost_fields[] = {
    {"source", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"name", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},
};
static const struct report_field told_plan_fields[] = {
    {"text", KIND_TEXT, REQUIRED, .max = TEXT_MAX},
    {"reason", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct report_field session_fields[] = {
    {"sessionId", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"attempt", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"reason", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const struct report_field delivered_fields[] = {
    {"seq", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"attempt", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
};
static const struct report_field snapshot_taken_fields[] = {
    {"ref", KIND_REF, .required = REQUIRED},
    {"commit", KIND_COMMIT, .required = REQUIRED},
    {"files", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"attempt", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"reason", KIND_CHOICE, REQUIRED, .choices = snapshot_reasons},
    {"worker", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"mirror", KIND_PATH, .required = REQUIRED},
};
static const struct report_field snapshot_published_fields[] = {
    {"ref", KIND_REF, .required = REQUIRED},
    {"originRef", KIND_REF, .required = REQUIRED},
    {"commit", KIND_COMMIT, .required = REQUIRED},
};
static const struct report_field snapshot_failed_fields[] = {
    {"keptAt", KIND_PATH, .required = OPTIONAL},
    {"worker", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};

static const struct event_shape {
    const char *type;
    struct report_shape shape;
} event_shapes[] = {
    {EV_AGENT_MESSAGE, REPORT_SHAPE(message_fields)},
    {EV_TOOL_CALL_REQUESTED, REPORT_SHAPE(tool_fields)},
    {EV_TOOL_CALL_ALLOWED, REPORT_SHAPE(tool_fields)},
    {EV_TOOL_CALL_STARTED, REPORT_SHAPE(tool_fields)},
    {EV_TOOL_CALL_COMPLETED, REPORT_SHAPE(tool_fields)},
    {EV_TOOL_CALL_FAILED, REPORT_SHAPE(tool_fields)},
    {EV_TOOL_CALL_DENIED, REPORT_SHAPE(tool_fields)},
    {EV_TOOL_CALL_TIMED_OUT, REPORT_SHAPE(tool_fields)},
    {EV_MODEL_TURN_COMPLETED, REPORT_SHAPE(turn_fields)},
    {EV_VERIFICATION_STARTED, REPORT_SHAPE(verification_fields)},
    {EV_JUDGE_STARTED, REPORT_SHAPE(judge_started_fields)},
    {EV_PR_CREATION_REQUESTED, REPORT_SHAPE(request_fields)},
    {EV_PR_CREATION_FAILED, REPORT_SHAPE(publish_failed_fields)},
    {EV_COST_RECORDED, REPORT_SHAPE(cost_fields)},
    {EV_PLAN_CREATED, REPORT_SHAPE(told_plan_fields)},
    {EV_PLAN_UPDATED, REPORT_SHAPE(told_plan_fields)},
    {EV_ACCOUNT_USAGE, REPORT_SHAPE(account_fields)},
    {EV_SESSION_STARTED, REPORT_SHAPE(session_fields)},
    {EV_SESSION_LOST, REPORT_SHAPE(session_fields)},
    {EV_MESSAGE_DELIVERED, REPORT_SHAPE(delivered_fields)},
    {EV_SNAPSHOT_TAKEN, REPORT_SHAPE(snapshot_taken_fields)},
    {EV_SNAPSHOT_PUBLISHED, REPORT_SHAPE(snapshot_published_fields)},
    {EV_SNAPSHOT_FAILED, REPORT_SHAPE(snapshot_failed_fields)},
};

/* ---- checks ---- */

bool report_knows_step(const char *step)
{
    const struct step_row *row = step_find(step);
    return row != NULL && row->result != NULL;
}

enum rc report_check_result(const char *step, const struct js *result, struct err *err)
{
    if (js_type(result) != JS_OBJECT)
        return err_set(err, RC_INVALID, "INVALID_RESULT", "the result of %s must be an object",
                       step);
    char what[80];
    (void)snprintf(what, sizeof what, "the result of %.60s", step);
    const struct report_subject subject = {what, "INVALID_RESULT"};
    const struct step_row *row = step_find(step);
    enum rc rc = report_shape_check(&common_shape, result, &subject, err);
    return rc == RC_OK && row != NULL && row->result != NULL
               ? report_shape_check(row->result, result, &subject, err)
               : rc;
}

static const struct event_shape *find_event(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(event_shapes); i++)
        if (text_same(event_shapes[i].type, type))
            return &event_shapes[i];
    return NULL;
}

const char *report_event_type(const char *type)
{
    const struct event_shape *found = find_event(type);
    return found != NULL ? found->type : NULL;
}

enum event_kind report_event_kind(const char *type)
{
    const struct event_type *entry = event_type_find(type);
    return entry != NULL && entry->volume == VOLUME_LIFECYCLE ? EVENT_MILESTONE : EVENT_DIAGNOSTIC;
}

enum rc report_check_event(const char *type, const struct js *data, struct err *err)
{
    const struct report_subject subject = {type, "INVALID_FIELD"};
    if (js_type(data) != JS_OBJECT)
        return err_field(err, RC_INVALID, subject.code, "data", "%s: data must be an object", type);
    return report_shape_check(&find_event(type)->shape, data, &subject, err);
}
