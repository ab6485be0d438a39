#include "control/admit/submission.h"
#include "base/fields.h"
#include "base/hash.h"
#include "core/agent/addressee.h"
#include "core/config/repo_config.h"
#include "core/config/repo_document.h"
#include "core/queue/rank.h"
#include "core/run/task_limits.h"
#include <math.h>

enum {
    TASK_TYPE_MAX = 64,
    BRANCH_MAX = 200,
    SCOPE_MAX = 100,
    GLOB_MAX = 500,
    LABELS_MAX = 50,
    LABEL_MAX = 200,
    CHANNEL_SOURCE_MAX = 100,
    CHANNEL_BYTES_MAX = 16 * 1024,
    OVERRIDE_REASON_MAX = 1000,
    CANDIDATE_NAME_MAX = 64
};
#define ISSUE_NUMBER_MAX ((int64_t)1 << 53)
static const double budget_usd_min = 0.01, budget_usd_max = 100.0;

/* One document while it is read. */
struct reader {
    const struct js *document;
    const struct submission_reading *how;
    struct submission *task;
    struct err *err;
};

/* The path of a member in the body. */
static const char *path_of(const struct reader *reader, const char *member)
{
    const char *path = reader->how->path;
    return arena_printf(reader->how->arena, "%s%s%s", path, *path != '\0' ? "." : "", member);
}

static struct str json_of(const struct js *value, struct arena *arena)
{
    return value != NULL ? str_of(js_text(value, arena)) : (struct str){0};
}

/* ---- members that are more than a word ---- */

static enum rc read_channel(const struct reader *reader, const struct js *channel)
{
    if (channel == NULL)
        return RC_OK;
    struct fields fields;
    const char *source = NULL;
    const struct js *metadata = NULL;
    fields_open(&fields, channel, path_of(reader, "channel"), reader->err);
    fields_string(&fields, "source", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = CHANNEL_SOURCE_MAX}, &source);
    fields_object(&fields, "metadata", FIELD_OPTIONAL, &metadata);
    reader->task->channel = json_of(channel, reader->how->arena);
    if (reader->task->channel.len > CHANNEL_BYTES_MAX)
        fields_fail(&fields, "metadata", "channel must have at most %d bytes", CHANNEL_BYTES_MAX);
    return fields_close(&fields);
}

/* Over the repository's configuration; errors are reported with their path in the body. */
static enum rc read_overrides(const struct reader *reader, const struct js *overrides,
                              struct faults *ret_faults)
{
    if (overrides == NULL)
        return RC_OK;
    struct arena *arena = reader->how->arena;
    struct faults faults = {0}, shown = {0};
    enum rc rc = repo_overrides_check(overrides, arena, &faults, reader->err);
    reader->task->overrides = json_of(overrides, arena);
    if (rc != RC_INVALID)
        return rc;
    const char *path = path_of(reader, "overrides");
    for (size_t i = 0; i < faults.count; i++)
        faults_add(&shown, arena,
                   arena_printf(arena, "%s%s%s", path, *faults.items[i].path ? "." : "",
                                faults.items[i].path),
                   faults.items[i].message);
    *ret_faults = shown;
    return faults_err(&shown, "INVALID_FIELD", reader->err);
}

static enum rc read_depends_on(const struct reader *reader, const struct js *ids)
{
    size_t count = js_count(ids);
    struct id *found = count ? arena_array(reader->how->arena, count, sizeof *found) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!id_parse(js_str(js_at(ids, i), ""), &found[i]))
            return err_field(reader->err, RC_INVALID, "INVALID_FIELD", "dependsOn",
                             "dependsOn[%zu] is not an id (a UUID)", i);
    }
    reader->task->depends_on = found;
    reader->task->depends_count = count;
    return RC_OK;
}

/* Files that were uploaded before: PUT /v1/artifacts/{sha256}. */
static enum rc read_attachment(const struct reader *reader, const struct js *array, size_t index)
{
    const char *path = path_of(reader, arena_printf(reader->how->arena, "attachments[%zu]", index));
    struct fields fields;
    const char *name = NULL, *sha256 = NULL;
    fields_open(&fields, js_at(array, index), path, reader->err);
    fields_string(&fields, "name", FIELD_REQUIRED, &(struct field_text){.min = 1, .max = 200},
                  &name);
    fields_string(&fields, "sha256", FIELD_REQUIRED, &(struct field_text){.min = 64, .max = 64},
                  &sha256);
    if (name != NULL && !attachment_name_valid(name))
        fields_fail(&fields, "name", "name must be that of a file, without a directory");
    if (sha256 != NULL && !sha256_text_valid(sha256))
        fields_fail(&fields, "sha256", "sha256 must have 64 lower-case hex digits");
    for (size_t i = 0; name != NULL && i < index; i++) {
        if (text_same(js_get_str(js_at(array, i), "name", NULL), name))
            fields_fail(&fields, "name", "two attachments are called %.100s", name);
    }
    return fields_close(&fields);
}

