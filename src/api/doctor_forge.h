/*
 * doctor_forge.h - a further check of the doctor: do the forges have the pull requests that are
 * recorded in the database, and are their pull requests and issues intact?
 */
#ifndef API_DOCTOR_FORGE_H
#define API_DOCTOR_FORGE_H
#include "api/call.h"
#include "control/watch/doctor.h"

/* Adds the check to the report. */
MUST_USE enum rc doctor_forge_add(struct call *call, struct db *db, struct doctor_report *report,
                                  struct err *err);
#endif
