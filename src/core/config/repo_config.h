/*
 * repo_config.h - a repository's configuration: decoded, checked, defaulted.
 *
 * The document is kept as JSON bytes; this is its meaning.  Every unknown field is refused
 * by name.  Strings live in the tree that was decoded, or in the arena.  Each section is
 * decoded by a file of its own: config_agent.c, config_candidates.c, config_checks.c,
 * config_forge.c, config_intake.c, config_pr.c, config_scratch.c, config_setup.c, config_steps.c,
 * config_train.c.
 */
#ifndef CORE_CONFIG_REPO_CONFIG_H
#define CORE_CONFIG_REPO_CONFIG_H
#include "base/js.h"
#include "core/config/scratch_config.h"
#include "core/pr/intake.h"
#include "core/pr/shepherd.h"
#include "core/pr/sync_mode.h"
#include "core/run/blueprint.h"
#include "core/run/budget.h"
#include "core/run/candidates.h"
#include "core/run/event_budget.h"
#include "core/run/judge.h"
#include "core/run/policy.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    CONFIG_VERIFIERS_MAX = 32,
    CONFIG_OUTPUTS_MAX = 16,
    CONFIG_OUTPUT_BYTES_MAX = 200,
    CONFIG_SETUPS_MAX = 8,
    CONFIG_SETUP_KEYS_MAX = 16,
    CONFIG_JUDGES_MAX = 16,
    CONFIG_ARGS_MAX = 64,
    CONFIG_ENV_MAX = 64,
    CONFIG_ENV_ALL_MAX = CONFIG_ENV_MAX + 16, /* With those of the profile. */
    CONFIG_MOUNTS_MAX = 16,
    CONFIG_HOSTS_MAX = 64,
    CONFIG_RULES_MAX = 32,
    CONFIG_TOOLS_MAX = 64,
    CONFIG_ACCOUNTS_MAX = 16,
    CONFIG_FALLBACKS_MAX = 4,
    CONFIG_PR_NAMES_MAX = 20,
};
enum compute { COMPUTE_PROCESS, COMPUTE_REMOTE, COMPUTE_PULL };
/* How the output of an agent is read.  To add one: its name in config_agent.c and in
   schemas/repository.json, its row in core/agent/claims.c, its ops in work/agent/adapter.c. */
enum adapter {
    ADAPTER_NONE,
    ADAPTER_NDJSON,
    ADAPTER_CLAUDE,
    ADAPTER_CODEX,
    ADAPTER_GEMINI,
    ADAPTER_COPILOT,
    ADAPTER_CURSOR,
    ADAPTER_OPENCODE,
    ADAPTER_GOOSE,
    ADAPTER_AMP,
    ADAPTER_TEXT,
    ADAPTER_ACP,
    ADAPTER_COUNT,
};
/* The prompt's file is always there; by default it comes on stdin too. */
enum prompt_way { PROMPT_STDIN, PROMPT_FILE };
/* Who merges what is ready. */
enum train_use {
    TRAIN_USE_DROVER,
    TRAIN_USE_AUTO,  /* The forge, once it may. */
    TRAIN_USE_QUEUE, /* The forge's own merge queue. */
    TRAIN_USE_OFF,
};
/* Two runs that mean to change the same files. */
enum overlap_rule { OVERLAP_ALLOW, OVERLAP_WARN, OVERLAP_SERIALIZE };

struct mount_config {
    const char *path; /* Absolute; the same inside. */
    bool writable;
};

/* What an agent may use; 0: no limit. */
struct resource_config {
    int64_t cpu_seconds;  /* Of each process. */
    int64_t memory_bytes; /* Of all its processes together. */
    int64_t processes;
    int64_t disk_bytes; /* Of tree, home and io together. */
    int64_t open_files;
};

/* USD for a million tokens; 0: not known. */
struct price_config {
    double input, cached_input, output;
};

struct agent_profile; /* profile.h */

