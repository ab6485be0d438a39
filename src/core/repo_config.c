/*
 * repo_config.c - the meaning of a repository's configuration document.
 *
 *   url, forge, defaultBranch
 *   agent:    {compute, command, adapter, prompt, network, env}
 *   verify:   [{name, command, timeoutSeconds | timeoutMs}]
 *   judge:    [{rules: {maxFiles, maxLines, forbiddenPaths}}]
 *   policy:   {approval}
 *   limits:   {maxActiveRuns, maxTurns, maxBudgetUsd, maxPatchBytes}
 *   retries:  {agentAttempts, verifierRetries, prRetries}
 *   timeouts: {runMs, queueMs, prepareMs, ...}
 *   prompt:   {system, tokenBudget}
 *   steps:    []
 */
#include "core/repo_config.h"
#include "base/form.h"
#include "base/str.h"
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

enum {
    NAME_BYTES_MAX = 200,
    BRANCH_BYTES_MAX = 200,
    VERIFIER_NAME_BYTES_MAX = 64,
    COMMAND_BYTES_MAX = 16 * 1024,
    SYSTEM_BYTES_MAX = 256 * 1024,
    GLOB_BYTES_MAX = 500,
    JUDGES_MAX = 16,
    RETRIES_MAX = 20,
};

static const struct form_range timeout_range = {1, 30 * DAY_MS};

/* What a document is decoded with. */
struct decoder {
    struct arena *arena;
    struct err *err;
    struct repo_config config;
};

static struct repo_config config_default(void)
{
    return (struct repo_config){
        .forge = "local",
        .default_branch = "main",
        .agent = {.compute = COMPUTE_PROCESS, .adapter = ADAPTER_NONE, .prompt = PROMPT_STDIN},
        .approval = APPROVAL_AUTO,
        .limits = {.max_patch_bytes = INT64_C(10) * 1024 * 1024},
        .budget = budget_default(),
        .timeouts =
            {
                .run_ms = 8 * HOUR_MS,
                .queue_ms = 0,
                .prepare_ms = 5 * MINUTE_MS,
                .hydrate_ms = 2 * MINUTE_MS,
                .agent_ms = HOUR_MS,
                .idle_ms = 15 * MINUTE_MS,
                .verify_ms = 10 * MINUTE_MS,
                .publish_ms = 5 * MINUTE_MS,
                .approval_ms = DAY_MS,
                .cancel_ms = MINUTE_MS / 2,
            },
        .prompt = {.system = NULL, .token_budget = 100000},
    };
}

/* Like form_choice, with names that are known but not built in yet. */
struct choices {
    const char *const *now;
    const char *const *later;
    const char *advice;
};

static void choose(struct form *form, const char *key, const struct choices *choices,
                   int *ret_index)
{
    const char *name = js_get_str(form->object, key, NULL);
    for (size_t i = 0; choices->later[i] != NULL; i++) {
        if (text_same(name, choices->later[i]))
            form_fail(form, key, "%s %s is not available in this version, use %s", key, name,
                      choices->advice);
    }
    form_choice(form, key, FORM_OPTIONAL, choices->now, ret_index);
}

/* ---- agent ---- */

static bool env_name_valid(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (; *name != '\0'; name++) {
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    }
    return true;
}

static void decode_command(struct decoder *decoder, struct form *form)
{
    const struct js *command = NULL;
    form_strings(form, "command", FORM_REQUIRED, CONFIG_ARGS_MAX,
                 &(struct form_text){.max = COMMAND_BYTES_MAX}, &command);
    if (form->rc != RC_OK)
        return;
    size_t count = js_count(command);
    if (count == 0 || text_empty(js_str(js_at(command, 0), ""))) {
        form_fail(form, "command", "command must name a program to run");
        return;
    }
    for (size_t i = 0; i < count; i++)
        decoder->config.agent.command[i] = js_str(js_at(command, i), "");
}

