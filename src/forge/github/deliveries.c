/*
 * deliveries.c - webhooks of GitHub.
 *
 *   X-Hub-Signature-256: sha256=HMAC of the body in hex
 *
 * What was sent is listed for each webhook of the repository that leads to drover, or, when the
 * credential is a JWT of an App (app_token.h), for the App, whose webhook serves all its
 * repositories: call->repository says whose are wanted.  GitHub keeps them for three days.
 * A redelivery has an entry of its own with the same GUID: one of them is listed, and counts as
 * answered when any of them was.
 */
#include "forge/port/deliveries.h"
#include "base/hash.h"
#include "base/jw.h"
#include "forge/github/api.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HOOKS_MAX = 8 };
#define ROUTE "/v1/webhooks/github"

static bool signed_with(const char *secret, const char *signature, struct str body)
{
    static const char prefix[] = "sha256=";
    char expected[sizeof prefix + SHA256_TEXT_BYTES];
    const struct hmac_key key = {.bytes = secret, .len = strlen(secret)};
    if (signature == NULL || key.len == 0)
        return false;
    memcpy(expected, prefix, sizeof prefix - 1);
    hmac_sha256_hex(key, body.at, body.len, expected + sizeof prefix - 1);
    return secret_same(expected, signature);
}

/* ---- what was sent ---- */

struct listing {
    struct arena *arena;
    int64_t since_us;
    int64_t repository; /* 0: all */
    struct forge_delivery *items;
    size_t count;
    const char *handle; /* What goes before the number of a delivery. */
};

static struct forge_delivery *known(const struct listing *listing, const char *guid)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (text_same(listing->items[i].id, guid))
            return &listing->items[i];
    }
    return NULL;
}

static bool is_wanted(const struct js *delivery, int64_t repository)
{
    return repository == 0 || js_get_int(delivery, "repository_id", 0) == repository;
}

static bool take_delivery(void *ctx, const struct js *item)
{
    struct listing *listing = ctx;
    const char *guid = js_get_str(item, "guid", NULL);
    int64_t status = js_get_int(item, "status_code", 0),
            sent_us = github_time(item, "delivered_at");
    bool answered = status >= 200 && status <= 299;
    if (sent_us < listing->since_us || listing->count == DELIVERIES_LISTED_MAX)
        return false;
    if (guid == NULL || !is_wanted(item, listing->repository))
        return true;
    struct forge_delivery *same = known(listing, guid);
    if (same != NULL) {
        same->answered |= answered;
        return true;
    }
    listing->items[listing->count++] = (struct forge_delivery){
        .id = arena_strdup(listing->arena, guid),
        .event = github_text(item, "event", "", listing->arena),
        .sent_us = sent_us,
        .answered = answered,
        .handle = arena_printf(listing->arena, "%s/deliveries/%" PRId64, listing->handle,
                               js_get_int(item, "id", 0)),
    };
    return true;
}

struct hooks {
    int64_t ids[HOOKS_MAX];
    size_t count;
};

static bool take_hook(void *ctx, const struct js *item)
{
    struct hooks *hooks = ctx;
    const char *to = js_str(js_path(item, "config.url"), "");
    int64_t id = js_get_int(item, "id", 0);
    if (id > 0 && strstr(to, ROUTE) != NULL)
        hooks->ids[hooks->count++] = id;
    return hooks->count < HOOKS_MAX;
}

/* The webhooks of the repository; the server may be known to GitHub by several names. */
static enum rc list_of_hooks(const struct github *gh, struct listing *listing)
{
    struct hooks hooks = {.count = 0};
    const struct rest_request all = github_request(gh, "GET", "/hooks?per_page=100");
    enum rc rc = rest_pages(gh->call, &all, gh->arena, take_hook, &hooks, NULL, gh->err);
    for (size_t i = 0; i < hooks.count && rc == RC_OK; i++) {
        listing->handle = arena_printf(gh->arena, "/hooks/%" PRId64, hooks.ids[i]);
        const struct rest_request sent = github_request(
            gh, "GET", arena_printf(gh->arena, "%s/deliveries?per_page=100", listing->handle));
        rc = rest_pages(gh->call, &sent, gh->arena, take_delivery, listing, NULL, gh->err);
    }
    return rc;
}

