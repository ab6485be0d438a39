#include "store/wal_room.h"
#include "base/fd.h"
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 32,
    FRAME_BYTES = 24 + 4096,
    ROOM_BYTES_MIN = 64 * 1024, /* With less a commit makes more. */
    ROOM_BYTES_AHEAD = 1024 * 1024,
    WRITE_BYTES = 64 * 1024,
    /* Measured: with less the flushes in between are hardly faster, with more the one that has to
       bring the zeroes to disk takes too long. */
    STEP_BYTES = 2 * 1024 * 1024,
};
/* A log that stays shorter is of a server with little to do; one that would be longer starts over
   before, and then has its room. */
#define LOG_BYTES_MIN (INT64_C(512) * 1024)
#define LOG_BYTES_MAX (INT64_C(48) * 1024 * 1024)

struct wal_room wal_room_of(const char *db_path)
{
    bool on_disk = db_path != NULL && db_path[0] != '\0';
    return (struct wal_room){.db_path = on_disk ? db_path : NULL, .fd = -1};
}

void wal_room_close(struct wal_room *room)
{
    fd_closep(&room->fd);
}

void wal_room_note(struct wal_room *room, int64_t pages)
{
    room->end = HEADER_BYTES + pages * FRAME_BYTES;
}

static int log_open(struct wal_room *room)
{
    char path[PATH_MAX + sizeof "-wal"];
    if (room->fd < 0 && room->db_path != NULL) {
        (void)snprintf(path, sizeof path, "%s-wal", room->db_path);
        room->fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return room->fd;
}

static bool put_zeroes(int fd, int64_t from)
{
    static const char zeroes[WRITE_BYTES];
    for (int64_t at = from; at < from + STEP_BYTES; at += WRITE_BYTES)
        if (pwrite(fd, zeroes, sizeof zeroes, at) != (ssize_t)sizeof zeroes)
            return false;
    return true;
}

static bool is_wanted(const struct wal_room *room, int64_t least)
{
    return room->end >= LOG_BYTES_MIN && room->size < LOG_BYTES_MAX &&
           room->size - room->end < least;
}

/* True when there is more room now. */
static bool make(struct wal_room *room, int64_t least)
{
    struct stat now;
    int fd = room->end < LOG_BYTES_MIN ? -1 : log_open(room);
    if (fd < 0 || fstat(fd, &now) != 0)
        return false;
    room->size = now.st_size;
    if (!is_wanted(room, least))
        return false;
    if (put_zeroes(fd, now.st_size)) {
        room->size += STEP_BYTES;
        return true;
    }
    /* A part would do no harm, but on a full disk it would take the room of the commit itself. */
    if (ftruncate(fd, now.st_size) != 0)
        wal_room_close(room);
    return false;
}

void wal_room_make(struct wal_room *room)
{
    (void)make(room, ROOM_BYTES_MIN);
}

bool wal_room_wanted(const struct wal_room *room)
{
    return room->db_path != NULL && is_wanted(room, ROOM_BYTES_AHEAD);
}

void wal_room_ahead(struct wal_room *room)
{
    if (make(room, ROOM_BYTES_AHEAD))
        (void)fdatasync(room->fd); /* If it fails, the flush of the next commit does, too. */
}
