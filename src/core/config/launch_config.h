/*
 * launch_config.h - the configuration of an agent that drover launches: `agent` of a repository's,
 * as far as it concerns a process of its own.  Pure.
 */
#ifndef CORE_CONFIG_LAUNCH_CONFIG_H
#define CORE_CONFIG_LAUNCH_CONFIG_H
#include "base/js.h"
#include "base/str.h"

struct launch_parts {
    const char *profile;      /* agent.use, or NULL */
    const struct js *command; /* agent.command, or NULL */
    const struct js *config;  /* Other members: network, egress, env, mounts, model, ...; or NULL */
};
/* *ret_document: what repo_config_decode takes; empty when there is nothing to launch.  RC_INVALID
   names the member. */
MUST_USE enum rc launch_config_make(const struct launch_parts *parts, struct arena *arena,
                                    struct str *ret_document, struct err *err);
#endif
