/*
 * worker_report.c - see worker_report.h.
 */
#include "core/run/worker_report.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/event_types.h"
#include "core/run/judge.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind {
    KIND_TEXT,     /* At most `max` bytes. */
    KIND_LINE,     /* The same without control characters. */
    KIND_SHA256,   /* Of an artifact. */
    KIND_SHA256_0, /* The same, or "". */
    KIND_COMMIT,   /* Or a tree. */
    KIND_REF,
    KIND_PATH,   /* Absolute, one line. */
    KIND_CHOICE, /* One of `choices`. */
    KIND_COUNT,  /* 0 to `max`. */
    KIND_INT,
    KIND_NUMBER, /* 0 to `max`. */
    KIND_BOOL,
    KIND_ARRAY,  /* At most `max` of anything. */
    KIND_OBJECT, /* Of `shape`, or of any. */
    KIND_LIST,   /* At most `max` objects of `shape`. */
};

enum { OPTIONAL, REQUIRED };

struct shape;
struct field {
    const char *name;
    enum kind kind;
    int required;
    int64_t max;
    const char *const *choices;
    const struct shape *shape;
};
struct shape {
    const struct field *fields;
    size_t count;
};
#define SHAPE(table)             \
    {                            \
        (table), COUNT_OF(table) \
    }

enum { TEXT_MAX = 16 * 1024, LINE_MAX_BYTES = 1000, PATH_TEXT_MAX = 4096 };
#define COUNT_MAX (INT64_C(1) << 53)
#define MONEY_MAX INT64_C(1000000)

/* ---- results ---- */

static const char *const outcomes[] = {"ended",
                                       "timed_out",
                                       "idle_timed_out",
                                       "turn_limit",
                                       "budget_limit",
                                       "disk_limit",
                                       "memory_limit",
                                       "process_limit",
                                       "cpu_limit",
                                       "tool_denied",
                                       "tool_retries",
                                       "quota",
                                       NULL};
static const char *const reports[] = {"success", "error", "unknown", NULL};
static const char *const check_verdicts[] = {"verified", "failed", "unverifiable", NULL};
static const char *const check_statuses[] = {"passed",    "failed",  "errored",
                                             "timed_out", "skipped", NULL};
static const char *const judge_verdicts[] = {"pass", "fail", "needs_human_review", "inconclusive",
                                             NULL};
static const char *const custom_statuses[] = {"success", "failed", NULL};
static const char *const artifact_kinds[] = {
    "prompt", "plan",        "patch",    "redacted_patch", "given_patch",  "agent_log",
    "report", "certificate", "feedback", "attachment",     "judge_report", NULL};

static const struct field artifact_fields[] = {
    {"kind", KIND_CHOICE, REQUIRED, .choices = artifact_kinds},
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"sha256", KIND_SHA256, .required = REQUIRED},
    {"bytes", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
};
static const struct shape artifact_shape = SHAPE(artifact_fields);

static const struct field common_fields[] = {
    {"artifacts", KIND_LIST, OPTIONAL, .max = REPORT_ARTIFACTS_MAX, .shape = &artifact_shape},
};
static const struct shape common_shape = SHAPE(common_fields);

static const struct field prepare_fields[] = {
    {"baseCommit", KIND_COMMIT, .required = REQUIRED},
    {"keptTree", KIND_PATH, .required = OPTIONAL},
};
static const struct field hydrate_fields[] = {
    {"promptSha256", KIND_SHA256, .required = REQUIRED},
    {"promptVersion", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"sources", KIND_ARRAY, OPTIONAL, .max = 1000},
    {"tokenEstimate", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"truncated", KIND_BOOL, .required = OPTIONAL},
    {"degraded", KIND_ARRAY, OPTIONAL, .max = 1000},
};

