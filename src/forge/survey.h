/*
 * survey.h - all that an origin of the local forge shows of runs: for those who compare it with the
 * database.
 */
#ifndef FORGE_SURVEY_H
#define FORGE_SURVEY_H
#include "forge/forge.h"

/* As forge_ops has it. */
MUST_USE enum rc survey_local(const struct git *git, const char *url, struct arena *arena,
                              struct forge_traces *ret_traces, struct err *err);
#endif
