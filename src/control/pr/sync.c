#include "control/pr/sync.h"
#include "control/commit/event_body.h"
#include "control/pr/look.h"
#include "control/pr/receive.h"
#include "control/run/effective.h"
#include "control/run/run_clock.h"
#include "core/event_types.h"
#include "forge/forges.h"
#include "store/artifacts.h"
#include <string.h>

enum {
    START_PAGE = 200,
    PRUNE_BATCH = 200,
    ERROR_BYTES_MAX = 500,
    ETAG_BYTES_MAX = 500,
};
/* Repositories of a server that starts are not all asked in the same moment. */
#define START_STEP_US (20 * US_PER_MS)
/* Deliveries and changes may become visible out of order. */
#define OVERLAP_US (5 * US_PER_MINUTE)
/* Between two tries that fail, at most, unless the configuration says more. */
#define FAILED_PAUSE_MAX_MS INT64_C(3600000)
/* A repository whose configuration cannot be decoded is looked at again then. */
#define BROKEN_PAUSE_MS (10 * 60 * 1000)

/* ---- the row ---- */

static enum rc emit_mode(struct context *ctx, const struct repository_row *repository,
                         const struct sync_row *row, const char *reason)
{
    CLEANUP(event_body_release) struct event_body body;
    event_body_open(&body);
    jw_kstr(&body.jw, "repositoryId", repository->id.text);
    jw_kstr(&body.jw, "repository", repository->name);
    jw_kstr(&body.jw, "mode", sync_mode_name(row->mode));
    jw_kstr(&body.jw, "reason", reason);
    struct event event = {
        .type = EV_REPOSITORY_SYNC_CHANGED,
        .subject = arena_printf(ctx->arena, "repository/%s", repository->name),
        .correlation_id = repository->id,
        .data = event_body_close(&body),
    };
    return context_append(ctx, &event, NULL);
}

/* Can the forge send, and list, deliveries? */
static bool forge_has(const char *forge, enum forge_can can)
{
    const struct forge_ops *ops = forge_find(forge);
    return ops != NULL && (ops->can & (unsigned)can) != 0;
}

static bool has_webhook(const struct sync_row *row, const struct repo_config *config)
{
    return config->webhook.secret != NULL && forge_has(row->forge, CAN_WEBHOOKS);
}

/* Sets the mode that follows from the facts, and tells of a change. */
static enum rc settle_mode(struct context *ctx, const struct repository_row *repository,
                           const struct repo_config *config, struct sync_row *row)
{
    const struct sync_facts facts = {.webhook = has_webhook(row, config),
                                     .last_delivery_us = row->last_delivery_us,
                                     .missed_us = row->missed_us};
    enum sync_mode mode = sync_mode_of(&facts);
    if (mode == row->mode)
        return RC_OK;
    row->mode = mode;
    row->mode_since_us = ctx->now_us;
    const char *reason = mode == SYNC_WEBHOOKS ? "a delivery arrived"
                         : facts.webhook       ? "deliveries did not arrive"
                                               : "there is no webhook";
    return emit_mode(ctx, repository, row, reason);
}

static enum rc save(struct context *ctx, struct sync_row *row)
{
    row->updated_us = ctx->now_us;
    return syncs_save(ctx->db, row, ctx->err);
}

/* With the mode that follows from it. */
static enum rc save_settled(struct context *ctx, const struct repository_row *repository,
                            struct sync_row *row)
{
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, repository);
    enum rc rc = known != NULL ? settle_mode(ctx, repository, &known->config, row) : RC_OK;
    return rc == RC_OK ? save(ctx, row) : rc;
}

static enum rc set_timer(struct context *ctx, const struct id *repository_id, int64_t pause_ms)
{
    return timer_start(ctx, TIMER_SYNC, repository_id, ctx->now_us + pause_ms * US_PER_MS);
}

