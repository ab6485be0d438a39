#include "work/job/steer.h"
#include "base/fd.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum rc steer_init(struct steer *steer, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot make an eventfd: %s", strerror(errno));
    *steer = (struct steer){.event_fd = fd};
    return RC_OK;
}

void steer_release(struct steer *steer)
{
    fd_closep(&steer->event_fd);
}

void steer_reset(struct steer *steer)
{
    steer_seen(steer);
    atomic_store(&steer->hold, PORT_HOLD_NONE);
    atomic_store(&steer->message_seq, 0);
    steer->since_us = 0;
}

/* True when it was less. */
static bool raise_seq(struct steer *steer, int64_t seq)
{
    int_least64_t had = atomic_load(&steer->message_seq);
    while (had < seq) {
        if (atomic_compare_exchange_weak(&steer->message_seq, &had, seq))
            return true;
    }
    return false;
}

void steer_note(struct steer *steer, const struct port_beat *beat)
{
    if (steer == NULL || !beat->ok || beat->cancel)
        return;
    bool news = atomic_exchange(&steer->hold, (int)beat->hold) != (int)beat->hold;
    news |= raise_seq(steer, beat->message_seq);
    const uint64_t one = 1;
    if (news)
        (void)!write(steer->event_fd, &one, sizeof one); /* Full: it is readable already. */
}

void steer_seen(const struct steer *steer)
{
    uint64_t count;
    (void)!read(steer->event_fd, &count, sizeof count);
}

enum port_hold steer_hold(const struct steer *steer)
{
    return steer != NULL ? (enum port_hold)atomic_load(&steer->hold) : PORT_HOLD_NONE;
}

int64_t steer_message_seq(const struct steer *steer)
{
    return steer != NULL ? atomic_load(&steer->message_seq) : 0;
}

int64_t steer_extend(struct steer *steer, int64_t *deadline_us, int64_t now_us)
{
    if (steer_hold(steer) != PORT_HOLD_NONE) {
        if (steer->since_us == 0)
            steer->since_us = now_us;
        return INT64_MAX;
    }
    if (steer->since_us > 0 && *deadline_us != INT64_MAX)
        *deadline_us += now_us - steer->since_us;
    steer->since_us = 0;
    return *deadline_us;
}