struct agent_config {
    const struct agent_profile *profile; /* `use`; NULL: none.  What follows has its values. */
    enum compute compute;
    /* NULL-terminated argv; empty unless process.  WORD_PROMPT_FILE of profile.h may be in it. */
    const char *command[CONFIG_ARGS_MAX + 1];
    /* The same to resume the agent's session, with WORD_SESSION; empty: arguments cannot. */
    const char *resume[CONFIG_ARGS_MAX + 1];
    enum adapter adapter;
    enum prompt_way prompt;
    bool network;
    const char
        *egress[CONFIG_HOSTS_MAX + 1];       /* host or host:port or *.host; with network: false. */
    const char *env[CONFIG_ENV_ALL_MAX + 1]; /* NAME, let through, or NAME=value. */
    const char *model;                       /* $DROVER_MODEL, or NULL. */
    bool model_told;                         /* The model also reaches the agent in another way. */
    const char *account;                     /* The provider account it uses up, or NULL. */
    const char *accounts[CONFIG_ACCOUNTS_MAX + 1]; /* Or one of these. */
    struct price_config prices;                    /* For adapters that get tokens and no cost. */
    struct mount_config mounts[CONFIG_MOUNTS_MAX];
    size_t mount_count;
    const char *home;     /* Seeds $HOME: a directory that is copied into it, or NULL. */
    bool home_write_back; /* A login of the profile that was refreshed is copied back. */
    bool asks_permission; /* `permissions: ask`: a person decides about calls of tools. */
    bool asks_forms;      /* `elicitation: ask`: a person fills in what the agent wants to know. */
    struct resource_config resources;
    struct {
        const char *url;        /* Invoke, poll and stop go here. */
        const char *credential; /* Name of a variable of the worker that holds a bearer token. */
        int64_t poll_ms;        /* 30 s */
        int64_t call_ms;        /* 30 s: one call */
        int64_t lost_polls;     /* 3: so many failed polls in a row are a lost session. */
    } remote;
    const char *queue; /* pull: where agents lease; default "agents". */
};

struct verifier_config {
    const char *name;
    const char *command; /* Run by /bin/sh -c in a clean checkout of its own. */
    int64_t timeout_ms;
    bool parallel; /* Together with its neighbours that are parallel too. */
    bool optional; /* Its failure is reported and does not fail the patch. */
    const char
        *outputs[CONFIG_OUTPUTS_MAX + 1]; /* Paths that later checks find; NULL at the end. */
};

/* What trees need before work begins in them, and what it depends on: work/agent/setup.h. */
struct setup_config {
    const char *name;
    const char *command;                         /* By /bin/sh -c in a checkout of the base. */
    const char *keys[CONFIG_SETUP_KEYS_MAX + 1]; /* Globs of files of the base commit. */
    const char *outputs[CONFIG_OUTPUTS_MAX + 1]; /* Paths that it makes; NULL at the end. */
    int64_t timeout_ms;                          /* 15 min */
};

/* An agent that may work on a task beside others: best of N. */
struct candidate_config {
    const char *name;
    const struct js *agent; /* A layer over the repository's own: candidate_layer. */
};

enum model_api { MODEL_OPENAI, MODEL_ANTHROPIC };
struct judge_config {
    enum judge_kind kind;
    const char *name;    /* rules, or as given. */
    const char *command; /* JUDGE_COMMAND: by /bin/sh -c */
    int64_t timeout_ms;
    double min_score; /* Below it the patch does not pass; 0: the verdict alone counts. */
    struct {
        enum model_api api;
        const char *url; /* Base: https://api.openai.com/v1 */
        const char *model;
        const char *credential; /* Name of a variable of the worker. */
        const char *prompt;     /* What to check, or NULL. */
        int64_t max_tokens;
        struct price_config prices; /* For endpoints that report tokens and no cost. */
    } model;
};