enum rc sync_received(struct context *ctx, const struct repository_row *repository,
                      const struct delivery_row *receipt, const struct forge_event *event)
{
    struct sync_row row;
    enum rc rc = syncs_get(ctx->db, &repository->id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    if (text_same(receipt->via, DELIVERY_BY_WEBHOOK))
        row.last_delivery_us = ctx->now_us;
    if (event->repository_id != NULL && row.provider_id == NULL)
        row.provider_id = event->repository_id;
    if (event->repository_name != NULL)
        row.known_as = event->repository_name;
    return save_settled(ctx, repository, &row);
}

/* ---- asking ---- */

static void write_changes(struct jw *jw, const void *subject)
{
    const struct sync_row *row = subject;
    jw_kstr(jw, "what", "changes");
    jw_kint(jw, "changesSinceUs", row->changes_since_us);
    jw_optstr(jw, "etag", row->etag);
    if (row->deliveries_since_us > 0)
        jw_kint(jw, "deliveriesSinceUs", row->deliveries_since_us);
}

/* Deliveries are listed where there is a webhook whose deliveries the forge can list, and not at
   every poll: unlike a list that has not changed that costs calls of the forge's quota. */
static bool lists_deliveries(struct context *ctx, const struct repo_config *config,
                             const struct sync_row *row)
{
    return has_webhook(row, config) && forge_has(row->forge, CAN_LIST_DELIVERIES) &&
           ctx->now_us - row->listed_us >= config->sync.recover_ms * US_PER_MS;
}

static enum rc ask(struct context *ctx, const struct repository_row *repository,
                   const struct sync_row *row, bool lists)
{
    struct sync_row asked = *row;
    int64_t since_us = row->deliveries_since_us - OVERLAP_US;
    asked.deliveries_since_us = !lists ? 0 : since_us > 0 ? since_us : 1;
    const struct repo_job job = {
        .kind = STEP_SYNC,
        .repository = repository,
        .dedup_key = arena_printf(ctx->arena, "sync/%s", repository->id.text),
        .write = write_changes,
        .subject = &asked,
    };
    return repo_job_enqueue(ctx, &job, NULL);
}

enum rc sync_due(struct context *ctx, const struct id *repository_id)
{
    CLEANUP(config_book_putp) struct known_config *known = NULL;
    struct repository_row repository;
    struct sync_row row;
    enum rc rc = repositories_get(ctx->db, repository_id, ctx->arena, &repository, ctx->err);
    if (rc == RC_OK)
        rc = syncs_get(ctx->db, repository_id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK || repository.removed)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    known = effective_now(ctx, &repository);
    if (known == NULL)
        return set_timer(ctx, repository_id, BROKEN_PAUSE_MS);
    bool lists = lists_deliveries(ctx, &known->config, &row);
    row.listed_us = lists ? ctx->now_us : row.listed_us;
    rc = settle_mode(ctx, &repository, &known->config, &row);
    if (rc == RC_OK)
        rc = save(ctx, &row);
    if (rc == RC_OK && repository.quarantined_us == 0)
        rc = ask(ctx, &repository, &row, lists);
    return rc == RC_OK ? set_timer(ctx, repository_id, sync_pause_ms(row.mode, &known->config.sync))
                       : rc;
}

/* ---- deliveries that did not arrive ---- */

struct missing {
    const struct js *items[SYNC_FETCHED_MAX];
    size_t count;
};

static void write_missing(struct jw *jw, const void *subject)
{
    const struct missing *missing = subject;
    jw_kstr(jw, "what", "payloads");
    jw_key(jw, "deliveries");
    jw_begin(jw, '[');
    for (size_t i = 0; i < missing->count; i++)
        js_write(jw, missing->items[i]);
    jw_end(jw, ']');
}

/* The key is that of the first one: while its job waits no second one is made. */
static enum rc fetch(struct context *ctx, const struct repository_row *repository,
                     struct missing *missing)
{
    if (missing->count == 0)
        return RC_OK;
    const struct repo_job job = {
        .kind = STEP_SYNC,
        .repository = repository,
        .dedup_key = arena_printf(ctx->arena, "sync/%s/%.*s", repository->id.text, DELIVERY_ID_MAX,
                                  js_get_str(missing->items[0], "id", "")),
        .write = write_missing,
        .subject = missing,
    };
    enum rc rc = repo_job_enqueue(ctx, &job, NULL);
    missing->count = 0;
    return rc;
}

/* What the list of deliveries shows. */
struct gap {
    int64_t newest_us, oldest_open_us; /* 0: none */
    int64_t missed;
};

/* One that the forge got no answer for will not come again by itself; one that it did may be on its
   way to its receipt. */
static bool is_lost(struct context *ctx, const struct js *item)
{
    return !js_get_bool(item, "answered", false) ||
           sync_is_missed(js_get_int(item, "sentUs", 0), ctx->now_us);
}

static enum rc compare(struct context *ctx, const struct repository_row *repository,
                       const struct js *list, struct gap *gap)
{
    struct missing missing = {.count = 0};
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(list); i++) {
        const struct js *item = js_at(list, i);
        const char *id = js_get_str(item, "id", "");
        int64_t sent_us = js_get_int(item, "sentUs", 0);
        struct id receipt;
        gap->newest_us = sent_us > gap->newest_us ? sent_us : gap->newest_us;
        if (id[0] == '\0' || strlen(id) > DELIVERY_ID_MAX)
            continue;
        rc = deliveries_find(ctx->db, &repository->id, id, &receipt, ctx->err);
        if (rc != RC_NOT_FOUND)
            continue;
        err_clear(ctx->err);
        rc = RC_OK;
        if (gap->oldest_open_us == 0 || sent_us < gap->oldest_open_us)
            gap->oldest_open_us = sent_us;
        if (!is_lost(ctx, item))
            continue;
        gap->missed++;
        missing.items[missing.count++] = item;
        if (missing.count == SYNC_FETCHED_MAX)
            rc = fetch(ctx, repository, &missing);
    }
    return rc == RC_OK ? fetch(ctx, repository, &missing) : rc;
}

