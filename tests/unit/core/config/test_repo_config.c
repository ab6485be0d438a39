/*
 * test_repo_config.c - documents that are taken, and how the others are refused.
 */
#include "base/buf.h"
#include "base/str.h"
#include "base/yaml.h"
#include "core/config/repo_config.h"
#include "tests/unit/suites.h"
#include <string.h>

/* Decodes YAML (and so JSON); *tree keeps the strings alive. */
static enum rc decode(const char *document, struct js **tree, struct arena *arena,
                      struct repo_config *config, struct err *err)
{
    ck_assert_int_eq(yaml_parse(document, strlen(document), tree, err), RC_OK);
    return repo_config_decode(*tree, NULL, arena, config, err);
}

static const char *const full =
    "url: https://git.example.com/acme/billing.git\n"
    "forge: local\n"
    "defaultBranch: trunk\n"
    "agent: {compute: process, command: [./agent.sh, '--fast', ''], adapter: ndjson, prompt: "
    "file,\n"
    "        network: true, env: [API_KEY, _x1]}\n"
    "setup: [{name: deps, command: npm ci, keys: ['*.json'], outputs: [node_modules, a/b],\n"
    "         timeoutSeconds: 9}, {name: more, command: x, outputs: [y]}]\n"
    "scratch: {ports: 2, databases: [{name: my-db, create: make it, drop: undo,\n"
    "          url: 'x:{database}', env: [PW], timeoutSeconds: 5}, {name: files, directory: true, "
    "variable: FILES,\n"
    "          steps: [setup, custom]}]}\n"
    "verify: [{name: unit, command: make test, timeoutSeconds: 30},\n"
    "         {name: lint-2, command: make lint, timeoutMs: 1500},\n"
    "         {name: slow, command: make slow}]\n"
    "judge: [{rules: {maxFiles: 50, maxLines: 100, forbiddenPaths: ['.github/**', a]}},\n"
    "        {rules: {maxFiles: 20, forbiddenPaths: [b]}}, {rules: {maxLines: 1000}}]\n"
    "policy: {approval: always}\n"
    "limits: {maxActiveRuns: 2, maxTurns: 100, maxBudgetUsd: 5.25, maxPatchBytes: 1000}\n"
    "retries: {agentAttempts: 5, verifierRetries: 0, prRetries: 2}\n"
    "timeouts: {runMs: 1, queueMs: 2, prepareMs: 3, hydrateMs: 4, agentMs: 5, idleMs: 6,\n"
    "           verifyMs: 7, publishMs: 8, approvalMs: 9, cancelMs: 10}\n"
    "prompt: {system: Be brief., tokenBudget: 5000}\n"
    "train: {use: queue, land: api, batch: 20, ahead: 3, checks: [{name: whole, command: all},\n"
    "        {name: unit, command: make unit, timeoutMs: 5}]}\n"
    "steps: []\n";

START_TEST(a_full_document_is_understood)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_msg(decode(full, &tree, &arena, &config, &err) == RC_OK, "%s: %s", err.field,
                  err.text);
    ck_assert_str_eq(config.url, "https://git.example.com/acme/billing.git");
    ck_assert_str_eq(config.forge, "local");
    ck_assert_str_eq(config.default_branch, "trunk");
    ck_assert_int_eq(config.agent.compute, COMPUTE_PROCESS);
    ck_assert_str_eq(config.agent.command[0], "./agent.sh");
    ck_assert_str_eq(config.agent.command[1], "--fast");
    ck_assert_str_eq(config.agent.command[2], "");
    ck_assert_ptr_null(config.agent.command[3]);
    ck_assert_int_eq(config.agent.adapter, ADAPTER_NDJSON);
    ck_assert_int_eq(config.agent.prompt, PROMPT_FILE);
    ck_assert(config.agent.network);
    ck_assert_str_eq(config.agent.env[0], "API_KEY");
    ck_assert_str_eq(config.agent.env[1], "_x1");
    ck_assert_ptr_null(config.agent.env[2]);
    ck_assert_uint_eq(config.setup_count, 2);
    ck_assert_str_eq(config.setup[0].command, "npm ci");
    ck_assert_str_eq(config.setup[0].keys[0], "*.json");
    ck_assert_str_eq(config.setup[0].outputs[1], "a/b");
    ck_assert_ptr_null(config.setup[0].outputs[2]);
    ck_assert_int_eq(config.setup[0].timeout_ms, 9000);
    ck_assert_int_eq(config.setup[1].timeout_ms, 900000);
    ck_assert_int_eq(config.scratch.ports, 2);
    ck_assert_uint_eq(config.scratch.database_count, 2);
    ck_assert_str_eq(config.scratch.databases[0].variable, "DROVER_DATABASE_MY_DB");
    ck_assert_str_eq(config.scratch.databases[0].env[0], "PW");
    ck_assert_int_eq(config.scratch.databases[0].timeout_ms, 5000);
    ck_assert_uint_eq(config.scratch.databases[0].users,
                      1u << SCRATCH_AGENT | 1u << SCRATCH_VERIFY);
    ck_assert(config.scratch.databases[1].directory);
    ck_assert_str_eq(config.scratch.databases[1].variable, "FILES");
    ck_assert_uint_eq(config.scratch.databases[1].users,
                      1u << SCRATCH_SETUP | 1u << SCRATCH_CUSTOM);
    ck_assert_uint_eq(config.verify_count, 3);
    ck_assert_str_eq(config.verify[0].name, "unit");
    ck_assert_str_eq(config.verify[0].command, "make test");
    ck_assert_int_eq(config.verify[0].timeout_ms, 30000);
    ck_assert_int_eq(config.verify[1].timeout_ms, 1500);
    ck_assert_int_eq(config.verify[2].timeout_ms, 7);
}
END_TEST

