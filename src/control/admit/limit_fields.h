/*
 * limit_fields.h - limits of runs, as the member `limits` of a server's configuration has them.
 */
#ifndef CONTROL_ADMIT_LIMIT_FIELDS_H
#define CONTROL_ADMIT_LIMIT_FIELDS_H
#include "base/fields.h"
#include "control/commit/committer.h"

/* What is not given stays as it is.  Names of task types are copied into the arena. */
void limit_fields_read(struct fields *fields, struct arena *arena, struct committer_limits *limits);
#endif
