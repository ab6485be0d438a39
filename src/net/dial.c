#include "net/dial.h"
#include "base/fd.h"
#include <errno.h>

int dial_address(const struct sockaddr *address, socklen_t len)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, address, len) != 0 && errno != EINPROGRESS) {
        fd_close(fd);
        fd = -1;
    }
    return fd;
}
