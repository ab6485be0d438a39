/*
 * defaults_check.h - are the server's defaults valid together with every repository?
 */
#ifndef API_DEFAULTS_CHECK_H
#define API_DEFAULTS_CHECK_H
#include "store/store.h"

/* Logs a warning for each repository that accepts no tasks with these defaults. */
MUST_USE enum rc defaults_check(struct store *store, struct str defaults, struct err *err);
#endif
