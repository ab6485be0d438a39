/*
 * event.c - the catalogue of facts and their CloudEvents 1.0 form.
 */
#include "core/event.h"
#include "base/js.h"
#include "core/event_types.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { DATASCHEMA_BYTES = 256 };

/* Every type of event_types.h, in its order. */
static const struct {
    const char *type;
    enum severity severity;
} catalogue[] = {
    {EV_TASK_SUBMITTED, SEVERITY_INFO},
    {EV_TASK_ACCEPTED, SEVERITY_INFO},
    {EV_TASK_REJECTED, SEVERITY_WARNING},
    {EV_TASK_DEFERRED, SEVERITY_INFO},
    {EV_TASK_COMPLETED, SEVERITY_INFO},
    {EV_TASK_FAILED, SEVERITY_ERROR},
    {EV_TASK_CANCELLED, SEVERITY_WARNING},
    {EV_TASK_TIMED_OUT, SEVERITY_ERROR},
    {EV_RUN_QUEUED, SEVERITY_INFO},
    {EV_RUN_ACQUIRED, SEVERITY_INFO},
    {EV_RUN_STARTED, SEVERITY_INFO},
    {EV_RUN_STATUS_CHANGED, SEVERITY_INFO},
    {EV_RUN_HEARTBEAT_MISSED, SEVERITY_WARNING},
    {EV_RUN_RECOVERED, SEVERITY_WARNING},
    {EV_RUN_CANCEL_REQUESTED, SEVERITY_INFO},
    {EV_RUN_PAUSED, SEVERITY_INFO},
    {EV_RUN_RESUMED, SEVERITY_INFO},
    {EV_RUN_RETRY_WITH_FEEDBACK, SEVERITY_WARNING},
    {EV_RUN_COMPLETED, SEVERITY_INFO},
    {EV_RUN_FAILED, SEVERITY_ERROR},
    {EV_RUN_CANCELLED, SEVERITY_WARNING},
    {EV_RUN_TIMED_OUT, SEVERITY_ERROR},
    {EV_STEP_STARTED, SEVERITY_DEBUG},
    {EV_STEP_COMPLETED, SEVERITY_DEBUG},
    {EV_STEP_FAILED, SEVERITY_WARNING},
    {EV_RESULT_REFUSED, SEVERITY_ERROR},
    {EV_CONTEXT_LOADED, SEVERITY_INFO},
    {EV_MODEL_TURN_COMPLETED, SEVERITY_DEBUG},
    {EV_TOOL_CALL_STARTED, SEVERITY_DEBUG},
    {EV_TOOL_CALL_COMPLETED, SEVERITY_DEBUG},
    {EV_TOOL_CALL_FAILED, SEVERITY_WARNING},
    {EV_AGENT_MESSAGE, SEVERITY_DEBUG},
    {EV_PATCH_CREATED, SEVERITY_INFO},
    {EV_PATCH_SUPERSEDED, SEVERITY_INFO},
    {EV_PATCH_VERIFIED, SEVERITY_INFO},
    {EV_PATCH_REJECTED, SEVERITY_WARNING},
    {EV_PATCH_PUBLISHED, SEVERITY_INFO},
    {EV_VERIFICATION_STARTED, SEVERITY_DEBUG},
    {EV_VERIFICATION_PASSED, SEVERITY_INFO},
    {EV_VERIFICATION_FAILED, SEVERITY_WARNING},
    {EV_VERIFICATION_ERRORED, SEVERITY_ERROR},
    {EV_VERIFICATION_TIMED_OUT, SEVERITY_WARNING},
    {EV_VERIFICATION_SKIPPED, SEVERITY_INFO},
    {EV_JUDGE_STARTED, SEVERITY_DEBUG},
    {EV_JUDGE_COMPLETED, SEVERITY_INFO},
    {EV_APPROVAL_REQUESTED, SEVERITY_WARNING},
    {EV_APPROVAL_APPROVED, SEVERITY_INFO},
    {EV_APPROVAL_REJECTED, SEVERITY_WARNING},
    {EV_APPROVAL_EXPIRED, SEVERITY_WARNING},
    {EV_PR_CREATION_REQUESTED, SEVERITY_INFO},
    {EV_PR_CREATED, SEVERITY_INFO},
    {EV_PR_CREATION_FAILED, SEVERITY_ERROR},
    {EV_PR_MERGED, SEVERITY_INFO},
    {EV_PR_CLOSED, SEVERITY_INFO},
    {EV_PR_UPDATED, SEVERITY_INFO},
    {EV_PR_STATE_CHANGED, SEVERITY_INFO},
    {EV_PR_HEAD_CHANGED, SEVERITY_INFO},
    {EV_PR_CHECK_FAILED, SEVERITY_WARNING},
    {EV_PR_REPAIR_STARTED, SEVERITY_INFO},
    {EV_PR_REPAIR_ENDED, SEVERITY_INFO},
    {EV_PR_REBASED, SEVERITY_INFO},
    {EV_PR_FOLLOWED, SEVERITY_INFO},
    {EV_PR_LEFT_ALONE, SEVERITY_INFO},
    {EV_POLICY_DENIED, SEVERITY_WARNING},
    {EV_EVENTS_TRUNCATED, SEVERITY_WARNING},
    {EV_COST_RECORDED, SEVERITY_DEBUG},
    {EV_JOB_DEAD_LETTERED, SEVERITY_ERROR},
    {EV_QUEUE_CONFIGURED, SEVERITY_INFO},
    {EV_QUEUE_PAUSED, SEVERITY_WARNING},
    {EV_QUEUE_RESUMED, SEVERITY_INFO},
    {EV_QUEUE_SWARM_DETECTED, SEVERITY_WARNING},
    {EV_JOB_REPLAYED, SEVERITY_INFO},
    {EV_JOB_ARCHIVED, SEVERITY_INFO},
    {EV_JOB_PURGED, SEVERITY_WARNING},
    {EV_SAGA_STARTED, SEVERITY_INFO},
    {EV_SAGA_COMPENSATING, SEVERITY_WARNING},
    {EV_SAGA_COMPLETED, SEVERITY_INFO},
    {EV_SAGA_COMPENSATED, SEVERITY_WARNING},
    {EV_SAGA_STUCK, SEVERITY_ERROR},
    {EV_DEAD_LETTERS_ALERT, SEVERITY_WARNING},
    {EV_QUEUE_LEVEL_RAISED, SEVERITY_WARNING},
    {EV_QUEUE_LEVEL_LOWERED, SEVERITY_INFO},
    {EV_WORKERS_SCALED, SEVERITY_INFO},
    {EV_REPOSITORY_CONFIGURED, SEVERITY_INFO},
    {EV_REPOSITORY_REMOVED, SEVERITY_INFO},
    {EV_REPOSITORY_QUARANTINED, SEVERITY_ERROR},
    {EV_REPOSITORY_SYNC_CHANGED, SEVERITY_INFO},
    {EV_REPOSITORY_RELEASED, SEVERITY_WARNING},
    {EV_BREAKER_OPENED, SEVERITY_ERROR},
    {EV_BREAKER_HALF_OPENED, SEVERITY_WARNING},
    {EV_BREAKER_CLOSED, SEVERITY_INFO},
    {EV_REPLY_DROPPED, SEVERITY_WARNING},
    {EV_SCHEDULE_FIRED, SEVERITY_INFO},
    {EV_SCHEDULE_REFUSED, SEVERITY_ERROR},
    {EV_PLAN_CREATED, SEVERITY_INFO},
    {EV_PLAN_UPDATED, SEVERITY_INFO},
    {EV_POLICY_EVALUATED, SEVERITY_INFO},
    {EV_POLICY_OVERRIDE_REQUESTED, SEVERITY_WARNING},
    {EV_POLICY_OVERRIDE_APPROVED, SEVERITY_WARNING},
    {EV_POLICY_OVERRIDE_REJECTED, SEVERITY_WARNING},
    {EV_APPROVAL_REMINDED, SEVERITY_WARNING},
    {EV_TOOL_CALL_DENIED, SEVERITY_WARNING},
    {EV_TOOL_CALL_TIMED_OUT, SEVERITY_WARNING},
    {EV_PATCH_POLICY_FLAGGED, SEVERITY_WARNING},
    {EV_JUDGE_FAILED, SEVERITY_ERROR},
    {EV_JUDGE_INCONCLUSIVE, SEVERITY_WARNING},
    {EV_SESSION_STARTED, SEVERITY_INFO},
    {EV_SESSION_LOST, SEVERITY_ERROR},
    {EV_ACCOUNT_CHOSEN, SEVERITY_INFO},
    {EV_ACCOUNT_PARKED, SEVERITY_WARNING},
    {EV_ACCOUNT_PROBED, SEVERITY_INFO},
    {EV_ACCOUNT_RESUMED, SEVERITY_INFO},
    {EV_ACCOUNT_USAGE, SEVERITY_DEBUG},
    {EV_TASK_OVERLAP, SEVERITY_WARNING},
    {EV_CANDIDATE_CHOSEN, SEVERITY_INFO},
    {EV_SNAPSHOT_TAKEN, SEVERITY_DEBUG},
    {EV_SNAPSHOT_PUBLISHED, SEVERITY_INFO},
    {EV_SNAPSHOT_FAILED, SEVERITY_ERROR},
    {EV_SECRET_DETECTED, SEVERITY_ERROR},
    {EV_MEMORY_RECORDED, SEVERITY_DEBUG},
    {EV_NOTIFICATION_SENT, SEVERITY_DEBUG},
    {EV_NOTIFICATION_FAILED, SEVERITY_ERROR},
    {EV_MESSAGE_SENT, SEVERITY_INFO},
    {EV_MESSAGE_DELIVERED, SEVERITY_INFO},
    {EV_QUESTION_ASKED, SEVERITY_WARNING},
    {EV_QUESTION_REMINDED, SEVERITY_WARNING},
    {EV_QUESTION_ANSWERED, SEVERITY_INFO},
    {EV_QUESTION_EXPIRED, SEVERITY_WARNING},
    {EV_QUESTION_WITHDRAWN, SEVERITY_INFO},
    {EV_ISSUE_CREATED, SEVERITY_INFO},
    {EV_ISSUE_COMMENTED, SEVERITY_INFO},
    {EV_ISSUE_CLOSED, SEVERITY_INFO},
    {EV_ISSUE_REOPENED, SEVERITY_INFO},
    {EV_ISSUE_LABELLED, SEVERITY_INFO},
    {EV_ISSUE_DECIDED, SEVERITY_INFO},
    {EV_TRAIN_ENTERED, SEVERITY_INFO},
    {EV_TRAIN_TESTED, SEVERITY_INFO},
    {EV_TRAIN_LANDED, SEVERITY_INFO},
    {EV_TRAIN_REJECTED, SEVERITY_WARNING},
    {EV_TRAIN_LEFT, SEVERITY_INFO},
    {EV_TRAIN_MOVED, SEVERITY_INFO},
    {EV_TRAIN_STALLED, SEVERITY_ERROR},
    {EV_AGENT_LAUNCHED, SEVERITY_INFO},
    {EV_AGENT_EXITED, SEVERITY_WARNING},
    {EV_AGENT_HEARTBEAT_MISSED, SEVERITY_WARNING},
    {EV_AGENT_KILLED, SEVERITY_WARNING},
    {EV_BATCH_CREATED, SEVERITY_INFO},
    {EV_BATCH_PROGRESSED, SEVERITY_INFO},
    {EV_BATCH_PAUSED, SEVERITY_WARNING},
    {EV_BATCH_RESUMED, SEVERITY_INFO},
    {EV_BATCH_STOPPING, SEVERITY_WARNING},
    {EV_BATCH_COMPLETED, SEVERITY_INFO},
    {EV_BATCH_STOPPED, SEVERITY_ERROR},
    {EV_BATCH_CANCELLED, SEVERITY_WARNING},
};

