/*
 * fd.h - file descriptors and files: whole reads and writes, with limits.
 */
#ifndef BASE_FD_H
#define BASE_FD_H
#include "base/buf.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

void fd_close(int fd);   /* -1 is fine. */
void fd_closep(int *fd); /* For CLEANUP. */
int fd_take(int *fd);    /* Passes it on: gives it back and leaves -1. */
/* For blocking descriptors. */
MUST_USE enum rc fd_write_all(int fd, const void *bytes, size_t len, struct err *err);
MUST_USE enum rc fd_set_nonblocking(int fd, struct err *err);
/* A file in memory that holds these bytes, to be read from its beginning. */
MUST_USE enum rc fd_of_bytes(const void *bytes, size_t len, int *ret_fd, struct err *err);

/*
 * Appends.  Fails with RC_TOO_LARGE when the file holds more than the buffer may, RC_NOT_FOUND if
 * absent, RC_IO when it is no regular file; the buffer is then as it was.
 */
MUST_USE enum rc file_read(const char *path, struct buf *into, struct err *err);
/* Of a descriptor that another user may have put there: only a regular file that fits into the
   buffer is read, all else is RC_NOT_FOUND. */
MUST_USE enum rc fd_read_regular(int fd, struct buf *into);
/* Written beside, fsynced, renamed over, directory fsynced: there whole or not at all. */
MUST_USE enum rc file_write_durable(const char *path, const void *bytes, size_t len, unsigned mode,
                                    struct err *err);
/* A new file, gone again after a crash of the machine: for what can be made anew.  RC_IO when
   the path exists. */
MUST_USE enum rc file_write_new(const char *path, const void *bytes, size_t len, unsigned mode,
                                struct err *err);
/* The end of file_write_durable, for a caller that has written the temporary itself: what fd has
   written to it is synced and replaces path.  The temporary stays when that fails. */
MUST_USE enum rc file_put_in_place(int fd, const char *temporary, const char *path,
                                   struct err *err);
/* Holds an exclusive lock on the file, made when missing, as long as the descriptor lives.
   RC_CONFLICT when another process holds it after wait_ms.  A process that is killed while it
   starts a child leaves the lock to that child until its exec: wait a moment. */
MUST_USE enum rc file_lock(const char *path, int wait_ms, int *ret_fd, struct err *err);
bool file_exists(const char *path);
MUST_USE enum rc dir_make(const char *path, unsigned mode, struct err *err); /* mkdir -p */
/* The same for a directory that must be there after the machine has lost power: the parent of each
   one that was made, and of the last one in any case, is fsynced. */
MUST_USE enum rc dir_make_durable(const char *path, unsigned mode, struct err *err);
/* fsync of a directory: the names in it, not what is in the files.  RC_NOT_FOUND if absent. */
MUST_USE enum rc dir_sync(const char *path, struct err *err);
/* Everything that was written to the file system of the directory; waits for the writes of all
   other processes there too. */
MUST_USE enum rc dir_sync_file_system(const char *path, struct err *err);
/* What a file, or a tree with all that is in it, takes on disk; links are not followed, and other
   file systems not entered.  Absent: zeroes. */
struct dir_usage {
    int64_t bytes, entries;
};
struct dir_usage dir_usage(const char *path);
/* rm -rf that never follows links and never leaves its tree; absent is fine. */
MUST_USE enum rc dir_remove(const char *path, struct err *err);
#endif
