/*
 * syncs.c - what has come from the forges, and how it came: receipts of deliveries, and the sync of
 * each repository.
 */
#include "store/syncs.h"
#include "api/listing.h"
#include "api/routes.h"
#include "api/shapes.h"
#include "core/config/repo_config.h"
#include "store/deliveries.h"

enum { NAME_BYTES_MAX = 200 };

static const char *const statuses[] = {DELIVERY_APPLIED, DELIVERY_IGNORED, DELIVERY_INVALID,
                                       DELIVERY_LOST, NULL};
static const char *const ways[] = {DELIVERY_BY_WEBHOOK, DELIVERY_RECOVERED, NULL};

static void write_delivery(struct jw *jw, const struct delivery_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", row->id.text);
    jw_kstr(jw, "repository", row->repository);
    jw_kstr(jw, "forge", row->forge);
    jw_kstr(jw, "deliveryId", row->delivery_id);
    jw_kstr(jw, "event", row->event);
    jw_kstr(jw, "subject", forge_subject_name(row->subject));
    if (row->number > 0)
        jw_kint(jw, "number", row->number);
    jw_optstr(jw, "ref", row->ref);
    jw_optstr(jw, "actor", row->actor);
    jw_kstr(jw, "via", row->via);
    jw_kstr(jw, "status", row->status);
    jw_optstr(jw, "detail", row->detail);
    jw_kstr(jw, "payloadSha256", row->payload_sha256);
    jw_kint(jw, "payloadBytes", row->payload_bytes);
    jw_ktime(jw, "sentAt", row->sent_us);
    jw_ktime(jw, "receivedAt", row->received_us);
    jw_end(jw, '}');
}

enum rc api_delivery_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct delivery_row *rows = NULL;
    struct delivery_filter filter = {.limit = 0};
    listing_open(&list, call, CURSOR_ID, err);
    params_text(&list.params, "repository", NAME_BYTES_MAX, &filter.repository);
    params_choice(&list.params, "status", statuses, &filter.status);
    params_choice(&list.params, "via", ways, &filter.via);
    params_text(&list.params, "event", NAME_BYTES_MAX, &filter.event);
    enum rc rc = listing_begin(&list);
    filter.before = list.before;
    filter.limit = list.query_limit;
    filter.scan = &list.scan;
    if (rc == RC_OK)
        rc = deliveries_list(db, &filter, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        write_delivery(&list.jw, &rows[i]);
        list.last = rows[i].id.text;
    }
    return listing_end(&list, rc);
}

void shape_sync(struct jw *jw, const struct sync_row *row)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "repository", row->repository);
    jw_kstr(jw, "forge", row->forge);
    jw_kstr(jw, "name", row->full_name);
    jw_kstr(jw, "knownAs", row->known_as);
    jw_kstr(jw, "providerId", row->provider_id);
    jw_kstr(jw, "mode", sync_mode_name(row->mode));
    jw_ktime(jw, "since", row->mode_since_us);
    jw_ktime(jw, "lastDeliveryAt", row->last_delivery_us);
    jw_ktime(jw, "lastMissedAt", row->missed_us);
    jw_kint(jw, "recovered", row->recovered);
    jw_kstr(jw, "deliveriesError", row->deliveries_error);
    jw_ktime(jw, "lastSyncAt", row->last_sync_us);
    jw_kstr(jw, "lastError", row->last_error);
    jw_ktime(jw, "lastErrorAt", row->last_error_us);
    jw_end(jw, '}');
}

enum rc api_sync_list(struct call *call, struct db *db, struct err *err)
{
    struct listing list;
    struct sync_row *rows = NULL;
    listing_open(&list, call, CURSOR_NAME, err);
    enum rc rc = listing_begin(&list);
    if (rc == RC_OK)
        rc = syncs_list(db, list.after, list.query_limit, list.arena, &rows, &list.count, err);
    for (size_t i = 0; rc == RC_OK && listing_shows(&list, i); i++) {
        shape_sync(&list.jw, &rows[i]);
        list.last = rows[i].repository_id.text;
    }
    return listing_end(&list, rc);
}
