/*
 * routes.h - the table of routes, and the handlers that it names, one file per noun.
 * Build and answer run on the loop, queries on a pool thread (router.h describes each kind).
 */
#ifndef API_ROUTES_H
#define API_ROUTES_H
#include "api/call.h"

const struct route *routes_all(size_t *ret_count);

#define API_QUERY(name)  enum rc name(struct call *call, struct db *db, struct err *err)
#define API_BUILD(name)  enum rc name(struct call *call, struct err *err)
#define API_ANSWER(name) void name(struct call *call, struct command *command)
#define API_COMMAND(name) \
    API_BUILD(name);      \
    API_ANSWER(name##_answer)

/* mcp/mcp.c */
enum rc api_mcp_post(struct call *call, struct err *err);
enum rc api_mcp_get(struct call *call, struct err *err);
enum rc api_mcp_delete(struct call *call, struct err *err);

/* tasks.c */
API_COMMAND(api_task_submit);
API_COMMAND(api_task_cancel);
API_COMMAND(api_task_retry);
API_QUERY(api_task_list);
API_QUERY(api_task_get);

/* batches.c */
API_COMMAND(api_batch_submit);
API_BUILD(api_batch_pause);
API_BUILD(api_batch_resume);
API_BUILD(api_batch_cancel);
API_ANSWER(api_batch_answer);
API_QUERY(api_batch_list);
API_QUERY(api_batch_get);

/* candidates.c */
API_QUERY(api_task_candidates);
API_QUERY(api_task_config);

/* runs.c */
API_QUERY(api_run_list);
API_QUERY(api_run_get);
API_QUERY(api_run_events);
API_QUERY(api_run_timeline);
API_QUERY(api_run_artifacts);
API_QUERY(api_event_list);
void api_event_types(struct call *call);

/* replay.c, export.c, whatif.c */
API_QUERY(api_run_replay);
API_QUERY(api_run_export);
API_QUERY(api_whatif);

/* events.c */
API_COMMAND(api_event_append);

/* snapshots.c */
API_QUERY(api_run_snapshots);

/* interactions.c */
API_BUILD(api_slack_prepare);
API_QUERY(api_slack_interaction);

/* inbox.c */
API_QUERY(api_inbox_list);

/* artifacts.c */
API_QUERY(api_artifact_get);
API_QUERY(api_artifact_put);

/* repositories.c */
API_QUERY(api_repository_list);
API_QUERY(api_repository_get);
API_QUERY(api_repository_origin);
API_COMMAND(api_repository_put);
API_BUILD(api_repository_remove);
API_BUILD(api_repository_quarantine);
API_BUILD(api_repository_release);
API_ANSWER(api_repository_answer);

/* accounts.c */
API_QUERY(api_account_list);
API_BUILD(api_account_park);
API_BUILD(api_account_resume);
API_ANSWER(api_account_answer);

/* breakers.c */
API_QUERY(api_breaker_list);
API_QUERY(api_breaker_get);
API_COMMAND(api_breaker_acquire);
API_BUILD(api_breaker_put);
API_BUILD(api_breaker_report);
API_BUILD(api_breaker_reset);
API_BUILD(api_breaker_trip);
API_ANSWER(api_breaker_answer);

/* reviews.c: what people decide */
API_QUERY(api_approval_list);
API_QUERY(api_approval_get);
API_BUILD(api_approve);
API_BUILD(api_reject);
API_ANSWER(api_decision_answer);
API_QUERY(api_pull_request_list);
API_QUERY(api_pull_request_get);
API_QUERY(api_pull_request_merge);
API_QUERY(api_pull_request_close);

/* follow.c */
API_BUILD(api_pull_request_follow);
API_BUILD(api_pull_request_leave);
API_ANSWER(api_follow_answer);

/* trains.c */
API_COMMAND(api_train_add);
API_BUILD(api_train_remove);
API_QUERY(api_train_list);

/* webhooks.c */
API_BUILD(api_webhook_prepare);
API_QUERY(api_webhook);

/* syncs.c */
API_QUERY(api_delivery_list);
API_QUERY(api_sync_list);

/* issues.c */
API_QUERY(api_issue_list);
API_QUERY(api_issue_get);
API_QUERY(api_issue_new);
API_QUERY(api_issue_comment);
API_QUERY(api_issue_close);
API_QUERY(api_issue_reopen);
API_QUERY(api_issue_label);

/* lifecycle.c */
API_QUERY(api_lifecycle_get);
API_QUERY(api_lifecycle_list);
API_QUERY(api_agent_efficiency);

/* intake.c */
MUST_USE enum rc api_intake_list(struct call *call, struct db *db, struct err *err);

/* memories.c */
API_QUERY(api_memory_list);
API_BUILD(api_memory_remove);

/* notify.c */
API_QUERY(api_sink_list);
API_QUERY(api_sink_get);
API_COMMAND(api_sink_put);
API_COMMAND(api_sink_remove);
API_COMMAND(api_sink_pause);
API_BUILD(api_sink_resume);
API_QUERY(api_sink_letter_list);
API_BUILD(api_sink_letter_replay);
API_BUILD(api_sink_letter_discard);
API_ANSWER(api_sink_letter_answer);
API_QUERY(api_notification_list);
API_COMMAND(api_notification_test);

/* agents.c */
API_COMMAND(api_agent_register);
API_QUERY(api_agent_list);
API_QUERY(api_agent_get);
API_COMMAND(api_agent_launch);
API_COMMAND(api_agent_heartbeat);
API_QUERY(api_agent_kill);
API_QUERY(api_agent_remove);
API_QUERY(api_job_agent_token);

/* claims.c */
API_COMMAND(api_claim);
API_COMMAND(api_claim_heartbeat);
API_COMMAND(api_claim_fail);
API_QUERY(api_claim_complete);

/* jobs.c: the job protocol */
API_COMMAND(api_job_enqueue);
API_COMMAND(api_job_lease);
API_COMMAND(api_job_heartbeat);
API_COMMAND(api_job_progress);
API_COMMAND(api_job_complete);
API_COMMAND(api_job_fail);
API_COMMAND(api_job_release);
API_QUERY(api_job_run_token);
API_QUERY(api_job_forge_access);
API_QUERY(api_job_app_deliveries); /* app_hook.c */
API_QUERY(api_run_credential);
API_QUERY(api_forge_limit_list);

/* steering.c: people and the agent of a run */
API_COMMAND(api_job_messages);
API_COMMAND(api_run_say);
API_QUERY(api_run_messages);
API_BUILD(api_run_pause);
API_BUILD(api_run_resume);
API_ANSWER(api_run_pause_answer);
API_COMMAND(api_run_ask);
API_BUILD(api_job_ask);
API_BUILD(api_job_question);
API_BUILD(api_job_withdraw);
API_QUERY(api_question_list);
API_COMMAND(api_question_get);
API_COMMAND(api_question_answer);

/* queues.c */
API_QUERY(api_queue_list);
API_QUERY(api_queue_get);
API_BUILD(api_queue_put);
API_BUILD(api_queue_pause);
API_BUILD(api_queue_resume);
API_ANSWER(api_queue_answer);

/* dead_letters.c */
API_QUERY(api_dead_letter_list);
API_QUERY(api_dead_letter_get);
API_QUERY(api_dead_letter_analysis);
API_COMMAND(api_dead_letter_replay);
API_COMMAND(api_dead_letter_archive);
API_COMMAND(api_dead_letter_purge);

/* sagas.c */
API_COMMAND(api_saga_start);
API_COMMAND(api_saga_cancel);
API_QUERY(api_saga_list);
API_QUERY(api_saga_get);

/* topics.c: subscriptions, messages, requests and replies */
API_QUERY(api_subscription_list);
API_QUERY(api_subscription_get);
API_COMMAND(api_subscription_put);
API_BUILD(api_subscription_remove);
API_COMMAND(api_topic_send);
API_COMMAND(api_request);
API_COMMAND(api_reply);

/* schedules.c */
API_QUERY(api_schedule_list);
API_QUERY(api_schedule_get);
API_COMMAND(api_schedule_put);
API_BUILD(api_schedule_remove);
API_COMMAND(api_schedule_run);

/* consumers.c */
API_QUERY(api_consumer_list);
API_QUERY(api_consumer_get);
API_QUERY(api_consumer_put);
API_BUILD(api_consumer_next);
API_COMMAND(api_consumer_ack);
API_QUERY(api_consumer_seek);
API_COMMAND(api_consumer_processed);
API_BUILD(api_consumer_remove);

/* workers.c */
API_QUERY(api_worker_list);
API_COMMAND(api_worker_announce);

/* tokens.c */
API_QUERY(api_token_list);
API_QUERY(api_token_create);
API_QUERY(api_token_revoke);

/* audit.c */
API_QUERY(api_log_list);
API_QUERY(api_audit_list);
API_QUERY(api_audit_verify);

/* backup.c */
API_QUERY(api_backup);
/* Removes the files of a backup that was interrupted by the end of its server. */
MUST_USE enum rc api_backup_clear(const char *data_dir, struct err *err);

/* schemas.c */
API_QUERY(api_schema_list);
API_QUERY(api_schema_get);
API_QUERY(api_schema_versions);
API_QUERY(api_schema_validate);
API_QUERY(api_schema_check);
API_COMMAND(api_schema_put);
API_BUILD(api_schema_remove);
API_QUERY(api_asyncapi);

/* retention.c */
API_QUERY(api_retention);

/* system.c */
API_QUERY(api_job_list);
API_QUERY(api_job_get);
API_QUERY(api_ready);
API_QUERY(api_metrics);
API_QUERY(api_doctor);
void api_health(struct call *call);
void api_version(struct call *call);
#endif