/* A program that a forge knows: it makes tokens for one repository from a key. */
struct app_config {
    const char *id;       /* NULL: there is none. */
    const char *key_file; /* On the server's machine. */
    int64_t installation; /* 0: looked up for the repository. */
};

/* Whether a pull request stays a draft; by the task's mode: all but autonomous_pr. */
enum pr_draft { PR_DRAFT_BY_MODE, PR_DRAFT_ALWAYS, PR_DRAFT_NEVER };

/* Who follows a pull request after it was opened: core/pr/shepherd.h. */
struct shepherd_config {
    bool enabled;
    enum shepherd_merge merge;        /* May drover merge it? */
    const char *method;               /* merge, squash, rebase: where the forge merges by itself */
    int64_t reruns, repairs, rebases; /* Of a pull request. */
    int64_t max_budget_microusd;      /* Of its repairs together. */
    int64_t max_hours;                /* Then a person is asked. */
    int64_t quiet_ms;                 /* A reviewer who is quiet for so long is done. */
    int64_t settle_ms;                /* So long checks of a new head may take to appear. */
    int64_t poll_ms;                  /* Between two looks, when nothing is heard. */
    bool learn;                       /* Proposes rules from what reviewers ask for. */
};

struct repo_config {
    const char *url;
    const char *forge; /* "local" */
    const char *api;   /* Base of the forge's API; NULL: follows from the address. */
    const char *default_branch;
    const char *forge_credential;    /* `credentials: {forge: NAME}`, or NULL */
    const char *reviewer_credential; /* `credentials: {reviewer: NAME}`, or NULL */
    const char *agent_credential;    /* `credentials: {agent: NAME}`: read only; or NULL */
    struct app_config app, reviewer_app;
    struct {
        const char *labels[CONFIG_PR_NAMES_MAX + 1];
        const char *reviewers[CONFIG_PR_NAMES_MAX + 1]; /* Logins, or team/NAME. */
        enum pr_draft draft;
    } pr; /* `pullRequest` */
    struct agent_config agent;
    struct agent_config fallback[CONFIG_FALLBACKS_MAX]; /* When no account of it is free. */
    size_t fallback_count;
    struct candidate_config candidates[CANDIDATES_MAX];
    size_t candidate_count;
    struct setup_config setup[CONFIG_SETUPS_MAX];
    size_t setup_count;
    struct scratch_config scratch; /* Ports and databases of its runs. */
    struct verifier_config verify[CONFIG_VERIFIERS_MAX];
    size_t verify_count;
    struct judge_rules rules; /* All `judge: [{rules}]` entries, merged: the strictest wins. */
    struct judge_config judges[CONFIG_JUDGES_MAX + 1]; /* In order; one of them is JUDGE_RULES. */
    size_t judge_count;
    enum approval_rule approval;
    struct {
        const char
            *forbidden[JUDGE_GLOBS_MAX + 1]; /* `policy.forbiddenPaths`: denied, not mended */
        const char *tools_denied[CONFIG_TOOLS_MAX + 1];  /* `policy.denyTools` */
        const char *tools_allowed[CONFIG_TOOLS_MAX + 1]; /* `policy.allowTools` */
        bool overridable;    /* `policy.override: ask`: a person may override a denial. */
        bool scan_secrets;   /* true */
        int64_t reminder_ms; /* 30 min; 0: none */
    } policy;
    struct {
        bool enabled;                             /* `plan: {...}` stands in the document. */
        const char *command[CONFIG_ARGS_MAX + 1]; /* NULL: the agent's own. */
        enum approval_rule approval;              /* auto: as for the patch, by mode and risk */
        int64_t timeout_ms;
    } plan;
    struct {
        int64_t max_active_runs; /* 0: none */
        int64_t max_turns;       /* 100; 0: none */
        int64_t max_budget_microusd;
        int64_t max_tokens;         /* Input and output; 0: none given */
        int64_t max_patch_bytes;    /* default 10 MB */
        int64_t max_open_approvals; /* 0: none */
        int64_t max_open_pull_requests;
        int64_t max_run_events; /* Of what its workers report; core/run/event_budget.h */
        int64_t max_run_event_bytes;
        enum overlap_rule overlap;
    } limits;
    struct budget budget;    /* `retries: {agentAttempts, ..., wallClockMs}`; wall clock: run_ms */
    int64_t overloads;       /* `retries.overloads`: 8 */
    struct {                 /* `timeouts: {...Ms}`; every one in milliseconds */
        int64_t run_ms;      /* 8 h */
        int64_t queue_ms;    /* 0: none */
        int64_t prepare_ms;  /* 5 min */
        int64_t hydrate_ms;  /* 2 min */
        int64_t agent_ms;    /* 1 h */
        int64_t idle_ms;     /* 15 min */
        int64_t verify_ms;   /* 10 min, for a verifier that names none */
        int64_t judge_ms;    /* 5 min, for a judge that names none */
        int64_t publish_ms;  /* 5 min */
        int64_t approval_ms; /* 24 h */
        int64_t question_ms; /* 24 h: at most, of a question that an agent asks */
        int64_t cancel_ms;   /* 30 s: how long a worker may take to stop */
        int64_t snapshot_ms; /* 1 min between two snapshots of the agent's tree; 0: none */
        int64_t candidate_grace_ms; /* 15 min for other candidates after the first usable one */
    } timeouts;
    struct {
        const char *system;   /* Put in front of the prompt, or NULL. */
        int64_t token_budget; /* 100,000 */
        const char
            *rules[CONFIG_RULES_MAX + 1]; /* Files of rules; default AGENTS.md, CLAUDE.md, ... */
        bool memory;                      /* true: what earlier runs learned. */
    } prompt;
    struct {
        enum train_use use;
        bool api;          /* `land: api`: the forge merges; else the target is pushed. */
        bool batch;        /* `verify: batch`; else each position is verified. */
        int64_t batch_max; /* 8 */
        int64_t ahead_max; /* 2 */
        const struct verifier_config *checks; /* NULL: those of `verify`. */
        size_t check_count;
    } train;
    struct blueprint blueprint; /* `steps` and `sequence` */
    struct shepherd_config shepherd;
    struct intake_rules intake; /* Which issues become tasks. */
    struct {
        const char *secret, *old_secret; /* Names of variables of the server, or NULL. */
    } webhook;
    struct sync_pauses sync; /* 1 min and 10 min */
};

