/*
 * step_table.c - the one table of steps: what each of them is, and the members of its result.
 *
 * To add one: its name in core/step_kind.h, the members of its result and its row here; its two
 * handlers in the table of control/run/results.c, declared in control/run/results.h and
 * control/run/result_facts.h; its function in the table of work/job/step.c, declared in
 * work/job/step.h and written in a file like work/steps/clean.c; a rule for its failure code in
 * core/run/retry_rule.c and docs/STATES.md.  People meet it in docs/PROTOCOL.md, and where
 * `--queues` is described: docs/CONFIGURATION.md, server/cmd_worker.c and
 * share/completions/drover.bash.  One that runs an agent is also counted by store/queue_levels.c.
 * Everything else follows from the row: queue, attempts, time limit, breaker, slots, and its place
 * in a run.
 */
#include "core/step_table.h"
#include "core/judge_kind.h"
#include "core/report_shape.h"

enum { CHECKS_MAX = 64, JUDGES_MAX = 32 };

/* ---- results ---- */

static const char *const outcomes[] = {"ended",
                                       "timed_out",
                                       "idle_timed_out",
                                       "turn_limit",
                                       "budget_limit",
                                       "token_limit",
                                       "disk_limit",
                                       "memory_limit",
                                       "process_limit",
                                       "cpu_limit",
                                       "tool_denied",
                                       "tool_retries",
                                       "quota",
                                       "login_failed",
                                       "overloaded",
                                       "output_unreadable",
                                       NULL};
static const char *const reports[] = {"success", "error", "unknown", NULL};
static const char *const check_verdicts[] = {"verified", "failed", "unverifiable", NULL};
static const char *const check_statuses[] = {"passed",    "failed",  "errored",
                                             "timed_out", "skipped", NULL};
static const char *const judge_verdicts[] = {"pass", "fail", "needs_human_review", "inconclusive",
                                             NULL};
static const char *const custom_statuses[] = {"success", "failed", NULL};
static const struct report_field prepare_fields[] = {
    {"baseCommit", KIND_COMMIT, .required = REQUIRED},
    {"keptTree", KIND_PATH, .required = OPTIONAL},
};
static const struct report_field hydrate_fields[] = {
    {"promptSha256", KIND_SHA256, .required = REQUIRED},
    {"promptVersion", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"sources", KIND_ARRAY, OPTIONAL, .max = 1000},
    {"tokenEstimate", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"truncated", KIND_BOOL, .required = OPTIONAL},
    {"degraded", KIND_ARRAY, OPTIONAL, .max = 1000},
};

static const struct report_field patch_fields[] = {
    {"sha256", KIND_SHA256, .required = REQUIRED},
    {"bytes", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"files", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"linesAdded", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"linesDeleted", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"treeHash", KIND_COMMIT, .required = OPTIONAL},
    {"paths", KIND_ARRAY, OPTIONAL, .max = 1000},
    {"forbiddenPaths", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"unscannedFiles", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"unscanned", KIND_ARRAY, OPTIONAL, .max = 1000},
};
static const struct report_shape patch_shape = REPORT_SHAPE(patch_fields);

