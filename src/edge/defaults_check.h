/*
 * defaults_check.h - do the server's defaults still go with every repository?
 */
#ifndef EDGE_DEFAULTS_CHECK_H
#define EDGE_DEFAULTS_CHECK_H
#include "store/store.h"

/* A warning in the log for each repository that takes no tasks with these defaults. */
MUST_USE enum rc defaults_check(struct store *store, struct str defaults, struct err *err);
#endif