static const struct field patch_fields[] = {
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
static const struct shape patch_shape = SHAPE(patch_fields);

static const struct field secret_fields[] = {
    {"rule", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"path", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"line", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"text", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct shape secret_shape = SHAPE(secret_fields);

static const struct field pull_request_fields[] = {
    {"number", KIND_COUNT, REQUIRED, .max = COUNT_MAX},
    {"headCommit", KIND_COMMIT, .required = REQUIRED},
    {"url", KIND_LINE, OPTIONAL, .max = PATH_TEXT_MAX},
    {"branch", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"draft", KIND_BOOL, .required = OPTIONAL},
};
static const struct shape pull_request_shape = SHAPE(pull_request_fields);

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
    {                                                                                              \
        "quota", KIND_OBJECT, .required = OPTIONAL                                                 \
    }

static const struct field agent_fields[] = {
    AGENT_FIELDS,
    {"patch", KIND_OBJECT, OPTIONAL, .shape = &patch_shape},
    {"patchSha256", KIND_SHA256, .required = OPTIONAL},
    {"secrets", KIND_LIST, OPTIONAL, .max = 1000, .shape = &secret_shape},
    {"branchPushed", KIND_BOOL, .required = OPTIONAL},
    {"commits", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"pullRequest", KIND_OBJECT, OPTIONAL, .shape = &pull_request_shape},
};
static const struct field plan_fields[] = {
    AGENT_FIELDS,
    {"planSha256", KIND_SHA256_0, .required = REQUIRED},
};
/* Of an agent that leased its work itself; what it leaves is checked by the step collect. */
static const struct field pull_fields[] = {
    {"status", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"summary", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};

static const struct field check_fields[] = {
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
static const struct shape check_shape = SHAPE(check_fields);
static const struct field verify_fields[] = {
    {"verdict", KIND_CHOICE, REQUIRED, .choices = check_verdicts},
    {"checks", KIND_LIST, REQUIRED, .max = REPORT_CHECKS_MAX, .shape = &check_shape},
    {"certificateSha256", KIND_SHA256, .required = REQUIRED},
    {"treeHash", KIND_COMMIT, .required = OPTIONAL},
    {"feedbackSha256", KIND_SHA256, .required = OPTIONAL},
};

static const struct field finding_fields[] = {
    {"rule", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"category", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"path", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"text", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct shape finding_shape = SHAPE(finding_fields);
static const struct field judge_usage_fields[] = {
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},
};
static const struct shape judge_usage_shape = SHAPE(judge_usage_fields);
static const struct field opinion_fields[] = {
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
static const struct shape opinion_shape = SHAPE(opinion_fields);
static const struct field judge_fields[] = {
    {"verdict", KIND_CHOICE, REQUIRED, .choices = judge_verdicts},
    {"judges", KIND_LIST, REQUIRED, .max = REPORT_JUDGES_MAX, .shape = &opinion_shape},
    {"feedbackSha256", KIND_SHA256, .required = OPTIONAL},
};
static const struct field custom_fields[] = {
    {"status", KIND_CHOICE, REQUIRED, .choices = custom_statuses},
    {"metadata", KIND_OBJECT, .required = OPTIONAL},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct field unpublish_fields[] = {
    {"branch", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"outcome", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const struct field clean_fields[] = {
    {"keptTree", KIND_PATH, .required = OPTIONAL},
};

static const struct named_shape {
    const char *name;
    struct shape shape;
} step_shapes[] = {
    {"prepare", SHAPE(prepare_fields)},     {"hydrate", SHAPE(hydrate_fields)},
    {"plan", SHAPE(plan_fields)},           {"agent", SHAPE(agent_fields)},
    {"pull", SHAPE(pull_fields)},           {"collect", SHAPE(agent_fields)},
    {"verify", SHAPE(verify_fields)},       {"judge", SHAPE(judge_fields)},
    {"custom", SHAPE(custom_fields)},       {"publish", SHAPE(pull_request_fields)},
    {"unpublish", SHAPE(unpublish_fields)}, {"clean", SHAPE(clean_fields)},
};

/* ---- events ----
   What an agent may leave out or choose is optional and free text: a call that is refused loses all
   its events, and an agent must not be able to hide its tool calls behind an event of its own. */

static const char *const tool_statuses[] = {"started", "completed", "failed",
                                            "denied",  "timed_out", NULL};
static const char *const snapshot_reasons[] = {"interval", "cancelled", "timed_out", "cut_off",
                                               "failed",   "shutdown",  "recovered", "ended",
                                               "swept",    NULL};

static const struct field message_fields[] = {{"text", KIND_TEXT, OPTIONAL, .max = TEXT_MAX}};
static const struct field tool_fields[] = {
    {"name", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"summary", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
    {"status", KIND_CHOICE, OPTIONAL, .choices = tool_statuses},
    {"toolCallId", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"argumentsHash", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct field turn_fields[] = {
    {"turns", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"cachedInputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const struct field verification_fields[] = {
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
    {"verifierName", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"command", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct field judge_started_fields[] = {
    {"judgeType", KIND_CHOICE, OPTIONAL, .choices = judge_kind_names},
    {"name", KIND_TEXT, REQUIRED, .max = LINE_MAX_BYTES},
};
static const struct field request_fields[] = {
    {"branch", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES}};
static const struct field cost_fields[] = {
    {"source", KIND_LINE, OPTIONAL, .max = LINE_MAX_BYTES},
    {"name", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"inputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"outputTokens", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"costUsd", KIND_NUMBER, OPTIONAL, .max = MONEY_MAX},
};
static const struct field told_plan_fields[] = {
    {"text", KIND_TEXT, REQUIRED, .max = TEXT_MAX},
    {"reason", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};
static const struct field session_fields[] = {
    {"sessionId", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"model", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
    {"attempt", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"reason", KIND_TEXT, OPTIONAL, .max = LINE_MAX_BYTES},
};
static const struct field snapshot_taken_fields[] = {
    {"ref", KIND_REF, .required = REQUIRED},
    {"commit", KIND_COMMIT, .required = REQUIRED},
    {"files", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"attempt", KIND_COUNT, OPTIONAL, .max = COUNT_MAX},
    {"reason", KIND_CHOICE, REQUIRED, .choices = snapshot_reasons},
    {"worker", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"mirror", KIND_PATH, .required = REQUIRED},
};
static const struct field snapshot_published_fields[] = {
    {"ref", KIND_REF, .required = REQUIRED},
    {"originRef", KIND_REF, .required = REQUIRED},
    {"commit", KIND_COMMIT, .required = REQUIRED},
};
static const struct field snapshot_failed_fields[] = {
    {"keptAt", KIND_PATH, .required = OPTIONAL},
    {"worker", KIND_LINE, REQUIRED, .max = LINE_MAX_BYTES},
    {"error", KIND_TEXT, OPTIONAL, .max = TEXT_MAX},
};

static const struct named_shape event_shapes[] = {
    {EV_AGENT_MESSAGE, SHAPE(message_fields)},
    {EV_TOOL_CALL_STARTED, SHAPE(tool_fields)},
    {EV_TOOL_CALL_COMPLETED, SHAPE(tool_fields)},
    {EV_TOOL_CALL_FAILED, SHAPE(tool_fields)},
    {EV_TOOL_CALL_DENIED, SHAPE(tool_fields)},
    {EV_TOOL_CALL_TIMED_OUT, SHAPE(tool_fields)},
    {EV_MODEL_TURN_COMPLETED, SHAPE(turn_fields)},
    {EV_VERIFICATION_STARTED, SHAPE(verification_fields)},
    {EV_JUDGE_STARTED, SHAPE(judge_started_fields)},
    {EV_PR_CREATION_REQUESTED, SHAPE(request_fields)},
    {EV_COST_RECORDED, SHAPE(cost_fields)},
    {EV_PLAN_CREATED, SHAPE(told_plan_fields)},
    {EV_PLAN_UPDATED, SHAPE(told_plan_fields)},
    {EV_SESSION_STARTED, SHAPE(session_fields)},
    {EV_SESSION_LOST, SHAPE(session_fields)},
    {EV_SNAPSHOT_TAKEN, SHAPE(snapshot_taken_fields)},
    {EV_SNAPSHOT_PUBLISHED, SHAPE(snapshot_published_fields)},
    {EV_SNAPSHOT_FAILED, SHAPE(snapshot_failed_fields)},
};

/* ---- values ---- */

bool report_is_commit(const char *text)
{
    size_t len = strspn(text, "0123456789abcdef");
    return text[len] == '\0' && (len == 40 || len == 64);
}

bool report_is_ref(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._/-";
    size_t len = strspn(text, plain);
    return text[len] == '\0' && len < LINE_MAX_BYTES && text_starts(text, "refs/") &&
           text[len - 1] != '/' && strstr(text, "..") == NULL && strstr(text, "//") == NULL &&
           strstr(text, "/-") == NULL && strstr(text, "/.") == NULL;
}

static bool is_line(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (*at < 0x20 || *at == 0x7f)
            return false;
    return true;
}

static bool is_choice(const char *const *choices, const char *text)
{
    for (; *choices != NULL; choices++)
        if (strcmp(*choices, text) == 0)
            return true;
    return false;
}

/* What is wrong with the text; NULL: nothing. */
static const char *text_problem(const struct field *field, const char *text)
{
    switch (field->kind) {
    case KIND_LINE:
        if (!is_line(text))
            return "must not have control characters";
        return strlen(text) > (size_t)field->max ? "is too long" : NULL;
    case KIND_SHA256:
        return sha256_text_valid(text) ? NULL : "must be a sha256 (64 lower-case hex digits)";
    case KIND_SHA256_0:
        return *text == '\0' || sha256_text_valid(text)
                   ? NULL
                   : "must be a sha256 (64 lower-case hex digits), or empty";
    case KIND_COMMIT:
        return report_is_commit(text) ? NULL
                                      : "must be a git hash (40 or 64 lower-case hex digits)";
    case KIND_REF:
        return report_is_ref(text) ? NULL : "must be the name of a ref";
    case KIND_PATH:
        if (*text != '/' || !is_line(text))
            return "must be an absolute path without control characters";
        return strlen(text) > PATH_TEXT_MAX ? "is too long" : NULL;
    case KIND_CHOICE:
        return is_choice(field->choices, text) ? NULL : "has a value that is not known";
    default:
        return strlen(text) > (size_t)field->max ? "is too long" : NULL;
    }
}

static const char *number_problem(const struct field *field, const struct js *value)
{
    enum js_type type = js_type(value);
    if (field->kind == KIND_NUMBER) {
        double number = js_num(value, -1);
        bool good = (type == JS_INT || type == JS_REAL) && isfinite(number) && number >= 0 &&
                    number <= (double)field->max;
        return good ? NULL : "must be a number within its range, and not negative";
    }
    if (type != JS_INT)
        return "must be an integer";
    int64_t number = js_int(value, -1);
    bool good = field->kind == KIND_INT || (number >= 0 && number <= field->max);
    return good ? NULL : "must be within its range, and not negative";
}

static const char *value_problem(const struct field *field, const struct js *value)
{
    enum js_type type = js_type(value);
    switch (field->kind) {
    case KIND_COUNT:
    case KIND_INT:
    case KIND_NUMBER:
        return number_problem(field, value);
    case KIND_BOOL:
        return type == JS_BOOL ? NULL : "must be true or false";
    case KIND_OBJECT:
        return type == JS_OBJECT ? NULL : "must be an object";
    case KIND_ARRAY:
    case KIND_LIST:
        if (type != JS_ARRAY)
            return "must be an array";
        return js_count(value) > (size_t)field->max ? "has too many elements" : NULL;
    default:
        return type == JS_STRING ? text_problem(field, js_str(value, "")) : "must be a string";
    }
}

/* ---- shapes ---- */

enum { FIELD_PATH_BYTES = 128, DEPTH_MAX = 4 };

struct place {
    const char *what; /* "the result of verify" */
    const char *code;
    char path[FIELD_PATH_BYTES]; /* "" or "checks[0]." */
};

static enum rc check_shape_of(const struct shape *shape, const struct js *object,
                              const struct place *place, int depth, struct err *err);

static enum rc refuse(const struct place *place, const char *name, const char *problem,
                      struct err *err)
{
    char field[FIELD_PATH_BYTES + 64];
    (void)snprintf(field, sizeof field, "%s%s", place->path, name);
    return err_field(err, RC_INVALID, place->code, field, "%s: %s %s", place->what, field, problem);
}

static enum rc check_inner(const struct field *field, const struct js *value,
                           const struct place *place, int depth, struct err *err)
{
    struct place inner = *place;
    if (field->kind == KIND_OBJECT) {
        (void)snprintf(inner.path, sizeof inner.path, "%.90s%s.", place->path, field->name);
        return check_shape_of(field->shape, value, &inner, depth + 1, err);
    }
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(value); i++) {
        const struct js *item = js_at(value, i);
        (void)snprintf(inner.path, sizeof inner.path, "%.70s%s[%zu].", place->path, field->name, i);
        if (js_type(item) != JS_OBJECT)
            return refuse(place, field->name, "must hold objects only", err);
        rc = check_shape_of(field->shape, item, &inner, depth + 1, err);
    }
    return rc;
}

/* Shapes hold shapes, DEPTH_MAX deep at most: the tables are static.
   NOLINTNEXTLINE(misc-no-recursion) */
static enum rc check_shape_of(const struct shape *shape, const struct js *object,
                              const struct place *place, int depth, struct err *err)
{
    if (depth > DEPTH_MAX)
        return refuse(place, "", "is nested too deeply", err);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < shape->count; i++) {
        const struct field *field = &shape->fields[i];
        const struct js *value = js_get(object, field->name);
        if (js_type(value) == JS_NULL) {
            if (field->required == REQUIRED)
                return refuse(place, field->name, "is missing", err);
            continue;
        }
        const char *problem = value_problem(field, value);
        if (problem != NULL)
            return refuse(place, field->name, problem, err);
        if (field->shape != NULL)
            rc = check_inner(field, value, place, depth, err);
    }
    return rc;
}

static const struct named_shape *find(const struct named_shape *shapes, size_t count,
                                      const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_same(shapes[i].name, name))
            return &shapes[i];
    return NULL;
}

bool report_knows_step(const char *step)
{
    return find(step_shapes, COUNT_OF(step_shapes), step) != NULL;
}

enum rc report_check_result(const char *step, const struct js *result, struct err *err)
{
    const struct named_shape *found = find(step_shapes, COUNT_OF(step_shapes), step);
    if (js_type(result) != JS_OBJECT)
        return err_set(err, RC_INVALID, "INVALID_RESULT", "the result of %s must be an object",
                       step);
    struct place place = {.code = "INVALID_RESULT"};
    char what[FIELD_PATH_BYTES];
    (void)snprintf(what, sizeof what, "the result of %.60s", step);
    place.what = what;
    enum rc rc = check_shape_of(&common_shape, result, &place, 0, err);
    return rc == RC_OK && found != NULL ? check_shape_of(&found->shape, result, &place, 0, err)
                                        : rc;
}

const char *report_event_type(const char *type)
{
    const struct named_shape *found = find(event_shapes, COUNT_OF(event_shapes), type);
    return found != NULL ? found->name : NULL;
}

enum event_kind report_event_kind(const char *type)
{
    /* Read again from the log, or few. */
    static const char *const milestones[] = {
        EV_VERIFICATION_STARTED, EV_JUDGE_STARTED,  EV_PR_CREATION_REQUESTED, EV_SESSION_STARTED,
        EV_SESSION_LOST,         EV_SNAPSHOT_TAKEN, EV_SNAPSHOT_PUBLISHED,    EV_SNAPSHOT_FAILED,
    };
    for (size_t i = 0; i < COUNT_OF(milestones); i++)
        if (strcmp(milestones[i], type) == 0)
            return EVENT_MILESTONE;
    return EVENT_DIAGNOSTIC;
}

enum rc report_check_event(const char *type, const struct js *data, struct err *err)
{
    const struct named_shape *found = find(event_shapes, COUNT_OF(event_shapes), type);
    struct place place = {.what = type, .code = "INVALID_FIELD"};
    if (js_type(data) != JS_OBJECT)
        return refuse(&place, "data", "must be an object", err);
    return check_shape_of(&found->shape, data, &place, 0, err);
}