static enum rc read_attachments(const struct reader *reader, const struct js *array)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(array); i++)
        rc = read_attachment(reader, array, i);
    reader->task->attachments = js_count(array) > 0 ? json_of(array, reader->how->arena)
                                                    : (struct str){0};
    return rc;
}

static enum rc read_override(const struct reader *reader, const struct js *override)
{
    if (override == NULL)
        return RC_OK;
    struct fields fields;
    fields_open(&fields, override, "override", reader->err);
    fields_string(&fields, "reason", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = OVERRIDE_REASON_MAX},
                  &reader->task->override_reason);
    return fields_close(&fields);
}

/* bestOf: how many; candidates: which, and so how many. */
static enum rc read_candidates(const struct reader *reader, const struct js *names)
{
    struct submission *task = reader->task;
    size_t count = js_count(names);
    if (names == NULL)
        return RC_OK;
    if (count < CANDIDATES_MIN || (task->best_of > 0 && (size_t)task->best_of != count))
        return err_field(reader->err, RC_INVALID, "INVALID_FIELD", path_of(reader, "candidates"),
                         "candidates must name %d to %d candidates of the repository, and as many "
                         "as bestOf if that is given",
                         CANDIDATES_MIN, CANDIDATES_MAX);
    const char **words = arena_array(reader->how->arena, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = js_str(js_at(names, i), "");
    task->candidates = words;
    task->best_of = (int64_t)(task->candidate_count = count);
    return RC_OK;
}

/* ---- the document ---- */

static void read_limits(const struct reader *reader, struct fields *fields)
{
    struct submission *task = reader->task;
    double usd = 0;
    fields_int(fields, "priority", FIELD_OPTIONAL, &(struct field_range){0, PRIORITY_MAX},
               &task->priority);
    fields_int(fields, "maxTurns", FIELD_OPTIONAL, &(struct field_range){1, TURNS_MAX},
               &task->max_turns);
    fields_real(fields, "maxBudgetUsd", FIELD_OPTIONAL,
                &(struct field_real){budget_usd_min, budget_usd_max}, &usd);
    task->max_budget_microusd = llround(usd * 1e6);
    fields_int(fields, "maxTokens", FIELD_OPTIONAL, &(struct field_range){1, TOKENS_MAX},
               &task->max_tokens);
    task->priority_given = js_get(reader->document, "priority") != NULL;
}

static void read_words(const struct reader *reader, struct fields *fields)
{
    struct submission *task = reader->task;
    int risk = (int)task->risk, mode = (int)task->mode;
    fields_choice(fields, "riskLevel", FIELD_OPTIONAL, risk_names, &risk);
    fields_choice(fields, "executionMode", FIELD_OPTIONAL, mode_names, &mode);
    task->risk = (enum risk)risk;
    task->mode = (enum mode)mode;
    task->risk_given = js_get(reader->document, "riskLevel") != NULL;
    task->mode_given = js_get(reader->document, "executionMode") != NULL;
    fields_string(fields, "taskType", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = TASK_TYPE_MAX}, &task->task_type);
    fields_string(fields, "targetBranch", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = BRANCH_MAX}, &task->target_branch);
    if (task->target_branch != NULL && !branch_name_valid(task->target_branch))
        fields_fail(fields, "targetBranch",
                    "targetBranch is not a name that git takes for a branch");
}

static void read_id(struct fields *fields, const char *key, struct id *to)
{
    const char *text = NULL;
    fields_string(fields, key, FIELD_OPTIONAL, &(struct field_text){.min = 1, .max = ID_TEXT_BYTES},
                  &text);
    if (text != NULL && !id_parse(text, to))
        fields_fail(fields, key, "%s is not an id (a UUID)", key);
}