static const char *const severity_names[] = {
    [SEVERITY_DEBUG] = "debug",
    [SEVERITY_INFO] = "info",
    [SEVERITY_WARNING] = "warning",
    [SEVERITY_ERROR] = "error",
};

static void write_own(struct jw *jw, const struct event *event)
{
    char urn[DATASCHEMA_BYTES];
    jw_ktime(jw, "time", event->time_us);
    jw_kstr(jw, "datacontenttype", "application/json");
    snprintf(urn, sizeof urn, "urn:drover:schema:%s:%lld", event->type, (long long)event->version);
    jw_kstr(jw, "dataschema", urn);
}

static void write_attribute(struct jw *jw, const char *name, const struct js *value)
{
    if (js_type(value) == JS_BOOL)
        jw_kbool(jw, name, js_bool(value, false));
    else if (js_type(value) == JS_INT)
        jw_kint(jw, name, js_int(value, 0));
    else
        jw_kstr(jw, name, js_str(value, ""));
}

/* As it was appended; with a time of its own, the time when it was stored is recordedtime. */
static void write_given(struct jw *jw, const struct event *event)
{
    CLEANUP(js_freep) struct js *attributes = NULL;
    const struct js *value;
    const char *name;
    if (event->attributes.len > 0 &&
        js_parse(event->attributes.at, event->attributes.len, &attributes, NULL) != RC_OK)
        attributes = NULL; /* It was written by us. */
    jw_ktime(jw, js_get(attributes, "time") != NULL ? "recordedtime" : "time", event->time_us);
    for (size_t it = 0; js_next(attributes, &it, &name, &value);)
        write_attribute(jw, name, value);
}

