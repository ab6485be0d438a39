/*
 * config_checks.c - the sections `verify`, `judge` and `policy` of a repository's configuration.
 *
 *   verify: [{name, command, timeoutSeconds | timeoutMs, parallel, optional, outputs}]
 *   judge:  [{rules: {maxFiles, maxLines, forbiddenPaths}},
 *            {name, command, timeoutMs, minScore},
 *            {name, model: {api, url, model, credential, prompt, maxTokens, prices}, timeoutMs,
 *             minScore}]
 *   policy: {approval, forbiddenPaths, denyTools, allowTools, override, scanSecrets, reminderMs}
 */
#include "core/config/config_decoder.h"
#include <string.h>

/* ---- verify ---- */

static bool verifier_known(const struct repo_config *config, const char *name)
{
    for (size_t i = 0; i < config->verify_count; i++) {
        if (text_same(config->verify[i].name, name))
            return true;
    }
    return false;
}

/* "build", "target/release": relative, without empty, "." and ".." components, not git's own. */
static bool output_valid(const char *path)
{
    if (path[0] == '\0' || text_same(path, ".git") || text_starts(path, ".git/"))
        return false;
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");
        bool dots = (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.');
        if (len == 0 || dots || (at[len] == '/' && at[len + 1] == '\0'))
            return false;
        at += len + (at[len] == '/');
    }
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    }
    return true;
}

void config_outputs(struct decoder *decoder, struct fields *fields, const char **to)
{
    config_strings(fields, "outputs",
                   &(struct config_list){.to = to,
                                         .max = CONFIG_OUTPUTS_MAX,
                                         .each = {.min = 1, .max = CONFIG_OUTPUT_BYTES_MAX}});
    for (size_t i = 0; fields->rc == RC_OK && to[i] != NULL; i++) {
        if (output_valid(to[i]))
            continue;
        fields_fail(fields, arena_printf(decoder->arena, "outputs[%zu]", i),
                    "must be a path inside the checkout, such as build or target/release: "
                    "relative, without . and .., not in .git");
    }
}

enum rc config_decode_verifier(struct decoder *decoder, const struct js *object, const char *path)
{
    struct repo_config *config = &decoder->config;
    struct verifier_config verifier = {.timeout_ms = config->timeouts.verify_ms};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    config_name(&fields, "name", FIELD_REQUIRED, &verifier.name);
    if (verifier.name != NULL && verifier_known(config, verifier.name))
        fields_fail(&fields, "name", "name %s is there twice", verifier.name);
    fields_string(&fields, "command", FIELD_REQUIRED,
                  &(struct field_text){.min = 1, .max = CONFIG_COMMAND_BYTES_MAX},
                  &verifier.command);
    config_timeout(&fields, &verifier.timeout_ms);
    fields_bool(&fields, "parallel", FIELD_OPTIONAL, &verifier.parallel);
    fields_bool(&fields, "optional", FIELD_OPTIONAL, &verifier.optional);
    config_outputs(decoder, &fields, verifier.outputs);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        config->verify[config->verify_count++] = verifier;
    return rc;
}

/* ---- judge ---- */