START_TEST(accounts_and_prices_have_defaults)
{
    static const struct {
        const char *agent, *account;
        double input, cached_input;
    } cases[] = {
        {"adapter: codex", "default:codex", 0, 0},
        {"account: main, prices: {inputPerMTok: 1.25, outputPerMTok: 10}", "main", 1.25, 1.25},
        {"prices: {inputPerMTok: 2, cachedInputPerMTok: 0, outputPerMTok: 1}", "default:none", 2,
         0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        CLEANUP(arena_release) struct arena arena = {0};
        struct repo_config config;
        struct err err = {0};
        const char *document = arena_printf(&arena, "{url: /x, agent: {command: [a], %s}}",
                                            cases[i].agent);
        ck_assert_msg(decode(document, &tree, &arena, &config, &err) == RC_OK, "%s", err.text);
        ck_assert_str_eq(agent_account(&config.agent, &arena), cases[i].account);
        ck_assert_double_eq(config.agent.prices.input, cases[i].input);
        ck_assert_double_eq(config.agent.prices.cached_input, cases[i].cached_input);
    }
}
END_TEST

START_TEST(rules_limits_and_times_are_understood)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    ck_assert_int_eq(decode(full, &tree, &arena, &config, NULL), RC_OK);
    ck_assert_int_eq(config.rules.max_files, 20);
    ck_assert_int_eq(config.rules.max_lines, 100);
    ck_assert_str_eq(config.rules.forbidden[0], ".github/**");
    ck_assert_str_eq(config.rules.forbidden[1], "a");
    ck_assert_str_eq(config.rules.forbidden[2], "b");
    ck_assert_ptr_null(config.rules.forbidden[3]);
    ck_assert_int_eq(config.approval, APPROVAL_ALWAYS);
    ck_assert_int_eq(config.limits.max_active_runs, 2);
    ck_assert_int_eq(config.limits.max_turns, 100);
    ck_assert_int_eq(config.limits.max_budget_microusd, 5250000);
    ck_assert_int_eq(config.limits.max_patch_bytes, 1000);
    ck_assert_int_eq(config.budget.max[BUDGET_AGENT], 5);
    ck_assert_int_eq(config.budget.max[BUDGET_TOOL], 2);
    ck_assert_int_eq(config.budget.max[BUDGET_VERIFIER], 0);
    ck_assert_int_eq(config.budget.max[BUDGET_PR], 2);
    const int64_t times[] = {config.timeouts.run_ms,      config.timeouts.queue_ms,
                             config.timeouts.prepare_ms,  config.timeouts.hydrate_ms,
                             config.timeouts.agent_ms,    config.timeouts.idle_ms,
                             config.timeouts.verify_ms,   config.timeouts.publish_ms,
                             config.timeouts.approval_ms, config.timeouts.cancel_ms};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        ck_assert_int_eq(times[i], (int64_t)i + 1);
    ck_assert_str_eq(config.prompt.system, "Be brief.");
    ck_assert_int_eq(config.prompt.token_budget, 5000);
    ck_assert_int_eq(config.train.use, TRAIN_USE_QUEUE);
    ck_assert(config.train.api && !config.train.batch);
    ck_assert_int_eq(config.train.batch_max, 20);
    ck_assert_int_eq(config.train.ahead_max, 3);
    ck_assert_uint_eq(config.train.check_count, 2);
    ck_assert_str_eq(config.train.checks[0].name, "whole");
    ck_assert_int_eq(config.train.checks[0].timeout_ms, 7); /* timeouts.verifyMs */
    ck_assert_int_eq(config.train.checks[1].timeout_ms, 5);
    ck_assert_uint_eq(config.verify_count, 3); /* They may have the same names. */
}
END_TEST

