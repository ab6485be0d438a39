/*
 * migration_trains.c - the tables of trains.c: merge trains, and the pull requests in them.
 */
#include "store/migrate.h"

const char *const migration_trains[] = {
    "CREATE TABLE trains ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " target_branch {text} NOT NULL,"
    " base_commit {text},"
    " rounds {int} NOT NULL,"
    " verifications {int} NOT NULL,"
    " landed {int} NOT NULL,"
    " rejected {int} NOT NULL,"
    " failures {int} NOT NULL,"
    " retry_us {int} NOT NULL,"
    " error_code {text},"
    " error_message {text},"
    " land_job_id {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {plain_table}",
    "CREATE UNIQUE INDEX trains_branch ON trains (repository_id, target_branch)",

    "CREATE TABLE train_cars ("
    " id {text} NOT NULL PRIMARY KEY," /* In order of arrival. */
    " train_id {text} NOT NULL REFERENCES trains (id),"
    " pull_request_id {text} NOT NULL REFERENCES pull_requests (id),"
    " run_id {text} NOT NULL,"
    " task_id {text} NOT NULL,"
    " number {int} NOT NULL,"
    " branch {text} NOT NULL,"
    " title {text},"
    " head_commit {text} NOT NULL,"
    " urgent {int} NOT NULL,"
    " clash {int} NOT NULL,"
    " state {text} NOT NULL,"
    " job_id {text},"
    " commit_hash {text},"
    " tree_hash {text},"
    " detail {text},"
    " told {int} NOT NULL,"
    " entered_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " ended_us {int} NOT NULL) {plain_table}", /* 0: it has not */
    "CREATE UNIQUE INDEX train_cars_pull_request ON train_cars (pull_request_id)"
    " WHERE ended_us = 0",
    "CREATE INDEX train_cars_live ON train_cars (train_id, id) WHERE ended_us = 0",
    "CREATE INDEX train_cars_ended ON train_cars (train_id, ended_us) WHERE ended_us > 0",
    NULL,
};
