/*
 * migrations.c - the schema as data.
 *
 * Ids are 36-character text, times integer microseconds (0: not yet), states the names that core
 * gives them, JSON the bytes that were received.  Partial indexes hold only what still waits,
 * so that finished work costs nothing.  {words} are the engine's (engine.h).
 *
 * The condition of a partial index stands word for word in the statements that are to use it.
 * Conditions are chains of OR: for IN ('a', 'b') SQLite builds a b-tree at every write.
 */
#include "store/migrate.h"

static const char *const initial[] = {
    "CREATE TABLE settings ("
    " key {text} NOT NULL PRIMARY KEY,"
    " value {text} NOT NULL) {keyed_table}",

    "CREATE TABLE workspaces ("
    " id {text} NOT NULL PRIMARY KEY,"
    " name {text} NOT NULL UNIQUE,"
    " max_active_runs {int} NOT NULL,"
    " created_us {int} NOT NULL) {plain_table}",

    "INSERT INTO workspaces (id, name, max_active_runs, created_us)"
    " VALUES ('00000000-0000-7000-8000-000000000001', 'default', 0, 0)",

    "CREATE TABLE repositories ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " name {text} NOT NULL,"
    " config {json} NOT NULL,"
    " version {int} NOT NULL,"
    " removed {int} NOT NULL CHECK (removed = 0 OR removed = 1),"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " quarantined_us {int} NOT NULL DEFAULT 0,"
    " quarantine_reason {text},"
    " UNIQUE (workspace_id, name)) {plain_table}",
    "CREATE INDEX repositories_name ON repositories (name)",

    "CREATE TABLE tasks ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " parent_id {text} REFERENCES tasks (id),"
    " description {text},"
    " issue_number {int} NOT NULL,"
    " task_type {text},"
    " risk {text} NOT NULL CHECK (risk = 'low' OR risk = 'medium' OR risk = 'high'),"
    " mode {text} NOT NULL"
    "  CHECK (mode = 'patch_only' OR mode = 'supervised_pr' OR mode = 'autonomous_pr'),"
    " target_branch {text},"
    " scope {json},"
    " priority {int} NOT NULL,"
    " max_turns {int} NOT NULL,"
    " max_budget_microusd {int} NOT NULL,"
    " max_tokens {int} NOT NULL,"
    " labels {json},"
    " channel {json},"
    " depends_on {json},"
    " config {json},"
    " requested_by {text},"
    " status {text} NOT NULL CHECK (status = 'submitted' OR status = 'deferred'"
    "  OR status = 'hydrating' OR status = 'running' OR status = 'finalizing'"
    "  OR status = 'completed' OR status = 'failed' OR status = 'cancelled'"
    "  OR status = 'timed_out'),"
    " error_code {text},"
    " error_message {text},"
    " latest_run_id {text},"
    " run_count {int} NOT NULL,"
    " last_event_id {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " ended_us {int} NOT NULL,"
    " attachments {json},"
    " overrides {json},"
    " best_of {int} NOT NULL," /* 0: none */
    " chosen_id {text},"
    " candidate_no {int} NOT NULL," /* 0: not a candidate */
    " candidate {text},"
    " origin {json}," /* Where it comes from, when drover submitted it: a JSON object. */
    /* A repair: the pull request that it continues, and the head that it goes on top of. */
    " pull_request_id {text},"
    " head_commit {text},"
    " merge_with {text}) {plain_table}",
    "CREATE INDEX tasks_repository ON tasks (repository_id, id)",
    "CREATE INDEX tasks_status ON tasks (status, id)",
    "CREATE INDEX tasks_requested ON tasks (requested_by, id)",
    "CREATE INDEX tasks_rate ON tasks (requested_by, created_us)",
    "CREATE INDEX tasks_parent ON tasks (parent_id, id) WHERE parent_id IS NOT NULL",

    "CREATE TABLE task_dependencies ("
    " task_id {text} NOT NULL REFERENCES tasks (id),"
    " depends_on_id {text} NOT NULL REFERENCES tasks (id),"
    " PRIMARY KEY (task_id, depends_on_id)) {keyed_table}",
    "CREATE INDEX task_dependencies_back ON task_dependencies (depends_on_id)",

    "CREATE TABLE idempotency_keys ("
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " key {text} NOT NULL,"
    " body_sha256 {text} NOT NULL,"
    " task_id {text} NOT NULL,"
    " run_id {text},"
    " expires_us {int} NOT NULL,"
    " PRIMARY KEY (workspace_id, key)) {keyed_table}",
    "CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_us)",

    "CREATE TABLE runs ("
    " id {text} NOT NULL PRIMARY KEY,"
    " task_id {text} NOT NULL REFERENCES tasks (id),"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " run_no {int} NOT NULL,"
    " parent_run_id {text}," /* core/run/budget_tree.h */
    " root_run_id {text},"
    " status {text} NOT NULL CHECK (status = 'queued' OR status = 'preparing'"
    "  OR status = 'context_loading' OR status = 'planning' OR status = 'running'"
    "  OR status = 'verifying' OR status = 'judging' OR status = 'awaiting_approval'"
    "  OR status = 'creating_pr' OR status = 'completed' OR status = 'failed'"
    "  OR status = 'cancelled' OR status = 'timed_out'),"
    " attempt {int} NOT NULL,"
    " branch {text},"
    " base_commit {text},"
    " prompt_sha256 {text},"
    " feedback_sha256 {text},"
    " patch_sha256 {text},"
    " patch_id {text},"
    " certificate_sha256 {text},"
    " turns {int} NOT NULL,"
    " tokens_in {int} NOT NULL,"
    " tokens_out {int} NOT NULL,"
    " cost_microusd {int} NOT NULL,"
    " budget_microusd {int} NOT NULL," /* 0: none */
    " max_tokens {int} NOT NULL,"
    " wanted_agent {text},"
    " forecast {json},"
    " model {text},"
    " pull_request_id {text},"
    " job_id {text},"
    " stop {text} NOT NULL CHECK (stop = 'none' OR stop = 'cancel' OR stop = 'timeout'"
    "  OR stop = 'budget'),"
    " stop_by {text},"
    " stop_reason {text},"
    " stop_us {int} NOT NULL,"
    " deferred_reason {text},"
    " used_agent {int} NOT NULL,"
    " used_tool {int} NOT NULL,"
    " used_verifier {int} NOT NULL,"
    " used_pr {int} NOT NULL,"
    " lost {int} NOT NULL,"
    " rank {int} NOT NULL,"
    " requested_by {text},"
    " task_type {text},"
    " error_code {text},"
    " error_message {text},"
    " event_seq {int} NOT NULL,"
    " events_left {int} NOT NULL," /* core/run/event_budget.h */
    " event_bytes_left {int} NOT NULL,"
    " last_event_id {text},"
    " queued_us {int} NOT NULL,"
    " started_us {int} NOT NULL,"
    " ended_us {int} NOT NULL,"
    " deadline_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " step {text},"
    " work_us {int} NOT NULL DEFAULT 0,"
    " work_since_us {int} NOT NULL DEFAULT 0,"
    " step_results {json},"
    " session_id {text},"
    " session_begun_us {int} NOT NULL DEFAULT 0,"
    " session_over {int} NOT NULL DEFAULT 0,"
    " agent_session {text},"
    " plan_sha256 {text},"
    " account {text},"
    " paths {json},"
    " warning_code {text},"
    " warning_message {text},"
    " partial {int} NOT NULL DEFAULT 0,"
    " foreign_pr {json},"
    " prompt_version {text},"
    " overridden {text},"
    " deferred_detail {text},"
    " held_until_us {int} NOT NULL DEFAULT 0,"
    " quota_hits {int} NOT NULL DEFAULT 0,"
    " overloads {int} NOT NULL DEFAULT 0,"
    " overloaded_us {int} NOT NULL DEFAULT 0,"
    " overloaded_until_us {int} NOT NULL DEFAULT 0,"
    " account_us {int} NOT NULL DEFAULT 0,"
    " agent {text},"
    " fallback {int} NOT NULL DEFAULT 0,"
    " pool {text},"
    " tried_accounts {text},"
    " booked_microusd {int} NOT NULL DEFAULT 0,"
    " paused_us {int} NOT NULL DEFAULT 0," /* 0: not paused */
    " paused_by {text},"
    " still_us {int} NOT NULL DEFAULT 0," /* Its clocks stand still since then; 0: they run. */
    " question_id {text},"
    " question_count {int} NOT NULL DEFAULT 0,"
    " message_seq {int} NOT NULL DEFAULT 0,"
    " judge_score_milli {int} NOT NULL DEFAULT -1," /* -1: none */
    " UNIQUE (task_id, run_no)) {plain_table}",
    "CREATE INDEX runs_repository ON runs (repository_id, id)",
    "CREATE INDEX runs_status ON runs (status, id)",
    /* The last column only makes counting possible without the table. */
    "CREATE INDEX runs_queued ON runs (workspace_id, repository_id, rank, id, status)"
    " WHERE status = 'queued'",
    "CREATE INDEX runs_unexplained ON runs (workspace_id, rank, id)"
    " WHERE status = 'queued' AND deferred_reason IS NULL",
    /* What a workspace spends: read without the table. */
    "CREATE INDEX runs_spent ON runs (workspace_id, ended_us, cost_microusd, budget_microusd)"
    " WHERE cost_microusd > 0",
    /* Forecasts: read without the table. */
    "CREATE INDEX runs_completed ON runs"
    " (repository_id, id, task_type, wanted_agent, cost_microusd, turns, work_us)"
    " WHERE status = 'completed'",
    "CREATE INDEX runs_root ON runs (root_run_id, id) WHERE root_run_id IS NOT NULL",

    "CREATE TABLE jobs ("
    " seq {seq_key},"
    " id {text} NOT NULL UNIQUE,"
    " queue {text} NOT NULL,"
    " type {text} NOT NULL,"
    " workspace_id {text},"
    " run_id {text},"
    " payload {json},"
    " result {json},"
    " priority {int} NOT NULL,"
    " rank {int} NOT NULL,"
    " ordering_key {text},"
    " dedup_key {text},"
    " state {text} NOT NULL CHECK (state = 'scheduled' OR state = 'blocked' OR state = 'queued'"
    "  OR state = 'leased' OR state = 'succeeded' OR state = 'dead_letter'"
    "  OR state = 'cancelled'),"
    " epoch {int} NOT NULL,"
    " due_us {int} NOT NULL,"
    " expires_us {int} NOT NULL,"
    " attempt {int} NOT NULL,"
    " attempt_max {int} NOT NULL,"
    " lost {int} NOT NULL,"
    " dead_reason {text} NOT NULL,"
    " worker {text},"
    " lease_owner {text},"
    " leased_us {int} NOT NULL,"
    " error_code {text},"
    " error_message {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " headers {json},"
    " dependency {text},"
    " saga_id {text},"
    " error_pattern {text},"
    " archived_us {int} NOT NULL DEFAULT 0) {plain_table}",
    /* The last columns of some only make counting possible without the table. */
    "CREATE INDEX jobs_queued ON jobs (queue, rank, seq, due_us, state) WHERE state = 'queued'",
    "CREATE INDEX jobs_scheduled ON jobs (due_us, queue, state) WHERE state = 'scheduled'",
    "CREATE INDEX jobs_expiry ON jobs (expires_us)"
    " WHERE expires_us > 0 AND (state = 'queued' OR state = 'scheduled' OR state = 'blocked')",
    "CREATE INDEX jobs_blocked ON jobs (queue, ordering_key, seq, state) WHERE state = 'blocked'",
    "CREATE UNIQUE INDEX jobs_dedup ON jobs (queue, dedup_key) WHERE dedup_key IS NOT NULL",
    "CREATE INDEX jobs_run ON jobs (run_id, id) WHERE run_id IS NOT NULL",
    "CREATE INDEX jobs_dead ON jobs (id) WHERE state = 'dead_letter'",
    "CREATE INDEX jobs_settled ON jobs (queue, state)"
    " WHERE state = 'succeeded' OR state = 'dead_letter' OR state = 'cancelled'",
    "CREATE INDEX jobs_leased ON jobs (due_us, queue, dependency, state) WHERE state = 'leased'",
    /* Behind jobs_settled: of two that fit SQLite takes the later one. */
    "CREATE INDEX jobs_dead_queue ON jobs (queue, archived_us) WHERE state = 'dead_letter'",

    /* Attempts that did not succeed: the job itself records the one that did.
       A lost lease gives its attempt back: the epoch distinguishes two rows of one attempt. */
    "CREATE TABLE job_attempts ("
    " job_id {text} NOT NULL,"
    " epoch {int} NOT NULL,"
    " attempt {int} NOT NULL,"
    " worker {text},"
    " started_us {int} NOT NULL,"
    " ended_us {int} NOT NULL,"
    " outcome {text} NOT NULL"
    "  CHECK (outcome = 'failed' OR outcome = 'lost' OR outcome = 'released'"
    "  OR outcome = 'cancelled'),"
    " error_code {text},"
    " error_message {text},"
    " PRIMARY KEY (job_id, epoch)) {keyed_table}",

    "CREATE TABLE job_keys ("
    " queue {text} NOT NULL,"
    " key {text} NOT NULL,"
    " head_id {text} NOT NULL,"
    " PRIMARY KEY (queue, key)) {keyed_table}",

    "CREATE TABLE timers ("
    " subject {text} NOT NULL,"
    " kind {text} NOT NULL,"
    " due_us {int} NOT NULL,"
    " PRIMARY KEY (subject, kind)) {keyed_table}",
    "CREATE INDEX timers_due ON timers (due_us)",

    /* The newest event is never deleted: seq, which is also the cursor of streams,
       continues from it. */
    "CREATE TABLE event_log ("
    " seq {seq_key},"
    " id {text} NOT NULL UNIQUE,"
    " type {text} NOT NULL,"
    " version {int} NOT NULL,"
    " workspace_id {text},"
    " task_id {text},"
    " run_id {text},"
    " attempt_id {text},"
    " subject {text},"
    " time_us {int} NOT NULL,"
    " run_seq {int} NOT NULL,"
    " correlation_id {text},"
    " causation_id {text},"
    " actor_type {text} NOT NULL,"
    " actor_id {text} NOT NULL,"
    " traceparent {text},"
    " data {json} NOT NULL,"
    /* Events of a run are found through its task. */
    " CHECK (run_id IS NULL OR (task_id IS NOT NULL AND run_seq > 0))) {plain_table}",
    "CREATE UNIQUE INDEX event_log_run ON event_log (run_id, run_seq) WHERE run_id IS NOT NULL",
    "CREATE INDEX event_log_task ON event_log (task_id, seq) WHERE task_id IS NOT NULL",
    "CREATE INDEX event_log_time ON event_log (time_us, seq)",

    "CREATE VIEW events AS SELECT id, type, 'ACCEPTED' AS status,"
    " actor_type || ':' || actor_id AS actor, data, causation_id AS parent_id, correlation_id,"
    " {iso_time_us} AS created_at FROM event_log",

    "CREATE TABLE run_artifacts ("
    " run_id {text} NOT NULL REFERENCES runs (id),"
    " kind {text} NOT NULL,"
    " name {text} NOT NULL,"
    " sha256 {text} NOT NULL,"
    " bytes {int} NOT NULL,"
    " created_us {int} NOT NULL,"
    " PRIMARY KEY (run_id, kind, name)) {keyed_table}",
    "CREATE INDEX run_artifacts_sha256 ON run_artifacts (sha256)",

    /* Contents, where the engine is shared: artifact_rows.c.  Otherwise they are files. */
    "CREATE TABLE artifact_contents ("
    " sha256 {text} NOT NULL PRIMARY KEY,"
    " bytes {int} NOT NULL) {keyed_table}",
    "CREATE TABLE artifact_chunks ("
    " sha256 {text} NOT NULL REFERENCES artifact_contents (sha256),"
    " no {int} NOT NULL,"
    " data {bytes} NOT NULL,"
    " PRIMARY KEY (sha256, no)) {plain_table}",

    "CREATE TABLE patches ("
    " id {text} NOT NULL PRIMARY KEY,"
    " run_id {text} NOT NULL REFERENCES runs (id),"
    " attempt_no {int} NOT NULL,"
    " sha256 {text} NOT NULL,"
    " base_commit {text},"
    " tree_hash {text},"
    " files {int} NOT NULL,"
    " lines_added {int} NOT NULL,"
    " lines_deleted {int} NOT NULL,"
    " summary {text},"
    " status {text} NOT NULL"
    "  CHECK (status = 'created' OR status = 'superseded' OR status = 'verified'"
    "  OR status = 'flagged' OR status = 'rejected' OR status = 'published'),"
    " created_us {int} NOT NULL) {plain_table}",
    "CREATE INDEX patches_run ON patches (run_id, id)",

    "CREATE TABLE verifications ("
    " id {text} NOT NULL PRIMARY KEY,"
    " run_id {text} NOT NULL REFERENCES runs (id),"
    " patch_id {text},"
    " name {text} NOT NULL,"
    " command {text},"
    " status {text} NOT NULL"
    "  CHECK (status = 'passed' OR status = 'failed' OR status = 'errored' OR status = 'timed_out'"
    "  OR status = 'skipped'),"
    " exit_code {int} NOT NULL,"
    " category {text},"
    " summary {text},"
    " report_sha256 {text},"
    " duration_ms {int} NOT NULL,"
    " created_us {int} NOT NULL) {plain_table}",
    "CREATE INDEX verifications_run ON verifications (run_id, id)",

    "CREATE TABLE pull_requests ("
    " id {text} NOT NULL PRIMARY KEY,"
    " number {int} NOT NULL,"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " task_id {text} NOT NULL REFERENCES tasks (id),"
    " run_id {text} NOT NULL UNIQUE REFERENCES runs (id),"
    " branch {text} NOT NULL,"
    " target_branch {text},"
    " url {text},"
    " title {text},"
    " status {text} NOT NULL CHECK (status = 'open' OR status = 'merged' OR status = 'closed'),"
    " draft {int} NOT NULL CHECK (draft = 0 OR draft = 1),"
    " head_commit {text},"
    " merge_commit {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " merged_us {int} NOT NULL) {plain_table}",
    "CREATE INDEX pull_requests_repository ON pull_requests (repository_id, id)",
    "CREATE INDEX pull_requests_status ON pull_requests (status, id)",
    "CREATE INDEX pull_requests_open ON pull_requests (repository_id) WHERE status = 'open'",
    "CREATE UNIQUE INDEX pull_requests_url ON pull_requests (url) WHERE status = 'open'",

    "CREATE TABLE approvals ("
    " id {text} NOT NULL PRIMARY KEY,"
    " task_id {text} NOT NULL REFERENCES tasks (id),"
    " run_id {text} NOT NULL REFERENCES runs (id),"
    " kind {text} NOT NULL,"
    " status {text} NOT NULL"
    "  CHECK (status = 'pending' OR status = 'approved' OR status = 'rejected'"
    "  OR status = 'expired' OR status = 'cancelled'),"
    " decided_by {text},"
    " reason {text},"
    " requested_us {int} NOT NULL,"
    " expires_us {int} NOT NULL,"
    " decided_us {int} NOT NULL,"
    " question {text},"
    " summary {text},"
    " detail {json},"
    " artifact_sha256 {text},"
    " reminded {int} NOT NULL) {plain_table}",
    "CREATE INDEX approvals_status ON approvals (status, id)",
    "CREATE INDEX approvals_run ON approvals (run_id, id)",

    /* What agents ask people. */
    "CREATE TABLE questions ("
    " id {text} NOT NULL PRIMARY KEY,"
    " task_id {text} NOT NULL REFERENCES tasks (id),"
    " run_id {text} NOT NULL REFERENCES runs (id),"
    " asked_by {text} NOT NULL,"
    " text {text} NOT NULL,"
    " options {json},"
    " default_answer {text},"
    " status {text} NOT NULL"
    "  CHECK (status = 'pending' OR status = 'answered' OR status = 'expired'"
    "  OR status = 'cancelled'),"
    " answer {text},"
    " answered_by {text},"
    " attempt {int} NOT NULL,"
    " requested_us {int} NOT NULL,"
    " expires_us {int} NOT NULL,"
    " answered_us {int} NOT NULL,"
    " delivered_us {int} NOT NULL," /* 0: no agent has the answer */
    " reminded {int} NOT NULL) {plain_table}",
    "CREATE INDEX questions_status ON questions (status, id)",
    "CREATE INDEX questions_run ON questions (run_id, id)",

    /* What people say to the agent of a run. */
    "CREATE TABLE run_messages ("
    " run_id {text} NOT NULL REFERENCES runs (id),"
    " seq {int} NOT NULL,"
    " author {text} NOT NULL,"
    " text {text} NOT NULL,"
    " created_us {int} NOT NULL,"
    " delivered_us {int} NOT NULL," /* 0: unread */
    " job_id {text},"
    " PRIMARY KEY (run_id, seq)) {keyed_table}",

    "CREATE TABLE tokens ("
    " id {text} NOT NULL PRIMARY KEY,"
    " name {text} NOT NULL,"
    " role {text} NOT NULL CHECK (role IN ('viewer', 'operator', 'worker', 'admin')),"
    " sha256 {text} NOT NULL UNIQUE,"
    " created_us {int} NOT NULL,"
    " last_used_us {int} NOT NULL,"
    " expires_us {int} NOT NULL,"
    " revoked_us {int} NOT NULL,"
    " queues {text}) {plain_table}", /* With blanks between; NULL: all. */
    "CREATE INDEX tokens_live ON tokens (id) WHERE revoked_us = 0",

    "CREATE TABLE workers ("
    " name {text} NOT NULL PRIMARY KEY,"
    " host {text} NOT NULL,"
    " version {text} NOT NULL,"
    " queues {json} NOT NULL,"
    " pid {int} NOT NULL,"
    " slots {int} NOT NULL,"
    " busy {int} NOT NULL,"
    " draining {int} NOT NULL CHECK (draining IN (0, 1)),"
    " lease_us {int} NOT NULL,"
    " started_us {int} NOT NULL,"
    " last_seen_us {int} NOT NULL,"
    " unpublished_count {int} NOT NULL DEFAULT 0,"
    " unpublished_bytes {int} NOT NULL DEFAULT 0) {plain_table}",
    NULL,
};

