/*
 * routes.c - the table of routes: method and path, the roles that may use it, and the handler.
 */
#include "api/routes.h"
#include "api/sse.h"

#define QUERY(handler) .kind = ROUTE_QUERY, .query = (handler)
/* Answered by its own handler##_answer, or by one that several commands share. */
#define COMMAND(handler) COMMAND_AS(handler, handler##_answer)
#define COMMAND_AS(handler, writer) \
    .kind = ROUTE_COMMAND, .body = BODY_JSON, .build = (handler), .answer = (writer)
#define REMOVAL(handler) .kind = ROUTE_COMMAND, .build = (handler), .answer = call_removed
#define STREAM(handler)  .kind = ROUTE_STREAM, .stream = (handler)
/* The roles that may use it, beside the admin. */
#define ADMIN        0
#define VIEW         (ROLES(ROLE_VIEWER) | ROLES(ROLE_OPERATOR))
#define OPERATE      ROLES(ROLE_OPERATOR)
#define WORK         (ROLES(ROLE_WORKER) | ROLES(ROLE_OPERATOR))
#define WORK_OR_VIEW (WORK | ROLES(ROLE_VIEWER))
#define OWN_RUN      .agent = AGENT_OWN_RUN
#define OWN_TASK     .agent = AGENT_OWN_TASK /* Or a sub-task of it. */

/* To add one: a row here, its handler in the file of its noun (as in api/tasks.c), declared in
   api/routes.h, and a section in docs/PROTOCOL.md.  A listing is written with api/listing.h; a
   command's handler begins with call_own (api/call.h).  A route without roles is the admin's
   alone. */
