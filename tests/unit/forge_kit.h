/*
 * forge_kit.h - for tests of forge/: an origin with one commit, its mirror, and a change of one
 * line to publish there.
 */
#ifndef TESTS_UNIT_FORGE_KIT_H
#define TESTS_UNIT_FORGE_KIT_H
#include "forge/port/forge.h"
#include "tests/unit/work_kit.h"

/* Opens the kit and mirrors its origin; returns the origin's commit.  Closed by kit_close(). */
const char *forge_kit_open(struct kit *kit);

/* A holder may go on while *ctx, an enum rc, is RC_OK; always when ctx is NULL. */
enum rc forge_kit_may_go_on(void *ctx, struct err *err);

/* By "worker a", from the commit `base`, with a body that names no run. */
struct forge_change forge_kit_change(struct kit *kit, const char *base, const char *run);

#endif