/* Queues with rules of their own.  A row is inserted when there is first something to store of a
   queue. */
static const char *const queues[] = {
    "CREATE TABLE queues ("
    " name {text} NOT NULL PRIMARY KEY,"
    " config {json} NOT NULL,"
    " paused {int} NOT NULL CHECK (paused = 0 OR paused = 1),"
    " level {text} NOT NULL"
    "  CHECK (level = 'normal' OR level = 'warning' OR level = 'critical'),"
    " level_us {int} NOT NULL,"
    " dead_alert {int} NOT NULL CHECK (dead_alert = 0 OR dead_alert = 1),"
    " desired {int} NOT NULL DEFAULT 0," /* Workers that it should have, and since when. */
    " desired_us {int} NOT NULL DEFAULT 0,"
    " tokens {int} NOT NULL," /* Leases that its rate still allows, in millionths. */
    " tokens_us {int} NOT NULL,"
    " version {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",
    NULL,
};

static const char *const topics[] = {
    "CREATE TABLE subscriptions ("
    " name {text} NOT NULL PRIMARY KEY,"
    " pattern {text} NOT NULL,"
    " queue {text} NOT NULL,"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",

    "CREATE TABLE requests ("
    " id {text} NOT NULL PRIMARY KEY,"
    " topic {text} NOT NULL,"
    " state {text} NOT NULL"
    "  CHECK (state = 'waiting' OR state = 'replied' OR state = 'expired'),"
    " deadline_us {int} NOT NULL,"
    " reply {json},"
    " replied_by {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {plain_table}",
    "CREATE INDEX requests_deadline ON requests (deadline_us)",

    "CREATE TABLE schedules ("
    " name {text} NOT NULL PRIMARY KEY,"
    " cron {text} NOT NULL,"
    " job {json} NOT NULL,"
    " enabled {int} NOT NULL CHECK (enabled = 0 OR enabled = 1),"
    " next_us {int} NOT NULL," /* 0: never again */
    " last_us {int} NOT NULL,"
    " last_job_id {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",
    "CREATE INDEX schedules_next ON schedules (next_us) WHERE enabled = 1 AND next_us > 0",
    NULL,
};

