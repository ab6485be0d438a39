/*
 * repo_config.c - the meaning of a repository's configuration document.
 *
 *   url, defaultBranch
 *   forge, api, credentials: config_forge.c
 *   agent:       config_agent.c
 *   candidates:  config_candidates.c
 *   intake:      config_intake.c
 *   verify, judge, policy: config_checks.c
 *   plan, steps, sequence: config_steps.c
 *   setup:       config_setup.c
 *   scratch:     config_scratch.c
 *   train:       config_train.c
 *   pullRequest: config_pr.c
 *   limits:      {maxActiveRuns, maxTurns, maxBudgetUsd, maxTokens, maxPatchBytes,
 *                 maxOpenApprovals, maxOpenPullRequests, maxRunEvents, maxRunEventBytes, overlap}
 *   retries:     {agentAttempts, toolRetries, verifierRetries, prRetries, overloads, wallClockMs}
 *   timeouts:    {runMs, queueMs, prepareMs, ...}
 *   prompt:      {system, tokenBudget, rules, memory}
 *   webhook, sync: config_webhook.c
 */
#include "core/config/repo_config.h"
#include "base/clock.h"
#include "base/str.h"
#include "core/config/config_decoder.h"
#include "core/run/overload.h"
#include "core/run/task_limits.h"
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { NAME_BYTES_MAX = 200, BRANCH_BYTES_MAX = 200, RULES_PATH_BYTES_MAX = 500 };

enum { RUN_MS_DEFAULT = 8 * CONFIG_HOUR_MS };

/* What is tried again has as long as a run. */
static struct budget retries_default(void)
{
    struct budget budget = budget_default();
    budget.wall_us_max = RUN_MS_DEFAULT * US_PER_MS;
    return budget;
}

struct repo_config config_default(void)
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
        .limits = {.max_turns = TURNS_DEFAULT,
                   .max_patch_bytes = INT64_C(10) * 1024 * 1024,
                   .max_run_events = RUN_EVENTS_DEFAULT,
                   .max_run_event_bytes = RUN_EVENT_BYTES_DEFAULT},
        .budget = retries_default(),
        .overloads = OVERLOADS_DEFAULT,
        .timeouts =
            {
                .run_ms = RUN_MS_DEFAULT,
                .queue_ms = 0,
                .prepare_ms = 5 * CONFIG_MINUTE_MS,
                .hydrate_ms = 2 * CONFIG_MINUTE_MS,
                .agent_ms = CONFIG_HOUR_MS,
                .idle_ms = 15 * CONFIG_MINUTE_MS,
                .verify_ms = 10 * CONFIG_MINUTE_MS,
                .judge_ms = 5 * CONFIG_MINUTE_MS,
                .publish_ms = 5 * CONFIG_MINUTE_MS,
                .approval_ms = CONFIG_DAY_MS,
                .question_ms = CONFIG_DAY_MS,
                .cancel_ms = CONFIG_MINUTE_MS / 2,
                .snapshot_ms = CONFIG_MINUTE_MS,
                .candidate_grace_ms = 15 * CONFIG_MINUTE_MS,
            },
        .prompt = {.token_budget = 100000,
                   .rules = {"AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".cursor/rules"},
                   .memory = true},
        .shepherd = config_shepherd_default(),
        .intake = intake_rules_default(),
        .train = {.batch_max = 8, .ahead_max = 2},
        .sync = {.poll_ms = CONFIG_MINUTE_MS, .recover_ms = 10 * CONFIG_MINUTE_MS},
    };
}

/* ---- the small sections ---- */