START_TEST(a_small_document_gets_the_defaults)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    ck_assert_int_eq(decode("{url: /srv/x.git, agent: {command: [a]}, verify: [{name: v, "
                            "command: c}], judge: [], policy: {}, limits: {}, steps: null}",
                            &tree, &arena, &config, NULL),
                     RC_OK);
    ck_assert_str_eq(config.forge, "local");
    ck_assert_str_eq(config.default_branch, "main");
    ck_assert_int_eq(config.agent.adapter, ADAPTER_NONE);
    ck_assert_int_eq(config.agent.prompt, PROMPT_STDIN);
    ck_assert(!config.agent.network);
    ck_assert_ptr_null(config.agent.env[0]);
    ck_assert_int_eq(config.verify[0].timeout_ms, 600000);
    ck_assert_int_eq(config.rules.max_files, 0);
    ck_assert_ptr_null(config.rules.forbidden[0]);
    ck_assert_int_eq(config.approval, APPROVAL_AUTO);
    ck_assert_int_eq(config.limits.max_active_runs, 0);
    ck_assert_int_eq(config.limits.max_turns, 100);
    ck_assert_int_eq(config.limits.max_tokens, 0);
    ck_assert_int_eq(config.limits.max_budget_microusd, 0);
    ck_assert_int_eq(config.limits.max_patch_bytes, 10 * 1024 * 1024);
    ck_assert_int_eq(config.budget.max[BUDGET_AGENT], 3);
    ck_assert_int_eq(config.budget.wall_us_max, INT64_C(8) * 3600000000);
    ck_assert_int_eq(config.timeouts.run_ms, 8 * 3600000);
    ck_assert_int_eq(config.timeouts.queue_ms, 0);
    ck_assert_int_eq(config.timeouts.approval_ms, 24 * 3600000);
    ck_assert_int_eq(config.timeouts.cancel_ms, 30000);
    ck_assert_ptr_null(config.prompt.system);
    ck_assert_int_eq(config.prompt.token_budget, 100000);
    ck_assert_int_eq(config.train.use, TRAIN_USE_DROVER);
    ck_assert(!config.train.api && !config.train.batch);
    ck_assert_int_eq(config.train.batch_max, 8);
    ck_assert_int_eq(config.train.ahead_max, 2);
    ck_assert_ptr_null(config.train.checks);
}
END_TEST

START_TEST(a_limit_is_given_up_by_name_only)
{
    static const struct {
        const char *more;
        int64_t turns, tokens, wall_ms;
    } rows[] = {
        {"limits: {maxTurns: 0}", 0, 0, 8 * 3600000},
        {"limits: {maxTurns: 500, maxTokens: 1000}", 500, 1000, 8 * 3600000},
        /* Time to try again is that of the run, unless it is given. */
        {"timeouts: {runMs: 5000}", 100, 0, 5000},
        {"timeouts: {runMs: 5000}, retries: {wallClockMs: 9000}", 100, 0, 9000},
        {"retries: {wallClockMs: 0}, timeouts: {runMs: 5000}", 100, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        CLEANUP(arena_release) struct arena arena = {0};
        struct repo_config config;
        const char *yaml = arena_printf(&arena, "{url: /srv/x.git, agent: {command: [a]}, %s}",
                                        rows[i].more);
        ck_assert_int_eq(decode(yaml, &tree, &arena, &config, NULL), RC_OK);
        ck_assert_int_eq(config.limits.max_turns, rows[i].turns);
        ck_assert_int_eq(config.limits.max_tokens, rows[i].tokens);
        ck_assert_int_eq(config.budget.wall_us_max, rows[i].wall_ms * 1000);
    }
}
END_TEST

START_TEST(the_url_may_come_from_beside)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    const char *without = "{agent: {command: [a]}}";
    ck_assert_int_eq(decode(without, &tree, &arena, &config, &err), RC_INVALID);
    ck_assert_str_eq(err.code, "MISSING_FIELD");
    ck_assert_str_eq(err.field, "url");
    ck_assert_int_eq(repo_config_decode(tree, "/srv/y.git", &arena, &config, &err), RC_OK);
    ck_assert_str_eq(config.url, "/srv/y.git");
    ck_assert_int_eq(repo_config_decode(tree, "--upload-pack=x", &arena, &config, &err),
                     RC_INVALID);
    ck_assert_str_eq(err.field, "url");
}
END_TEST

START_TEST(the_documents_url_wins)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    const char *with = "{url: /srv/x.git, agent: {command: [a]}}";
    ck_assert_int_eq(decode(with, &tree, &arena, &config, NULL), RC_OK);
    ck_assert_int_eq(repo_config_decode(tree, "/srv/y.git", &arena, &config, NULL), RC_OK);
    ck_assert_str_eq(config.url, "/srv/x.git");
}
END_TEST

#define OK_URL   "url: /x, "
#define OK_AGENT "agent: {command: [a]}, "
#define OK_TOP   OK_URL OK_AGENT