/* The smaller of two limits where 0 means none. */
static int64_t stricter(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

static void decode_forbidden(struct decoder *decoder, struct fields *fields)
{
    struct judge_rules *rules = &decoder->config.rules;
    size_t used = 0;
    while (rules->forbidden[used] != NULL)
        used++;
    const struct js *globs = NULL;
    fields_strings(fields, "forbiddenPaths", FIELD_OPTIONAL, JUDGE_GLOBS_MAX,
                   &(struct field_text){.min = 1, .max = CONFIG_GLOB_BYTES_MAX}, &globs);
    if (fields->rc != RC_OK)
        return;
    if (used + js_count(globs) > JUDGE_GLOBS_MAX) {
        fields_fail(fields, "forbiddenPaths",
                    "forbiddenPaths of all judges together may have at most %d entries",
                    JUDGE_GLOBS_MAX);
        return;
    }
    for (size_t i = 0; i < js_count(globs); i++)
        rules->forbidden[used + i] = js_str(js_at(globs, i), "");
}

static enum rc decode_rules(struct decoder *decoder, const struct js *object, const char *path)
{
    int64_t max_files = 0, max_lines = 0;
    struct judge_rules *rules = &decoder->config.rules;
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    fields_int(&fields, "maxFiles", FIELD_OPTIONAL, &(struct field_range){1, PATCH_FILES_MAX},
               &max_files);
    fields_int(&fields, "maxLines", FIELD_OPTIONAL, &(struct field_range){1, 10000000}, &max_lines);
    decode_forbidden(decoder, &fields);
    rules->max_files = stricter(rules->max_files, max_files);
    rules->max_lines = stricter(rules->max_lines, max_lines);
    return fields_close(&fields);
}

static enum rc decode_model(struct decoder *decoder, const struct js *object, const char *path,
                            struct judge_config *judge)
{
    static const char *const apis[] = {
        [MODEL_OPENAI] = "openai", [MODEL_ANTHROPIC] = "anthropic", NULL};
    int api = 0;
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    fields_choice(&fields, "api", FIELD_REQUIRED, apis, &api);
    config_http_url(&fields, "url", FIELD_REQUIRED, &judge->model.url);
    fields_string(&fields, "model", FIELD_REQUIRED, &(struct field_text){.min = 1, .max = 200},
                  &judge->model.model);
    config_variable(&fields, "credential", &judge->model.credential);
    fields_string(&fields, "prompt", FIELD_OPTIONAL,
                  &(struct field_text){.max = CONFIG_TEXT_BYTES_MAX}, &judge->model.prompt);
    fields_int(&fields, "maxTokens", FIELD_OPTIONAL, &(struct field_range){16, 1000000},
               &judge->model.max_tokens);
    const struct js *prices = NULL;
    fields_object(&fields, "prices", FIELD_OPTIONAL, &prices);
    judge->model.api = (enum model_api)api;
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    return config_prices(decoder, prices, arena_printf(decoder->arena, "%s.prices", path),
                         &judge->model.prices);
}

/* The rules of all entries are one judge; without any it still checks the task's scope. */
void config_add_rules_judge(struct repo_config *config)
{
    for (size_t i = 0; i < config->judge_count; i++) {
        if (config->judges[i].kind == JUDGE_RULES)
            return;
    }
    config->judges[config->judge_count++] = (struct judge_config){
        .kind = JUDGE_RULES, .name = "rules", .timeout_ms = config->timeouts.judge_ms};
}

static bool judge_known(const struct repo_config *config, const char *name)
{
    for (size_t i = 0; i < config->judge_count; i++) {
        if (text_same(config->judges[i].name, name))
            return true;
    }
    return text_same(name, "rules");
}

static void check_kind(struct fields *fields, bool rules, bool command, bool model)
{
    if (rules + command + model != 1)
        fields_fail(fields, "rules", "a judge is one of rules, command and model");
    else if (rules && js_count(fields->object) > 1)
        fields_fail(fields, "rules", "rules stands alone in its judge");
}

enum rc config_decode_judge(struct decoder *decoder, const struct js *object, const char *path)
{
    struct repo_config *config = &decoder->config;
    const struct js *rules = NULL, *model = NULL;
    struct judge_config judge = {.timeout_ms = config->timeouts.judge_ms,
                                 .model = {.max_tokens = 2000}};
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    fields_object(&fields, "rules", FIELD_OPTIONAL, &rules);
    fields_string(&fields, "command", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = CONFIG_COMMAND_BYTES_MAX}, &judge.command);
    fields_object(&fields, "model", FIELD_OPTIONAL, &model);
    check_kind(&fields, rules != NULL, judge.command != NULL, model != NULL);
    config_name(&fields, "name", rules != NULL ? FIELD_OPTIONAL : FIELD_REQUIRED, &judge.name);
    if (judge.name != NULL && judge_known(config, judge.name))
        fields_fail(&fields, "name", "name %s is there twice", judge.name);
    config_timeout(&fields, &judge.timeout_ms);
    fields_real(&fields, "minScore", FIELD_OPTIONAL, &(struct field_real){0, 1}, &judge.min_score);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    if (rules != NULL) {
        config_add_rules_judge(config);
        return decode_rules(decoder, rules, arena_printf(decoder->arena, "%s.rules", path));
    }
    judge.kind = model != NULL ? JUDGE_MODEL : JUDGE_COMMAND;
    if (model != NULL)
        rc = decode_model(decoder, model, arena_printf(decoder->arena, "%s.model", path), &judge);
    if (rc == RC_OK)
        config->judges[config->judge_count++] = judge;
    return rc;
}

/* ---- policy ---- */

enum rc config_decode_policy(struct decoder *decoder, const struct js *object)
{
    static const char *const overrides[] = {"deny", "ask", NULL};
    struct repo_config *config = &decoder->config;
    int approval = (int)config->approval, override = config->policy.overridable;
    struct fields fields;
    fields_open(&fields, object, "policy", decoder->err);
    fields_choice(&fields, "approval", FIELD_OPTIONAL, approval_rule_names, &approval);
    config_strings(&fields, "forbiddenPaths",
                   &(struct config_list){.to = config->policy.forbidden,
                                         .max = JUDGE_GLOBS_MAX,
                                         .each = {.min = 1, .max = CONFIG_GLOB_BYTES_MAX}});
    config_strings(&fields, "denyTools",
                   &(struct config_list){.to = config->policy.tools_denied,
                                         .max = CONFIG_TOOLS_MAX,
                                         .each = {.min = 1, .max = 200}});
    config_strings(&fields, "allowTools",
                   &(struct config_list){.to = config->policy.tools_allowed,
                                         .max = CONFIG_TOOLS_MAX,
                                         .each = {.min = 1, .max = 200}});
    fields_choice(&fields, "override", FIELD_OPTIONAL, overrides, &override);
    fields_bool(&fields, "scanSecrets", FIELD_OPTIONAL, &config->policy.scan_secrets);
    fields_int(&fields, "reminderMs", FIELD_OPTIONAL,
               &(struct field_range){0, config_timeout_range.max}, &config->policy.reminder_ms);
    config->approval = (enum approval_rule)approval;
    config->policy.overridable = override == 1;
    return fields_close(&fields);
}
