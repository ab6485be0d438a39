/*
 * notices.c - see notices.h.
 *
 * The payload is "node" or "node:due_us"; a node ignores its own notices.
 */
#include "control/watch/notices.h"
#include "base/log.h"
#include "base/mem.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NET_MS = 1000 };

struct notices {
    struct store *store;
    const char *node;
    struct notices_hooks hooks;
    struct notice_listener *listener;
    pthread_t sender, receiver;
    bool sends, receives; /* The threads run. */

    pthread_mutex_t lock;
    pthread_cond_t news_ready;
    struct committed news; /* Of all commits since the last notice. */
    bool stopping;
};

/* ---- sending ---- */

static bool is_news(const struct committed *news)
{
    return news->appended || news->brought || news->due_us > 0;
}

static bool take_news(struct notices *notices, struct committed *ret_news)
{
    pthread_mutex_lock(&notices->lock);
    while (!is_news(&notices->news) && !notices->stopping)
        pthread_cond_wait(&notices->news_ready, &notices->lock);
    *ret_news = notices->news;
    notices->news = (struct committed){0};
    bool go_on = !notices->stopping;
    pthread_mutex_unlock(&notices->lock);
    return go_on;
}

static void send_notice(struct notices *notices, const struct committed *news)
{
    char payload[NOTICE_BYTES_MAX];
    struct err err = {0};
    enum rc rc = RC_OK;
    if (news->appended)
        rc = store_notify(notices->store, STORE_EVENTS, notices->node, &err);
    if (news->due_us > 0)
        (void)snprintf(payload, sizeof payload, "%s:%lld", notices->node, (long long)news->due_us);
    else
        (void)snprintf(payload, sizeof payload, "%s", notices->node);
    if (rc == RC_OK && (news->brought || news->due_us > 0))
        rc = store_notify(notices->store, STORE_JOBS, payload, &err);
    if (rc != RC_OK && rc != RC_UNREACHABLE)
        LOG(LOG_WARN, "the other nodes cannot be told", LOG_STR("error", err.text));
}

static void *sender_main(void *arg)
{
    struct notices *notices = arg;
    struct committed news;
    while (take_news(notices, &news))
        send_notice(notices, &news);
    return NULL;
}

void notices_send(struct notices *notices, const struct committed *news)
{
    if (notices == NULL || !is_news(news))
        return;
    pthread_mutex_lock(&notices->lock);
    struct committed *all = &notices->news;
    all->appended |= news->appended;
    all->brought |= news->brought;
    if (news->due_us > 0 && (all->due_us == 0 || news->due_us < all->due_us))
        all->due_us = news->due_us;
    pthread_cond_signal(&notices->news_ready);
    pthread_mutex_unlock(&notices->lock);
}

/* ---- receiving ---- */

/* One payload; true when another node sent it. */
static bool receive_one(struct notices *notices, struct str payload)
{
    size_t len = strlen(notices->node);
    bool own = payload.len >= len && memcmp(payload.at, notices->node, len) == 0 &&
               (payload.len == len || payload.at[len] == ':');
    const char *colon = memchr(payload.at, ':', payload.len);
    char number[24];
    int64_t due_us;
    if (own || colon == NULL)
        return !own;
    size_t digits = payload.len - (size_t)(colon + 1 - payload.at);
    if (digits < sizeof number) {
        memcpy(number, colon + 1, digits);
        number[digits] = '\0';
        if (text_to_i64(number, &due_us))
            notices->hooks.due(notices->hooks.ctx, due_us);
    }
    return true;
}

static bool receive(struct notices *notices, const struct wakeup *wakeup,
                    enum store_channel channel)
{
    if (!wakeup->channels[channel].woken)
        return false;
    if (wakeup->channels[channel].all)
        return true;
    bool others = false;
    const char *at = wakeup->channels[channel].payloads;
    while (*at != '\0') {
        size_t len = strcspn(at, ",");
        others |= receive_one(notices, (struct str){at, len});
        at += len + (at[len] == ',');
    }
    return others;
}

static bool is_stopping(struct notices *notices)
{
    pthread_mutex_lock(&notices->lock);
    bool stopping = notices->stopping;
    pthread_mutex_unlock(&notices->lock);
    return stopping;
}

static void *receiver_main(void *arg)
{
    struct notices *notices = arg;
    const struct notices_hooks *hooks = &notices->hooks;
    while (!is_stopping(notices)) {
        struct wakeup wakeup = {0};
        notice_listener_wait(notices->listener, NET_MS, &wakeup);
        bool silence = !wakeup.channels[STORE_JOBS].woken && !wakeup.channels[STORE_EVENTS].woken;
        if (receive(notices, &wakeup, STORE_JOBS) || silence)
            hooks->jobs(hooks->ctx);
        if (receive(notices, &wakeup, STORE_EVENTS) || silence)
            hooks->events(hooks->ctx);
    }
    return NULL;
}

/* ---- start and stop ---- */

enum rc notices_start(struct store *store, const char *node, const struct notices_hooks *hooks,
                      struct notices **ret_notices, struct err *err)
{
    *ret_notices = NULL;
    if (!store_is_shared(store))
        return RC_OK;
    struct notices *notices = mem_alloc(sizeof *notices);
    notices->store = store;
    notices->node = node;
    notices->hooks = *hooks;
    pthread_mutex_init(&notices->lock, NULL);
    pthread_cond_init(&notices->news_ready, NULL);
    enum rc rc = store_listen(store, &notices->listener, err);
    if (rc == RC_OK) {
        notices->sends = pthread_create(&notices->sender, NULL, sender_main, notices) == 0;
        notices->receives = pthread_create(&notices->receiver, NULL, receiver_main, notices) == 0;
        if (!notices->sends || !notices->receives)
            rc = err_set(err, RC_IO, "THREAD_FAILED", "cannot start the threads for notices");
    }
    if (rc != RC_OK) {
        notices_stop(notices);
        return rc;
    }
    *ret_notices = notices;
    return RC_OK;
}

void notices_stop(struct notices *notices)
{
    if (notices == NULL)
        return;
    pthread_mutex_lock(&notices->lock);
    notices->stopping = true;
    pthread_cond_signal(&notices->news_ready);
    pthread_mutex_unlock(&notices->lock);
    if (notices->receives) {
        notice_listener_wake(notices->listener);
        pthread_join(notices->receiver, NULL);
    }
    if (notices->sends)
        pthread_join(notices->sender, NULL);
    notice_listener_close(notices->listener);
    pthread_cond_destroy(&notices->news_ready);
    pthread_mutex_destroy(&notices->lock);
    mem_free(notices);
}