static const struct {
    const char *document, *field, *code, *word;
} refusals[] = {
    {"[]", "", "INVALID_FIELD", "object"},
    {"{}", "url", "MISSING_FIELD", "url"},
    {"{" OK_URL "}", "agent", "MISSING_FIELD", "agent"},
    {"{" OK_TOP "colour: red}", "colour", "UNKNOWN_FIELD", "colour"},
    {"{" OK_AGENT "url: 5}", "url", "INVALID_FIELD", "string"},
    {"{" OK_AGENT "url: ''}", "url", "INVALID_FIELD", "empty"},
    {"{" OK_AGENT "url: relative/path}", "url", "INVALID_FIELD", "absolute path"},
    {"{" OK_TOP "forge: github}", "forge", "INVALID_FIELD", "https://host/path"},
    {"{" OK_TOP "forge: sourcehut}", "forge", "INVALID_FIELD", "local"},
    {"{" OK_TOP "forge: 1}", "forge", "INVALID_FIELD", "string"},
    {"{" OK_TOP "defaultBranch: -x}", "defaultBranch", "INVALID_FIELD", "branch"},
    {"{" OK_TOP "defaultBranch: a..b}", "defaultBranch", "INVALID_FIELD", "branch"},
    {"{" OK_TOP "steps: [lint]}", "steps[0]", "INVALID_FIELD", "object"},
    {"{" OK_TOP "steps: [{name: agent, command: c}]}", "steps[0].name", "INVALID_FIELD",
     "built-in"},
    {"{" OK_TOP "steps: [{name: a, command: c}, {name: a, command: c}]}", "steps[1].name",
     "INVALID_FIELD", "twice"},
    {"{" OK_TOP "steps: [{name: a, command: c, url: 'http://h/'}]}", "steps[0].command",
     "INVALID_FIELD", "either"},
    {"{" OK_TOP "steps: [{name: a}]}", "steps[0].command", "INVALID_FIELD", "either"},
    {"{" OK_TOP "steps: [{name: a, url: 'ftp://h/'}]}", "steps[0].url", "INVALID_FIELD", "https"},
    {"{" OK_TOP "steps: [{name: a, url: 'http://u:p@h/'}]}", "steps[0].url", "INVALID_FIELD",
     "credential"},
    {"{" OK_TOP "steps: [{name: a, command: c, phase: later}]}", "steps[0].phase", "INVALID_FIELD",
     "pre-agent, post-agent"},
    {"{" OK_TOP "sequence: [prepare, hydrate]}", "sequence", "INVALID_STEP_SEQUENCE",
     "agent is missing"},
    {"{" OK_TOP "plan: {}, sequence: [prepare, hydrate, agent]}", "sequence",
     "INVALID_STEP_SEQUENCE", "plan"},
    {"{" OK_TOP "credentials: {forge: 'ghp_x y'}}", "credentials.forge", "INVALID_FIELD",
     "environment variable"},
    {"{" OK_TOP "limits: {overlap: maybe}}", "limits.overlap", "INVALID_FIELD",
     "allow, warn, serialize"},
    {"{" OK_TOP "steps: {}}", "steps", "INVALID_FIELD", "array"},
    {"{" OK_URL "agent: {}}", "agent.command", "INVALID_FIELD", "command"},
    {"{" OK_URL "agent: [a]}", "agent", "INVALID_FIELD", "object"},
    {"{" OK_URL "agent: {command: a}}", "agent.command", "INVALID_FIELD", "array"},
    {"{" OK_URL "agent: {command: []}}", "agent.command", "INVALID_FIELD", "program"},
    {"{" OK_URL "agent: {command: ['', a]}}", "agent.command", "INVALID_FIELD", "program"},
    {"{" OK_URL "agent: {command: [a, 1]}}", "agent.command[1]", "INVALID_FIELD", "string"},
    {"{" OK_URL "agent: {command: [a], compute: remote}}", "agent.command", "INVALID_FIELD",
     "compute process only"},
    {"{" OK_URL "agent: {compute: remote}}", "agent.remote", "INVALID_FIELD", "url"},
    {"{" OK_URL "agent: {compute: remote, remote: {}}}", "agent.remote.url", "MISSING_FIELD",
     "url"},
    {"{" OK_URL "agent: {command: [a], queue: q}}", "agent.queue", "INVALID_FIELD", "pull"},
    {"{" OK_URL "agent: {command: [a], network: true, egress: [a.b]}}", "agent.egress",
     "INVALID_FIELD", "network"},
    {"{" OK_URL "agent: {command: [a], egress: ['https://a']}}", "agent.egress[0]", "INVALID_FIELD",
     "host"},
    {"{" OK_URL "agent: {command: [a], mounts: [{path: x}]}}", "agent.mounts[0].path",
     "INVALID_FIELD", "absolute"},
    {"{" OK_URL "agent: {command: [a], home: rel}}", "agent.home", "INVALID_FIELD", "absolute"},
    {"{" OK_URL "agent: {command: [a], resources: {cpu: 1}}}", "agent.resources.cpu",
     "UNKNOWN_FIELD", "cpu"},
    {"{" OK_URL "agent: {command: [a], compute: docker}}", "agent.compute", "INVALID_FIELD",
     "process"},
    {"{" OK_URL "agent: {command: [a], adapter: xml}}", "agent.adapter", "INVALID_FIELD",
     "none, ndjson, claude, codex"},
    {"{" OK_URL "agent: {command: [a], account: 'a b'}}", "agent.account", "INVALID_FIELD",
     "account"},
    {"{" OK_URL "agent: {command: [a], prices: {inputPerMTok: 1}}}", "agent.prices.outputPerMTok",
     "MISSING_FIELD", "outputPerMTok"},
    {"{" OK_URL "agent: {command: [a], prices: {inputPerMTok: -1, outputPerMTok: 1}}}",
     "agent.prices.inputPerMTok", "INVALID_FIELD", "inputPerMTok"},
    {"{" OK_URL "agent: {command: [a], prompt: argv}}", "agent.prompt", "INVALID_FIELD",
     "stdin, file"},
    {"{" OK_URL "agent: {command: [a], network: maybe}}", "agent.network", "INVALID_FIELD",
     "boolean"},
    {"{" OK_URL "agent: {command: [a], env: [1A]}}", "agent.env[0]", "INVALID_FIELD",
     "environment"},
    {"{" OK_URL "agent: {command: [a], env: [A, 'B-=1']}}", "agent.env[1]", "INVALID_FIELD",
     "environment"},
    {"{" OK_URL "agent: {command: [a], env: ['']}}", "agent.env[0]", "INVALID_FIELD", "empty"},
    {"{" OK_URL "agent: {command: [a], env: [DROVER_TOKEN]}}", "agent.env[0]", "INVALID_FIELD",
     "DROVER_"},
    {"{" OK_URL "agent: {command: [a], shell: sh}}", "agent.shell", "UNKNOWN_FIELD", "shell"},
    {"{" OK_TOP "setup: {}}", "setup", "INVALID_FIELD", "array"},
    {"{" OK_TOP "setup: [{name: a, command: c}]}", "setup[0].outputs", "INVALID_FIELD",
     "node_modules"},
    {"{" OK_TOP "setup: [{name: a, outputs: [x]}]}", "setup[0].command", "MISSING_FIELD",
     "command"},
    {"{" OK_TOP "setup: [{name: a, command: c, outputs: [/x]}]}", "setup[0].outputs[0]",
     "INVALID_FIELD", "inside"},
    {"{" OK_TOP "setup: [{name: a, command: c, outputs: [.git/x]}]}", "setup[0].outputs[0]",
     "INVALID_FIELD", "inside"},
    {"{" OK_TOP "setup: [{name: a, command: c, outputs: [x]}, {name: a, command: c, outputs: "
     "[y]}]}",
     "setup[1].name", "INVALID_FIELD", "twice"},
    {"{" OK_TOP "scratch: {ports: 17}}", "scratch.ports", "INVALID_FIELD", "16"},
    {"{" OK_TOP "scratch: {databases: [{name: A, directory: true}]}}", "scratch.databases[0].name",
     "INVALID_FIELD", "lower-case"},
    {"{" OK_TOP "scratch: {databases: [{name: a, create: x}]}}", "scratch.databases[0].drop",
     "INVALID_FIELD", "both create and drop"},
    {"{" OK_TOP "scratch: {databases: [{name: a}]}}", "scratch.databases[0].create",
     "INVALID_FIELD", "directory: true"},
    {"{" OK_TOP "scratch: {databases: [{name: a, directory: true, drop: x}]}}",
     "scratch.databases[0].directory", "INVALID_FIELD", "no create, drop"},
    {"{" OK_TOP "scratch: {databases: [{name: a, create: x, drop: y, url: 'x:'}]}}",
     "scratch.databases[0].url", "INVALID_FIELD", "{database}"},
    {"{" OK_TOP "scratch: {databases: [{name: a, directory: true, variable: DROVER_X}]}}",
     "scratch.databases[0].variable", "INVALID_FIELD", "DROVER_"},
    {"{" OK_TOP
     "scratch: {databases: [{name: a-b, directory: true}, {name: a_b, directory: true}]}}",
     "scratch.databases[1].variable", "INVALID_FIELD", "a-b already"},
    {"{" OK_TOP "scratch: {databases: [{name: a, create: x, drop: y, env: ['A=1']}]}}",
     "scratch.databases[0].env", "INVALID_FIELD", "not values"},
    {"{" OK_TOP "scratch: {databases: [{name: a, directory: true, steps: [publish]}]}}",
     "scratch.databases[0].steps", "INVALID_FIELD", "agent, setup, verify"},
    {"{" OK_TOP "verify: {}}", "verify", "INVALID_FIELD", "array"},
    {"{" OK_TOP "verify: [make]}", "verify[0]", "INVALID_FIELD", "object"},
    {"{" OK_TOP "verify: [{command: c}]}", "verify[0].name", "MISSING_FIELD", "name"},
    {"{" OK_TOP "verify: [{name: a, command: c}, {name: b}]}", "verify[1].command", "MISSING_FIELD",
     "command"},
    {"{" OK_TOP "verify: [{name: a, command: [make]}]}", "verify[0].command", "INVALID_FIELD",
     "string"},
    {"{" OK_TOP "verify: [{name: a, command: c, outputs: [../up]}]}", "verify[0].outputs[0]",
     "INVALID_FIELD", "inside the checkout"},
    {"{" OK_TOP "verify: [{name: a, command: c, outputs: [a/../b]}]}", "verify[0].outputs[0]",
     "INVALID_FIELD", "inside the checkout"},
    {"{" OK_TOP "verify: [{name: a, command: c, outputs: [a//b]}]}", "verify[0].outputs[0]",
     "INVALID_FIELD", "inside the checkout"},
    {"{" OK_TOP "verify: [{name: a, command: c, outputs: [./a]}]}", "verify[0].outputs[0]",
     "INVALID_FIELD", "inside the checkout"},
    {"{" OK_TOP "verify: [{name: a, command: c, outputs: [.git/x]}]}", "verify[0].outputs[0]",
     "INVALID_FIELD", "inside the checkout"},
    {"{" OK_TOP "verify: [{name: a, command: c, outputs: [a/]}]}", "verify[0].outputs[0]",
     "INVALID_FIELD", "inside the checkout"},
    {"{" OK_TOP "verify: [{name: Unit, command: c}]}", "verify[0].name", "INVALID_FIELD",
     "lower-case"},
    {"{" OK_TOP "verify: [{name: 'a b', command: c}]}", "verify[0].name", "INVALID_FIELD",
     "lower-case"},
    {"{" OK_TOP "verify: [{name: a, command: c}, {name: a, command: d}]}", "verify[1].name",
     "INVALID_FIELD", "twice"},
    {"{" OK_TOP "verify: [{name: a, command: c, timeoutMs: 1, timeoutSeconds: 1}]}",
     "verify[0].timeoutMs", "INVALID_FIELD", "beside"},
    {"{" OK_TOP "verify: [{name: a, command: c, timeoutSeconds: 0}]}", "verify[0].timeoutSeconds",
     "INVALID_FIELD", "between"},
    {"{" OK_TOP "verify: [{name: a, command: c, when: x}]}", "verify[0].when", "UNKNOWN_FIELD",
     "when"},
    {"{" OK_TOP "judge: [{}]}", "judge[0].rules", "INVALID_FIELD", "one of rules"},
    {"{" OK_TOP "judge: [{model: x}]}", "judge[0].model", "INVALID_FIELD", "object"},
    {"{" OK_TOP "judge: [{rules: {}, name: x}]}", "judge[0].rules", "INVALID_FIELD", "alone"},
    {"{" OK_TOP "judge: [{rules: {}, command: x}]}", "judge[0].rules", "INVALID_FIELD", "one of"},
    {"{" OK_TOP "judge: [{command: x}]}", "judge[0].name", "MISSING_FIELD", "name"},
    {"{" OK_TOP "judge: [{name: a, model: {api: openai, url: 'http://h', model: m, credential: "
     "'sk-1'}}]}",
     "judge[0].model.credential", "INVALID_FIELD", "not the secret"},
    {"{" OK_TOP "judge: [{rules: {maxFiles: 0}}]}", "judge[0].rules.maxFiles", "INVALID_FIELD",
     "between"},
    {"{" OK_TOP "judge: [{rules: {}}, {rules: {forbiddenPaths: ['']}}]}",
     "judge[1].rules.forbiddenPaths[0]", "INVALID_FIELD", "empty"},
    {"{" OK_TOP "judge: [{rules: {secrets: true}}]}", "judge[0].rules.secrets", "UNKNOWN_FIELD",
     "secrets"},
    {"{" OK_TOP "policy: {approval: sometimes}}", "policy.approval", "INVALID_FIELD",
     "auto, always, never"},
    {"{" OK_TOP "limits: {maxTurns: -1}}", "limits.maxTurns", "INVALID_FIELD", "between"},
    {"{" OK_TOP "retries: {overloads: 101}}", "retries.overloads", "INVALID_FIELD", "between"},
    {"{" OK_TOP "limits: {maxTokens: 0}}", "limits.maxTokens", "INVALID_FIELD", "between"},
    {"{" OK_TOP "limits: {maxTurns: 501}}", "limits.maxTurns", "INVALID_FIELD", "between"},
    {"{" OK_TOP "limits: {maxBudgetUsd: 0.001}}", "limits.maxBudgetUsd", "INVALID_FIELD",
     "between"},
    {"{" OK_TOP "limits: {maxBudgetUsd: 101}}", "limits.maxBudgetUsd", "INVALID_FIELD", "between"},
    {"{" OK_TOP "limits: {maxActiveRuns: -1}}", "limits.maxActiveRuns", "INVALID_FIELD", "between"},
    {"{" OK_TOP "retries: {agentAttempts: 0}}", "retries.agentAttempts", "INVALID_FIELD",
     "between"},
    {"{" OK_TOP "retries: {luck: 1}}", "retries.luck", "UNKNOWN_FIELD", "luck"},
    {"{" OK_TOP "timeouts: {runMs: 0}}", "timeouts.runMs", "INVALID_FIELD", "between"},
    {"{" OK_TOP "timeouts: {idleMs: 1.5}}", "timeouts.idleMs", "INVALID_FIELD", "integer"},
    {"{" OK_TOP "timeouts: {idle: 1}}", "timeouts.idle", "UNKNOWN_FIELD", "idle"},
    {"{" OK_TOP "train: drover}", "train", "INVALID_FIELD", "object"},
    {"{" OK_TOP "train: {use: bors}}", "train.use", "INVALID_FIELD", "drover"},
    {"{" OK_TOP "train: {batch: 51}}", "train.batch", "INVALID_FIELD", "between"},
    {"{" OK_TOP "train: {ahead: 0}}", "train.ahead", "INVALID_FIELD", "between"},
    {"{" OK_TOP "train: {land: api, verify: batch}}", "train.verify", "INVALID_FIELD", "api"},
    {"{" OK_TOP "train: {checks: [{name: a}]}}", "train.checks[0].command", "MISSING_FIELD", ""},
    {"{" OK_TOP "train: {check: []}}", "train.check", "UNKNOWN_FIELD", ""},
    {"{" OK_TOP "prompt: stdin}", "prompt", "INVALID_FIELD", "object"},
    {"{" OK_TOP "prompt: {tokenBudget: 0}}", "prompt.tokenBudget", "INVALID_FIELD", "between"},
};

