/*
 * inbox.c - GET /v1/inbox: what needs a person, the most urgent first (core/inbox.h).
 *
 * The cursor names the last item that was shown by its rank, kind and key: a page continues behind
 * it, also when it was answered meanwhile.
 */
#include "store/inbox.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPOSITORY_NAME_MAX = 200 };

/* "RANK KIND KEY" */
static const char *place_text(const struct inbox_row *row, struct arena *arena)
{
    return arena_printf(arena, "%" PRId64 " %s %.220s", row->rank_us, inbox_kind_name(row->kind),
                        row->key);
}

static bool place_parse(const char *text, struct arena *arena, struct inbox_place *ret)
{
    char *end = NULL;
    ret->rank_us = strtoll(text, &end, 10);
    if (end == text || *end != ' ')
        return false;
    const char *kind = end + 1, *blank = strchr(kind, ' ');
    if (blank == NULL ||
        !inbox_kind_parse(arena_strndup(arena, kind, (size_t)(blank - kind)), &ret->kind))
        return false;
    ret->key = blank + 1;
    return true;
}

/* Texts hold line breaks and more: the first line is enough for a list. */
static const char *first_line(const char *text, struct arena *arena)
{
    if (text == NULL)
        return NULL;
    while (*text == '\n' || *text == ' ')
        text++;
    return arena_strndup(arena, text, strcspn(text, "\r\n"));
}

static void write_item(struct jw *jw, const struct inbox_row *row, const struct call *call,
                       int64_t now_us, struct arena *arena)
{
    const struct inbox_ways ways = inbox_ways(row->kind, row->key, row->argument, arena);
    bool may_answer = call->who.role == inbox_role(row->kind) || call->who.role == ROLE_ADMIN;
    int64_t age_us = now_us > row->since_us ? now_us - row->since_us : 0;
    jw_begin(jw, '{');
    jw_kstr(jw, "kind", inbox_kind_name(row->kind));
    jw_kstr(jw, "id", row->key);
    jw_kstr(jw, "title", first_line(row->title, arena));
    jw_kstr(jw, "reason", row->reason);
    jw_kstr(jw, "detail", row->detail);
    jw_kstr(jw, "repository", row->repository);
    jw_kstr(jw, "taskId", id_or_null(&row->task_id));
    jw_kstr(jw, "runId", id_or_null(&row->run_id));
    jw_ktime(jw, "since", row->since_us);
    jw_kint(jw, "ageSeconds", age_us / US_PER_SECOND);
    jw_ktime(jw, "expiresAt", row->expires_us);
    jw_kint(jw, "behind", row->behind);
    jw_kint(jw, "count", row->count);
    jw_ktime(jw, "rankAt", row->rank_us);
    jw_kstr(jw, "href", ways.href);
    jw_kstr(jw, "show", ways.show);
    jw_kstr(jw, "command", may_answer ? ways.command : NULL);
    jw_end(jw, '}');
}

static void write_counts(struct jw *jw, const struct inbox_row *rows, size_t count, bool more)
{
    int64_t counts[INBOX_KIND_COUNT] = {0};
    for (size_t i = 0; i < count; i++)
        counts[rows[i].kind]++;
    jw_kint(jw, "total", (int64_t)count);
    jw_key(jw, "counts");
    jw_begin(jw, '{');
    for (int kind = 0; kind < INBOX_KIND_COUNT; kind++)
        if (counts[kind] > 0)
            jw_kint(jw, inbox_kind_name((enum inbox_kind)kind), counts[kind]);
    jw_end(jw, '}');
    jw_kbool(jw, "truncated", more);
}

/* The first row behind the place. */
static size_t first_behind(const struct inbox_row *rows, size_t count,
                           const struct inbox_place *place)
{
    size_t first = 0;
    while (first < count && inbox_compare(&(struct inbox_place){rows[first].rank_us,
                                                                rows[first].kind, rows[first].key},
                                          place) <= 0)
        first++;
    return first;
}

static void choose_kinds(struct inbox_filter *filter, const char *kind)
{
    for (int i = 0; i < INBOX_KIND_COUNT; i++)
        filter->kinds[i] = kind == NULL || text_same(kind, inbox_kind_names[i]);
}

enum rc api_inbox_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct inbox_row *rows = NULL;
    struct inbox_place after = {0};
    const struct clock clock = clock_real();
    struct inbox_filter filter = {.now_us = clock_now_us(&clock)};
    const char *kind = NULL;
    size_t count = 0, first = 0;
    bool more = false;
    listing_open(&list, call, CURSOR_NAME, err);
    params_choice(&list.params, "kind", inbox_kind_names, &kind);
    params_text(&list.params, "repository", REPOSITORY_NAME_MAX, &filter.repository);
    if (list.after != NULL && !place_parse(list.after, list.arena, &after))
        params_fail(&list.params, "cursor", "cursor is not one that this listing has given");
    choose_kinds(&filter, kind);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = inbox_list(db, &filter, list.arena, &rows, &count, &more, err);
    if (rc == RC_OK && list.after != NULL)
        first = first_behind(rows, count, &after);
    list.count = count - first;
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_item(&list.jw, &rows[first + i], call, filter.now_us, list.arena);
        list.last = place_text(&rows[first + i], list.arena);
    }
    if (rc != RC_OK)
        return rc;
    jw_end(&list.jw, ']');
    write_counts(&list.jw, rows, count, more);
    return listing_close(&list);
}
