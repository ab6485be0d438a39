/*
 * config_intake.c - the section `intake` of a repository's configuration: which issues become tasks
 * (core/pr/intake.h).
 *
 *   intake:
 *     labels: [drover]
 *     assignees: [drover-bot]
 *     commands: true
 *     allow: {associations: [OWNER, MEMBER, COLLABORATOR], people: [], teams: []}
 *     rules: [{label | assignee | command, taskType, riskLevel, executionMode, priority,
 *              maxBudgetUsd, targetBranch}]
 *     comment: true
 *     close: true
 */
#include "base/str.h"
#include "core/config/config_decoder.h"
#include "core/queue/rank.h"
#include <math.h>
#include <string.h>

enum { WORD_BYTES_MAX = 100, TASK_TYPE_BYTES_MAX = 64, BRANCH_BYTES_MAX = 200 };
#define TEAM_PREFIX "team/"

static void read_list(struct fields *fields, const char *key, const char **to, size_t max)
{
    config_strings(
        fields, key,
        &(struct config_list){.to = to, .max = max, .each = {.min = 1, .max = WORD_BYTES_MAX}});
}

static enum rc decode_allow(struct decoder *decoder, const struct js *object)
{
    static const char *const known[] = {"OWNER",       "MEMBER", "COLLABORATOR",
                                        "CONTRIBUTOR", "NONE",   NULL};
    struct intake_rules *rules = &decoder->config.intake;
    struct fields fields;
    fields_open(&fields, object, "intake.allow", decoder->err);
    if (js_get(object, "associations") != NULL)
        memset(rules->associations, 0, sizeof rules->associations);
    read_list(&fields, "associations", rules->associations, INTAKE_ASSOCIATIONS_MAX);
    read_list(&fields, "people", rules->people, INTAKE_PEOPLE_MAX);
    read_list(&fields, "teams", rules->teams, INTAKE_TEAMS_MAX);
    for (size_t i = 0; rules->associations[i] != NULL; i++) {
        size_t at = 0;
        while (known[at] != NULL && !text_same(known[at], rules->associations[i]))
            at++;
        if (known[at] == NULL)
            fields_fail(&fields, "associations",
                        "%.50s is no association; there are OWNER, MEMBER, COLLABORATOR, "
                        "CONTRIBUTOR and NONE",
                        rules->associations[i]);
    }
    for (size_t i = 0; rules->teams[i] != NULL; i++) {
        if (!text_starts(rules->teams[i], TEAM_PREFIX) || !rules->teams[i][strlen(TEAM_PREFIX)])
            fields_fail(&fields, "teams", "%.100s is no team; write team/NAME", rules->teams[i]);
    }
    return fields_close(&fields);
}

static void decode_task(struct fields *fields, struct issue_task *task)
{
    double usd = 0;
    fields_string(fields, "taskType", FIELD_OPTIONAL, &(struct field_text){1, TASK_TYPE_BYTES_MAX},
                  &task->task_type);
    fields_choice(fields, "riskLevel", FIELD_OPTIONAL, risk_names, &task->risk);
    fields_choice(fields, "executionMode", FIELD_OPTIONAL, mode_names, &task->mode);
    fields_int(fields, "priority", FIELD_OPTIONAL, &(struct field_range){0, PRIORITY_MAX},
               &task->priority);
    fields_real(fields, "maxBudgetUsd", FIELD_OPTIONAL, &(struct field_real){0.01, 100}, &usd);
    task->max_budget_microusd = (int64_t)llround(usd * 1e6);
    fields_string(fields, "targetBranch", FIELD_OPTIONAL, &(struct field_text){1, BRANCH_BYTES_MAX},
                  &task->target_branch);
    if (task->target_branch != NULL && !branch_name_valid(task->target_branch))
        fields_fail(fields, "targetBranch",
                    "targetBranch is not a name that git takes for a branch");
}

static enum rc decode_rule(struct decoder *decoder, const struct js *object, const char *path)
{
    struct intake_rules *rules = &decoder->config.intake;
    struct intake_rule rule = {.task = {.risk = -1, .mode = -1, .priority = -1}};
    const struct field_text word = {.min = 1, .max = WORD_BYTES_MAX};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    fields_string(&fields, "label", FIELD_OPTIONAL, &word, &rule.label);
    fields_string(&fields, "assignee", FIELD_OPTIONAL, &word, &rule.assignee);
    fields_string(&fields, "command", FIELD_OPTIONAL, &word, &rule.command);
    if ((rule.label != NULL) + (rule.assignee != NULL) + (rule.command != NULL) != 1)
        fields_fail(&fields, "label", "a rule has one of label, assignee and command");
    decode_task(&fields, &rule.task);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rules->rules[rules->rule_count++] = rule;
    return rc;
}

enum rc config_decode_intake(struct decoder *decoder, const struct js *object)
{
    struct intake_rules *rules = &decoder->config.intake;
    const struct js *allow = NULL, *list = NULL;
    struct fields fields;
    fields_open(&fields, object, "intake", decoder->err);
    rules->enabled = true;
    fields_bool(&fields, "enabled", FIELD_OPTIONAL, &rules->enabled);
    read_list(&fields, "labels", rules->labels, INTAKE_STARTS_MAX);
    read_list(&fields, "assignees", rules->assignees, INTAKE_STARTS_MAX);
    fields_bool(&fields, "commands", FIELD_OPTIONAL, &rules->commands);
    fields_bool(&fields, "comment", FIELD_OPTIONAL, &rules->comment);
    fields_bool(&fields, "close", FIELD_OPTIONAL, &rules->close);
    fields_object(&fields, "allow", FIELD_OPTIONAL, &allow);
    fields_array(&fields, "rules", FIELD_OPTIONAL, INTAKE_RULES_MAX, &list);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK && allow != NULL)
        rc = decode_allow(decoder, allow);
    return rc == RC_OK ? config_decode_each(decoder, list, "intake.rules", decode_rule) : rc;
}
