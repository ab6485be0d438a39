/*
 * doctor_forge.h - a further check of the doctor: what forges have of the pull requests that the
 * database knows, and of issues.
 */
#ifndef EDGE_DOCTOR_FORGE_H
#define EDGE_DOCTOR_FORGE_H
#include "control/doctor.h"
#include "edge/api.h"

/* Adds the check to the report. */
MUST_USE enum rc doctor_forge_add(struct call *call, struct db *db, struct doctor_report *report,
                                  struct err *err);
#endif
