/*
 * conductor_config.h - `conductor:` of the server's configuration.
 *
 *   conductor:
 *     enabled: true
 *     maxAtWork: 50                 issues that are assigned at once; 0: no limit
 *     agents:                       that drover runs itself, as tasks
 *       - {name: backend-1, persona: backend, capacity: 2, profile: claude,
 *          repositories: [acme/shop], labels: [api]}
 */
#ifndef CORE_CONDUCTOR_CONDUCTOR_CONFIG_H
#define CORE_CONDUCTOR_CONDUCTOR_CONFIG_H
#include "base/js.h"
#include "core/conductor/choose.h"

enum { CONDUCTOR_AGENTS_MAX = 100, CONDUCTOR_AT_WORK_MAX = 100000 };

struct conductor_config {
    bool enabled;
    int64_t at_work_max; /* 0: no limit */
    const struct conductor_agent *agents;
    size_t count;
};
struct conductor_config conductor_config_default(void);
/* Texts are copied into the arena. */
MUST_USE enum rc conductor_config_decode(const struct js *object, struct arena *arena,
                                         struct conductor_config *ret_config, struct err *err);
#endif
