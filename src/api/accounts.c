/*
 * accounts.c - provider accounts: those of the configuration and those that were parked; listed,
 * parked and resumed by hand.
 */
#include "control/run/accounts.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/fields.h"
#include "core/agent/account_windows.h"
#include <stdlib.h>
#include <string.h>

#define PARK_US_MAX (366 * US_PER_DAY)

/* ---- one of them ---- */

struct account_entry {
    const struct account_row *row;       /* NULL: there is nothing stored. */
    const struct account_config *config; /* NULL: not configured. */
    const struct account_load_row *load; /* NULL: no active run has it. */
};

static const char *name_of(const struct account_entry *entry)
{
    return entry->row != NULL ? entry->row->name : entry->config->name;
}

static void write_parking(struct jw *jw, const struct account_row *row)
{
    jw_kstr(jw, "status", row->parked_until_us > 0 ? "parked" : "in_use");
    jw_ktime(jw, "parkedUntil", row->parked_until_us);
    jw_ktime(jw, "parkedAt", row->parked_us);
    jw_kstr(jw, "reason", row->reason);
    jw_kint(jw, "hits", row->hits);
    jw_ktime(jw, "probeAt", row->probe_us);
    jw_kstr(jw, "probeRunId", id_is_none(&row->probe_run_id) ? NULL : row->probe_run_id.text);
}

static void write_config(struct jw *jw, const struct account_config *config)
{
    jw_kbool(jw, "configured", config != NULL);
    jw_kstr(jw, "provider", config != NULL ? config->provider : NULL);
    jw_kstr(jw, "model", config != NULL ? config->model : NULL);
    jw_kbool(jw, "home", config != NULL && config->home != NULL);
    if (config == NULL)
        return;
    jw_kint(jw, "maxRuns", config->max_runs);
    jw_kreal(jw, "price", config->price);
    jw_kreal(jw, "reserve", config->reserve);
}