static void decode_env(struct decoder *decoder, struct form *form)
{
    const struct js *names = NULL;
    form_strings(form, "env", FORM_OPTIONAL, CONFIG_ENV_MAX,
                 &(struct form_text){.min = 1, .max = 200}, &names);
    for (size_t i = 0; form->rc == RC_OK && i < js_count(names); i++) {
        const char *name = js_str(js_at(names, i), "");
        const char *key = arena_printf(decoder->arena, "env[%zu]", i);
        if (!env_name_valid(name))
            form_fail(form, key, "%s must be the name of an environment variable", key);
        else if (text_starts(name, "DROVER_"))
            form_fail(form, key, "%s must not start with DROVER_: drover sets these itself", key);
        else
            decoder->config.agent.env[i] = name;
    }
}

static enum rc decode_agent(struct decoder *decoder, const struct js *object)
{
    static const char *const computes[] = {[COMPUTE_PROCESS] = "process", NULL};
    static const char *const computes_later[] = {"remote", "pull", NULL};
    static const char *const adapters[] = {
        [ADAPTER_NONE] = "none", [ADAPTER_NDJSON] = "ndjson", NULL};
    static const char *const adapters_later[] = {"claude", "codex", NULL};
    static const char *const prompts[] = {[PROMPT_STDIN] = "stdin", [PROMPT_FILE] = "file", NULL};
    int compute = (int)decoder->config.agent.compute;
    int adapter = (int)decoder->config.agent.adapter;
    int prompt = (int)decoder->config.agent.prompt;
    struct form form;
    form_open(&form, object, "agent", decoder->err);
    choose(&form, "compute", &(struct choices){computes, computes_later, "process"}, &compute);
    decode_command(decoder, &form);
    choose(&form, "adapter", &(struct choices){adapters, adapters_later, "ndjson or none"},
           &adapter);
    form_choice(&form, "prompt", FORM_OPTIONAL, prompts, &prompt);
    form_bool(&form, "network", FORM_OPTIONAL, &decoder->config.agent.network);
    decode_env(decoder, &form);
    decoder->config.agent.compute = (enum compute)compute;
    decoder->config.agent.adapter = (enum adapter)adapter;
    decoder->config.agent.prompt = (enum prompt_way)prompt;
    return form_close(&form);
}

/* ---- verify and judge ---- */