static bool has_data(const struct event *event)
{
    return event->source == NULL || !str_is(event->data, "null");
}

void event_write(struct jw *jw, const struct event *event)
{
    assert(!text_empty(event->type));
    jw_begin(jw, '{');
    jw_kstr(jw, "specversion", "1.0");
    jw_kstr(jw, "id", event->source != NULL ? event->source_id : event->id.text);
    jw_kstr(jw, "source", event->source != NULL ? event->source : "drover");
    jw_kstr(jw, "type", event->type);
    jw_optstr(jw, "subject", event->subject);
    if (event->source != NULL)
        write_given(jw, event);
    else
        write_own(jw, event);
    jw_optstr(jw, "traceparent", event->traceparent);
    jw_optstr(jw, "workspaceid", event->workspace_id.text);
    jw_optstr(jw, "taskid", event->task_id.text);
    jw_optstr(jw, "runid", event->run_id.text);
    jw_optstr(jw, "attemptid", event->attempt_id.text);
    jw_optstr(jw, "correlationid", event->correlation_id.text);
    jw_optstr(jw, "causationid", event->causation_id.text);
    jw_optstr(jw, "actortype", event->actor.type);
    jw_optstr(jw, "actorid", event->actor.id);
    if (event->run_seq > 0)
        jw_kint(jw, "sequence", event->run_seq);
    if (event->source == NULL)
        jw_kint(jw, "eventversion", event->version);
    if (event->seq > 0)
        jw_kint(jw, "logseq", event->seq);
    if (has_data(event))
        jw_kraw(jw, "data", event->data.len > 0 ? event->data : STR("{}"));
    jw_end(jw, '}');
}

