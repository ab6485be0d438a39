/*
 * doctor_syncs.h - a further check of the doctor: is every repository at a hosted forge followed?
 */
#ifndef API_DOCTOR_SYNCS_H
#define API_DOCTOR_SYNCS_H
#include "api/call.h"
#include "control/watch/doctor.h"

/* Adds the check to the report. */
MUST_USE enum rc doctor_syncs_add(struct call *call, struct db *db, struct doctor_report *report,
                                  struct err *err);
#endif