static const char *const breakers[] = {
    "CREATE TABLE breakers ("
    " name {text} NOT NULL PRIMARY KEY,"
    " config {json} NOT NULL,"
    " state {text} NOT NULL"
    "  CHECK (state = 'closed' OR state = 'open' OR state = 'half_open'),"
    " failures {json} NOT NULL," /* The times of those that count. */
    " lent {json} NOT NULL,"     /* The times of probes whose outcome is awaited. */
    " successes {int} NOT NULL,"
    " changed_us {int} NOT NULL,"
    " open_until_us {int} NOT NULL,"
    " last_error {text},"
    " trips {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",
    NULL,
};

static const char *const sagas[] = {
    "CREATE TABLE sagas ("
    " id {text} NOT NULL PRIMARY KEY,"
    " name {text} NOT NULL,"
    " dedup_key {text},"
    " workspace_id {text},"
    " run_id {text},"
    " status {text} NOT NULL"
    "  CHECK (status = 'running' OR status = 'compensating' OR status = 'completed'"
    "  OR status = 'compensated' OR status = 'stuck'),"
    " phase {text} NOT NULL CHECK (phase = 'step' OR phase = 'compensation'),"
    " position {int} NOT NULL,"
    " job_id {text},"
    " definition {json} NOT NULL,"
    " error_code {text},"
    " error_message {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " ended_us {int} NOT NULL) {plain_table}",
    "CREATE INDEX sagas_status ON sagas (status, id)",
    "CREATE INDEX sagas_name ON sagas (name, id)",
    "CREATE INDEX sagas_run ON sagas (run_id, id) WHERE run_id IS NOT NULL",
    "CREATE UNIQUE INDEX sagas_dedup ON sagas (name, dedup_key) WHERE dedup_key IS NOT NULL",

    "CREATE TABLE saga_steps ("
    " saga_id {text} NOT NULL REFERENCES sagas (id),"
    " no {int} NOT NULL," /* In order of what happened. */
    " position {int} NOT NULL,"
    " phase {text} NOT NULL CHECK (phase = 'step' OR phase = 'compensation'),"
    " name {text} NOT NULL,"
    " job_id {text} NOT NULL,"
    " status {text} NOT NULL"
    "  CHECK (status = 'running' OR status = 'succeeded' OR status = 'failed'),"
    " result {json},"
    " error_code {text},"
    " error_message {text},"
    " started_us {int} NOT NULL,"
    " ended_us {int} NOT NULL,"
    " PRIMARY KEY (saga_id, no)) {keyed_table}",
    NULL,
};

