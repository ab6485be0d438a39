/*
 * disk_queue.h - a bounded queue of records in a directory, shared by processes.
 *
 *     DIR/lock         flock: held for every look at the queue and every change
 *     DIR/reader       flock: held by the one process that takes records out
 *     DIR/head         "GENERATION OFFSET\n": the file and the place of the first record
 *     DIR/records.GENERATION   the records, one after the other
 *
 *     LENGTH SUM BYTES\n       a record: LENGTH is 8 hex digits, SUM the first 16 of the sha256 of
 *                              BYTES, which hold no line feed
 *
 * Invariants:
 *  1. A record whose append returned RC_OK is on disk, its file's name included.
 *  2. Records leave in the order in which they came, by a replacement of `head` and nothing else.
 *  3. A record that a crash has cut short was never acknowledged: readers end before it, and the
 *     next append overwrites it.  Bytes that were damaged later are passed over and counted.
 *  4. The files take at most twice bytes_max, and one record.
 *
 * A crash between taking a record to its destination and disk_queue_remove shows it again: the
 * destination must recognise repeats.  Directories are 0700, files 0600.
 */
#ifndef BASE_DISK_QUEUE_H
#define BASE_DISK_QUEUE_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

enum { DISK_QUEUE_RECORD_MAX = 1024 * 1024 };

struct disk_queue {
    const char *dir; /* Made by the first append. */
    size_t records_max;
    int64_t bytes_max; /* Of the records that wait, as they are in the file. */
};

/* All of them, synced once; a crash may leave the first ones of them.  RC_LIMIT, QUEUE_FULL:
   nothing was written.  RC_BUSY: another process holds the lock.  RC_IO: the disk is full, say. */
MUST_USE enum rc disk_queue_append(const struct disk_queue *queue, const struct str *records,
                                   size_t count, struct err *err);

struct disk_queue_part {
    struct str *records; /* In the arena, each NUL-terminated. */
    size_t count;
    int64_t damaged_bytes; /* Passed over before the last of them, or up to the end. */
    int64_t generation;
    int64_t *ends; /* In the file, of each record. */
};
struct disk_queue_want {
    size_t records_max;
    size_t bytes_max; /* Of all together; the first record comes in any case. */
};
/* The first ones, none of an empty queue or a missing directory. */
MUST_USE enum rc disk_queue_read(const struct disk_queue *queue, const struct disk_queue_want *want,
                                 struct arena *arena, struct disk_queue_part *ret_part,
                                 struct err *err);
/* Removes the first `count` records of a part (all that is damaged before them too; with none left
   in the queue also what lies behind).  Only for the holder of the reader's lock. */
MUST_USE enum rc disk_queue_remove(const struct disk_queue *queue,
                                   const struct disk_queue_part *part, size_t count,
                                   struct err *err);
/* Holds the reader's lock as long as the descriptor lives.  RC_BUSY: another process has it. */
MUST_USE enum rc disk_queue_lock_reader(const struct disk_queue *queue, int wait_ms, int *ret_fd,
                                        struct err *err);

struct disk_queue_level {
    size_t records;
    int64_t bytes;
};
/* What waits; nothing when there is no directory. */
MUST_USE enum rc disk_queue_level(const struct disk_queue *queue, struct disk_queue_level *ret,
                                  struct err *err);
#endif
