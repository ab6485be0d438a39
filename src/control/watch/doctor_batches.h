/*
 * doctor_batches.h - proves the invariants of batches from the rows: one that has not ended has a
 * timer that moves it on, none waits in one that stops, and members and tasks belong to each other,
 * one to one.  Of those that have ended the newest are examined.
 */
#ifndef CONTROL_WATCH_DOCTOR_BATCHES_H
#define CONTROL_WATCH_DOCTOR_BATCHES_H
#include "control/watch/doctor.h"

/* Adds to the check, whose `first` goes into the arena. */
MUST_USE enum rc doctor_batches(struct db *db, struct arena *arena, struct doctor_check *check,
                                struct err *err);
#endif