static const char *const pipeline[] = {
    /* Of model providers: one that has reached its usage limit waits for its reset. */
    "CREATE TABLE accounts ("
    " id {text} NOT NULL UNIQUE,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " name {text} NOT NULL,"
    " parked_until_us {int} NOT NULL," /* 0: open */
    " parked_us {int} NOT NULL,"
    " reason {text},"
    " hits {int} NOT NULL,"
    " probe_us {int} NOT NULL,"
    " probes {int} NOT NULL,"
    " probe_run_id {text},"
    " windows {json}," /* core/agent/account_windows.h */
    " used_us {int} NOT NULL,"
    " used_run_id {text},"
    " day_us {int} NOT NULL,"
    " day_microusd {int} NOT NULL,"
    " total_microusd {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " PRIMARY KEY (workspace_id, name)) {keyed_table}",

    /* Records of finished runs, for the prompts of later ones. */
    "CREATE TABLE memories ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " task_id {text} NOT NULL,"
    " run_id {text} NOT NULL,"
    " outcome {text} NOT NULL,"
    " error_code {text},"
    " summary {text} NOT NULL,"
    " paths {json},"
    " pull_request {text},"
    " head_commit {text},"
    " turns {int} NOT NULL,"
    " cost_microusd {int} NOT NULL,"
    " created_us {int} NOT NULL) {plain_table}",
    "CREATE INDEX memories_repository ON memories (repository_id, id)",
    NULL,
};

