/*
 * doctor_agents.h - the doctor's look at the registry: an agent that is launched has a job that
 * runs it, or will, and no other agent has one.
 */
#ifndef CONTROL_WATCH_DOCTOR_AGENTS_H
#define CONTROL_WATCH_DOCTOR_AGENTS_H
#include "control/watch/doctor.h"

/* Within the snapshot of the caller. */
MUST_USE enum rc doctor_agents(struct db *db, struct arena *arena, struct doctor_check *check,
                               struct err *err);
#endif