START_TEST(what_is_wrong_is_refused_by_name)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config = {.url = "untouched"};
    struct err err = {0};
    ck_assert_msg(decode(refusals[_i].document, &tree, &arena, &config, &err) == RC_INVALID,
                  "taken: %s", refusals[_i].document);
    ck_assert_str_eq(err.field, refusals[_i].field);
    ck_assert_str_eq(err.code, refusals[_i].code);
    ck_assert_msg(strstr(err.text, refusals[_i].word) != NULL, "%s: no \"%s\" in: %s",
                  refusals[_i].document, refusals[_i].word, err.text);
    ck_assert_str_eq(config.url, "untouched");
}
END_TEST

/* Lists that may be full, but not fuller; every entry is before, its number, after. */
static const struct {
    const char *open, *before, *after, *close, *field;
    int max;
} lists[] = {
    {"{" OK_URL "agent: {command: [", "a", "", "]}}", "agent.command", CONFIG_ARGS_MAX},
    {"{" OK_URL "agent: {command: [a], env: [", "A", "", "]}}", "agent.env", CONFIG_ENV_MAX},
    {"{" OK_TOP "verify: [", "{name: v", ", command: c}", "]}", "verify", CONFIG_VERIFIERS_MAX},
    {"{" OK_TOP "judge: [{rules: {forbiddenPaths: [", "p", "", "]}}]}",
     "judge[0].rules.forbiddenPaths", JUDGE_GLOBS_MAX},
    {"{" OK_TOP "judge: [{rules: {forbiddenPaths: [x]}}, {rules: {forbiddenPaths: [", "p", "",
     "]}}]}", "judge[1].rules.forbiddenPaths", JUDGE_GLOBS_MAX - 1},
};