static const char *const leases[] = {
    /* See leases.h.  Only servers that share a store write it. */
    "CREATE TABLE leases ("
    " name {text} NOT NULL PRIMARY KEY,"
    " holder {text} NOT NULL,"
    " session {text} NOT NULL,"
    " place {text} NOT NULL,"
    " epoch {int} NOT NULL,"
    " since_us {int} NOT NULL,"
    " deadline_us {int} NOT NULL) {keyed_table}",
    NULL,
};

static const char *const sinks[] = {
    "CREATE TABLE sinks ("
    " name {text} NOT NULL PRIMARY KEY,"
    " cursor_seq {int} NOT NULL," /* Events up to here are published, refused or not wanted. */
    " last_error {text},"         /* NULL: the last batch was published. */
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",

    /* Events that a sink has refused for good. */
    "CREATE TABLE sink_dead_letters ("
    " sink {text} NOT NULL REFERENCES sinks (name),"
    " seq {int} NOT NULL,"
    " event_id {text} NOT NULL,"
    " event_type {text} NOT NULL,"
    " error_code {text} NOT NULL,"
    " error_message {text} NOT NULL,"
    " created_us {int} NOT NULL,"
    " PRIMARY KEY (sink, seq)) {keyed_table}",
    NULL,
};

static const char *const run_limits[] = {
    "ALTER TABLE runs ADD COLUMN max_turns {int} NOT NULL DEFAULT 0", /* 0: none */
    NULL,
};