/* A sub-task may leave out its repository: it is the parent's then. */
static void read_place(const struct reader *reader, struct fields *fields)
{
    struct submission *task = reader->task;
    read_id(fields, "parentTaskId", &task->parent_id);
    read_id(fields, "batch", &task->batch_id);
    task->batch_joins = !id_is_none(&task->batch_id);
    bool is_part = !id_is_none(&task->parent_id) || !id_is_none(&task->agent_run_id);
    if (is_part && task->batch_joins)
        fields_fail(fields, "batch",
                    "a sub-task belongs to the batch of its parent task: leave out batch");
    fields_string(fields, "repository", is_part ? FIELD_OPTIONAL : FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = REPOSITORY_NAME_MAX}, &task->repository);
}

/* For which agents it is. */
static void read_addressee(const struct reader *reader, struct fields *fields)
{
    struct submission *task = reader->task;
    fields_string(fields, "persona", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = PERSONA_NAME_MAX}, &task->persona);
    fields_string(fields, "agent", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = AGENT_NAME_MAX}, &task->agent);
    if (task->persona != NULL && !persona_name_valid(task->persona))
        fields_fail(fields, "persona", PERSONA_NAME_RULE);
    if (task->agent != NULL && !agent_name_valid(task->agent))
        fields_fail(fields, "agent", AGENT_NAME_RULE);
}

/* Members that are read after the others, when those are good. */
struct parts {
    const struct js *channel, *overrides, *depends_on, *attachments, *override, *candidates;
};

static enum rc read_parts(const struct reader *reader, const struct parts *parts,
                          struct faults *ret_faults)
{
    enum rc rc = read_channel(reader, parts->channel);
    if (rc == RC_OK)
        rc = read_depends_on(reader, parts->depends_on);
    if (rc == RC_OK)
        rc = read_overrides(reader, parts->overrides, ret_faults);
    if (rc == RC_OK)
        rc = read_attachments(reader, parts->attachments);
    if (rc == RC_OK)
        rc = read_override(reader, parts->override);
    return rc == RC_OK ? read_candidates(reader, parts->candidates) : rc;
}

enum rc submission_read(const struct js *document, const struct submission_reading *how,
                        struct submission *task, struct faults *ret_faults, struct err *err)
{
    const struct reader reader = {document, how, task, err};
    struct fields fields;
    struct parts parts = {0};
    const struct js *scope = NULL, *labels = NULL;
    fields_open(&fields, document, how->path, err);
    if (!how->of_batch) {
        read_place(&reader, &fields);
        fields_strings(&fields, "dependsOn", FIELD_OPTIONAL, TASK_DEPENDS_MAX,
                       &(struct field_text){.min = 1, .max = ID_TEXT_BYTES}, &parts.depends_on);
        fields_object(&fields, "override", FIELD_OPTIONAL, &parts.override);
    }
    fields_string(&fields, "description", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = TASK_DESCRIPTION_MAX}, &task->description);
    fields_int(&fields, "issueNumber", FIELD_OPTIONAL, &(struct field_range){1, ISSUE_NUMBER_MAX},
               &task->issue_number);
    read_addressee(&reader, &fields);
    read_words(&reader, &fields);
    read_limits(&reader, &fields);
    fields_strings(&fields, "scope", FIELD_OPTIONAL, SCOPE_MAX,
                   &(struct field_text){.min = 1, .max = GLOB_MAX}, &scope);
    fields_strings(&fields, "labels", FIELD_OPTIONAL, LABELS_MAX,
                   &(struct field_text){.min = 1, .max = LABEL_MAX}, &labels);
    fields_object(&fields, "channel", FIELD_OPTIONAL, &parts.channel);
    fields_object(&fields, "overrides", FIELD_OPTIONAL, &parts.overrides);
    fields_array(&fields, "attachments", FIELD_OPTIONAL, ATTACHMENTS_MAX, &parts.attachments);
    fields_int(&fields, "bestOf", FIELD_OPTIONAL,
               &(struct field_range){CANDIDATES_MIN, CANDIDATES_MAX}, &task->best_of);
    fields_strings(&fields, "candidates", FIELD_OPTIONAL, CANDIDATES_MAX,
                   &(struct field_text){.min = 1, .max = CANDIDATE_NAME_MAX}, &parts.candidates);
    if (!how->of_batch && task->description == NULL && !task->issue_number)
        fields_fail(&fields, "description", "give a description, an issueNumber, or both");
    enum rc rc = fields_close(&fields);
    task->scope = json_of(scope, how->arena);
    task->labels = json_of(labels, how->arena);
    return rc == RC_OK ? read_parts(&reader, &parts, ret_faults) : rc;
}
