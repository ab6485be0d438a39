/*
 * spool.h - large request bodies while they arrive: files without a name under DATA/spool.
 *
 * Invariants
 * 1. Bytes are reserved before they are written, in small steps as they arrive: a length that was
 *    only announced takes no space.
 * 2. What is reserved for all files never exceeds bytes_max.  A quarter of it is kept for admins.
 * 3. The files of one holder never get more than half of what the files of the others leave, so
 *    that no number of holders can take all of it.  Those of one admin get half of bytes_max.
 * 4. A file has no name, so it ends with its descriptor, also when the process is killed.
 * 5. Only the loop's thread calls these functions; a finished file may be read on any thread.
 *
 * Writes go to the page cache.  The caller that keeps the file calls fsync.
 */
#ifndef HTTP_SPOOL_H
#define HTTP_SPOOL_H
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { SPOOL_HOLDER_BYTES = 128 };

struct spool;      /* Owned by its maker; outlives its files. */
struct spool_file; /* Owned by its maker. */

MUST_USE enum rc spool_new(const char *dir, int64_t bytes_max, struct spool **ret_spool,
                           struct err *err);
void spool_free(struct spool *spool); /* NULL is fine. */

struct spool_stats {
    int64_t reserved, written; /* Bytes of the files that are open. */
    int64_t files, refused;
};
void spool_stats(const struct spool *spool, struct spool_stats *ret_stats); /* Any thread. */

struct spool_claim {
    const char *holder; /* Copied. */
    bool admin;
    int64_t bytes; /* The announced length; -1: not known. */
};
/* Refuses at once a length that would not fit now; reserves nothing.  RC_LIMIT UPLOAD_QUOTA: the
   files of the holder take as much as one holder may get.  RC_BUSY SPOOL_FULL: the other files
   leave too little. */
MUST_USE enum rc spool_begin(struct spool *spool, const struct spool_claim *claim,
                             struct spool_file **ret_file, struct err *err);
/* The same refusals, and RC_BUSY STORE_FULL when the disk is full. */
MUST_USE enum rc spool_add(struct spool_file *file, const void *bytes, size_t len, struct err *err);
/* The body is complete: maps the file for reading.  Not for an empty one. */
MUST_USE enum rc spool_end(struct spool_file *file, struct err *err);
int64_t spool_file_bytes(const struct spool_file *file);      /* Written so far. */
struct str spool_file_content(const struct spool_file *file); /* After spool_end. */
int spool_file_fd(const struct spool_file *file);
void spool_file_free(struct spool_file *file); /* NULL is fine. */
#endif