static const char *const webhooks[] = {
    /* What webhooks of forges have sent: deliveries.h. */
    "CREATE TABLE external_event_receipts ("
    " id {text} NOT NULL PRIMARY KEY,"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " forge {text} NOT NULL,"
    " delivery_id {text} NOT NULL,"
    " event {text} NOT NULL,"
    " subject {text} NOT NULL,"
    " number {int} NOT NULL,"
    " ref {text},"
    " actor {text},"
    " via {text} NOT NULL," /* webhook, recovered */
    " status {text} NOT NULL CHECK (status = 'applied' OR status = 'ignored'"
    "  OR status = 'invalid' OR status = 'lost'),"
    " detail {text},"
    " payload_sha256 {text},"
    " payload_bytes {int} NOT NULL,"
    " sent_us {int} NOT NULL,"
    " received_us {int} NOT NULL) {plain_table}",
    "CREATE UNIQUE INDEX receipts_delivery ON external_event_receipts (repository_id, delivery_id)",
    "CREATE INDEX receipts_repository ON external_event_receipts (repository_id, id)",
    "CREATE INDEX receipts_status ON external_event_receipts (status, id)",
    "CREATE INDEX receipts_received ON external_event_receipts (received_us)",
    "CREATE INDEX receipts_payload ON external_event_receipts (payload_sha256)",

    /* How what changes at the forge of a repository is learnt: syncs.h. */
    "CREATE TABLE forge_syncs ("
    " repository_id {text} NOT NULL PRIMARY KEY REFERENCES repositories (id),"
    " forge {text} NOT NULL,"
    " full_name {text} NOT NULL,"
    " provider_id {text},"
    " known_as {text},"
    " secret {text},"
    " old_secret {text},"
    " mode {text} NOT NULL CHECK (mode = 'polling' OR mode = 'webhooks'),"
    " mode_since_us {int} NOT NULL,"
    " last_delivery_us {int} NOT NULL,"
    " missed_us {int} NOT NULL,"
    " recovered {int} NOT NULL,"
    " deliveries_since_us {int} NOT NULL,"
    " listed_us {int} NOT NULL,"
    " deliveries_error {text},"
    " changes_since_us {int} NOT NULL,"
    " etag {text},"
    " last_sync_us {int} NOT NULL,"
    " last_error {text},"
    " last_error_us {int} NOT NULL,"
    " failures {int} NOT NULL,"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",
    "CREATE INDEX forge_syncs_name ON forge_syncs (forge, full_name)",
    "CREATE INDEX forge_syncs_provider ON forge_syncs (forge, provider_id)"
    " WHERE provider_id IS NOT NULL",

    /* In this order: else SQLite would count open ones by it. */
    "CREATE INDEX pull_requests_number ON pull_requests (number, repository_id, id)",
    NULL,
};

