/*
 * quota.h - the command by which calls of a forge's API are granted, and told (core/pr/governor.h).
 *
 * For the holder of the lease of a step of drover's own, or for a person's request to this server.
 */
#ifndef CONTROL_PR_QUOTA_H
#define CONTROL_PR_QUOTA_H
#include "control/commit/command.h"
#include "control/queue/jobs.h"
#include "core/pr/governor.h"
#include "forge/token_source.h"

enum { QUOTA_BLOCK_MAX = 100, QUOTA_NAME_MAX = 200 };

struct cmd_quota {
    struct command base;
    struct job_ref ref;       /* The lease; none: a person's. */
    enum forge_access access; /* Of a step: whose quota it is. */
    /* Of a person: */
    const char *credential, *repository;

    const char *host, *resource;
    int64_t want; /* At most QUOTA_BLOCK_MAX. */
    struct quota_told told;
    struct quota_seen seen; /* seen.remaining -1 and nothing else: nothing was said. */
    bool has_seen;

    struct quota_verdict verdict; /* The answer. */
    const char *why;              /* For people, when nothing is granted. */
};
/* RC_STALE, LEASE_LOST. */
struct cmd_quota *cmd_quota_new(void);

/* What a forge said, as a command takes it. */
struct quota_seen quota_seen_of(const struct forge_limit_seen *seen);
#endif