START_TEST(lists_are_limited)
{
    for (int extra = 0; extra <= 1; extra++) {
        CLEANUP(js_freep) struct js *tree = NULL;
        CLEANUP(arena_release) struct arena arena = {0};
        CLEANUP(buf_release) struct buf document;
        buf_init(&document, 100000);
        buf_adds(&document, lists[_i].open);
        for (int i = 0; i < lists[_i].max + extra; i++)
            buf_addf(&document, "%s%s%d%s", i > 0 ? ", " : "", lists[_i].before, i,
                     lists[_i].after);
        buf_adds(&document, lists[_i].close);
        struct repo_config config;
        struct err err = {0};
        enum rc rc = decode(buf_text(&document), &tree, &arena, &config, &err);
        ck_assert_msg(rc == (extra ? RC_INVALID : RC_OK), "%s: %s", lists[_i].field, err.text);
        ck_assert_str_eq(err.field, extra ? lists[_i].field : "");
    }
}
END_TEST

static const struct {
    const char *url;
    bool want;
} urls[] = {
    {"/srv/git/billing.git", true},
    {"/with space/x", true},
    {"file:///srv/x.git", true},
    {"https://github.com/acme/billing.git", true},
    {"https://user@host.example:8443/x.git", true},
    {"ssh://git@host.example/x.git", true},
    {"ssh://git@host.example:2222/x.git", true},
    {"git@github.com:acme/billing.git", true},
    {"relative/path", false},
    {"./x", false},
    {"../x", false},
    {"~/x", false},
    {"-x", false},
    {"--upload-pack=touch /tmp/x", false},
    {"file://host/x", false},
    {"file:relative", false},
    {"http://plain.example/x", false},
    {"http://127.0.0.1:8080/acme/x.git", true},
    {"http://localhost/x.git", true},
    {"http://localhost.example/x.git", false},
    {"http://127.0.0.1:80@plain.example/x", false},
    {"http://127.0.0.1", true},
    {"git://host/x", false},
    {"https://", false},
    {"https:///x", false},
    {"https://user:secret@host/x", false},
    {"https://user@/x", false},
    {"ssh://-oProxyCommand=x/y", false},
    {"ssh://git@-oProxyCommand=x/y", false},
    {"ext::sh -c x", false},
    {"git@host:", false},
    {"git@host:-x", false},
    {"git@host::x", false},
    {"git@-host:x", false},
    {"host:path", false},
    {"@host:path", false},
    {"a b@host:path", false},
    {"/x\ny", false},
    {"/x\x7f", false},
};

