/*
 * shapes.h - the tables of columns of all aggregates: for files of the store that read rows of
 * another one, and for the test that compares them with the schema.  Each is defined in the file of
 * its aggregate.
 */
#ifndef STORE_SHAPES_H
#define STORE_SHAPES_H
#include "store/columns.h"

extern const struct shape account_shape, agent_shape, approval_shape, attempt_shape, audit_shape,
    batch_member_shape, batch_shape, breaker_stored_shape, ci_failure_shape, consumer_shape,
    delivery_shape, event_shape, forge_limit_shape, forge_share_shape, intake_shape, issue_shape,
    job_shape, log_line_shape, memory_shape, message_shape, milestone_shape, patch_shape,
    pull_request_shape, question_shape, queue_level_shape, queue_shape, repository_shape,
    request_shape, run_shape, saga_shape, saga_step_shape, schedule_shape, schema_shape,
    shepherd_shape, sink_dead_letter_shape, sink_shape, subscription_shape, sync_shape, task_shape,
    token_shape, train_car_shape, train_shape, verification_shape, worker_shape;
extern const struct shape breaker_stored_shape; /* Its rows are made in breakers.c. */
#endif