enum severity event_severity(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(catalogue); i++) {
        if (text_same(type, catalogue[i].type))
            return catalogue[i].severity;
    }
    return SEVERITY_INFO;
}

const char *severity_name(enum severity severity)
{
    assert((size_t)severity < COUNT_OF(severity_names));
    return severity_names[severity];
}

bool severity_parse(const char *name, enum severity *ret_severity)
{
    for (size_t i = 0; i < COUNT_OF(severity_names); i++) {
        if (text_same(name, severity_names[i])) {
            *ret_severity = (enum severity)i;
            return true;
        }
    }
    return false;
}

const char *event_type_at(size_t index)
{
    return index < COUNT_OF(catalogue) ? catalogue[index].type : NULL;
}

static struct str segment_of(const char *dotted)
{
    return (struct str){dotted, strcspn(dotted, ".")};
}

bool event_type_match(const char *pattern, const char *type)
{
    for (;;) {
        struct str want = segment_of(pattern);
        struct str have = segment_of(type);
        if (str_is(want, ">") && pattern[want.len] == '\0')
            return have.len > 0;
        if (str_is(want, "*") ? have.len == 0 : !str_same(want, have))
            return false;
        pattern += want.len;
        type += have.len;
        if (*pattern == '\0' || *type == '\0')
            return *pattern == *type;
        pattern++;
        type++;
    }
}
