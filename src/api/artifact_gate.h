/*
 * artifact_gate.h - what an agent stores for its job is checked before it is stored.
 */
#ifndef API_ARTIFACT_GATE_H
#define API_ARTIFACT_GATE_H
#include "api/call.h"

/* Its size, and whether it holds a secret, by the configuration of the job's task.  The call names
   no epoch: the job must be leased to the caller now.  LEASE_LOST, BODY_TOO_LARGE,
   SECRET_DETECTED. */
MUST_USE enum rc artifact_check_for_job(struct call *call, struct db *db, const struct id *job_id,
                                        struct str content, struct err *err);
#endif
