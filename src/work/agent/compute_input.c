#include "work/agent/compute_input.h"
#include "base/clock.h"
#include "base/fd.h"
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LOOK_MIN_MS = 2, LOOK_MAX_MS = 250 };

void input_init(struct input *input, struct compute_input of, int fd)
{
    *input = (struct input){.of = of, .fd = fd, .look_us = INT64_MAX};
}

static void look_later(struct input *input)
{
    bool first = input->look_us == INT64_MAX;
    input->pause_us = first ? LOOK_MIN_MS * US_PER_MS : input->pause_us * 2;
    if (input->pause_us > LOOK_MAX_MS * US_PER_MS)
        input->pause_us = LOOK_MAX_MS * US_PER_MS;
    input->look_us = clock_mono_us() + input->pause_us;
}

void input_look(struct input *input)
{
    int unread = 0;
    if (input->fd < 0)
        return;
    input->taken = input->of.bytes->len == 0 && ioctl(input->fd, FIONREAD, &unread) == 0 &&
                   unread == 0;
    if (input->taken)
        input->look_us = INT64_MAX;
    else
        look_later(input);
}

void input_close(struct input *input)
{
    input_look(input);
    input->look_us = INT64_MAX;
    fd_closep(&input->fd);
}

void input_feed(struct input *input)
{
    struct buf *bytes = input->of.bytes;
    if (input->fd < 0)
        return;
    ssize_t put = bytes->len > 0 ? write(input->fd, bytes->data, bytes->len) : 0;
    bool broken = put < 0 && errno != EAGAIN && errno != EINTR;
    if (put > 0) {
        buf_drop(bytes, (size_t)put);
        input->look_us = INT64_MAX;
    }
    bool due = input->look_us == INT64_MAX ? !input->taken : clock_mono_us() >= input->look_us;
    if (put > 0 || due)
        input_look(input);
    input->ended = input->taken && *input->of.over;
    if (broken || input->ended)
        input_close(input);
}

short input_events(const struct input *input)
{
    return input->fd >= 0 && input->of.bytes->len > 0 ? POLLOUT : 0;
}
