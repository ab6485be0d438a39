/*
 * snapshots.c - where the unpublished work of a run is, read from its events.
 *
 *     agent.snapshot.taken        there is a snapshot on a worker's machine
 *     agent.snapshot.published    it is in the origin too
 *     agent.snapshot.failed       a tree could not be saved and is kept
 */
#include "api/listing.h"
#include "api/routes.h"
#include "base/js.h"
#include "core/event.h"
#include "core/event_types.h"
#include "store/events.h"
#include "store/repositories.h"
#include "store/runs.h"
#include <string.h>

enum { EVENTS_PAGE = 500, SNAPSHOTS_MAX = 1000 };

/* Texts live in the request's arena. */
struct item {
    const char *ref; /* NULL: a tree that is kept. */
    const char *commit, *reason, *worker, *mirror, *origin_ref, *kept_at, *error;
    int64_t files, attempt, time_us;
};

struct items { /* The newest, when there are more than fit. */
    struct item rows[SNAPSHOTS_MAX];
    size_t count;
};

static struct item *find(struct items *items, const char *ref)
{
    for (size_t i = 0; i < items->count; i++)
        if (text_same(items->rows[i].ref, ref))
            return &items->rows[i];
    return NULL;
}

static const char *copy(struct arena *arena, const struct js *data, const char *key)
{
    return arena_strdup(arena, js_get_str(data, key, NULL));
}

static void take_event(struct items *items, const struct event *event, struct arena *arena)
{
    CLEANUP(js_freep) struct js *data = NULL;
    if (js_parse(event->data.at, event->data.len, &data, NULL) != RC_OK)
        return;
    const char *ref = copy(arena, data, "ref");
    struct item *item = ref != NULL ? find(items, ref) : NULL;
    if (strcmp(event->type, EV_SNAPSHOT_PUBLISHED) == 0) {
        if (item != NULL)
            item->origin_ref = copy(arena, data, "originRef");
        return;
    }
    if (item != NULL) /* Reported twice: a worker was lost in between. */
        return;
    if (items->count == SNAPSHOTS_MAX) {
        items->count /= 2;
        memmove(items->rows, items->rows + SNAPSHOTS_MAX - items->count,
                items->count * sizeof *items->rows);
    }
    items->rows[items->count++] = (struct item){
        .ref = ref,
        .commit = copy(arena, data, "commit"),
        .reason = copy(arena, data, "reason"),
        .worker = copy(arena, data, "worker"),
        .mirror = copy(arena, data, "mirror"),
        .kept_at = copy(arena, data, "keptAt"),
        .error = copy(arena, data, "error"),
        .files = js_get_int(data, "files", 0),
        .attempt = js_get_int(data, "attempt", 0),
        .time_us = event->time_us,
    };
}

/* Page by page: a run that took a snapshot every second has very many. */
static enum rc load_items(struct call *call, struct db *db, const struct id *run_id,
                          struct items *items, struct err *err)
{
    struct event_filter filter = {
        .run_id = *run_id, .type_pattern = "agent.snapshot.*", .limit = EVENTS_PAGE};
    size_t count = EVENTS_PAGE;
    while (count == EVENTS_PAGE) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct event *events = NULL;
        enum rc rc = events_list(db, &filter, &arena, &events, &count, err);
        if (rc != RC_OK)
            return rc;
        for (size_t i = 0; i < count; i++)
            take_event(items, &events[i], &call->http.arena);
        if (count > 0)
            filter.after_seq = events[count - 1].seq;
    }
    return RC_OK;
}

/* The address of the run's repository. */
static enum rc load_url(struct call *call, struct db *db, const struct run_row *run,
                        const char **ret_url, struct err *err)
{
    struct repository_row repository;
    CLEANUP(js_freep) struct js *config = NULL;
    enum rc rc = repositories_get(db, &run->repository_id, &call->http.arena, &repository, err);
    if (rc == RC_OK)
        rc = js_parse(repository.config.at, repository.config.len, &config, err);
    if (rc == RC_OK)
        *ret_url = arena_strdup(&call->http.arena, js_get_str(config, "url", "origin"));
    return rc;
}

static void write_item(struct call *call, struct jw *jw, const struct item *item, const char *url,
                       bool superseded)
{
    struct arena *arena = &call->http.arena;
    jw_begin(jw, '{');
    jw_kstr(jw, "ref", item->ref);
    jw_optstr(jw, "commit", item->commit);
    if (item->ref != NULL) {
        jw_kint(jw, "files", item->files);
        jw_kint(jw, "attempt", item->attempt);
        jw_optstr(jw, "reason", item->reason);
        jw_kbool(jw, "published", item->origin_ref != NULL);
        jw_kbool(jw, "superseded", superseded);
    }
    jw_ktime(jw, "takenAt", item->time_us);
    jw_optstr(jw, "worker", item->worker);
    jw_optstr(jw, "mirror", item->mirror);
    jw_optstr(jw, "keptAt", item->kept_at);
    jw_optstr(jw, "error", item->error);
    const char *from = item->origin_ref != NULL ? url : item->mirror;
    const char *ref = item->origin_ref != NULL ? item->origin_ref : item->ref;
    if (ref != NULL && from != NULL && (item->origin_ref != NULL || !superseded))
        jw_kstr(jw, "fetch",
                arena_printf(arena, "git fetch %s %s", shell_quote(from, arena),
                             shell_quote(ref, arena)));
    jw_end(jw, '}');
}

enum rc api_run_snapshots(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct id id;
    struct run_row run;
    struct items *items = arena_alloc(&call->http.arena, sizeof *items);
    const char *url = NULL;
    listing_open(&list, call, CURSOR_NONE, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = call_id(call, 0, &id, err);
    if (rc == RC_OK)
        rc = runs_get(db, &id, &call->http.arena, &run, err);
    if (rc == RC_OK)
        rc = load_items(call, db, &run.id, items, err);
    if (rc == RC_OK)
        rc = load_url(call, db, &run, &url, err);
    for (size_t i = 0; rc == RC_OK && i < items->count; i++)
        write_item(call, &list.jw, &items->rows[i], url, run.status == RUN_COMPLETED);
    return listing_end(&list, rc);
}