static enum rc decode_limits(struct decoder *decoder, const struct js *object)
{
    static const char *const overlaps[] = {[OVERLAP_ALLOW] = "allow",
                                           [OVERLAP_WARN] = "warn",
                                           [OVERLAP_SERIALIZE] = "serialize",
                                           NULL};
    double budget_usd = 0;
    int overlap = (int)decoder->config.limits.overlap;
    struct fields fields;
    fields_open(&fields, object, "limits", decoder->err);
    fields_int(&fields, "maxActiveRuns", FIELD_OPTIONAL, &(struct field_range){0, 10000},
               &decoder->config.limits.max_active_runs);
    fields_int(&fields, "maxTurns", FIELD_OPTIONAL, &(struct field_range){0, TURNS_MAX},
               &decoder->config.limits.max_turns);
    fields_real(&fields, "maxBudgetUsd", FIELD_OPTIONAL, &(struct field_real){0.01, 100},
                &budget_usd);
    fields_int(&fields, "maxTokens", FIELD_OPTIONAL, &(struct field_range){1, TOKENS_MAX},
               &decoder->config.limits.max_tokens);
    fields_int(&fields, "maxPatchBytes", FIELD_OPTIONAL,
               &(struct field_range){1, 100 * 1024 * 1024},
               &decoder->config.limits.max_patch_bytes);
    fields_int(&fields, "maxOpenApprovals", FIELD_OPTIONAL, &(struct field_range){0, 10000},
               &decoder->config.limits.max_open_approvals);
    fields_int(&fields, "maxOpenPullRequests", FIELD_OPTIONAL, &(struct field_range){0, 10000},
               &decoder->config.limits.max_open_pull_requests);
    fields_int(&fields, "maxRunEvents", FIELD_OPTIONAL,
               &(struct field_range){RUN_EVENTS_MIN, RUN_EVENTS_MAX},
               &decoder->config.limits.max_run_events);
    fields_int(&fields, "maxRunEventBytes", FIELD_OPTIONAL,
               &(struct field_range){RUN_EVENT_BYTES_MIN, RUN_EVENT_BYTES_MAX},
               &decoder->config.limits.max_run_event_bytes);
    fields_choice(&fields, "overlap", FIELD_OPTIONAL, overlaps, &overlap);
    decoder->config.limits.overlap = (enum overlap_rule)overlap;
    decoder->config.limits.max_budget_microusd = (int64_t)llround(budget_usd * 1e6);
    return fields_close(&fields);
}

static enum rc decode_retries(struct decoder *decoder, const struct js *object)
{
    int64_t *max = decoder->config.budget.max;
    struct fields fields;
    fields_open(&fields, object, "retries", decoder->err);
    fields_int(&fields, "agentAttempts", FIELD_OPTIONAL,
               &(struct field_range){1, CONFIG_RETRIES_MAX}, &max[BUDGET_AGENT]);
    fields_int(&fields, "toolRetries", FIELD_OPTIONAL, &(struct field_range){0, CONFIG_RETRIES_MAX},
               &max[BUDGET_TOOL]);
    fields_int(&fields, "verifierRetries", FIELD_OPTIONAL,
               &(struct field_range){0, CONFIG_RETRIES_MAX}, &max[BUDGET_VERIFIER]);
    fields_int(&fields, "prRetries", FIELD_OPTIONAL, &(struct field_range){0, CONFIG_RETRIES_MAX},
               &max[BUDGET_PR]);
    fields_int(&fields, "overloads", FIELD_OPTIONAL, &(struct field_range){0, OVERLOADS_MAX},
               &decoder->config.overloads);
    int64_t wall_ms = -1;
    fields_int(&fields, "wallClockMs", FIELD_OPTIONAL,
               &(struct field_range){0, config_timeout_range.max}, &wall_ms);
    if (wall_ms >= 0)
        decoder->config.budget.wall_us_max = wall_ms * US_PER_MS;
    return fields_close(&fields);
}

