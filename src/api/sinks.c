/*
 * sinks.c - the places outside that events are copied to: how far each of them has come.
 */
#include "control/watch/sinks.h"
#include "api/listing.h"
#include "api/routes.h"
#include "base/clock.h"
#include <string.h>

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

static enum rc write_sink(struct listing *list, struct db *db, const struct sink_config *config,
                          struct err *err)
{
    struct sink_view view;
    struct sink_dead_letter letter;
    struct clock clock = control_clock(list->call->api->control);
    enum rc rc = sink_look(db, config->name, clock_now_us(&clock), list->arena, &view, err);
    bool refused = rc == RC_OK && view.row.dead_letters > 0;
    if (refused)
        rc = sinks_last_dead_letter(db, config->name, list->arena, &letter, err);
    if (rc != RC_OK)
        return rc;
    struct jw *jw = &list->jw;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", config->name);
    jw_kstr(jw, "type", config->ops->type);
    jw_kstr(jw, "target", config->ops->target(config->settings));
    jw_kstr(jw, "state", sink_state_name(view.state));
    jw_kint(jw, "cursor", view.row.cursor_seq);
    jw_kint(jw, "lag", view.lag);
    jw_kreal(jw, "lagSeconds", (double)view.lag_us / (double)US_PER_SECOND);
    jw_kstr(jw, "lastError", view.row.last_error);
    jw_kint(jw, "deadLetters", view.row.dead_letters);
    write_dead_letter(jw, refused ? &letter : NULL);
    jw_ktime(jw, "updatedAt", view.row.updated_us);
    jw_end(jw, '}');
    return RC_OK;
}

/* By name, as in the configuration of this node. */
enum rc api_sink_list(struct call *call, struct db *db, struct err *err)
{
    const struct sink_configs *configs = &call->api->sinks;
    struct listing list;
    size_t from = 0;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    while (rc == RC_OK && list.after != NULL && from < configs->count &&
           strcmp(configs->items[from].name, list.after) <= 0)
        from++;
    list.count = configs->count - from;
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        list.last = configs->items[from + i].name;
        rc = write_sink(&list, db, &configs->items[from + i], err);
    }
    return listing_end(&list, rc);
}
