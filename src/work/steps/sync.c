/*
 * sync.c - asks the forge of a repository what has changed there, or for deliveries that did not
 * arrive (control/pr/sync.h).
 *
 *     payload: {"what": "changes", "changesSinceUs", "etag", "deliveriesSinceUs"}
 *     report:  {"changed": [{"number", "pr", "updatedUs"}], "etag", "same", "more",
 *               "deliveries": [{"id", "event", "handle", "sentUs", "answered"}],
 *               "deliveriesError"}
 *
 *     payload: {"what": "payloads", "deliveries": [{"id", "event", "handle", "sentUs"}]}
 *     report:  {"deliveries": [{"id", "event", "sentUs", "sha256"}, {..., "gone": why}]}
 *
 * Where the repository is served by an App whose own webhook leads to drover, the deliveries are
 * those of the App, and the server asks for them: their handles begin with /app/.
 *
 * The report is in the result, or an artifact when it is too large for that.  Deliveries that
 * cannot be listed, as for want of a permission, are no failure: what changed is found by comparing
 * state.
 */
#include "forge/port/deliveries.h"
#include "forge/port/prs.h"
#include "work/job/repo_step.h"
#include <string.h>

enum {
    REPORT_BYTES_MAX = 1024 * 1024,
    PAYLOAD_BYTES_MAX = 26 * 1024 * 1024,
    TEXT_MAX = 300,
    INLINE_BYTES_MAX = 8 * 1024
};

struct asking {
    struct step *step;
    const struct js *payload;
    struct forge_call call;
    const struct forge_ops *ops;
    struct jw jw; /* The report. */
};

static void asking_release(struct asking *asking)
{
    forge_call_release(&asking->call);
}

/* An error that is about the whole forge, or about this step, ends it. */
static bool ends_step(enum rc rc)
{
    return rc == RC_LIMIT || rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_CANCELLED ||
           rc == RC_STALE;
}

static void write_delivery(struct jw *jw, const struct forge_delivery *item)
{
    jw_begin(jw, '{');
    jw_kstr(jw, "id", item->id);
    jw_kstr(jw, "event", item->event);
    jw_kstr(jw, "handle", item->handle);
    jw_kint(jw, "sentUs", item->sent_us);
    jw_kbool(jw, "answered", item->answered);
    jw_end(jw, '}');
}

/* RC_NOT_FOUND: there is none of an App. */
static enum rc ask_app(struct asking *asking, struct port_hook_request request, struct buf *into,
                       struct err *err)
{
    struct step *step = asking->step;
    struct port *port = step->site->port;
    request.config = &step->input.config;
    request.repository = step->input.repository;
    if (request.config->app.id == NULL || port->ops->app_deliveries == NULL)
        return RC_NOT_FOUND;
    return port->ops->app_deliveries(port, &step->lease, &request, into, err);
}

static enum rc list_of_app(struct asking *asking, int64_t since_us, struct err *err)
{
    CLEANUP(buf_release) struct buf answer;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&answer, REPORT_BYTES_MAX);
    enum rc rc = ask_app(asking, (struct port_hook_request){.since_us = since_us}, &answer, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&answer), answer.len, &tree, err);
    if (rc != RC_OK)
        return rc;
    jw_key(&asking->jw, "deliveries");
    js_write(&asking->jw, js_get(tree, "deliveries"));
    return RC_OK;
}

static enum rc list_deliveries(struct asking *asking, struct err *err)
{
    const struct delivery_ops *ops = asking->ops->deliveries;
    int64_t since_us = js_get_int(asking->payload, "deliveriesSinceUs", 0);
    struct forge_delivery *items = NULL;
    size_t count = 0;
    if (since_us == 0 || ops == NULL || ops->list == NULL)
        return RC_OK;
    enum rc rc = list_of_app(asking, since_us, err);
    if (rc == RC_OK || ends_step(rc))
        return rc;
    err_clear(err);
    rc = ops->list(&asking->call, asking->step->input.config.url, since_us, asking->step->arena,
                   &items, &count, err);
    if (ends_step(rc))
        return rc;
    if (rc != RC_OK) {
        step_write_text(&asking->jw, "deliveriesError", err->text, TEXT_MAX);
        err_clear(err);
        return RC_OK;
    }
    jw_key(&asking->jw, "deliveries");
    jw_begin(&asking->jw, '[');
    for (size_t i = 0; i < count && i < DELIVERIES_LISTED_MAX; i++)
        write_delivery(&asking->jw, &items[i]);
    jw_end(&asking->jw, ']');
    return RC_OK;
}