/* The next list begins where receipts are missing, else at the newest delivery. */
static void close_gap(struct context *ctx, const struct gap *gap, struct sync_row *row)
{
    int64_t since_us = gap->oldest_open_us > 0 ? gap->oldest_open_us : gap->newest_us;
    if (since_us > row->deliveries_since_us)
        row->deliveries_since_us = since_us;
    if (gap->missed > 0)
        row->missed_us = ctx->now_us;
}

/* ---- what changed ---- */

static enum rc look_at_changes(struct context *ctx, const struct repository_row *repository,
                               const struct js *list)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < js_count(list); i++) {
        int64_t number = js_get_int(js_at(list, i), "number", 0);
        if (number > 0)
            rc = js_get_bool(js_at(list, i), "pr", false) ? look_at_pr(ctx, repository, number)
                                                          : look_at_issue(ctx, repository, number);
    }
    return rc;
}

/* Where no deliveries are listed, as by a forge that cannot, a change that came after the last one
   and is not on its way any more shows that they do not arrive. */
static bool shows_a_gap(struct context *ctx, const struct sync_row *row, const struct js *list)
{
    for (size_t i = 0; i < js_count(list); i++) {
        int64_t updated_us = js_get_int(js_at(list, i), "updatedUs", 0);
        if (updated_us > row->last_delivery_us + SYNC_IN_FLIGHT_MS * US_PER_MS &&
            sync_is_missed(updated_us, ctx->now_us))
            return true;
    }
    return false;
}