/* url may be missing in the document when given beside it (CLI --url): then url_given is used. */
MUST_USE enum rc repo_config_decode(const struct js *document, const char *url_given,
                                    struct arena *arena, struct repo_config *ret_config,
                                    struct err *err);
/* With the model of the account that the agent works with, in place of its own; NULL: it has
   none. */
MUST_USE enum rc repo_config_decode_for(const struct js *document, const char *model,
                                        struct arena *arena, struct repo_config *ret_config,
                                        struct err *err);
/* How long a job of this step may take. */
int64_t repo_config_step_ms(const struct repo_config *config, const struct step_row *step);
const char *adapter_name(enum adapter adapter);
/* agent.account, or one account for all agents that speak through the same adapter. */
const char *agent_account(const struct agent_config *agent, struct arena *arena);
/* What it is called in runs and events: its profile, or its adapter. */
const char *agent_name(const struct agent_config *agent);
/* agent, or agent.fallback[fallback - 1]. */
const struct agent_config *repo_config_agent(const struct repo_config *config, int64_t fallback);
/* The layer {"agent": ...} that makes the repository's agent that of a candidate. */
struct str candidate_layer(const struct js *document, const struct js *agent, struct arena *arena);
/* acme/billing: letters, digits, . _ - and single slashes, at most 200 bytes. */
bool repo_name_valid(const char *name);
/* A branch name that git takes and that cannot be mistaken for an option. */
bool branch_name_valid(const char *name);
#endif
