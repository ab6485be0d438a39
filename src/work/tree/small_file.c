#include "work/tree/small_file.h"
#include "base/fd.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum rc small_file_read(const char *path, struct buf *into)
{
    CLEANUP(fd_closep)
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        (size_t)status.st_size > into->max_bytes)
        return RC_NOT_FOUND;
    char chunk[4096];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0 && !into->overflow)
        buf_add(into, chunk, (size_t)got);
    return got == 0 && !into->overflow ? RC_OK : RC_NOT_FOUND;
}
