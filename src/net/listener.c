#include "net/listener.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64 };

/* A path that is too long for an address is reached by way of its directory, *ret_dir_fd.  false:
   its last name alone is too long. */
static bool address_of(const char *path, struct sockaddr_un *ret_address, int *ret_dir_fd)
{
    char dir[PATH_MAX];
    const size_t room = sizeof ret_address->sun_path;
    const char *slash = strrchr(path, '/');
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (slash == NULL || strlen(path) < room) {
        text_copy(ret_address->sun_path, room, path);
        return strlen(path) < room;
    }
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    *ret_dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int len = snprintf(ret_address->sun_path, room, "/proc/self/fd/%d%s", *ret_dir_fd, slash);
    return len > 0 && (size_t)len < room;
}

enum rc listener_at_path(const char *path, struct listener *ret_listener, struct err *err)
{
    struct sockaddr_un address;
    CLEANUP(fd_closep) int dir_fd = -1;
    if (!address_of(path, &address, &dir_fd))
        return err_set(err, RC_TOO_LARGE, "PATH_TOO_LONG", "%.300s is too long for a socket", path);
    CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlink(path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(path, 0666) != 0 || listen(fd, BACKLOG) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot listen at %.300s: %s", path,
                       strerror(errno));
    *ret_listener = (struct listener){.fd = fd_take(&fd)};
    return RC_OK;
}

enum rc listener_at_port(int port, struct listener *ret_listener, struct err *err)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CLEANUP(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot listen at port %d: %s", port,
                       strerror(errno));
    *ret_listener = (struct listener){.fd = fd_take(&fd)};
    return RC_OK;
}

void listener_close(struct listener *listener)
{
    fd_closep(&listener->fd);
}

struct pollfd listener_want(const struct listener *listener, int *ret_timeout_ms)
{
    int64_t left_us = listener->paused_until_us > 0 ? listener->paused_until_us - clock_mono_us()
                                                    : 0;
    *ret_timeout_ms = left_us > 0 ? (int)(left_us / US_PER_MS) + 1 : -1;
    return (struct pollfd){.fd = left_us > 0 ? -1 : listener->fd, .events = POLLIN};
}

int listener_accept(struct listener *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool gone = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    listener->paused_until_us = fd >= 0 || gone ? 0
                                                : clock_mono_us() + LISTENER_PAUSE_MS * US_PER_MS;
    return fd;
}