/* RC_NOT_FOUND: the App has no webhook that leads to drover. */
static enum rc check_hook_of_app(const struct github *gh)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct rest_request config = github_request(gh, "GET", "");
    config.path = "/app/hook/config";
    enum rc rc = github_send(gh, &config, &answer);
    bool leads = rc == RC_OK && strstr(js_get_str(answer.document, "url", ""), ROUTE) != NULL;
    if ((rc == RC_OK && !leads) || rc == RC_NOT_FOUND)
        return err_set(gh->err, RC_NOT_FOUND, "NO_APP_HOOK",
                       "the webhook of the App does not lead to drover");
    return rc;
}

static enum rc list_of_app(const struct github *gh, struct listing *listing)
{
    struct rest_request sent = github_request(gh, "GET", "");
    sent.path = "/app/hook/deliveries?per_page=100";
    listing->handle = "/app/hook";
    listing->repository = gh->call->repository;
    enum rc rc = check_hook_of_app(gh);
    if (rc != RC_OK)
        return rc;
    return rest_pages(gh->call, &sent, gh->arena, take_delivery, listing, NULL, gh->err);
}

static bool is_jwt(const char *credential)
{
    return credential != NULL && text_starts(credential, "eyJ") && strchr(credential, '.') != NULL;
}

static int newest_first(const void *a, const void *b)
{
    const struct forge_delivery *one = a, *other = b;
    return (one->sent_us < other->sent_us) - (one->sent_us > other->sent_us);
}

static enum rc list(struct forge_call *call, const char *url, int64_t since_us, struct arena *arena,
                    struct forge_delivery **ret_items, size_t *ret_count, struct err *err)
{
    struct github gh = {.call = call, .arena = arena, .err = err};
    struct listing listing = {
        .arena = arena,
        .since_us = since_us,
        .items = arena_array(arena, DELIVERIES_LISTED_MAX, sizeof(struct forge_delivery)),
    };
    enum rc rc = github_open(&gh, url);
    if (rc == RC_OK)
        rc = is_jwt(call->git.credential) ? list_of_app(&gh, &listing)
                                          : list_of_hooks(&gh, &listing);
    if (rc != RC_OK)
        return rc;
    qsort(listing.items, listing.count, sizeof *listing.items, newest_first);
    *ret_items = listing.items;
    *ret_count = listing.count;
    return RC_OK;
}

static enum rc payload(struct forge_call *call, const char *url, const struct forge_delivery *item,
                       struct buf *into, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    struct rest_request request = github_request(&gh, "GET", item->handle);
    if (text_starts(item->handle, "/app/"))
        request.path = item->handle;
    rc = github_send(&gh, &request, &answer);
    if (rc != RC_OK)
        return rc;
    const struct js *body = js_path(answer.document, "request.payload");
    if (js_type(body) != JS_OBJECT || !is_wanted(answer.document, call->repository))
        return err_set(err, RC_NOT_FOUND, "FORGE_NOT_FOUND", "GitHub has no payload of delivery %s",
                       item->id);
    buf_clear(into);
    struct jw jw = jw_to(into);
    js_write(&jw, body);
    return into->overflow ? err_set(err, RC_TOO_LARGE, "ANSWER_TOO_LARGE",
                                    "the payload of delivery %s is too large", item->id)
                          : RC_OK;
}

static enum rc number(struct forge_call *call, const char *url, int64_t *ret_number,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(&gh, "GET", "");
    rc = github_send(&gh, &request, &answer);
    int64_t found = js_get_int(answer.document, "id", 0);
    if (rc == RC_OK && found <= 0)
        return err_set(err, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub names no number of %.200s",
                       url);
    if (rc == RC_OK)
        *ret_number = found;
    return rc;
}

const struct delivery_ops deliveries_github = {
    .headers = {.event = "X-GitHub-Event",
                .id = "X-GitHub-Delivery",
                .signature = "X-Hub-Signature-256"},
    .signed_with = signed_with,
    .list = list,
    .payload = payload,
    .number = number,
};
