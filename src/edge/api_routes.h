/*
 * api_routes.h - the handlers that the table in api.c names, one file per noun.
 * Build and answer run on the loop, queries on a pool thread (router.h says what each does).
 */
#ifndef EDGE_API_ROUTES_H
#define EDGE_API_ROUTES_H
#include "edge/api.h"

#define API_QUERY(name) enum rc name(struct call *call, struct db *db, struct err *err)
#define API_COMMAND(name)                                                           \
    enum rc name(struct call *call, struct command **ret_command, struct err *err); \
    void name##_answer(struct call *call, struct command *command)

/* Answered by call_removed. */
#define API_REMOVAL(name) \
    enum rc name(struct call *call, struct command **ret_command, struct err *err)

/* api_tasks.c */
API_COMMAND(api_task_submit);
API_COMMAND(api_task_cancel);
API_COMMAND(api_task_retry);
API_QUERY(api_task_list);
API_QUERY(api_task_get);
API_QUERY(api_task_config);

/* api_runs.c */
API_QUERY(api_run_list);
API_QUERY(api_run_get);
API_QUERY(api_run_events);
API_QUERY(api_run_timeline);
API_QUERY(api_run_artifacts);
API_QUERY(api_event_list);

/* api_snapshots.c */
API_QUERY(api_run_snapshots);

/* api_artifacts.c */
API_QUERY(api_artifact_get);
API_QUERY(api_artifact_put);

/* api_repositories.c */
API_QUERY(api_repository_list);
API_QUERY(api_repository_get);
API_COMMAND(api_repository_put);
API_REMOVAL(api_repository_remove);
API_COMMAND(api_repository_quarantine);
API_COMMAND(api_repository_release);

/* api_accounts.c */
API_QUERY(api_account_list);
API_COMMAND(api_account_resume);

/* api_breakers.c */
API_QUERY(api_breaker_list);
API_QUERY(api_breaker_get);
API_COMMAND(api_breaker_put);
API_COMMAND(api_breaker_acquire);
API_COMMAND(api_breaker_report);
API_COMMAND(api_breaker_reset);
API_COMMAND(api_breaker_trip);

/* api_reviews.c: what people decide */
API_QUERY(api_approval_list);
API_QUERY(api_approval_get);
API_COMMAND(api_approve);
API_COMMAND(api_reject);
API_QUERY(api_pull_request_list);
API_QUERY(api_pull_request_get);
API_QUERY(api_pull_request_merge);
API_QUERY(api_pull_request_close);

/* api_issues.c */
API_QUERY(api_issue_list);
API_QUERY(api_issue_get);
API_QUERY(api_issue_new);
API_QUERY(api_issue_comment);
API_QUERY(api_issue_close);
API_QUERY(api_issue_reopen);

/* api_memories.c */
API_QUERY(api_memory_list);
API_REMOVAL(api_memory_remove);

/* api_notify.c */
API_QUERY(api_notification_list);
API_COMMAND(api_notification_test);

/* api_jobs.c: the job protocol */
API_COMMAND(api_job_enqueue);
API_COMMAND(api_job_lease);
API_COMMAND(api_job_heartbeat);
API_COMMAND(api_job_progress);
API_COMMAND(api_job_complete);
API_COMMAND(api_job_fail);
API_COMMAND(api_job_release);
API_QUERY(api_job_run_token);

/* api_queues.c */
API_QUERY(api_queue_list);
API_QUERY(api_queue_get);
API_COMMAND(api_queue_put);
API_COMMAND(api_queue_pause);
API_COMMAND(api_queue_resume);

/* api_dead_letters.c */
API_QUERY(api_dead_letter_list);
API_QUERY(api_dead_letter_get);
API_QUERY(api_dead_letter_analysis);
API_COMMAND(api_dead_letter_replay);
API_COMMAND(api_dead_letter_archive);
API_COMMAND(api_dead_letter_purge);

/* api_sagas.c */
API_COMMAND(api_saga_start);
API_COMMAND(api_saga_cancel);
API_QUERY(api_saga_list);
API_QUERY(api_saga_get);
/* api_topics.c: subscriptions, messages, requests and replies */
API_QUERY(api_subscription_list);
API_QUERY(api_subscription_get);
API_COMMAND(api_subscription_put);
API_REMOVAL(api_subscription_remove);
API_COMMAND(api_publish);
API_COMMAND(api_request);
API_COMMAND(api_reply);

/* api_schedules.c */
API_QUERY(api_schedule_list);
API_QUERY(api_schedule_get);
API_COMMAND(api_schedule_put);
API_REMOVAL(api_schedule_remove);
API_COMMAND(api_schedule_run);

/* api_workers.c */
API_QUERY(api_worker_list);
API_COMMAND(api_worker_announce);

/* api_tokens.c */
API_QUERY(api_token_list);
API_QUERY(api_token_create);
API_QUERY(api_token_revoke);

/* api_backup.c */
API_QUERY(api_backup);
/* Removes what a backup left that was cut short by the end of its server. */
MUST_USE enum rc api_backup_clear(const char *data_dir, struct err *err);

/* api_schemas.c */
void api_schema_list(struct call *call);
void api_schema_get(struct call *call);

/* api_system.c */
API_QUERY(api_job_list);
API_QUERY(api_job_get);
API_QUERY(api_ready);
API_QUERY(api_metrics);
API_QUERY(api_doctor);
void api_health(struct call *call);
void api_version(struct call *call);
#endif