const struct migration migrations[] = {
    {1, "initial", initial},
    {2, "queues", queues},
    {3, "topics", topics},
    {4, "breakers", breakers},
    {5, "sagas", sagas},
    {6, "pipeline", pipeline},
    {7, "leases", leases},
    {8, "sinks", sinks},
    {9, "run_limits", run_limits},
    {10, "intake", migration_intake},
    {11, "trains", migration_trains},
    {12, "forge_limits", migration_forge_limits},
    {13, "webhooks", webhooks},
    {14, "shepherds", migration_shepherds},
    {15, "disks", migration_disks},
    {16, "agents", migration_agents},
    {17, "scratch", migration_scratch},
    {18, "batches", migration_batches},
    {19, "events", migration_events},
    {20, "traces", migration_traces},
    {21, "consumers", migration_consumers},
    {22, "events_view", migration_events_view},
    {23, "sinks_api", migration_sinks},
    {24, "schemas", migration_schemas},
    {25, "run_snapshots", migration_run_snapshots},
    {26, "audit", migration_audit},
    {27, "inbox", migration_inbox},
    {28, "conductor", migration_conductor},
    {29, "inbox_issues", migration_inbox_issues},
    {30, "bus", migration_bus},
    {31, "retention", migration_retention},
};
const size_t migration_count = COUNT_OF(migrations);
