/*
 * doctor_disk.h - what drover takes on the disks of this node, by kind.
 */
#ifndef API_DOCTOR_DISK_H
#define API_DOCTOR_DISK_H
#include "api/call.h"
#include "base/jw.h"
#include "store/db.h"

/* "disk": [{kind, path, bytes, ...}], as a member of an open object. */
MUST_USE enum rc doctor_disk_write(struct call *call, struct db *db, struct jw *jw,
                                   struct err *err);
#endif