START_TEST(urls_are_places_and_never_options)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    const char *document = "{\"agent\": {\"command\": [\"a\"]}}";
    ck_assert_int_eq(js_parse(document, strlen(document), &tree, &err), RC_OK);
    enum rc rc = repo_config_decode(tree, urls[_i].url, &arena, &config, &err);
    ck_assert_msg(rc == (urls[_i].want ? RC_OK : RC_INVALID), "%s", urls[_i].url);
}
END_TEST

static const struct {
    const char *name;
    bool want;
} repo_names[] = {
    {"billing", true}, {"acme/billing", true}, {"a/b/c", true},   {"A.b_c-9/x", true},
    {".hidden", true}, {"a/.x", true},         {"", false},       {"/a", false},
    {"a/", false},     {"a//b", false},        {".", false},      {"..", false},
    {"a/../b", false}, {"a/.", false},         {"-a", false},     {"a b", false},
    {"a\\b", false},   {"a\n", false},         {"\u00e4", false}, {"a%2Fb", false},
    {"a:b", false},    {"...", true},
};

START_TEST(repository_names_are_plain)
{
    ck_assert_msg(repo_name_valid(repo_names[_i].name) == repo_names[_i].want, "%s",
                  repo_names[_i].name);
}
END_TEST

static const struct {
    const char *name;
    bool want;
} branches[] = {
    {"main", true},    {"feature/x", true}, {"drover/1/2-fix", true},
    {"v1.0", true},    {"a@b", true},       {"caf\u00e9", true},
    {"a.lockx", true}, {"x-", true},        {"", false},
    {"-x", false},     {"--force", false},  {"/a", false},
    {"a/", false},     {"a//b", false},     {".a", false},
    {"a/.b", false},   {"a.", false},       {"a/b.", false},
    {"a..b", false},   {"a.lock", false},   {"a.lock/b", false},
    {".lock", false},  {"@", false},        {"a@{b", false},
    {"a b", false},    {"a~b", false},      {"a^b", false},
    {"a:b", false},    {"a?b", false},      {"a*b", false},
    {"a[b", false},    {"a\\b", false},     {"a\tb", false},
    {"a\x7f", false},  {"a\xff", false},    {"HEAD", false},
};

