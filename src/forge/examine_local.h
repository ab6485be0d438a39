/*
 * examine_local.h - for forge_local: forge_ops.examine.
 */
#ifndef FORGE_EXAMINE_LOCAL_H
#define FORGE_EXAMINE_LOCAL_H
#include "forge/forge.h"

MUST_USE enum rc examine_local(struct forge_call *call, const char *url,
                               const struct forge_known *known, size_t count, struct arena *arena,
                               struct forge_examined *ret, struct err *err);
#endif
