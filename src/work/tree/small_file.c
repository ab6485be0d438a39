#include "work/tree/small_file.h"
#include "base/fd.h"
#include <fcntl.h>

enum rc small_file_read(const char *path, struct buf *into)
{
    CLEANUP(fd_closep)
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    return fd_read_regular(fd, into);
}
