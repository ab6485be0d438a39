/*
 * repo_config.c - the meaning of a repository's configuration document.
 *
 *   url, forge, defaultBranch
 *   credentials: {forge}
 *   agent:       config_agent.c
 *   verify, judge, policy: config_checks.c
 *   plan, steps, sequence: config_steps.c
 *   limits:      {maxActiveRuns, maxTurns, maxBudgetUsd, maxPatchBytes, maxOpenApprovals,
 *                 maxOpenPullRequests, maxRunEvents, maxRunEventBytes, overlap}
 *   retries:     {agentAttempts, toolRetries, verifierRetries, prRetries}
 *   timeouts:    {runMs, queueMs, prepareMs, ...}
 *   prompt:      {system, tokenBudget, rules, memory}
 */
#include "core/config/repo_config.h"
#include "base/str.h"
#include "core/config/config_decoder.h"
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { NAME_BYTES_MAX = 200, BRANCH_BYTES_MAX = 200, RULES_PATH_BYTES_MAX = 500 };

static struct repo_config config_default(void)
{
    return (struct repo_config){
        .forge = "local",
        .default_branch = "main",
        .agent =
            {
                .compute = COMPUTE_PROCESS,
                .adapter = ADAPTER_NONE,
                .prompt = PROMPT_STDIN,
                .resources = {.processes = 512, .disk_bytes = INT64_C(10) << 30},
                .remote = {.poll_ms = CONFIG_MINUTE_MS / 2,
                           .call_ms = CONFIG_MINUTE_MS / 2,
                           .lost_polls = 3},
            },
        .approval = APPROVAL_AUTO,
        .policy = {.scan_secrets = true, .reminder_ms = 30 * CONFIG_MINUTE_MS},
        .plan = {.approval = APPROVAL_AUTO, .timeout_ms = 15 * CONFIG_MINUTE_MS},
        .limits = {.max_patch_bytes = INT64_C(10) * 1024 * 1024,
                   .max_run_events = RUN_EVENTS_DEFAULT,
                   .max_run_event_bytes = RUN_EVENT_BYTES_DEFAULT},
        .budget = budget_default(),
        .timeouts =
            {
                .run_ms = 8 * CONFIG_HOUR_MS,
                .queue_ms = 0,
                .prepare_ms = 5 * CONFIG_MINUTE_MS,
                .hydrate_ms = 2 * CONFIG_MINUTE_MS,
                .agent_ms = CONFIG_HOUR_MS,
                .idle_ms = 15 * CONFIG_MINUTE_MS,
                .verify_ms = 10 * CONFIG_MINUTE_MS,
                .judge_ms = 5 * CONFIG_MINUTE_MS,
                .publish_ms = 5 * CONFIG_MINUTE_MS,
                .approval_ms = CONFIG_DAY_MS,
                .cancel_ms = CONFIG_MINUTE_MS / 2,
                .snapshot_ms = CONFIG_MINUTE_MS,
            },
        .prompt = {.token_budget = 100000,
                   .rules = {"AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".cursor/rules"},
                   .memory = true},
    };
}

/* ---- the small sections ---- */

static enum rc decode_credentials(struct decoder *decoder, const struct js *object)
{
    struct form form;
    form_open(&form, object, "credentials", decoder->err);
    config_variable(&form, "forge", &decoder->config.forge_credential);
    return form_close(&form);
}

static enum rc decode_limits(struct decoder *decoder, const struct js *object)
{
    static const char *const overlaps[] = {[OVERLAP_ALLOW] = "allow",
                                           [OVERLAP_WARN] = "warn",
                                           [OVERLAP_SERIALIZE] = "serialize",
                                           NULL};
    double budget_usd = 0;
    int overlap = (int)decoder->config.limits.overlap;
    struct form form;
    form_open(&form, object, "limits", decoder->err);
    form_int(&form, "maxActiveRuns", FORM_OPTIONAL, &(struct form_range){0, 10000},
             &decoder->config.limits.max_active_runs);
    form_int(&form, "maxTurns", FORM_OPTIONAL, &(struct form_range){1, 500},
             &decoder->config.limits.max_turns);
    form_real(&form, "maxBudgetUsd", FORM_OPTIONAL, &(struct form_real){0.01, 100}, &budget_usd);
    form_int(&form, "maxPatchBytes", FORM_OPTIONAL, &(struct form_range){1, 100 * 1024 * 1024},
             &decoder->config.limits.max_patch_bytes);
    form_int(&form, "maxOpenApprovals", FORM_OPTIONAL, &(struct form_range){0, 10000},
             &decoder->config.limits.max_open_approvals);
    form_int(&form, "maxOpenPullRequests", FORM_OPTIONAL, &(struct form_range){0, 10000},
             &decoder->config.limits.max_open_pull_requests);
    form_int(&form, "maxRunEvents", FORM_OPTIONAL,
             &(struct form_range){RUN_EVENTS_MIN, RUN_EVENTS_MAX},
             &decoder->config.limits.max_run_events);
    form_int(&form, "maxRunEventBytes", FORM_OPTIONAL,
             &(struct form_range){RUN_EVENT_BYTES_MIN, RUN_EVENT_BYTES_MAX},
             &decoder->config.limits.max_run_event_bytes);
    form_choice(&form, "overlap", FORM_OPTIONAL, overlaps, &overlap);
    decoder->config.limits.overlap = (enum overlap_rule)overlap;
    decoder->config.limits.max_budget_microusd = (int64_t)llround(budget_usd * 1e6);
    return form_close(&form);
}

static enum rc decode_retries(struct decoder *decoder, const struct js *object)
{
    int64_t *max = decoder->config.budget.max;
    struct form form;
    form_open(&form, object, "retries", decoder->err);
    form_int(&form, "agentAttempts", FORM_OPTIONAL, &(struct form_range){1, CONFIG_RETRIES_MAX},
             &max[BUDGET_AGENT]);
    form_int(&form, "toolRetries", FORM_OPTIONAL, &(struct form_range){0, CONFIG_RETRIES_MAX},
             &max[BUDGET_TOOL]);
    form_int(&form, "verifierRetries", FORM_OPTIONAL, &(struct form_range){0, CONFIG_RETRIES_MAX},
             &max[BUDGET_VERIFIER]);
    form_int(&form, "prRetries", FORM_OPTIONAL, &(struct form_range){0, CONFIG_RETRIES_MAX},
             &max[BUDGET_PR]);
    return form_close(&form);
}

static enum rc decode_timeouts(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct form form;
    form_open(&form, object, "timeouts", decoder->err);
    form_int(&form, "runMs", FORM_OPTIONAL, &config_timeout_range, &config->timeouts.run_ms);
    form_int(&form, "queueMs", FORM_OPTIONAL, &(struct form_range){0, config_timeout_range.max},
             &config->timeouts.queue_ms);
    form_int(&form, "prepareMs", FORM_OPTIONAL, &config_timeout_range,
             &config->timeouts.prepare_ms);
    form_int(&form, "hydrateMs", FORM_OPTIONAL, &config_timeout_range,
             &config->timeouts.hydrate_ms);
    form_int(&form, "agentMs", FORM_OPTIONAL, &config_timeout_range, &config->timeouts.agent_ms);
    form_int(&form, "idleMs", FORM_OPTIONAL, &config_timeout_range, &config->timeouts.idle_ms);
    form_int(&form, "verifyMs", FORM_OPTIONAL, &config_timeout_range, &config->timeouts.verify_ms);
    form_int(&form, "judgeMs", FORM_OPTIONAL, &config_timeout_range, &config->timeouts.judge_ms);
    form_int(&form, "snapshotMs", FORM_OPTIONAL, &(struct form_range){0, config_timeout_range.max},
             &config->timeouts.snapshot_ms);
    form_int(&form, "publishMs", FORM_OPTIONAL, &config_timeout_range,
             &config->timeouts.publish_ms);
    form_int(&form, "approvalMs", FORM_OPTIONAL, &config_timeout_range,
             &config->timeouts.approval_ms);
    form_int(&form, "cancelMs", FORM_OPTIONAL, &config_timeout_range, &config->timeouts.cancel_ms);
    return form_close(&form);
}

static enum rc decode_prompt(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct form form;
    form_open(&form, object, "prompt", decoder->err);
    form_string(&form, "system", FORM_OPTIONAL, &(struct form_text){.max = CONFIG_TEXT_BYTES_MAX},
                &config->prompt.system);
    form_int(&form, "tokenBudget", FORM_OPTIONAL, &(struct form_range){1, 10000000},
             &config->prompt.token_budget);
    form_bool(&form, "memory", FORM_OPTIONAL, &config->prompt.memory);
    if (js_get(object, "rules") != NULL)
        memset(config->prompt.rules, 0, sizeof(config->prompt.rules));
    config_strings(&form, "rules",
                   &(struct config_list){.to = config->prompt.rules,
                                         .max = CONFIG_RULES_MAX,
                                         .each = {.min = 1, .max = RULES_PATH_BYTES_MAX}});
    return form_close(&form);
}

/* ---- names ---- */

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
    if (url[0] == '-' || strlen(url) > 2000 || config_text_has_control(url))
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
    if (config_text_has_control(name) || strpbrk(name, " ~^:?*[\\") != NULL)
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

/* The sections of the document, not decoded yet. */
struct sections {
    const struct js *agent, *verify, *judge, *policy, *limits, *retries, *timeouts, *prompt;
    const struct js *credentials, *plan, *steps, *sequence;
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
    struct repo_config *config = &decoder->config;
    int forge = 0;
    struct form form;
    form_open(&form, document, "", decoder->err);
    decode_url(decoder, &form, url_given);
    form_choice(&form, "forge", FORM_OPTIONAL, forges, &forge);
    config->forge = forges[forge];
    form_string(&form, "defaultBranch", FORM_OPTIONAL, &(struct form_text){.min = 1},
                &config->default_branch);
    if (!branch_name_valid(config->default_branch))
        form_fail(&form, "defaultBranch", "defaultBranch is no name that git takes for a branch");
    form_object(&form, "agent", FORM_REQUIRED, &sections->agent);
    form_array(&form, "verify", FORM_OPTIONAL, CONFIG_VERIFIERS_MAX, &sections->verify);
    form_array(&form, "judge", FORM_OPTIONAL, CONFIG_JUDGES_MAX, &sections->judge);
    form_object(&form, "policy", FORM_OPTIONAL, &sections->policy);
    form_object(&form, "limits", FORM_OPTIONAL, &sections->limits);
    form_object(&form, "retries", FORM_OPTIONAL, &sections->retries);
    form_object(&form, "timeouts", FORM_OPTIONAL, &sections->timeouts);
    form_object(&form, "prompt", FORM_OPTIONAL, &sections->prompt);
    form_object(&form, "credentials", FORM_OPTIONAL, &sections->credentials);
    form_object(&form, "plan", FORM_OPTIONAL, &sections->plan);
    form_array(&form, "steps", FORM_OPTIONAL, CUSTOM_STEPS_MAX, &sections->steps);
    form_strings(&form, "sequence", FORM_OPTIONAL, BLUEPRINT_STEPS_MAX + 3,
                 &(struct form_text){.min = 1, .max = CONFIG_NAME_BYTES_MAX}, &sections->sequence);
    return form_close(&form);
}

static enum rc decode_sections(struct decoder *decoder, const struct sections *sections)
{
    const struct {
        const struct js *object;
        decode_fn *decode;
    } objects[] = {
        {sections->agent, config_decode_agent},   {sections->credentials, decode_credentials},
        {sections->policy, config_decode_policy}, {sections->limits, decode_limits},
        {sections->retries, decode_retries},      {sections->timeouts, decode_timeouts},
        {sections->prompt, decode_prompt},        {sections->plan, config_decode_plan},
    };
    const struct {
        const struct js *array;
        const char *key;
        decode_each_fn *decode;
    } arrays[] = {
        /* After the timeouts: a verifier or judge without one takes theirs. */
        {sections->verify, "verify", config_decode_verifier},
        {sections->judge, "judge", config_decode_judge},
        {sections->steps, "steps", config_decode_step},
    };
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        enum rc rc = RC_OK;
        if (objects[i].object != NULL)
            rc = objects[i].decode(decoder, objects[i].object);
        if (rc != RC_OK)
            return rc;
    }
    for (size_t i = 0; i < COUNT_OF(arrays); i++) {
        enum rc rc = config_decode_each(decoder, arrays[i].array, arrays[i].key, arrays[i].decode);
        if (rc != RC_OK)
            return rc;
    }
    config_add_rules_judge(&decoder->config);
    return config_decode_sequence(decoder, sections->sequence);
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
