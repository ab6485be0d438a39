/*
 * hooks.h - the hooks of all rooms, for code that makes a committer.
 */
#ifndef CONTROL_HOOKS_H
#define CONTROL_HOOKS_H
#include "control/commit/hooks.h"

extern const struct control_hooks control_hooks;
#endif