static enum rc list_changes(struct asking *asking, struct err *err)
{
    struct jw *jw = &asking->jw;
    struct changed_answer answer = {.items = NULL};
    const struct changed_query query = {
        .url = asking->step->input.config.url,
        .since_us = js_get_int(asking->payload, "changesSinceUs", 0),
        .etag = js_get_str(asking->payload, "etag", NULL),
    };
    if (asking->ops->prs == NULL || asking->ops->prs->changed == NULL)
        return RC_OK;
    enum rc rc = asking->ops->prs->changed(&asking->call, &query, asking->step->arena, &answer,
                                           err);
    if (rc != RC_OK)
        return rc;
    jw_kbool(jw, "same", answer.same);
    jw_kbool(jw, "more", answer.more);
    jw_optstr(jw, "etag", answer.etag);
    jw_key(jw, "changed");
    jw_begin(jw, '[');
    for (size_t i = 0; i < answer.count && i < PRS_CHANGED_MAX; i++) {
        jw_begin(jw, '{');
        jw_kint(jw, "number", answer.items[i].number);
        jw_kbool(jw, "pr", answer.items[i].is_pr);
        jw_kint(jw, "updatedUs", answer.items[i].updated_us);
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
    return RC_OK;
}

static enum rc find_changes(struct asking *asking, struct err *err)
{
    enum rc rc = list_deliveries(asking, err);
    return rc == RC_OK ? list_changes(asking, err) : rc;
}

/* ---- payloads ---- */

/* The server has stored it. */
static enum rc fetch_of_app(struct asking *asking, const char *handle, char ret_sha256[65],
                            struct err *err)
{
    CLEANUP(buf_release) struct buf answer;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&answer, INLINE_BYTES_MAX);
    enum rc rc = ask_app(asking, (struct port_hook_request){.handle = handle}, &answer, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&answer), answer.len, &tree, err);
    const char *sha256 = js_get_str(tree, "sha256", "");
    if (rc == RC_OK && strlen(sha256) != 64)
        rc = err_set(err, RC_IO, "ODD_ANSWER", "The server names no payload.");
    if (rc == RC_OK)
        text_copy(ret_sha256, 65, sha256);
    return rc;
}

/* One that the forge does not have any more is reported as gone; one that it cannot give now is
   left out, and found missing again. */
static enum rc fetch_payload(struct asking *asking, const struct js *item, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, PAYLOAD_BYTES_MAX);
    struct jw *jw = &asking->jw;
    char sha256[65];
    const struct forge_delivery delivery = {
        .id = js_get_str(item, "id", ""),
        .event = js_get_str(item, "event", ""),
        .handle = js_get_str(item, "handle", ""),
        .sent_us = js_get_int(item, "sentUs", 0),
    };
    bool of_app = text_starts(delivery.handle, "/app/");
    enum rc rc = of_app ? fetch_of_app(asking, delivery.handle, sha256, err)
                        : asking->ops->deliveries->payload(
                              &asking->call, asking->step->input.config.url, &delivery, &body, err);
    bool gone = rc == RC_NOT_FOUND || rc == RC_TOO_LARGE || body.overflow;
    if (rc != RC_OK && !gone) {
        enum rc end = ends_step(rc) ? rc : RC_OK;
        if (end == RC_OK)
            err_clear(err);
        return end;
    }
    if (!gone && !of_app) {
        struct port *port = asking->step->site->port;
        rc = port->ops->artifact_put(port, buf_str(&body), sha256, err);
        if (rc != RC_OK)
            return rc;
    }
    jw_begin(jw, '{');
    jw_kstr(jw, "id", delivery.id);
    jw_kstr(jw, "event", delivery.event);
    jw_kint(jw, "sentUs", delivery.sent_us);
    if (gone)
        jw_kstr(jw, "gone",
                body.overflow || rc == RC_TOO_LARGE ? "it is too large"
                                                    : "the forge does not have it");
    else
        jw_kstr(jw, "sha256", sha256);
    jw_end(jw, '}');
    err_clear(err);
    return RC_OK;
}

static enum rc fetch_payloads(struct asking *asking, struct err *err)
{
    const struct js *list = js_get(asking->payload, "deliveries");
    const struct delivery_ops *ops = asking->ops->deliveries;
    enum rc rc = RC_OK;
    jw_key(&asking->jw, "deliveries");
    jw_begin(&asking->jw, '[');
    for (size_t i = 0; rc == RC_OK && ops != NULL && ops->payload != NULL && i < js_count(list);
         i++)
        rc = fetch_payload(asking, js_at(list, i), err);
    jw_end(&asking->jw, ']');
    return rc;
}

/* ---- the step ---- */

static enum rc send_report(struct asking *asking, struct buf *report, struct err *err)
{
    struct port *port = asking->step->site->port;
    char sha256[65];
    if (report->overflow)
        return err_set(err, RC_TOO_LARGE, "REPORT_TOO_LARGE",
                       "The forge lists more than a report holds.");
    bool large = report->len > INLINE_BYTES_MAX;
    enum rc rc = large ? port->ops->artifact_put(port, buf_str(report), sha256, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(asking->step->result);
    jw_begin(&jw, '{');
    if (large)
        jw_kstr(&jw, "reportSha256", sha256);
    else
        jw_kraw(&jw, "report", buf_str(report));
    jw_end(&jw, '}');
    return RC_OK;
}

enum rc step_sync(struct step *step, struct err *err)
{
    CLEANUP(buf_release) struct buf report;
    CLEANUP(asking_release)
    struct asking asking = {.step = step, .payload = step->input.payload};
    buf_init(&report, REPORT_BYTES_MAX);
    asking.jw = jw_to(&report);
    enum rc rc = repo_step_open(step, err);
    if (rc != RC_OK)
        return step_fail(step, rc, err, (struct port_failure){.code = "payload_invalid"});
    rc = step_forge_open(step, ACCESS_READ, &asking.call, &asking.ops, err);
    if (rc != RC_OK)
        return step_forge_fail(step, rc, err, "sync_failed");
    jw_begin(&asking.jw, '{');
    bool payloads = text_same(js_get_str(asking.payload, "what", ""), "payloads");
    rc = payloads ? fetch_payloads(&asking, err) : find_changes(&asking, err);
    jw_end(&asking.jw, '}');
    if (rc != RC_OK)
        return step_forge_fail(step, rc, err, "sync_failed");
    return send_report(&asking, &report, err);
}
