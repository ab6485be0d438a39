/*
 * store_shared.c - between several servers on one store: notices, the time.
 *
 * The statements are PostgreSQL's alone and are not run on another engine: a store that is not
 * shared has no other servers to notify.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/engine.h"
#include "store/query.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOST_LOOK_MS = 200 }; /* Without a connection: how often to try to open it again. */

static const struct sql sql_notify = {
    "notify",
    "SELECT pg_notify($1 || CASE WHEN current_schema() = 'public' THEN ''"
    "                            ELSE '_' || left(current_schema(), 40) END, $2)",
    "tt",
};

static const struct sql sql_clock = {
    "clock",
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8",
    "",
};

/* ---- notices ---- */

const char *store_channel_name(enum store_channel channel)
{
    static const char *const names[STORE_CHANNEL_COUNT] = {
        [STORE_JOBS] = "drover_jobs",
        [STORE_EVENTS] = "drover_events",
    };
    return names[channel];
}

static enum rc send_notice(struct db *db, const char *channel, const char *payload, struct err *err)
{
    CLEANUP(rows_end) struct rows rows = {0};
    return db_query(db, &sql_notify, P_LIST(P_TEXT(channel), P_TEXT(payload)), &rows, err);
}

enum rc store_notify(struct store *store, enum store_channel channel, const char *payload,
                     struct err *err)
{
    if (!store_is_shared(store))
        return RC_OK;
    if (payload == NULL || strlen(payload) >= NOTICE_BYTES_MAX)
        payload = ""; /* Everything. */
    struct db *db;
    enum rc rc = store_borrow(store, STORE_FOR_NOTICES, &db, err);
    if (rc != RC_OK)
        return rc;
    rc = send_notice(db, store_channel_name(channel), payload, err);
    store_give_back(store, STORE_FOR_NOTICES);
    return rc;
}

struct notice_listener {
    const struct engine_ops *ops;
    struct engine_listener *wire; /* NULL: no other server uses the store. */
    int wake_fd;
};

enum rc store_listen(struct store *store, struct notice_listener **ret_listener, struct err *err)
{
    CLEANUP(fd_closep) int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return err_set(err, RC_IO, "STORE_IO", "cannot make an event: %s", strerror(errno));
    const struct engine_ops *ops = store_engine(store);
    struct engine_listener *wire = NULL;
    if (ops->is_shared) {
        enum rc rc = ops->listen(store_site(store), &wire, err);
        if (rc != RC_OK)
            return rc;
    }
    struct notice_listener *listener = mem_alloc(sizeof *listener);
    listener->ops = ops;
    listener->wire = wire;
    listener->wake_fd = fd_take(&wake_fd);
    *ret_listener = listener;
    return RC_OK;
}

static bool is_woken(const struct wakeup *wakeup)
{
    bool woken = wakeup->called;
    for (size_t i = 0; i < STORE_CHANNEL_COUNT; i++)
        woken |= wakeup->channels[i].woken;
    return woken;
}

/* The socket to wait on, or -1. */
static int look(struct notice_listener *listener, struct wakeup *wakeup)
{
    uint64_t calls;
    if (read(listener->wake_fd, &calls, sizeof calls) == sizeof calls)
        wakeup->called = true;
    return listener->wire == NULL ? -1 : listener->ops->receive(listener->wire, wakeup);
}

void notice_listener_wait(struct notice_listener *listener, int timeout_ms,
                          struct wakeup *ret_wakeup)
{
    struct wakeup wakeup = {0};
    int64_t until_us = clock_mono_us() + timeout_ms * US_PER_MS;
    for (;;) {
        int socket = look(listener, &wakeup);
        int64_t left_ms = (until_us - clock_mono_us() + US_PER_MS - 1) / US_PER_MS;
        if (is_woken(&wakeup) || left_ms <= 0)
            break;
        if (listener->wire != NULL && socket < 0 && left_ms > LOST_LOOK_MS)
            left_ms = LOST_LOOK_MS;
        struct pollfd fds[] = {{.fd = listener->wake_fd, .events = POLLIN},
                               {.fd = socket, .events = POLLIN}};
        (void)poll(fds, COUNT_OF(fds), (int)left_ms);
    }
    *ret_wakeup = wakeup;
}

void notice_listener_wake(struct notice_listener *listener)
{
    uint64_t one = 1;
    ssize_t written = write(listener->wake_fd, &one, sizeof one);
    assert(written == sizeof one || errno == EAGAIN); /* Full: it is awake. */
}

void notice_listener_close(struct notice_listener *listener)
{
    if (listener == NULL)
        return;
    if (listener->wire != NULL)
        listener->ops->unlisten(listener->wire);
    fd_close(listener->wake_fd);
    mem_free(listener);
}

/* ---- time ---- */

enum rc store_clock(struct store *store, int64_t *ret_us, struct err *err)
{
    assert(store_is_shared(store));
    return query_int(store_writer(store), &sql_clock, NULL, 0, ret_us, err);
}
