/*
 * wal_room.h - keeps SQLite's write-ahead log longer than what is in it.
 *
 * A flush that makes a file longer has to bring the file's new length to disk as well: on common
 * file systems that takes a few times as long as flushing what lies within the file.  So the log is
 * made longer ahead of need, with zeroes behind its end:
 *
 *     | header | frames ... | zeroes ... |
 *                           ^ the next commit goes here, and no flush of it moves the end
 *
 * SQLite ignores them: a frame counts only with the salt of the header, as it does not
 * count what an earlier, longer log has left there.  Written by the writer inside its transaction,
 * behind the end of the file: no other connection can be writing.
 *
 * The flush that brings the zeroes to disk takes several times as long as others.  So they are made
 * ahead in a moment without work (wal_room_ahead).  A commit makes them only when there was none
 * while the last megabyte was written.
 */
#ifndef STORE_WAL_ROOM_H
#define STORE_WAL_ROOM_H
#include <stdbool.h>
#include <stdint.h>

struct wal_room {
    const char *db_path; /* NULL: there is no log, and nothing to do. */
    int fd;              /* -1: not open yet. */
    int64_t end;         /* Of what is in the log. */
    int64_t size;        /* Of the file, as last seen. */
};

struct wal_room wal_room_of(const char *db_path); /* Must live on; NULL or "": in memory. */
void wal_room_close(struct wal_room *room);

/* After a commit: so many pages are in the log. */
void wal_room_note(struct wal_room *room, int64_t pages);
/* Before a commit, with the lock of the writer.  What fails here is left to the commit. */
void wal_room_make(struct wal_room *room);
/* Is it time for wal_room_ahead?  Looks at no file. */
bool wal_room_wanted(const struct wal_room *room);
/* Between commits, with the lock of the writer: makes the room and flushes it. */
void wal_room_ahead(struct wal_room *room);
#endif