/* true: the list ends later than the last one did. */
static bool note_changes(struct context *ctx, const struct js *report, struct sync_row *row)
{
    const struct js *list = js_get(report, "changed");
    const char *etag = js_get_str(report, "etag", NULL);
    int64_t last_us = js_get_int(js_at(list, js_count(list) - 1), "updatedUs", 0);
    if (js_get_bool(report, "same", false))
        return false;
    bool moved = js_count(list) > 0 && last_us > row->changes_since_us;
    if (row->mode == SYNC_WEBHOOKS && js_count(js_get(report, "deliveries")) == 0 &&
        shows_a_gap(ctx, row, list))
        row->missed_us = ctx->now_us;
    row->changes_since_us = moved ? last_us : row->changes_since_us;
    /* It is of a list that began elsewhere. */
    row->etag = moved || etag == NULL || strlen(etag) > ETAG_BYTES_MAX ? NULL : etag;
    return moved;
}

/* ---- reports ---- */

/* In the result, or as an artifact when it is large: then *ret_tree owns it. */
static enum rc read_report(struct context *ctx, const struct repo_job_end *end,
                           struct js **ret_tree, const struct js **ret_report)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, SYNC_REPORT_MAX);
    *ret_report = js_get(end->result, "report");
    if (*ret_report != NULL)
        return RC_OK;
    const struct artifact_source source = {ctx->store, ctx->db};
    const char *sha256 = js_get_str(end->result, "reportSha256", "");
    enum rc rc = artifact_read(&source, sha256, &text, ctx->err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&text), text.len, ret_tree, ctx->err);
    *ret_report = *ret_tree;
    return rc;
}

static enum rc changes_came(struct context *ctx, const struct repo_job_end *end,
                            const struct js *report)
{
    struct sync_row row;
    struct gap gap = {0};
    enum rc rc = syncs_get(ctx->db, &end->repository->id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    rc = compare(ctx, end->repository, js_get(report, "deliveries"), &gap);
    if (rc == RC_OK)
        rc = look_at_changes(ctx, end->repository, js_get(report, "changed"));
    if (rc != RC_OK)
        return rc;
    close_gap(ctx, &gap, &row);
    bool moved = note_changes(ctx, report, &row);
    if (js_get(end->payload, "deliveriesSinceUs") != NULL)
        row.deliveries_error = js_get_str(report, "deliveriesError", NULL);
    row.last_sync_us = ctx->now_us;
    row.last_error = NULL;
    row.failures = 0;
    rc = save_settled(ctx, end->repository, &row);
    bool again = moved && js_get_bool(report, "more", false);
    return rc == RC_OK && again ? set_timer(ctx, &end->repository->id, 0) : rc;
}

/* A payload that cannot be read is a receipt, too: else it would be fetched again and again. */
static enum rc take_payload(struct context *ctx, const struct repo_job_end *end,
                            const struct sync_row *sync, const struct js *item, bool *ret_new)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *body = NULL;
    buf_init(&text, SYNC_PAYLOAD_MAX);
    const struct artifact_source source = {ctx->store, ctx->db};
    struct delivery_row row;
    struct delivery delivery = {
        .forge = sync->forge,
        .of = sync,
        .event = js_get_str(item, "event", ""),
        .delivery_id = js_get_str(item, "id", ""),
        .via = DELIVERY_RECOVERED,
        .lost = js_get_str(item, "gone", NULL),
        .payload_sha256 = js_get_str(item, "sha256", NULL),
        .sent_us = js_get_int(item, "sentUs", 0),
    };
    enum rc rc = RC_OK;
    if (delivery.lost == NULL) {
        rc = artifact_read(&source, delivery.payload_sha256, &text, ctx->err);
        if (rc == RC_OK && js_parse(buf_text(&text), text.len, &body, NULL) != RC_OK)
            delivery.lost = "what the forge has of it is no JSON";
    }
    delivery.body = body;
    delivery.payload_bytes = (int64_t)text.len;
    return rc == RC_OK ? receive_delivery(ctx, end->repository, &delivery, &row, ret_new) : rc;
}