static bool verifier_name_valid(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

static bool verifier_known(const struct repo_config *config, const char *name)
{
    for (size_t i = 0; i < config->verify_count; i++) {
        if (text_same(config->verify[i].name, name))
            return true;
    }
    return false;
}

static void decode_verifier_timeout(struct form *form, struct verifier_config *verifier)
{
    int64_t seconds = 0, ms = 0;
    form_int(form, "timeoutSeconds", FORM_OPTIONAL, &(struct form_range){1, 30 * DAY_MS / 1000},
             &seconds);
    form_int(form, "timeoutMs", FORM_OPTIONAL, &timeout_range, &ms);
    if (seconds > 0 && ms > 0)
        form_fail(form, "timeoutMs", "timeoutMs cannot stand beside timeoutSeconds");
    if (seconds > 0)
        verifier->timeout_ms = seconds * 1000;
    if (ms > 0)
        verifier->timeout_ms = ms;
}

static enum rc decode_verifier(struct decoder *decoder, const struct js *object, const char *path)
{
    struct repo_config *config = &decoder->config;
    struct verifier_config verifier = {.timeout_ms = config->timeouts.verify_ms};
    struct form form;
    form_open(&form, object, path, decoder->err);
    form_string(&form, "name", FORM_REQUIRED,
                &(struct form_text){.min = 1, .max = VERIFIER_NAME_BYTES_MAX}, &verifier.name);
    if (verifier.name != NULL && !verifier_name_valid(verifier.name))
        form_fail(&form, "name", "name may hold only lower-case letters, digits, - and _");
    if (verifier.name != NULL && verifier_known(config, verifier.name))
        form_fail(&form, "name", "name %s is there twice", verifier.name);
    form_string(&form, "command", FORM_REQUIRED,
                &(struct form_text){.min = 1, .max = COMMAND_BYTES_MAX}, &verifier.command);
    decode_verifier_timeout(&form, &verifier);
    enum rc rc = form_close(&form);
    if (rc == RC_OK)
        config->verify[config->verify_count++] = verifier;
    return rc;
}

/* The smaller of two limits where 0 means none. */
static int64_t stricter(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

static void decode_forbidden(struct decoder *decoder, struct form *form)
{
    struct judge_rules *rules = &decoder->config.rules;
    size_t used = 0;
    while (rules->forbidden[used] != NULL)
        used++;
    const struct js *globs = NULL;
    form_strings(form, "forbiddenPaths", FORM_OPTIONAL, JUDGE_GLOBS_MAX,
                 &(struct form_text){.min = 1, .max = GLOB_BYTES_MAX}, &globs);
    if (form->rc != RC_OK)
        return;
    if (used + js_count(globs) > JUDGE_GLOBS_MAX) {
        form_fail(form, "forbiddenPaths",
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
    struct form form;
    form_open(&form, object, path, decoder->err);
    form_int(&form, "maxFiles", FORM_OPTIONAL, &(struct form_range){1, PATCH_FILES_MAX},
             &max_files);
    form_int(&form, "maxLines", FORM_OPTIONAL, &(struct form_range){1, 10000000}, &max_lines);
    decode_forbidden(decoder, &form);
    rules->max_files = stricter(rules->max_files, max_files);
    rules->max_lines = stricter(rules->max_lines, max_lines);
    return form_close(&form);
}

static enum rc decode_judge(struct decoder *decoder, const struct js *object, const char *path)
{
    const struct js *rules = NULL;
    struct form form;
    form_open(&form, object, path, decoder->err);
    form_object(&form, "rules", FORM_REQUIRED, &rules);
    enum rc rc = form_close(&form);
    if (rc != RC_OK)
        return rc;
    return decode_rules(decoder, rules, arena_printf(decoder->arena, "%s.rules", path));
}

static enum rc decode_each(struct decoder *decoder, const struct js *array, const char *key,
                           enum rc (*decode)(struct decoder *, const struct js *, const char *))
{
    for (size_t i = 0; i < js_count(array); i++) {
        const char *path = arena_printf(decoder->arena, "%s[%zu]", key, i);
        enum rc rc = decode(decoder, js_at(array, i), path);
        if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

/* ---- the small sections ---- */

static enum rc decode_policy(struct decoder *decoder, const struct js *object)
{
    int approval = (int)decoder->config.approval;
    struct form form;
    form_open(&form, object, "policy", decoder->err);
    form_choice(&form, "approval", FORM_OPTIONAL, approval_rule_names, &approval);
    decoder->config.approval = (enum approval_rule)approval;
    return form_close(&form);
}

static enum rc decode_limits(struct decoder *decoder, const struct js *object)
{
    double budget_usd = 0;
    struct form form;
    form_open(&form, object, "limits", decoder->err);
    form_int(&form, "maxActiveRuns", FORM_OPTIONAL, &(struct form_range){0, 10000},
             &decoder->config.limits.max_active_runs);
    form_int(&form, "maxTurns", FORM_OPTIONAL, &(struct form_range){1, 500},
             &decoder->config.limits.max_turns);
    form_real(&form, "maxBudgetUsd", FORM_OPTIONAL, &(struct form_real){0.01, 100}, &budget_usd);
    form_int(&form, "maxPatchBytes", FORM_OPTIONAL, &(struct form_range){1, 100 * 1024 * 1024},
             &decoder->config.limits.max_patch_bytes);
    decoder->config.limits.max_budget_microusd = (int64_t)llround(budget_usd * 1e6);
    return form_close(&form);
}

static enum rc decode_retries(struct decoder *decoder, const struct js *object)
{
    int64_t *max = decoder->config.budget.max;
    struct form form;
    form_open(&form, object, "retries", decoder->err);
    form_int(&form, "agentAttempts", FORM_OPTIONAL, &(struct form_range){1, RETRIES_MAX},
             &max[BUDGET_AGENT]);
    form_int(&form, "verifierRetries", FORM_OPTIONAL, &(struct form_range){0, RETRIES_MAX},
             &max[BUDGET_VERIFIER]);
    form_int(&form, "prRetries", FORM_OPTIONAL, &(struct form_range){0, RETRIES_MAX},
             &max[BUDGET_PR]);
    return form_close(&form);
}

static enum rc decode_timeouts(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct form form;
    form_open(&form, object, "timeouts", decoder->err);
    form_int(&form, "runMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.run_ms);
    form_int(&form, "queueMs", FORM_OPTIONAL, &(struct form_range){0, timeout_range.max},
             &config->timeouts.queue_ms);
    form_int(&form, "prepareMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.prepare_ms);
    form_int(&form, "hydrateMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.hydrate_ms);
    form_int(&form, "agentMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.agent_ms);
    form_int(&form, "idleMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.idle_ms);
    form_int(&form, "verifyMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.verify_ms);
    form_int(&form, "publishMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.publish_ms);
    form_int(&form, "approvalMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.approval_ms);
    form_int(&form, "cancelMs", FORM_OPTIONAL, &timeout_range, &config->timeouts.cancel_ms);
    return form_close(&form);
}

static enum rc decode_prompt(struct decoder *decoder, const struct js *object)
{
    struct form form;
    form_open(&form, object, "prompt", decoder->err);
    form_string(&form, "system", FORM_OPTIONAL, &(struct form_text){.max = SYSTEM_BYTES_MAX},
                &decoder->config.prompt.system);
    form_int(&form, "tokenBudget", FORM_OPTIONAL, &(struct form_range){1, 10000000},
             &decoder->config.prompt.token_budget);
    return form_close(&form);
}

/* ---- names ---- */

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

/* user@host:path, and nothing that git would take for a transport helper or an option. */
static bool scp_form_valid(const char *url)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t user = strspn(url, name);
    if (user == 0 || url[user] != '@')
        return false;
    const char *host = url + user + 1;
    size_t len = strspn(host, name);
    if (len == 0 || host[0] == '-' || host[len] != ':')
        return false;
    const char *path = host + len + 1;
    return *path != '\0' && *path != ':' && *path != '-';
}

/* What follows the scheme: a host, perhaps a user, but no password. */
static bool authority_valid(const char *rest)
{
    size_t len = strcspn(rest, "/");
    const char *at = memchr(rest, '@', len);
    const char *host = at != NULL ? at + 1 : rest;
    if (len == 0 || rest[0] == '-' || host[0] == '-' || host == rest + len)
        return false;
    return at == NULL || memchr(rest, ':', (size_t)(at - rest)) == NULL;
}

static bool url_valid(const char *url)
{
    if (url[0] == '-' || strlen(url) > 2000 || has_control(url))
        return false;
    if (url[0] == '/')
        return true;
    if (text_starts(url, "file:///"))
        return true;
    if (text_starts(url, "https://"))
        return authority_valid(url + strlen("https://"));
    if (text_starts(url, "ssh://"))
        return authority_valid(url + strlen("ssh://"));
    return scp_form_valid(url);
}

bool repo_name_valid(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > NAME_BYTES_MAX || name[0] == '-')
        return false;
    for (const char *at = name;; at++) {
        size_t segment = strcspn(at, "/");
        struct str part = {at, segment};
        if (segment == 0 || str_is(part, ".") || str_is(part, ".."))
            return false;
        for (size_t i = 0; i < segment; i++) {
            if (!isalnum((unsigned char)at[i]) && strchr("._-", at[i]) == NULL)
                return false;
        }
        at += segment;
        if (*at == '\0')
            return true;
    }
}

/* One piece between slashes, by the rules of git check-ref-format. */
static bool branch_part_valid(struct str part)
{
    static const char lock[] = ".lock";
    size_t lock_len = sizeof(lock) - 1;
    if (part.len == 0 || part.at[0] == '.')
        return false;
    return part.len < lock_len || memcmp(part.at + part.len - lock_len, lock, lock_len) != 0;
}

bool branch_name_valid(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > BRANCH_BYTES_MAX || name[0] == '-' || name[len - 1] == '.')
        return false;
    if (text_same(name, "@") || text_same(name, "HEAD") || !text_utf8_valid(name, len))
        return false;
    if (has_control(name) || strpbrk(name, " ~^:?*[\\") != NULL)
        return false;
    if (strstr(name, "..") != NULL || strstr(name, "@{") != NULL)
        return false;
    for (const char *at = name;; at++) {
        struct str part = {at, strcspn(at, "/")};
        if (!branch_part_valid(part))
            return false;
        at += part.len;
        if (*at == '\0')
            return true;
    }
}

/* ---- the document ---- */

/* The sections of the document, as they came. */
struct sections {
    const struct js *agent, *verify, *judge, *policy, *limits, *retries, *timeouts, *prompt;
};

static void decode_url(struct decoder *decoder, struct form *form, const char *url_given)
{
    const char **url = &decoder->config.url;
    form_string(form, "url", url_given == NULL ? FORM_REQUIRED : FORM_OPTIONAL,
                &(struct form_text){.min = 1}, url);
    if (*url == NULL)
        *url = url_given;
    if (*url != NULL && !url_valid(*url))
        form_fail(form, "url",
                  "url must be an absolute path, file:///path, https://host/path or ssh, "
                  "without a password");
}

static enum rc decode_top(struct decoder *decoder, const struct js *document, const char *url_given,
                          struct sections *sections)
{
    static const char *const forges[] = {"local", NULL};
    static const char *const forges_later[] = {"github", NULL};
    struct repo_config *config = &decoder->config;
    int forge = 0;
    const struct js *steps = NULL;
    struct form form;
    form_open(&form, document, "", decoder->err);
    decode_url(decoder, &form, url_given);
    choose(&form, "forge", &(struct choices){forges, forges_later, "local"}, &forge);
    config->forge = forges[forge];
    form_string(&form, "defaultBranch", FORM_OPTIONAL, &(struct form_text){.min = 1},
                &config->default_branch);
    if (!branch_name_valid(config->default_branch))
        form_fail(&form, "defaultBranch", "defaultBranch is no name that git takes for a branch");
    form_object(&form, "agent", FORM_REQUIRED, &sections->agent);
    form_array(&form, "verify", FORM_OPTIONAL, CONFIG_VERIFIERS_MAX, &sections->verify);
    form_array(&form, "judge", FORM_OPTIONAL, JUDGES_MAX, &sections->judge);
    form_object(&form, "policy", FORM_OPTIONAL, &sections->policy);
    form_object(&form, "limits", FORM_OPTIONAL, &sections->limits);
    form_object(&form, "retries", FORM_OPTIONAL, &sections->retries);
    form_object(&form, "timeouts", FORM_OPTIONAL, &sections->timeouts);
    form_object(&form, "prompt", FORM_OPTIONAL, &sections->prompt);
    form_array(&form, "steps", FORM_OPTIONAL, CONFIG_ARGS_MAX, &steps);
    if (js_count(steps) > 0)
        form_fail(&form, "steps",
                  "steps must be empty: custom steps are not available in this version");
    return form_close(&form);
}

static enum rc decode_sections(struct decoder *decoder, const struct sections *sections)
{
    const struct {
        const struct js *object;
        enum rc (*decode)(struct decoder *, const struct js *);
    } objects[] = {
        {sections->agent, decode_agent},       {sections->policy, decode_policy},
        {sections->limits, decode_limits},     {sections->retries, decode_retries},
        {sections->timeouts, decode_timeouts}, {sections->prompt, decode_prompt},
    };
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        enum rc rc = RC_OK;
        if (objects[i].object != NULL)
            rc = objects[i].decode(decoder, objects[i].object);
        if (rc != RC_OK)
            return rc;
    }
    /* After the timeouts: a verifier without one takes theirs. */
    enum rc rc = decode_each(decoder, sections->verify, "verify", decode_verifier);
    return rc == RC_OK ? decode_each(decoder, sections->judge, "judge", decode_judge) : rc;
}

enum rc repo_config_decode(const struct js *document, const char *url_given, struct arena *arena,
                           struct repo_config *ret_config, struct err *err)
{
    struct decoder decoder = {.arena = arena, .err = err, .config = config_default()};
    struct sections sections = {.agent = NULL};
    enum rc rc = decode_top(&decoder, document, url_given, &sections);
    if (rc == RC_OK)
        rc = decode_sections(&decoder, &sections);
    if (rc == RC_OK)
        *ret_config = decoder.config;
    return rc;
}
