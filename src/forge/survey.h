/*
 * survey.h - all branches and pull requests of runs at an origin of the local forge, to be compared
 * with the database.
 */
#ifndef FORGE_SURVEY_H
#define FORGE_SURVEY_H
#include "forge/forge.h"

/* As forge_ops has it. */
MUST_USE enum rc survey_local(struct forge_call *call, const char *url, struct arena *arena,
                              struct forge_traces *ret_traces, struct err *err);
#endif
