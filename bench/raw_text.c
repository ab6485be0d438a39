#include "bench/raw_text.h"

#define WORKSPACE  "'00000000-0000-7000-8000-000000000001'"
#define REPOSITORY "'00000000-0000-7000-8000-000000000002'"
#define SHA256     "'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'"
#define COMMIT     "'da39a3ee5e6b4b0d3255bfef95601890afd80709'"
#define CONFIG                                                                       \
    "'{\"url\":\"/srv/git/x.git\",\"agent\":{\"command\":[\"./agent\"]},\"limits\":" \
    "{\"maxActiveRuns\":1000}}'"
#define TRACEPARENT "'00-01990000000070008000000000000000-8000000000000000-01'"
/* About as long as the data of events are. */
#define DATA                                                                             \
    "'{\"runId\":\"01990000-0000-7000-8000-000000000000\",\"fromStatus\":\"preparing\"," \
    "\"toStatus\":\"context_loading\",\"reason\":\"Worktree ready\"}'"

const char *const raw_texts[RAW_LETTERS] = {
    ['T'] = "INSERT INTO tasks (id, workspace_id, repository_id, description, issue_number,"
            " task_type, risk, mode, target_branch, scope, priority, max_turns,"
            " max_budget_microusd, labels, channel, depends_on, config, requested_by, status,"
            " latest_run_id, run_count, created_us, updated_us, ended_us, max_tokens, best_of,"
            " candidate_no) VALUES (?3, " WORKSPACE ", " REPOSITORY
            ", 'Make the clock run on time', 0, 'general', 'medium',"
            " 'supervised_pr', 'main', '[]', 100, 0, 0, '[]', '{}', '[]', " CONFIG ", 'bench',"
            " 'submitted', ?2, 1, ?4, ?4, 0, 0, 0, 0)",
    ['R'] =
        "INSERT INTO runs (id, task_id, workspace_id, repository_id, run_no, status, attempt,"
        " branch, turns, tokens_in, tokens_out, cost_microusd, stop, stop_us, used_agent,"
        " used_tool, used_verifier, used_pr, lost, rank, requested_by, task_type, event_seq,"
        " queued_us, started_us, ended_us, deadline_us, updated_us, max_turns,"
        " budget_microusd, events_left, event_bytes_left, max_tokens) VALUES (?2, ?3, " WORKSPACE
        ", " REPOSITORY ", 1, 'queued', 0, 'drover/' || ?3 || '/1-make-the-clock', 0, 0, 0, 0,"
        " 'none', 0, 0, 0, 0, 0, 0, ?4, 'bench', 'general', 0, ?4, 0, 0, 0, ?4,"
        " 0, 0, 20000, 33554432, 0)",
    ['E'] = "INSERT INTO event_log (id, type, version, workspace_id, task_id, subject, time_us,"
            " run_seq, correlation_id, causation_id, actor_type, actor_id, traceparent, data)"
            " VALUES (?1, 'agent.task.accepted', 1, " WORKSPACE ", ?3, 'task/' || ?3, ?4, 0, ?3,"
            " ?2, 'system', 'drover', " TRACEPARENT ", " DATA ")",
    ['e'] = "INSERT INTO event_log (id, type, version, workspace_id, task_id, run_id, attempt_id,"
            " subject, time_us, run_seq, correlation_id, causation_id, actor_type, actor_id,"
            " traceparent, data) VALUES (?1, 'agent.run.status.changed', 1, " WORKSPACE
            ", ?3, ?2, ?2, 'run/' || ?2, ?4, ?5, ?3, ?2, 'system', 'drover', " TRACEPARENT ", " DATA
            ")",
    ['t'] = "UPDATE tasks SET status = CASE ?5 % 2 WHEN 0 THEN 'hydrating' ELSE 'running' END,"
            " last_event_id = ?2, updated_us = ?4 WHERE id = ?3",
    ['r'] = "UPDATE runs SET status = CASE ?5 % 2 WHEN 0 THEN 'running' ELSE 'verifying' END,"
            " base_commit = " COMMIT ", prompt_sha256 = " SHA256 ", patch_sha256 = " SHA256
            ", certificate_sha256 = " SHA256 ", job_id = ?2, event_seq = ?5, last_event_id = ?2,"
            " updated_us = ?4 WHERE id = ?2",
    ['h'] = "UPDATE runs SET event_seq = ?5, last_event_id = ?2, updated_us = ?4 WHERE id = ?2",
    ['j'] = "INSERT INTO jobs (id, queue, type, workspace_id, run_id, payload, priority, rank,"
            " state, epoch, due_us, expires_us, attempt, attempt_max, lost, dead_reason, leased_us,"
            " created_us, updated_us) VALUES (?1, 'bench', 'note', " WORKSPACE ", ?2, ?6, 100, ?4,"
            " 'queued', 0, ?4, 0, 0, 3, 0, 'none', 0, ?4, ?4)",
    ['c'] = "UPDATE jobs SET state = 'leased', worker = 'bench', leased_us = ?4, due_us = ?4,"
            " epoch = epoch + 1, lease_owner = 'node/bench', updated_us = ?4 WHERE seq = ?7",
    ['s'] = "UPDATE jobs SET state = 'succeeded', attempt = 1, updated_us = ?4 WHERE seq = ?7",
    ['m'] = "INSERT INTO timers (subject, kind, due_us) VALUES (?2, 'run_deadline', ?4)",
    ['M'] = "DELETE FROM timers WHERE subject = ?2",
    ['p'] = "INSERT INTO patches (id, run_id, attempt_no, sha256, base_commit, tree_hash, files,"
            " lines_added, lines_deleted, summary, status, created_us) VALUES (?2, ?2, 1, " SHA256
            ", " COMMIT ", " COMMIT ", 1, 2, 1, 'done', 'created', ?4)",
    ['P'] = "UPDATE patches SET status = 'published' WHERE id = ?2",
    ['v'] =
        "INSERT INTO verifications (id, run_id, patch_id, name, command, status, exit_code,"
        " duration_ms, created_us) VALUES (?2, ?2, ?2, 'unit', 'make test', 'passed', 0, 0, ?4)",
    ['q'] = "INSERT INTO pull_requests (id, number, repository_id, task_id, run_id, branch,"
            " target_branch, url, title, status, draft, head_commit, created_us, updated_us,"
            " merged_us) VALUES (?2, 1, " REPOSITORY ", ?3, ?2, 'drover/' || ?3, 'main',"
            " '/srv/git/x.git#' || ?2, 'Make the clock run on time', 'open', 1, " COMMIT
            ", ?4, ?4, 0)",
};

const char raw_repository[] =
    "INSERT INTO repositories (id, workspace_id, name, config, version, removed, created_us,"
    " updated_us) VALUES (" REPOSITORY ", " WORKSPACE ", 'bench', " CONFIG ", 1, 0, 0, 0)";

const struct raw_command raw_commands[RAW_COMMANDS] = {
    {"o", "EEEeETReejMmrt", false}, {"jr", "ceh", false},     {"jrt", "seeejr", true},
    {"jr", "ceh", false},           {"jrt", "seeejrt", true}, {"jr", "ceh", false},
    {"jrt", "sepeejr", true},       {"jr", "ceh", false},     {"jrt", "sevePeejr", true},
    {"jr", "ceh", false},           {"jrt", "seeejrt", true}, {"jr", "ceh", false},
    {"jrt", "seqePeeeEMjrt", true}, {"j", "c", false},        {"j", "s", false},
};
