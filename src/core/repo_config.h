/*
 * repo_config.h - a repository's configuration: decoded, checked, defaulted.
 *
 * The document is kept as JSON bytes; this is its meaning.  Every field that nobody knows is
 * refused by name.  Strings live in the tree that was decoded, or in the arena.
 */
#ifndef CORE_REPO_CONFIG_H
#define CORE_REPO_CONFIG_H
#include "base/js.h"
#include "core/budget.h"
#include "core/judge.h"
#include "core/policy.h"
#include <stdbool.h>
#include <stdint.h>

enum { CONFIG_VERIFIERS_MAX = 32, CONFIG_ARGS_MAX = 64, CONFIG_ENV_MAX = 64 };
enum compute { COMPUTE_PROCESS };
enum adapter { ADAPTER_NONE, ADAPTER_NDJSON };
/* The prompt's file is always there; by default it comes on stdin too. */
enum prompt_way { PROMPT_STDIN, PROMPT_FILE };

struct verifier_config {
    const char *name;
    const char *command; /* Run by /bin/sh -c in the clean checkout. */
    int64_t timeout_ms;
};

struct repo_config {
    const char *url;
    const char *forge; /* "local" */
    const char *default_branch;
    struct {
        enum compute compute;
        const char *command[CONFIG_ARGS_MAX + 1]; /* NULL-terminated argv. */
        enum adapter adapter;
        enum prompt_way prompt;
        bool network;
        const char *env[CONFIG_ENV_MAX + 1]; /* Names let through, NULL-terminated. */
    } agent;
    struct verifier_config verify[CONFIG_VERIFIERS_MAX];
    size_t verify_count;
    struct judge_rules rules; /* All `judge: [{rules}]` entries, merged: the strictest wins. */
    enum approval_rule approval;
    struct {
        int64_t max_active_runs; /* 0: none */
        int64_t max_turns;       /* 0: none given */
        int64_t max_budget_microusd;
        int64_t max_patch_bytes; /* default 10 MB */
    } limits;
    struct budget budget;    /* `retries: {agentAttempts, verifierRetries, prRetries}` */
    struct {                 /* `timeouts: {...Ms}`; every one in milliseconds */
        int64_t run_ms;      /* 8 h */
        int64_t queue_ms;    /* 0: none */
        int64_t prepare_ms;  /* 5 min */
        int64_t hydrate_ms;  /* 2 min */
        int64_t agent_ms;    /* 1 h */
        int64_t idle_ms;     /* 15 min */
        int64_t verify_ms;   /* 10 min, for a verifier that names none */
        int64_t publish_ms;  /* 5 min */
        int64_t approval_ms; /* 24 h */
        int64_t cancel_ms;   /* 30 s: how long a worker may take to stop */
    } timeouts;
    struct {
        const char *system;   /* Put in front of the prompt, or NULL. */
        int64_t token_budget; /* 100,000 */
    } prompt;
};

/* url may be missing in the document when given beside it (CLI --url): then url_given is used. */
MUST_USE enum rc repo_config_decode(const struct js *document, const char *url_given,
                                    struct arena *arena, struct repo_config *ret_config,
                                    struct err *err);
/* acme/billing: letters, digits, . _ - and single slashes, at most 200 bytes. */
bool repo_name_valid(const char *name);
/* A branch name that git takes and that cannot be mistaken for an option. */
bool branch_name_valid(const char *name);
#endif
