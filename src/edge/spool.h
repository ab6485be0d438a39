/*
 * spool.h - large request bodies while they arrive: files without a name under DATA/spool.
 *
 * Invariants
 * 1. Bytes are reserved before they are written.  What is reserved for all files never passes
 *    bytes_max, and what is reserved for the files of one holder never passes half of it.
 * 2. A file has no name, so it ends with its descriptor, also when the process is killed.
 * 3. Only the loop's thread calls these functions; a finished file may be read on any thread.
 *
 * Writes go to the page cache.  fsync is the business of whoever keeps the file.
 */
#ifndef EDGE_SPOOL_H
#define EDGE_SPOOL_H
#include "base/rc.h"
#include "base/str.h"
#include <stdint.h>

enum { SPOOL_HOLDER_BYTES = 128 };

struct spool;      /* Owned by its maker; outlives its files. */
struct spool_file; /* Owned by its maker. */

MUST_USE enum rc spool_new(const char *dir, int64_t bytes_max, struct spool **ret_spool,
                           struct err *err);
void spool_free(struct spool *spool); /* NULL is fine. */

struct spool_stats {
    int64_t reserved, written; /* Bytes of the files that there are. */
    int64_t files, refused;
};
void spool_stats(const struct spool *spool, struct spool_stats *ret_stats); /* Any thread. */

/* bytes: how many will come; -1: not known.  RC_LIMIT UPLOAD_QUOTA: the holder has as much under
   way as it may.  RC_BUSY SPOOL_FULL: all holders together have. */
MUST_USE enum rc spool_begin(struct spool *spool, const char *holder, int64_t bytes,
                             struct spool_file **ret_file, struct err *err);
/* The same refusals, and RC_BUSY STORE_FULL when the disk is full. */
MUST_USE enum rc spool_add(struct spool_file *file, const void *bytes, size_t len, struct err *err);
/* No more comes: the file is mapped for reading.  Not for an empty one. */
MUST_USE enum rc spool_end(struct spool_file *file, struct err *err);
int64_t spool_file_bytes(const struct spool_file *file);      /* Written so far. */
struct str spool_file_content(const struct spool_file *file); /* After spool_end. */
int spool_file_fd(const struct spool_file *file);
void spool_file_free(struct spool_file *file); /* NULL is fine. */
#endif
