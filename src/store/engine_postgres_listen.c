/*
 * engine_postgres_listen.c - notices: LISTEN on a connection of its own.
 *
 * A channel carries the name of the site's schema, unless that is public.
 */
#include "base/mem.h"
#include "store/engine_postgres.h"
#include "store/engine_postgres_link.h"
#include "store/pq_lib.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NOTICES_MAX = 1000 }; /* Taken at a time; what is left is taken next. */

struct engine_listener {
    struct pg_link link;
    char channels[STORE_CHANNEL_COUNT][PG_NAME_BYTES];
    uint32_t generation; /* Of the link that listens. */
};

/* As the notifier of store_shared.c has it. */
static void channel_name(const struct engine_site *site, const char *base, char to[PG_NAME_BYTES])
{
    bool plain = strcmp(site->schema, "public") == 0;
    int len = snprintf(to, PG_NAME_BYTES, "%s%s%.40s", base, plain ? "" : "_",
                       plain ? "" : site->schema);
    assert(len > 0 && len < PG_NAME_BYTES);
}

static enum rc listen_all(struct engine_listener *listener, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < STORE_CHANNEL_COUNT; i++) {
        char *name = pq->escapeIdentifier(listener->link.pg, listener->channels[i],
                                          strlen(listener->channels[i]));
        if (name == NULL)
            return pg_link_broken(&listener->link, "listen", err);
        char text[3 * PG_NAME_BYTES];
        snprintf(text, sizeof text, "LISTEN %s", name);
        pq->freemem(name);
        rc = pg_link_script(&listener->link, "listen", text, NULL, err);
    }
    if (rc == RC_OK)
        listener->generation = listener->link.generation;
    return rc;
}

void pg_unlisten(struct engine_listener *listener)
{
    if (listener == NULL)
        return;
    pg_link_lose(&listener->link);
    mem_free(listener);
}

enum rc pg_listen(struct engine_site *site, struct engine_listener **ret_listener, struct err *err)
{
    struct engine_listener *listener = mem_alloc(sizeof *listener);
    for (size_t i = 0; i < STORE_CHANNEL_COUNT; i++)
        channel_name(site, store_channel_name((enum store_channel)i), listener->channels[i]);
    pg_link_init(&listener->link, &site->place, PG_LISTENS);
    enum rc rc = pg_link_open(&listener->link, err);
    if (rc == RC_OK)
        rc = listen_all(listener, err);
    if (rc != RC_OK) {
        pg_unlisten(listener);
        return rc;
    }
    *ret_listener = listener;
    return RC_OK;
}

static void note_all(struct wakeup *wakeup)
{
    for (size_t i = 0; i < STORE_CHANNEL_COUNT; i++) {
        wakeup->channels[i].woken = true;
        wakeup->channels[i].all = true;
    }
}

static void note(struct engine_listener *listener, const PGnotify *notice, struct wakeup *wakeup)
{
    size_t i = 0;
    while (i < STORE_CHANNEL_COUNT && strcmp(listener->channels[i], notice->relname) != 0)
        i++;
    if (i == STORE_CHANNEL_COUNT)
        return;
    wakeup->channels[i].woken = true;
    char *payloads = wakeup->channels[i].payloads;
    size_t used = strlen(payloads);
    size_t len = strlen(notice->extra);
    if (len == 0 || used + len + 2 > NOTICE_BYTES_MAX)
        wakeup->channels[i].all = true;
    else
        snprintf(payloads + used, NOTICE_BYTES_MAX - used, "%s%s", used > 0 ? "," : "",
                 notice->extra);
}

int pg_receive(struct engine_listener *listener, struct wakeup *wakeup)
{
    struct pg_link *link = &listener->link;
    struct err ignored;
    if (pg_link_ready(link, &ignored) != RC_OK)
        return -1;
    if (listener->generation != link->generation) {
        if (listen_all(listener, &ignored) != RC_OK)
            return -1;
        note_all(wakeup);
    }
    PGnotify *notice;
    for (int i = 0; i < NOTICES_MAX && (notice = pq->notifies(link->pg)) != NULL; i++) {
        note(listener, notice, wakeup);
        pq->freemem(notice);
    }
    return pq->socket(link->pg);
}