START_TEST(branch_names_are_those_that_git_takes)
{
    ck_assert_msg(branch_name_valid(branches[_i].name) == branches[_i].want, "%s",
                  branches[_i].name);
}
END_TEST

START_TEST(names_are_limited_to_200_bytes)
{
    char name[202];
    memset(name, 'a', sizeof name);
    name[200] = '\0';
    ck_assert(repo_name_valid(name) && branch_name_valid(name));
    name[200] = 'a';
    name[201] = '\0';
    ck_assert(!repo_name_valid(name) && !branch_name_valid(name));
}
END_TEST

Suite *repo_config_suite(void)
{
    Suite *suite = suite_create("repo_config");
    TCase *tc = tcase_create("repo_config");
    tcase_add_test(tc, a_full_document_is_understood);
    tcase_add_test(tc, accounts_and_prices_have_defaults);
    tcase_add_test(tc, rules_limits_and_times_are_understood);
    tcase_add_test(tc, a_small_document_gets_the_defaults);
    tcase_add_test(tc, a_limit_is_given_up_by_name_only);
    tcase_add_test(tc, the_url_may_come_from_beside);
    tcase_add_test(tc, the_documents_url_wins);
    tcase_add_loop_test(tc, what_is_wrong_is_refused_by_name, 0, (int)COUNT_OF(refusals));
    tcase_add_loop_test(tc, lists_are_limited, 0, (int)COUNT_OF(lists));
    tcase_add_loop_test(tc, urls_are_places_and_never_options, 0, (int)COUNT_OF(urls));
    tcase_add_loop_test(tc, repository_names_are_plain, 0, (int)COUNT_OF(repo_names));
    tcase_add_loop_test(tc, branch_names_are_those_that_git_takes, 0, (int)COUNT_OF(branches));
    tcase_add_test(tc, names_are_limited_to_200_bytes);
    suite_add_tcase(suite, tc);
    return suite;
}