static enum rc payloads_came(struct context *ctx, const struct repo_job_end *end,
                             const struct js *report)
{
    struct sync_row row;
    const struct js *list = js_get(report, "deliveries");
    int64_t recovered = 0;
    enum rc rc = syncs_get(ctx->db, &end->repository->id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    for (size_t i = 0; rc == RC_OK && i < js_count(list); i++) {
        bool is_new = false;
        rc = take_payload(ctx, end, &row, js_at(list, i), &is_new);
        recovered += is_new;
    }
    if (rc == RC_OK)
        rc = syncs_get(ctx->db, &end->repository->id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc;
    row.recovered += recovered;
    return save(ctx, &row);
}

enum rc sync_completed(struct context *ctx, const struct repo_job_end *end)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    const struct js *report = NULL;
    if (end->repository->removed)
        return RC_OK;
    enum rc rc = read_report(ctx, end, &tree, &report);
    if (rc != RC_OK)
        return rc;
    return text_same(js_get_str(end->payload, "what", ""), "payloads")
               ? payloads_came(ctx, end, report)
               : changes_came(ctx, end, report);
}

/* The more often it failed, the later it is asked again. */
static int64_t failed_pause_ms(const struct sync_row *row, const struct repo_config *config)
{
    int64_t pause_ms = sync_pause_ms(row->mode, &config->sync);
    for (int64_t i = 1; i < row->failures && pause_ms < FAILED_PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    return pause_ms;
}

enum rc sync_failed(struct context *ctx, const struct repo_job_end *end)
{
    struct sync_row row;
    enum rc rc = syncs_get(ctx->db, &end->repository->id, ctx->arena, &row, ctx->err);
    if (rc != RC_OK)
        return rc == RC_NOT_FOUND ? RC_OK : rc;
    row.last_error = arena_printf(ctx->arena, "%s: %.*s", end->code, ERROR_BYTES_MAX,
                                  end->message != NULL ? end->message : "");
    row.last_error_us = ctx->now_us;
    row.failures++;
    row.listed_us = 0;
    rc = save(ctx, &row);
    CLEANUP(config_book_putp) struct known_config *known = effective_now(ctx, end->repository);
    return rc == RC_OK && known != NULL && !end->repository->removed
               ? set_timer(ctx, &row.repository_id, failed_pause_ms(&row, &known->config))
               : rc;
}

/* ---- the commands ---- */

static enum rc apply_start(struct context *ctx, struct command *command)
{
    struct cmd_sync_start *cmd = (struct cmd_sync_start *)command;
    const char *after = NULL;
    size_t count = START_PAGE;
    int64_t seen = 0;
    enum rc rc = RC_OK;
    while (rc == RC_OK && count == START_PAGE) {
        struct repository_row *rows;
        rc = repositories_list(ctx->db, &ctx->workspace_id, after, START_PAGE, ctx->arena, &rows,
                               &count, ctx->err);
        for (size_t i = 0; rc == RC_OK && i < count; i++) {
            rc = repo_follow(ctx, &rows[i], seen++ * START_STEP_US);
            after = rows[i].name;
        }
    }
    cmd->followed = seen;
    return rc;
}

static const struct command_ops start_ops = {.name = "sync_start", .apply = apply_start};

struct cmd_sync_start *cmd_sync_start_new(void)
{
    return command_new(&start_ops, sizeof(struct cmd_sync_start));
}

enum rc sync_prune(struct context *ctx, bool *ret_more)
{
    const struct artifact_source source = {ctx->store, ctx->db};
    const struct delivery_prune prune = {
        .before_us = expiry_before(ctx->retention->deliveries_us, ctx->now_us),
        .limit = PRUNE_BATCH};
    int64_t count = 0;
    enum rc rc = deliveries_prune(&source, &prune, ctx->arena, &count, ctx->err);
    *ret_more |= rc == RC_OK && count == PRUNE_BATCH;
    return rc;
}
