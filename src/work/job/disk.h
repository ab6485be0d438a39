/*
 * disk.h - the free space of the file system that a worker's trees are on.
 *
 *     enough  --free < reserve-->  low  --free >= reserve + 1/16 of it-->  enough
 *
 * While it is low the worker leases no step that makes or fills trees (step_row.fills_disk): one
 * that runs out of space half-way loses work, and takes the space of those that publish and clean.
 * Each change is logged once.
 */
#ifndef WORK_JOB_DISK_H
#define WORK_JOB_DISK_H
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DISK_RESERVE_DEFAULT (INT64_C(2) << 30)
#define DISK_RESERVE_MAX     (INT64_C(1) << 50)

/* Zeroed is fine: it never is low.  All threads may use it. */
struct disk {
    const char *dir;
    int64_t reserve_bytes; /* 0: off */
    _Atomic int64_t free_bytes;
    atomic_bool low;
};

/* Of the file system that holds the directory; -1: not known. */
int64_t disk_free_bytes(const char *dir);
/* The first look. */
void disk_start(struct disk *disk, const char *dir, int64_t reserve_bytes);
/* Measures again; true: it is low. */
bool disk_look(struct disk *disk);
/* For a step whose run may use so many bytes (0: not known).  RC_LIMIT, code DISK_LOW: not now. */
MUST_USE enum rc disk_check(struct disk *disk, int64_t bytes, struct err *err);
/* Is the error of disk_check? */
bool disk_is_low(const struct err *err);
#endif
