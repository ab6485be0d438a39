/*
 * issues.h - who has labelled an issue of the local forge: for people.c.
 */
#ifndef FORGE_LOCAL_ISSUES_H
#define FORGE_LOCAL_ISSUES_H
#include "forge/port/people.h"

/* As people_ops.acts. */
MUST_USE enum rc issues_local_acts(struct forge_call *call, const char *url, int64_t number,
                                   struct arena *arena, struct forge_act **ret_acts,
                                   size_t *ret_count, struct err *err);
#endif