static const struct route routes[] = {
    {HTTP_POST, OPERATE, "/v1/tasks", COMMAND(api_task_submit), .agent = AGENT_CHECKED},
    {HTTP_GET, VIEW, "/v1/tasks", QUERY(api_task_list)},
    {HTTP_GET, VIEW, "/v1/tasks/{id}", QUERY(api_task_get), OWN_TASK},
    {HTTP_GET, VIEW, "/v1/tasks/{id}/config", QUERY(api_task_config)},
    {HTTP_GET, VIEW, "/v1/tasks/{id}/candidates", QUERY(api_task_candidates)},
    {HTTP_POST, OPERATE, "/v1/tasks/{id}/cancel", COMMAND(api_task_cancel)},
    {HTTP_POST, OPERATE, "/v1/tasks/{id}/retry", COMMAND(api_task_retry)},
    {HTTP_GET, VIEW, "/v1/runs", QUERY(api_run_list)},
    {HTTP_GET, VIEW, "/v1/runs/{id}", QUERY(api_run_get), OWN_RUN},
    {HTTP_GET, VIEW, "/v1/runs/{id}/events", QUERY(api_run_events), OWN_RUN},
    {HTTP_GET, VIEW, "/v1/runs/{id}/timeline", QUERY(api_run_timeline), OWN_RUN},
    {HTTP_GET, VIEW, "/v1/runs/{id}/artifacts", QUERY(api_run_artifacts), OWN_RUN},
    {HTTP_GET, VIEW, "/v1/runs/{id}/snapshots", QUERY(api_run_snapshots), OWN_RUN},
    {HTTP_GET, VIEW, "/v1/runs/{id}/stream", STREAM(api_run_stream), OWN_RUN},
    {HTTP_POST, OPERATE, "/v1/runs/{id}/messages", COMMAND(api_run_say)},
    {HTTP_GET, VIEW, "/v1/runs/{id}/messages", QUERY(api_run_messages), OWN_RUN},
    {HTTP_POST, OPERATE, "/v1/runs/{id}/pause", COMMAND_AS(api_run_pause, api_run_pause_answer)},
    {HTTP_POST, OPERATE, "/v1/runs/{id}/resume", COMMAND_AS(api_run_resume, api_run_pause_answer)},
    {HTTP_POST, ADMIN, "/v1/runs/{id}/questions", COMMAND(api_run_ask), OWN_RUN},
    {HTTP_GET, VIEW, "/v1/questions", QUERY(api_question_list)},
    {HTTP_GET, VIEW, "/v1/questions/{id}", .kind = ROUTE_COMMAND, .build = api_question_get,
     .answer = api_question_get_answer, .agent = AGENT_CHECKED},
    {HTTP_POST, OPERATE, "/v1/questions/{id}/answer", COMMAND(api_question_answer)},
    {HTTP_GET, VIEW, "/v1/events", QUERY(api_event_list)},
    {HTTP_GET, VIEW, "/v1/events/stream", STREAM(api_event_stream)},
    {HTTP_GET, WORK_OR_VIEW, "/v1/artifacts/{sha256}", QUERY(api_artifact_get)},
    {HTTP_PUT, WORK, "/v1/artifacts/{sha256}", QUERY(api_artifact_put), .body = BODY_BYTES,
     .slow = true},
    {HTTP_GET, VIEW, "/v1/repositories", QUERY(api_repository_list)},
    {HTTP_GET, VIEW, "/v1/repositories/{name}", QUERY(api_repository_get)},
    {HTTP_GET, VIEW, "/v1/repositories/{name}/origin", QUERY(api_repository_origin), .slow = true},
    {HTTP_PUT, ADMIN, "/v1/repositories/{name}", .kind = ROUTE_COMMAND, .body = BODY_CONFIG,
     .build = api_repository_put, .answer = api_repository_put_answer},
    {HTTP_DELETE, ADMIN, "/v1/repositories/{name}", REMOVAL(api_repository_remove)},
    {HTTP_POST, OPERATE, "/v1/repositories/{name}/quarantine",
     COMMAND_AS(api_repository_quarantine, api_repository_answer)},
    {HTTP_POST, OPERATE, "/v1/repositories/{name}/release",
     COMMAND_AS(api_repository_release, api_repository_answer)},
    {HTTP_GET, WORK_OR_VIEW, "/v1/schemas", .kind = ROUTE_INSTANT, .instant = api_schema_list},
    {HTTP_GET, WORK_OR_VIEW, "/v1/schemas/{name}", .kind = ROUTE_INSTANT,
     .instant = api_schema_get},
    {HTTP_GET, VIEW, "/v1/approvals", QUERY(api_approval_list)},
    {HTTP_GET, VIEW, "/v1/approvals/{id}", QUERY(api_approval_get)},
    {HTTP_POST, OPERATE, "/v1/approvals/{id}/approve",
     COMMAND_AS(api_approve, api_decision_answer)},
    {HTTP_POST, OPERATE, "/v1/approvals/{id}/reject", COMMAND_AS(api_reject, api_decision_answer)},
    {HTTP_GET, VIEW, "/v1/pull-requests", QUERY(api_pull_request_list)},
    {HTTP_GET, VIEW, "/v1/pull-requests/{id}", QUERY(api_pull_request_get)},
    {HTTP_POST, OPERATE, "/v1/pull-requests/{id}/merge", QUERY(api_pull_request_merge),
     .body = BODY_JSON, .slow = true},
    {HTTP_POST, OPERATE, "/v1/pull-requests/{id}/close", QUERY(api_pull_request_close),
     .body = BODY_JSON, .slow = true},
    {HTTP_POST, OPERATE, "/v1/pull-requests/{id}/train", COMMAND(api_train_add)},
    {HTTP_DELETE, OPERATE, "/v1/pull-requests/{id}/train", REMOVAL(api_train_remove)},
    {HTTP_GET, VIEW, "/v1/trains", QUERY(api_train_list)},
    {HTTP_GET, VIEW, "/v1/issues", QUERY(api_issue_list), .slow = true},
    {HTTP_POST, OPERATE, "/v1/issues", QUERY(api_issue_new), .body = BODY_JSON, .slow = true},
    {HTTP_GET, VIEW, "/v1/issues/{number}", QUERY(api_issue_get), .slow = true},
    {HTTP_POST, OPERATE, "/v1/issues/{number}/comments", QUERY(api_issue_comment),
     .body = BODY_JSON, .slow = true},
    {HTTP_POST, OPERATE, "/v1/issues/{number}/close", QUERY(api_issue_close), .body = BODY_JSON,
     .slow = true},
    {HTTP_POST, OPERATE, "/v1/issues/{number}/reopen", QUERY(api_issue_reopen), .body = BODY_JSON,
     .slow = true},
    {HTTP_POST, OPERATE, "/v1/issues/{number}/labels", QUERY(api_issue_label), .body = BODY_JSON,
     .slow = true},
    {HTTP_GET, VIEW, "/v1/intake", QUERY(api_intake_list)},
    {HTTP_GET, VIEW, "/v1/memories", QUERY(api_memory_list)},
    {HTTP_DELETE, OPERATE, "/v1/memories/{id}", REMOVAL(api_memory_remove)},
    {HTTP_GET, VIEW, "/v1/sinks", QUERY(api_sink_list)},
    {HTTP_GET, OPERATE, "/v1/notifications", QUERY(api_notification_list)},
    {HTTP_POST, OPERATE, "/v1/notifications/{name}/test", COMMAND(api_notification_test)},
    {HTTP_POST, OPERATE, "/v1/jobs", COMMAND(api_job_enqueue)},
    {HTTP_POST, WORK, "/v1/jobs/lease", COMMAND(api_job_lease)},
    {HTTP_POST, WORK, "/v1/jobs/heartbeat", COMMAND(api_job_heartbeat)},
    {HTTP_POST, WORK, "/v1/jobs/progress", COMMAND(api_job_progress), .metered = true},
    {HTTP_POST, WORK, "/v1/jobs/complete", COMMAND(api_job_complete)},
    {HTTP_POST, WORK, "/v1/jobs/fail", COMMAND(api_job_fail)},
    {HTTP_POST, WORK, "/v1/jobs/release", COMMAND(api_job_release)},
    {HTTP_POST, WORK, "/v1/jobs/run-token", QUERY(api_job_run_token), .body = BODY_JSON},
    {HTTP_POST, WORK, "/v1/jobs/forge-access", QUERY(api_job_forge_access), .body = BODY_JSON,
     .slow = true},
    {HTTP_GET, WORK, "/v1/jobs/{id}/messages", .kind = ROUTE_COMMAND, .build = api_job_messages,
     .answer = api_job_messages_answer},
    {HTTP_GET, VIEW, "/v1/jobs", QUERY(api_job_list)},
    {HTTP_GET, VIEW, "/v1/jobs/{id}", QUERY(api_job_get)},
    {HTTP_GET, VIEW, "/v1/dead-letters", QUERY(api_dead_letter_list)},
    {HTTP_GET, VIEW, "/v1/dead-letters/analysis", QUERY(api_dead_letter_analysis)},
    {HTTP_GET, VIEW, "/v1/dead-letters/{id}", QUERY(api_dead_letter_get)},
    {HTTP_POST, OPERATE, "/v1/dead-letters/replay", COMMAND(api_dead_letter_replay)},
    {HTTP_POST, OPERATE, "/v1/dead-letters/archive", COMMAND(api_dead_letter_archive)},
    {HTTP_POST, OPERATE, "/v1/dead-letters/purge", COMMAND(api_dead_letter_purge)},
    {HTTP_GET, VIEW, "/v1/queues", QUERY(api_queue_list)},
    {HTTP_GET, VIEW, "/v1/queues/{name}", QUERY(api_queue_get)},
    {HTTP_PUT, OPERATE, "/v1/queues/{name}", COMMAND_AS(api_queue_put, api_queue_answer)},
    {HTTP_POST, OPERATE, "/v1/queues/{name}/pause", COMMAND_AS(api_queue_pause, api_queue_answer)},
    {HTTP_POST, OPERATE, "/v1/queues/{name}/resume",
     COMMAND_AS(api_queue_resume, api_queue_answer)},
    {HTTP_POST, OPERATE, "/v1/sagas", COMMAND(api_saga_start)},
    {HTTP_GET, VIEW, "/v1/sagas", QUERY(api_saga_list)},
    {HTTP_GET, WORK_OR_VIEW, "/v1/sagas/{id}", QUERY(api_saga_get), .wide = true},
    {HTTP_POST, OPERATE, "/v1/sagas/{id}/cancel", COMMAND(api_saga_cancel)},
    {HTTP_GET, WORK_OR_VIEW, "/v1/breakers", QUERY(api_breaker_list)},
    {HTTP_GET, WORK_OR_VIEW, "/v1/breakers/{name}", QUERY(api_breaker_get)},
    {HTTP_PUT, OPERATE, "/v1/breakers/{name}", COMMAND_AS(api_breaker_put, api_breaker_answer)},
    {HTTP_POST, WORK, "/v1/breakers/{name}/acquire", COMMAND(api_breaker_acquire), .wide = true},
    {HTTP_POST, WORK, "/v1/breakers/{name}/report",
     COMMAND_AS(api_breaker_report, api_breaker_answer), .wide = true},
    {HTTP_POST, OPERATE, "/v1/breakers/{name}/reset",
     COMMAND_AS(api_breaker_reset, api_breaker_answer)},
    {HTTP_POST, OPERATE, "/v1/breakers/{name}/trip",
     COMMAND_AS(api_breaker_trip, api_breaker_answer)},
    {HTTP_GET, VIEW, "/v1/accounts", QUERY(api_account_list)},
    {HTTP_POST, OPERATE, "/v1/accounts/{name}/park",
     COMMAND_AS(api_account_park, api_account_answer)},
    {HTTP_POST, OPERATE, "/v1/accounts/{name}/resume",
     COMMAND_AS(api_account_resume, api_account_answer)},
    {HTTP_GET, VIEW, "/v1/subscriptions", QUERY(api_subscription_list)},
    {HTTP_GET, VIEW, "/v1/subscriptions/{name}", QUERY(api_subscription_get)},
    {HTTP_PUT, OPERATE, "/v1/subscriptions/{name}", COMMAND(api_subscription_put)},
    {HTTP_DELETE, OPERATE, "/v1/subscriptions/{name}", REMOVAL(api_subscription_remove)},
    {HTTP_POST, OPERATE, "/v1/topics/{topic}/publish", COMMAND(api_topic_send)},
    {HTTP_POST, OPERATE, "/v1/topics/{topic}/request", COMMAND(api_request)},
    {HTTP_POST, WORK, "/v1/replies/{id}", COMMAND(api_reply), .wide = true},
    {HTTP_GET, VIEW, "/v1/schedules", QUERY(api_schedule_list)},
    {HTTP_GET, VIEW, "/v1/schedules/{name}", QUERY(api_schedule_get)},
    {HTTP_PUT, OPERATE, "/v1/schedules/{name}", COMMAND(api_schedule_put)},
    {HTTP_DELETE, OPERATE, "/v1/schedules/{name}", REMOVAL(api_schedule_remove)},
    {HTTP_POST, OPERATE, "/v1/schedules/{name}/run", COMMAND(api_schedule_run)},
    {HTTP_GET, VIEW, "/v1/workers", QUERY(api_worker_list)},
    {HTTP_POST, WORK, "/v1/workers", COMMAND(api_worker_announce), .wide = true},
    {HTTP_GET, ADMIN, "/v1/tokens", QUERY(api_token_list)},
    {HTTP_POST, ADMIN, "/v1/tokens", QUERY(api_token_create), .body = BODY_JSON},
    {HTTP_DELETE, ADMIN, "/v1/tokens/{id}", QUERY(api_token_revoke)},
    {HTTP_GET, ADMIN, "/v1/backup", QUERY(api_backup), .slow = true},
    {HTTP_GET, VIEW, "/v1/doctor", QUERY(api_doctor), .slow = true},
    {HTTP_GET, WORK_OR_VIEW, "/v1/version", .kind = ROUTE_INSTANT, .instant = api_version},
    {HTTP_GET, VIEW, "/metrics", QUERY(api_metrics)},
    {HTTP_GET, VIEW, "/healthz", .kind = ROUTE_INSTANT, .instant = api_health, .open = true},
    {HTTP_GET, VIEW, "/readyz", QUERY(api_ready), .open = true},
};

const struct route *routes_all(size_t *ret_count)
{
    *ret_count = COUNT_OF(routes);
    return routes;
}