static enum rc decode_timeouts(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct fields fields;
    fields_open(&fields, object, "timeouts", decoder->err);
    fields_int(&fields, "runMs", FIELD_OPTIONAL, &config_timeout_range, &config->timeouts.run_ms);
    fields_int(&fields, "queueMs", FIELD_OPTIONAL,
               &(struct field_range){0, config_timeout_range.max}, &config->timeouts.queue_ms);
    fields_int(&fields, "prepareMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.prepare_ms);
    fields_int(&fields, "hydrateMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.hydrate_ms);
    fields_int(&fields, "agentMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.agent_ms);
    fields_int(&fields, "idleMs", FIELD_OPTIONAL, &config_timeout_range, &config->timeouts.idle_ms);
    fields_int(&fields, "verifyMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.verify_ms);
    fields_int(&fields, "judgeMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.judge_ms);
    fields_int(&fields, "snapshotMs", FIELD_OPTIONAL,
               &(struct field_range){0, config_timeout_range.max}, &config->timeouts.snapshot_ms);
    fields_int(&fields, "publishMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.publish_ms);
    fields_int(&fields, "approvalMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.approval_ms);
    fields_int(&fields, "questionMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.question_ms);
    fields_int(&fields, "cancelMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.cancel_ms);
    fields_int(&fields, "candidateGraceMs", FIELD_OPTIONAL, &config_timeout_range,
               &config->timeouts.candidate_grace_ms);
    config->budget.wall_us_max = config->timeouts.run_ms * US_PER_MS;
    return fields_close(&fields);
}

static enum rc decode_prompt(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    struct fields fields;
    fields_open(&fields, object, "prompt", decoder->err);
    fields_string(&fields, "system", FIELD_OPTIONAL,
                  &(struct field_text){.max = CONFIG_TEXT_BYTES_MAX}, &config->prompt.system);
    fields_int(&fields, "tokenBudget", FIELD_OPTIONAL, &(struct field_range){1, 10000000},
               &config->prompt.token_budget);
    fields_bool(&fields, "memory", FIELD_OPTIONAL, &config->prompt.memory);
    if (js_get(object, "rules") != NULL)
        memset(config->prompt.rules, 0, sizeof config->prompt.rules);
    config_strings(&fields, "rules",
                   &(struct config_list){.to = config->prompt.rules,
                                         .max = CONFIG_RULES_MAX,
                                         .each = {.min = 1, .max = RULES_PATH_BYTES_MAX}});
    return fields_close(&fields);
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

/* Without TLS to this machine alone. */
static bool loopback_valid(const char *rest)
{
    size_t len = strcspn(rest, "/");
    struct str host = {rest, len};
    const char *port = memchr(rest, ':', len);
    if (port != NULL && strspn(port + 1, "0123456789") == len - (size_t)(port + 1 - rest))
        host.len = (size_t)(port - rest);
    return str_is(host, "localhost") || str_is(host, "127.0.0.1");
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
    if (text_starts(url, "http://"))
        return loopback_valid(url + strlen("http://"));
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
    size_t lock_len = sizeof lock - 1;
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
    const struct js *shepherd;
    const struct js *agent, *verify, *judge, *policy, *limits, *retries, *timeouts, *prompt;
    const struct js *credentials, *plan, *steps, *sequence, *candidates, *intake, *train, *pr;
    const struct js *webhook, *sync, *setup, *scratch;
};

static void decode_url(struct decoder *decoder, struct fields *fields, const char *url_given)
{
    const char **url = &decoder->config.url;
    fields_string(fields, "url", url_given == NULL ? FIELD_REQUIRED : FIELD_OPTIONAL,
                  &(struct field_text){.min = 1}, url);
    if (*url == NULL)
        *url = url_given;
    if (*url != NULL && !url_valid(*url))
        fields_fail(fields, "url",
                    "url must be an absolute path, file:///path, https://host/path or ssh, "
                    "without a password; http:// is for this machine alone");
}

static enum rc decode_top(struct decoder *decoder, const struct js *document, const char *url_given,
                          struct sections *sections)
{
    struct repo_config *config = &decoder->config;
    struct fields fields;
    fields_open(&fields, document, "", decoder->err);
    decode_url(decoder, &fields, url_given);
    config_forge(&fields, config);
    fields_string(&fields, "defaultBranch", FIELD_OPTIONAL, &(struct field_text){.min = 1},
                  &config->default_branch);
    if (!branch_name_valid(config->default_branch))
        fields_fail(&fields, "defaultBranch",
                    "defaultBranch is no name that git takes for a branch");
    fields_object(&fields, "agent", FIELD_REQUIRED, &sections->agent);
    fields_array(&fields, "candidates", FIELD_OPTIONAL, CANDIDATES_MAX, &sections->candidates);
    fields_array(&fields, "setup", FIELD_OPTIONAL, CONFIG_SETUPS_MAX, &sections->setup);
    fields_object(&fields, "scratch", FIELD_OPTIONAL, &sections->scratch);
    fields_array(&fields, "verify", FIELD_OPTIONAL, CONFIG_VERIFIERS_MAX, &sections->verify);
    fields_array(&fields, "judge", FIELD_OPTIONAL, CONFIG_JUDGES_MAX, &sections->judge);
    fields_object(&fields, "policy", FIELD_OPTIONAL, &sections->policy);
    fields_object(&fields, "limits", FIELD_OPTIONAL, &sections->limits);
    fields_object(&fields, "retries", FIELD_OPTIONAL, &sections->retries);
    fields_object(&fields, "timeouts", FIELD_OPTIONAL, &sections->timeouts);
    fields_object(&fields, "prompt", FIELD_OPTIONAL, &sections->prompt);
    fields_object(&fields, "credentials", FIELD_OPTIONAL, &sections->credentials);
    fields_object(&fields, "plan", FIELD_OPTIONAL, &sections->plan);
    fields_object(&fields, "shepherd", FIELD_OPTIONAL, &sections->shepherd);
    fields_object(&fields, "intake", FIELD_OPTIONAL, &sections->intake);
    fields_object(&fields, "train", FIELD_OPTIONAL, &sections->train);
    fields_object(&fields, "pullRequest", FIELD_OPTIONAL, &sections->pr);
    fields_object(&fields, "webhook", FIELD_OPTIONAL, &sections->webhook);
    fields_object(&fields, "sync", FIELD_OPTIONAL, &sections->sync);
    fields_array(&fields, "steps", FIELD_OPTIONAL, CUSTOM_STEPS_MAX, &sections->steps);
    fields_strings(&fields, "sequence", FIELD_OPTIONAL, BLUEPRINT_STEPS_MAX + 3,
                   &(struct field_text){.min = 1, .max = CONFIG_NAME_BYTES_MAX},
                   &sections->sequence);
    return fields_close(&fields);
}

static enum rc decode_sections(struct decoder *decoder, const struct sections *sections)
{
    const struct {
        const struct js *object;
        decode_fn *decode;
    } objects[] = {
        {sections->agent, config_decode_agent},
        {sections->credentials, config_decode_credentials},
        {sections->policy, config_decode_policy},
        {sections->limits, decode_limits},
        {sections->timeouts, decode_timeouts},
        {sections->retries, decode_retries},
        {sections->prompt, decode_prompt},
        {sections->plan, config_decode_plan},
        {sections->shepherd, config_decode_shepherd},
        {sections->intake, config_decode_intake},
        {sections->train, config_decode_train},
        {sections->pr, config_decode_pr},
        {sections->webhook, config_decode_webhook},
        {sections->sync, config_decode_sync},
        {sections->scratch, config_decode_scratch},
    };
    const struct {
        const struct js *array;
        const char *key;
        decode_each_fn *decode;
    } arrays[] = {
        /* After the timeouts: a verifier or judge without one takes theirs. */
        {sections->setup, "setup", config_decode_setup},
        {sections->verify, "verify", config_decode_verifier},
        {sections->judge, "judge", config_decode_judge},
        {sections->steps, "steps", config_decode_step},
        {sections->candidates, "candidates", config_decode_candidate},
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

static enum rc decode(struct decoder *decoder, const struct js *document, const char *url_given,
                      struct repo_config *ret_config)
{
    struct sections sections = {.agent = NULL};
    decoder->document = document;
    decoder->config = config_default();
    enum rc rc = decode_top(decoder, document, url_given, &sections);
    if (rc == RC_OK)
        rc = decode_sections(decoder, &sections);
    if (rc == RC_OK)
        *ret_config = decoder->config;
    return rc;
}

enum rc repo_config_decode(const struct js *document, const char *url_given, struct arena *arena,
                           struct repo_config *ret_config, struct err *err)
{
    struct decoder decoder = {.arena = arena, .err = err};
    return decode(&decoder, document, url_given, ret_config);
}

enum rc repo_config_decode_for(const struct js *document, const char *model, struct arena *arena,
                               struct repo_config *ret_config, struct err *err)
{
    struct decoder decoder = {.arena = arena, .err = err, .model = model};
    return decode(&decoder, document, NULL, ret_config);
}