static const struct report_field secret_fields[] = {
    {"rule", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"path", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"line", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"text", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct report_shape secret_shape = REPORT_SHAPE(secret_fields);

static const struct report_field pull_request_fields[] = {
    {"number", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"headCommit", KIND_COMMIT, .required = REQUIRED},
    {"url", KIND_LINE, OPTIONAL, .max = PATH_TEXT_MAX},
    {"branch", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"draft", KIND_BOOL, .required = OPTIONAL},
};
static const struct report_shape pull_request_shape = REPORT_SHAPE(pull_request_fields);

/* Of an agent that ended, with or without a patch. */
#define AGENT_FIELDS                                                                               \
    {"outcome", KIND_CHOICE, REQUIRED, .choices = outcomes},                                       \
        {"report", KIND_CHOICE, REQUIRED, .choices = reports},                                     \
        {"exited", KIND_BOOL, .required = OPTIONAL}, {"exitCode", KIND_INT, .required = OPTIONAL}, \
        {"signal", KIND_COUNT, OPTIONAL, .max = 1000},                                             \
        {"summary", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},                                         \
        {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},                                           \
        {"toolRetries", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},                                   \
        {"turns", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},                                         \
        {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},                                   \
        {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},                                  \
        {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},                                      \
        {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},                                     \
        {"question", KIND_OBJECT, .required = OPTIONAL}, /* core/run/question_spec.h */            \
    {                                                                                              \
        "quota", KIND_OBJECT, .required = OPTIONAL                                                 \
    }

static const struct report_field agent_fields[] = {
    AGENT_FIELDS,
    {"patch", KIND_OBJECT, OPTIONAL, .shape = &patch_shape},
    {"patchSha256", KIND_SHA256, .required = OPTIONAL},
    {"secrets", KIND_LIST, OPTIONAL, .max = 1000, .shape = &secret_shape},
    {"branchPushed", KIND_BOOL, .required = OPTIONAL},
    {"commits", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"pullRequest", KIND_OBJECT, OPTIONAL, .shape = &pull_request_shape},
};
static const struct report_field plan_fields[] = {
    AGENT_FIELDS,
    {"planSha256", KIND_SHA256_0, .required = REQUIRED},
};
/* Of an agent that leased its work itself; what it leaves is checked by the step collect. */
static const struct report_field pull_fields[] = {
    {"status", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"summary", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"question", KIND_OBJECT, .required = OPTIONAL},
};

static const struct report_field check_fields[] = {
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"command", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"status", KIND_CHOICE, REQUIRED, .choices = check_statuses},
    {"exitCode", KIND_INT, .required = OPTIONAL},
    {"signal", KIND_COUNT, OPTIONAL, .max = 1000},
    {"category", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"optional", KIND_BOOL, .required = OPTIONAL},
    {"summary", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"reportSha256", KIND_SHA256, .required = OPTIONAL},
    {"durationMs", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
};
static const struct report_shape check_shape = REPORT_SHAPE(check_fields);
static const struct report_field verify_fields[] = {
    {"verdict", KIND_CHOICE, REQUIRED, .choices = check_verdicts},
    {"checks", KIND_LIST, REQUIRED, .max = CHECKS_MAX, .shape = &check_shape},
    {"certificateSha256", KIND_SHA256, .required = REQUIRED},
    {"treeHash", KIND_COMMIT, .required = OPTIONAL},
    {"feedbackSha256", KIND_SHA256, .required = OPTIONAL},
};

static const struct report_field finding_fields[] = {
    {"rule", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"category", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"path", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"text", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct report_shape finding_shape = REPORT_SHAPE(finding_fields);
static const struct report_field judge_usage_fields[] = {
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},
};
static const struct report_shape judge_usage_shape = REPORT_SHAPE(judge_usage_fields);
static const struct report_field opinion_fields[] = {
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"kind", KIND_CHOICE, REQUIRED, .choices = judge_kind_names},
    {"verdict", KIND_CHOICE, REQUIRED, .choices = judge_verdicts},
    {"errored", KIND_BOOL, .required = OPTIONAL},
    {"problem", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"score", KIND_NUMBER, OPTIONAL, .max = 1},
    {"category", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"findingsCount", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"findings", KIND_LIST, OPTIONAL, .max = 1000, .shape = &finding_shape},
    {"reportSha256", KIND_SHA256, .required = OPTIONAL},
    {"usage", KIND_OBJECT, OPTIONAL, .shape = &judge_usage_shape},
};
static const struct report_shape opinion_shape = REPORT_SHAPE(opinion_fields);
static const struct report_field judge_fields[] = {
    {"verdict", KIND_CHOICE, REQUIRED, .choices = judge_verdicts},
    {"judges", KIND_LIST, REQUIRED, .max = JUDGES_MAX, .shape = &opinion_shape},
    {"feedbackSha256", KIND_SHA256, .required = OPTIONAL},
};
static const struct report_field custom_fields[] = {
    {"status", KIND_CHOICE, REQUIRED, .choices = custom_statuses},
    {"metadata", KIND_OBJECT, .required = OPTIONAL},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct report_field unpublish_fields[] = {
    {"branch", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"outcome", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const char *const train_outcomes[] = {"passed", "failed", "conflict", "moved",
                                             "gone",   "landed", "handed",   NULL};
static const struct report_field train_fields[] = {
    {"outcome", KIND_CHOICE, REQUIRED, .choices = train_outcomes},
    {"at", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"base", KIND_COMMIT, .required = OPTIONAL},
    {"tip", KIND_COMMIT, .required = OPTIONAL},
    {"commit", KIND_COMMIT, .required = OPTIONAL},
    {"tree", KIND_COMMIT, .required = OPTIONAL},
    {"detail", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"reused", KIND_BOOL, .required = OPTIONAL},
    {"unverified", KIND_BOOL, .required = OPTIONAL},
    {"merged", KIND_ARRAY, OPTIONAL, .max = 1000},
};
static const struct report_field clean_fields[] = {
    {"keptTree", KIND_PATH, .required = OPTIONAL},
};

/* Without issueSha256 there is no such issue. */
static const struct report_field issue_fields[] = {
    {"number", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"issueSha256", KIND_SHA256, .required = OPTIONAL},
};
static const struct report_field comment_fields[] = {
    {"number", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"closed", KIND_BOOL, .required = OPTIONAL},
};
static const struct report_field sync_fields[] = {
    {"report", KIND_OBJECT, .required = OPTIONAL},
    {"reportSha256", KIND_SHA256, .required = OPTIONAL},
};

static const char *const ci_causes[] = {"patch",    "flaky",    "base", "infrastructure",
                                        "metadata", "repeated", NULL};
static const char *const rebase_outcomes[] = {"verified", "failed", "conflict",
                                              "empty",    "moved",  NULL};
static const struct report_field ci_failure_fields[] = {
    {"check", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"cause", KIND_CHOICE, REQUIRED, .choices = ci_causes},
    {"why", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"fingerprint", KIND_SHA256, .required = REQUIRED},
    {"line", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const struct report_shape ci_failure_shape = REPORT_SHAPE(ci_failure_fields);
static const struct report_field observe_fields[] = {
    {"viewSha256", KIND_SHA256, .required = REQUIRED},
    {"can", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"failures", KIND_LIST, OPTIONAL, .max = 10, .shape = &ci_failure_shape},
    {"faultSha256", KIND_SHA256, .required = OPTIONAL},
};
static const struct report_field attend_fields[] = {
    {"head", KIND_COMMIT, .required = REQUIRED},
    {"done", KIND_ARRAY, REQUIRED, .max = 32},
    {"refused", KIND_ARRAY, OPTIONAL, .max = 32},
    {"mergeCommit", KIND_COMMIT, .required = OPTIONAL},
};
static const struct report_field rebase_fields[] = {
    {"outcome", KIND_CHOICE, REQUIRED, .choices = rebase_outcomes},
    {"head", KIND_COMMIT, .required = OPTIONAL},
    {"target", KIND_COMMIT, .required = OPTIONAL},
    {"certificateSha256", KIND_SHA256, .required = OPTIONAL},
    {"feedbackSha256", KIND_SHA256, .required = OPTIONAL},
    {"detail", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};

/* How the process of an agent ended; error: it could not be started, or was stopped by a limit. */
static const struct report_field launch_fields[] = {
    {"exitCode", KIND_INT, .required = OPTIONAL},
    {"signal", KIND_COUNT, OPTIONAL, .max = 1000},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"lastWords", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"livedMs", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
};

/* ---- rows ---- */

enum {
    SPARE_MS = 5 * 60 * 1000,
    CLEAN_MS = 10 * 60 * 1000,
    NOTIFY_MS = 2 * 60 * 1000,
    FORGE_MS = 2 * 60 * 1000,
    TRAIN_MS = 6 * 3600 * 1000, /* The configuration of its repository has the real limit. */
    SYNC_MS = 5 * 60 * 1000,
};
#define LAUNCH_MS (INT64_C(365) * 24 * 3600 * 1000) /* It lives as long as it likes. */

#define NAMED(text)    .name = (text), .queue = STEP_QUEUE_PREFIX text
#define RESULT(fields) &(const struct report_shape)REPORT_SHAPE(fields)

/* Attempts: infrastructure faults are retried; an agent, which costs money, less often than the
   rest, tidying up more patiently.  Time: what works in a tree may have to make it first, and has
   some to spare for that and for its patch.  Preference: what is nearest to the end of a run. */
static const struct step_row table[] = {
    {
        .kind = STEP_PREPARE,
        NAMED("prepare"),
        .status = RUN_PREPARING,
        .place = PLACE_REQUIRED,
        .attempts = 3,
        .time = TIME_PREPARE,
        .failure = "prepare_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(prepare_fields),
        .class = CLASS_SHORT,
        .preference = 30,
        .fills_disk = true,
    },
    {
        .kind = STEP_HYDRATE,
        NAMED("hydrate"),
        .status = RUN_CONTEXT_LOADING,
        .place = PLACE_REQUIRED,
        .attempts = 3,
        .time = TIME_PREPARE | TIME_HYDRATE,
        .failure = "hydrate_failed",
        .result = RESULT(hydrate_fields),
        .class = CLASS_SHORT,
        .preference = 40,
    },
    {
        .kind = STEP_PLAN,
        NAMED("plan"),
        .status = RUN_PLANNING,
        .place = PLACE_OPTIONAL,
        .attempts = 2,
        .time = TIME_PREPARE | TIME_PLAN,
        .time_ms = SPARE_MS,
        .failure = "agent_start_failed",
        .result = RESULT(plan_fields),
        .class = CLASS_AGENT,
        .preference = 50,
        .runs_agent = true,
        .works_in_tree = true,
        .fills_disk = true,
    },
    {
        .kind = STEP_CUSTOM,
        NAMED("custom"),
        .any_status = true,
        .attempts = 3,
        .time = TIME_PREPARE | TIME_CUSTOM,
        .time_ms = SPARE_MS,
        .failure = "custom_step_unavailable",
        .dependency = DEPENDS_ON_URL,
        .result = RESULT(custom_fields),
        .class = CLASS_CHECK,
        .preference = 60,
        .fills_disk = true,
    },
    {
        .kind = STEP_AGENT,
        NAMED("agent"),
        .status = RUN_RUNNING,
        .place = PLACE_REQUIRED,
        .attempts = 2,
        .time = TIME_PREPARE | TIME_AGENT,
        .time_ms = SPARE_MS,
        .failure = "agent_start_failed",
        .dependency = DEPENDS_ON_AGENT,
        .result = RESULT(agent_fields),
        .class = CLASS_AGENT,
        .preference = 70,
        .runs_agent = true,
        .works_in_tree = true,
        .fills_disk = true,
    },
    {
        .kind = STEP_PULL,
        .name = "pull",
        .status = RUN_RUNNING,
        .result = RESULT(pull_fields),
        .runs_agent = true,
    },
    {
        .kind = STEP_COLLECT,
        NAMED("collect"),
        .status = RUN_RUNNING,
        .attempts = 4,
        .time = TIME_PREPARE,
        .time_ms = SPARE_MS,
        .failure = "collect_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(agent_fields),
        .class = CLASS_SHORT,
        .preference = 80,
    },
    {
        .kind = STEP_VERIFY,
        NAMED("verify"),
        .status = RUN_VERIFYING,
        .place = PLACE_OPTIONAL,
        .attempts = 3,
        .time = TIME_PREPARE | TIME_CHECKS,
        .time_ms = SPARE_MS,
        .failure = "verify_failed_to_run",
        .result = RESULT(verify_fields),
        .class = CLASS_CHECK,
        .preference = 90,
        .fills_disk = true,
    },
    {
        .kind = STEP_JUDGE,
        NAMED("judge"),
        .status = RUN_JUDGING,
        .place = PLACE_OPTIONAL,
        .attempts = 3,
        .time = TIME_PREPARE | TIME_JUDGES,
        .time_ms = SPARE_MS,
        .failure = "judge_failed",
        .result = RESULT(judge_fields),
        .class = CLASS_CHECK,
        .preference = 100,
        .fills_disk = true,
    },
    {
        .kind = STEP_PUBLISH,
        NAMED("publish"),
        .status = RUN_CREATING_PR,
        .place = PLACE_OPTIONAL,
        .attempts = 5, /* The repository configures another number. */
        .time = TIME_PUBLISH,
        .failure = "publish_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(pull_request_fields),
        .class = CLASS_SHORT,
        .preference = 110,
        .finishes = true,
        .writes = true,
    },
    {
        .kind = STEP_UNPUBLISH,
        NAMED("unpublish"),
        .attempts = 5,
        .time = TIME_PUBLISH,
        .failure = "unpublish_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(unpublish_fields),
        .class = CLASS_SHORT,
        .preference = 20,
        .finishes = true,
        .writes = true,
    },
    {
        .kind = STEP_CLEAN,
        NAMED("clean"),
        .attempts = 5,
        .time_ms = CLEAN_MS,
        .failure = "clean_failed",
        .result = RESULT(clean_fields),
        .class = CLASS_SHORT,
        .preference = 10,
        .finishes = true,
        .outlives_run = true,
    },
    {
        .kind = STEP_NOTIFY,
        NAMED("notify"),
        .attempts = 8,
        .time_ms = NOTIFY_MS,
        .failure = "notification_failed",
        .dependency = DEPENDS_ON_CHANNEL,
        .class = CLASS_SHORT,
        .preference = 120,
        .bare = true,
    },
    {
        .kind = STEP_ISSUE,
        NAMED("issue"),
        .attempts = 8,
        .time_ms = FORGE_MS,
        .failure = "issue_unreadable",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(issue_fields),
        .class = CLASS_SHORT,
        .preference = 28,
        .bare = true,
    },
    {
        .kind = STEP_COMMENT,
        NAMED("comment"),
        .attempts = 8,
        .time_ms = FORGE_MS,
        .failure = "comment_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(comment_fields),
        .class = CLASS_SHORT,
        .preference = 26,
        .finishes = true,
        .writes = true,
        .bare = true,
    },
    {
        .kind = STEP_TRAIN,
        NAMED("train"),
        .attempts = 4,
        .time = TIME_PREPARE | TIME_CHECKS | TIME_PUBLISH,
        .time_ms = TRAIN_MS,
        .failure = "train_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(train_fields),
        .class = CLASS_CHECK,
        .preference = 92,
        .writes = true,
        .bare = true,
        .fills_disk = true,
    },
    {
        .kind = STEP_SYNC,
        NAMED("sync"),
        .attempts = 3,
        .time_ms = SYNC_MS,
        .failure = "sync_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(sync_fields),
        .class = CLASS_SHORT,
        .preference = 25,
        .routine = true,
        .bare = true,
    },
    {
        .kind = STEP_OBSERVE,
        NAMED("observe"),
        .attempts = 5,
        .time_ms = FORGE_MS,
        .failure = "observe_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(observe_fields),
        .class = CLASS_SHORT,
        .preference = 24,
        .finishes = true,
        .outlives_run = true,
    },
    {
        .kind = STEP_ATTEND,
        NAMED("attend"),
        .attempts = 5,
        .time_ms = FORGE_MS,
        .failure = "attend_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(attend_fields),
        .class = CLASS_SHORT,
        .preference = 32,
        .finishes = true,
        .outlives_run = true,
        .writes = true,
    },
    {
        .kind = STEP_REBASE,
        NAMED("rebase"),
        .attempts = 3,
        .time = TIME_PREPARE | TIME_CHECKS | TIME_PUBLISH,
        .time_ms = SPARE_MS,
        .failure = "rebase_failed",
        .dependency = DEPENDS_ON_FORGE,
        .result = RESULT(rebase_fields),
        .class = CLASS_CHECK,
        .preference = 88,
        .finishes = true,
        .outlives_run = true,
        .writes = true,
        .fills_disk = true,
    },
    {
        .kind = STEP_LAUNCH,
        NAMED("launch"),
        .attempts = 1, /* The rule of the agent's restarts decides about the next start. */
        .time_ms = LAUNCH_MS,
        .failure = "launch_failed",
        .result = RESULT(launch_fields),
        .class = CLASS_AGENT,
        .preference = 15,
        .routine = true,
        .bare = true,
        .fills_disk = true,
    },
};
_Static_assert(COUNT_OF(table) == STEP_KIND_COUNT, "a row for every step");
_Static_assert((int)STEP_KIND_COUNT < (int)STEP_ROWS_MAX, "room for one more, which a test adds");

const struct step_row *step_table(size_t *ret_count)
{
    *ret_count = COUNT_OF(table);
    return table;
}
