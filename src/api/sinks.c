/*
 * sinks.c - the places outside that events are copied to: how far each of them has come.
 */
#include "control/watch/sinks.h"
#include "api/routes.h"
#include "base/clock.h"
#include <string.h>

struct shown {
    const struct sink_config *config;
    struct sink_view view;
    const struct sink_dead_letter *refused; /* The last one; NULL: none. */
};

static void write_dead_letter(struct jw *jw, const struct sink_dead_letter *letter)
{
    jw_key(jw, "lastDeadLetter");
    if (letter == NULL) {
        jw_null(jw);
        return;
    }
    jw_begin(jw, '{');
    jw_kint(jw, "sequence", letter->seq);
    jw_kstr(jw, "eventId", letter->event_id.text);
    jw_kstr(jw, "eventType", letter->event_type);
    jw_kstr(jw, "code", letter->code);
    jw_kstr(jw, "message", letter->message);
    jw_ktime(jw, "createdAt", letter->created_us);
    jw_end(jw, '}');
}

static void write_sink(struct jw *jw, const struct shown *sink)
{
    const struct sink_view *view = &sink->view;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", sink->config->name);
    jw_kstr(jw, "type", sink->config->ops->type);
    jw_kstr(jw, "state", sink_state_name(view->state));
    jw_kint(jw, "cursor", view->row.cursor_seq);
    jw_kint(jw, "lag", view->lag);
    jw_kreal(jw, "lagSeconds", (double)(view->lag_us / US_PER_MS) / 1000.0);
    jw_kstr(jw, "lastError", view->row.last_error);
    jw_kint(jw, "deadLetters", view->row.dead_letters);
    write_dead_letter(jw, sink->refused);
    jw_ktime(jw, "updatedAt", view->row.updated_us);
    jw_end(jw, '}');
}

static enum rc look(struct call *call, struct db *db, struct shown *sink, struct err *err)
{
    struct arena *arena = &call->http.arena;
    struct clock clock = control_clock(call->api->control);
    enum rc rc = sink_look(db, sink->config->name, clock_now_us(&clock), arena, &sink->view, err);
    if (rc != RC_OK || sink->view.row.dead_letters == 0)
        return rc;
    struct sink_dead_letter *letter = arena_array(arena, 1, sizeof *letter);
    sink->refused = letter;
    return sinks_last_dead_letter(db, sink->config->name, arena, letter, err);
}

/* By name, as in the configuration of this node. */
enum rc api_sink_list(struct call *call, struct db *db, struct err *err)
{
    const struct sink_configs *configs = &call->api->sinks;
    struct shown sinks[SINKS_MAX] = {0};
    struct params params;
    size_t count = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    struct page page = call_page_by_name(call, &params);
    rc = params_end(&params);
    for (size_t i = 0; rc == RC_OK && i < configs->count; i++) {
        if (page.after == NULL || strcmp(configs->items[i].name, page.after) > 0)
            sinks[count++].config = &configs->items[i];
    }
    size_t shown = page_rows(&page, count);
    for (size_t i = 0; rc == RC_OK && i < shown; i++)
        rc = look(call, db, &sinks[i], err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = call_list_begin(call);
    for (size_t i = 0; i < shown; i++)
        write_sink(&jw, &sinks[i]);
    const char *last = shown > 0 ? sinks[shown - 1].config->name : NULL;
    call_list_end(&jw, last != NULL ? call_next_name(call, &page, count, last) : NULL);
    return RC_OK;
}
