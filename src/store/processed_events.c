#include "store/processed_events.h"
#include "store/query.h"

static const struct sql sql_enter = {
    "processed_event_enter",
    "INSERT INTO processed_events (consumer, event_id, processed_us) VALUES ($1, $2, $3)"
    " ON CONFLICT (consumer, event_id) DO NOTHING",
    "tti",
};
static const struct sql sql_prune = {
    "processed_event_prune",
    "DELETE FROM processed_events WHERE (consumer, event_id) IN"
    " (SELECT consumer, event_id FROM processed_events WHERE processed_us < $1"
    "  ORDER BY processed_us LIMIT $2)",
    "ii",
};

enum rc processed_events_enter(struct db *db, const struct processed_event *event, bool *ret_first,
                               struct err *err)
{
    int64_t changed = 0;
    enum rc rc = db_exec(
        db, &sql_enter,
        P_LIST(P_TEXT(event->consumer), P_TEXT(event->event_id), P_INT(event->processed_us)),
        &changed, err);
    if (rc == RC_OK)
        *ret_first = changed > 0;
    return rc;
}

enum rc processed_events_prune(struct db *db, const struct processed_prune *prune,
                               int64_t *ret_count, struct err *err)
{
    return db_exec(db, &sql_prune, P_LIST(P_INT(prune->before_us), P_LIMIT(prune->limit)),
                   ret_count, err);
}