static void write_windows(struct jw *jw, const struct account_windows *windows, int64_t now_us)
{
    jw_key(jw, "windows");
    jw_begin(jw, '[');
    for (size_t i = 0; i < windows->count; i++) {
        const struct account_window *window = &windows->items[i];
        if (window->expires_us <= now_us)
            continue;
        jw_begin(jw, '{');
        jw_kstr(jw, "window", window->name);
        jw_kreal(jw, "used", window->utilization);
        jw_kreal(jw, "left", 1 - window->utilization);
        jw_kstr(jw, "status", window->status);
        jw_ktime(jw, "resetsAt", window->resets_us);
        jw_ktime(jw, "seenAt", window->seen_us);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
}

/* How full it is: by its fullest window. */
static enum rc write_use(struct jw *jw, const struct account_row *row, struct call *call,
                         struct err *err)
{
    struct account_windows windows;
    struct clock clock = control_clock(call->api->control);
    int64_t now_us = clock_now_us(&clock);
    enum rc rc = account_windows_parse(row->windows, &call->http.arena, &windows, err);
    if (rc != RC_OK)
        return rc;
    const struct account_window *fullest = account_windows_fullest(&windows, now_us);
    if (fullest == NULL) {
        jw_kraw(jw, "used", STR("null"));
        jw_kraw(jw, "left", STR("null"));
    } else {
        jw_kreal(jw, "used", fullest->utilization);
        jw_kreal(jw, "left", 1 - fullest->utilization);
    }
    bool parked = row->parked_until_us > 0;
    jw_ktime(jw, "resetsAt",
             parked            ? row->parked_until_us
             : fullest != NULL ? fullest->resets_us
                               : 0);
    write_windows(jw, &windows, now_us);
    return RC_OK;
}

/* Booked is what runs have cost that ended or left it; the active ones count as of today. */
static void write_cost(struct jw *jw, const struct account_entry *entry,
                       const struct account_row *row, int64_t now_us)
{
    int64_t active = entry->load != NULL ? entry->load->unbooked_microusd : 0;
    bool today = row->day_us == now_us - now_us % US_PER_DAY;
    jw_kint(jw, "activeRuns", entry->load != NULL ? entry->load->runs : 0);
    if (entry->config == NULL) {
        jw_kraw(jw, "costTodayUsd", STR("null"));
        jw_kraw(jw, "costUsd", STR("null"));
        return;
    }
    jw_kreal(jw, "costTodayUsd", (double)((today ? row->day_microusd : 0) + active) / 1e6);
    jw_kreal(jw, "costUsd", (double)(row->total_microusd + active) / 1e6);
}

static enum rc write_account(struct jw *jw, const struct account_entry *entry, struct call *call,
                             struct err *err)
{
    static const struct account_row nothing = {0};
    const struct account_row *row = entry->row != NULL ? entry->row : &nothing;
    struct clock clock = control_clock(call->api->control);
    jw_begin(jw, '{');
    jw_kstr(jw, "name", name_of(entry));
    write_config(jw, entry->config);
    write_parking(jw, row);
    enum rc rc = write_use(jw, row, call, err);
    write_cost(jw, entry, row, clock_now_us(&clock));
    jw_ktime(jw, "usedAt", row->used_us);
    jw_kstr(jw, "usedRunId", id_is_none(&row->used_run_id) ? NULL : row->used_run_id.text);
    jw_ktime(jw, "updatedAt", row->updated_us);
    jw_end(jw, '}');
    return rc;
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(name_of(a), name_of(b));
}

struct account_page {
    struct account_entry *entries; /* By name. */
    size_t count;
};

static const struct account_row *find_row(const struct account_row *rows, size_t count,
                                          const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_same(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* Rows of a page, and the configured accounts among and between them. */
static void put_together(struct listing *list, const struct account_row *rows,
                         struct account_page *ret_page)
{
    const struct account_configs *configs = &list->call->api->accounts;
    size_t count = list->count;
    struct account_entry *entries = arena_array(list->arena, count + configs->count,
                                                sizeof *entries);
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct account_entry){.row = &rows[i],
                                            .config = account_configs_find(configs, rows[i].name)};
    for (size_t i = 0; i < configs->count; i++) {
        const char *name = configs->items[i].name;
        bool behind = list->after == NULL || strcmp(name, list->after) > 0;
        if (behind && find_row(rows, list->count, name) == NULL)
            entries[count++] = (struct account_entry){.config = &configs->items[i]};
    }
    if (count > 1)
        qsort(entries, count, sizeof *entries, by_name);
    /* A configured one beyond the last row may have a row of its own, on a later page. */
    if (count > (size_t)list->query_limit)
        count = (size_t)list->query_limit;
    *ret_page = (struct account_page){entries, count};
    list->count = count;
}

static enum rc add_loads(struct listing *list, struct db *db, struct account_page *page,
                         struct err *err)
{
    struct account_load_row *loads;
    size_t count;
    enum rc rc = accounts_load(db, list->arena, &loads, &count, err);
    for (size_t i = 0; rc == RC_OK && i < page->count; i++)
        for (size_t j = 0; j < count; j++)
            if (text_same(loads[j].name, name_of(&page->entries[i])))
                page->entries[i].load = &loads[j];
    return rc;
}

enum rc api_account_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct account_row *rows = NULL;
    struct account_page page = {0};
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = accounts_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
    if (rc == RC_OK) {
        put_together(&list, rows, &page);
        rc = add_loads(&list, db, &page, err);
    }
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        rc = write_account(&list.jw, &page.entries[i], call, err);
        list.last = name_of(&page.entries[i]);
    }
    return listing_end(&list, rc);
}

/* ---- by hand ---- */

enum rc api_account_resume(struct call *call, struct err *err)
{
    struct cmd_account *cmd = cmd_account_resume_new();
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    return rc == RC_OK ? call_reason(call, &cmd->reason, err) : rc;
}

enum rc api_account_park(struct call *call, struct err *err)
{
    struct cmd_account *cmd = cmd_account_park_new();
    struct clock clock = control_clock(call->api->control);
    struct fields fields;
    const char *until = NULL;
    call_own(call, &cmd->base);
    cmd->name = arena_strdup(&cmd->base.arena, call->vars[0]);
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = call_json(call, &cmd->base.tree, err);
    if (rc != RC_OK)
        return rc;
    fields_open(&fields, cmd->base.tree, "", err);
    fields_string(&fields, "until", FIELD_REQUIRED, &(struct field_text){.min = 1, .max = 64},
                  &until);
    fields_string(&fields, "reason", FIELD_OPTIONAL, &(struct field_text){.max = 500},
                  &cmd->reason);
    if (until != NULL &&
        (!time_parse(until, &cmd->until_us) || cmd->until_us > clock_now_us(&clock) + PARK_US_MAX))
        fields_fail(&fields, "until",
                    "until must be a time like 2026-08-01T12:00:00Z, at most a "
                    "year ahead");
    return fields_close(&fields);
}

void api_account_answer(struct call *call, struct command *command)
{
    const struct account_row *row = &((const struct cmd_account *)command)->row;
    struct account_entry entry = {.row = row,
                                  .config = account_configs_find(&call->api->accounts, row->name)};
    struct err err = {0};
    struct jw jw = call_answer(call, 200);
    enum rc rc = write_account(&jw, &entry, call, &err);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
}
