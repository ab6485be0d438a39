/*
 * webhooks.c - a delivery of a forge's webhook: whose it is, whether it is signed, and its receipt.
 *
 * There is no token.  Before the signature is known to be right nothing is stored and no tree is
 * built: the repository is read from the bytes, and its secrets are tried, the new one and the one
 * before it.  A repository that is not known and a wrong signature take the same way to the same
 * answer, in the same time.  Then the payload is stored, and one command records it and looks at
 * what it is about: the forge has its 202 after one commit.
 */
#include "api/webhooks.h"
#include "api/form.h"
#include "api/routes.h"
#include "base/js_peek.h"
#include "control/pr/receive.h"
#include "forge/forges.h"
#include "forge/port/deliveries.h"
#include "store/syncs.h"
#include <stdlib.h>
#include <string.h>

enum {
    FORM_BYTES_MAX = 1024 * 1024,    /* It is decoded in memory before its signature is checked. */
    GENERAL_BYTES_MAX = 1024 * 1024, /* Of one that names no repository: many secrets are tried. */
    VALUES_MAX = 1000 * 1000,        /* Of the JSON: a tree costs many times its text. */
};

struct webhook_head {
    const struct forge_ops *forge;
    struct delivery_head head;
    bool form;
};

/* ---- on the loop ---- */

static const char *header(struct call *call, const char *name)
{
    const char *value = name != NULL ? http_header(&call->http, name) : NULL;
    return value != NULL ? arena_strdup(&call->http.arena, value) : NULL;
}

static enum rc check_head(const struct webhook_head *webhook, struct err *err)
{
    const struct delivery_headers *names = &webhook->forge->deliveries->headers;
    const struct delivery_head *head = &webhook->head;
    if (head->event == NULL || head->event[0] == '\0')
        return err_set(err, RC_MALFORMED, "MISSING_HEADER",
                       "a delivery of %s has the header %s: is this address the payload URL of a "
                       "webhook?",
                       webhook->forge->name, names->event);
    if (strlen(head->event) > DELIVERY_EVENT_MAX ||
        (head->id != NULL && strlen(head->id) > DELIVERY_ID_MAX))
        return err_set(err, RC_MALFORMED, "MALFORMED_HEADER",
                       "the header %s or %s is longer than any that %s sends", names->event,
                       names->id, webhook->forge->name);
    return RC_OK;
}

enum rc api_webhook_prepare(struct call *call, struct err *err)
{
    struct webhook_head *webhook = arena_alloc(&call->http.arena, sizeof *webhook);
    const char *type = http_header(&call->http, "Content-Type");
    webhook->forge = forge_find(call->vars[0]);
    if (webhook->forge == NULL || webhook->forge->deliveries == NULL)
        return err_set(err, RC_NOT_FOUND, "UNKNOWN_FORGE",
                       "no forge called %.100s sends webhooks: github, gitlab and gitea do",
                       call->vars[0]);
    const struct delivery_headers *names = &webhook->forge->deliveries->headers;
    webhook->head = (struct delivery_head){.event = header(call, names->event),
                                           .id = header(call, names->id),
                                           .signature = header(call, names->signature)};
    webhook->form = type != NULL && strcasestr(type, "x-www-form-urlencoded") != NULL;
    call->webhook = webhook;
    return check_head(webhook, err);
}

/* ---- the body ---- */

/* The JSON of it: all of it, or the field `payload` of a form. */
static enum rc find_json(struct call *call, struct str *ret_json, struct err *err)
{
    struct str body = http_body(&call->http);
    if (!call->webhook->form) {
        *ret_json = body;
        return RC_OK;
    }
    if (body.len > FORM_BYTES_MAX)
        return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE",
                       "a delivery as a form has %d bytes at most: set the webhook's content type "
                       "to application/json",
                       FORM_BYTES_MAX);
    const char *decoded = NULL;
    if (!form_field(body, "payload", &call->http.arena, &decoded))
        return err_set(err, RC_MALFORMED, "MALFORMED_BODY",
                       "the form has no field payload that can be decoded");
    *ret_json = str_of(decoded);
    return RC_OK;
}

static enum rc parse(struct str json, struct js **ret_tree, struct err *err)
{
    if (js_peek_count(json) > VALUES_MAX)
        return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE", "a delivery has at most %d values",
                       VALUES_MAX);
    enum rc rc = js_parse(json.at, json.len, ret_tree, err);
    if (rc == RC_OK && js_type(*ret_tree) != JS_OBJECT)
        return err_set(err, RC_MALFORMED, "MALFORMED_BODY",
                       "the body of a delivery is a JSON object");
    return rc;
}

/* ---- whose it is ---- */

/* Is it signed with what this variable of the server holds?  Without one the same is worked out. */
static bool signed_with(const struct call *call, const char *variable, struct str body)
{
    const struct webhook_head *webhook = call->webhook;
    const char *secret = variable != NULL ? getenv(variable) : NULL;
    bool has = !text_empty(secret) && webhook->head.signature != NULL;
    bool same = webhook->forge->deliveries->signed_with(
        has ? secret : "no secret", webhook->head.signature != NULL ? webhook->head.signature : "",
        body);
    return has && same;
}

static enum rc refuse(struct err *err)
{
    return err_set(err, RC_UNAUTHORIZED, "WEBHOOK_REFUSED",
                   "no repository here has a secret that this delivery is signed with: compare the "
                   "webhook's secret with webhook.secret of the repository's configuration, and "
                   "with that variable of the server");
}

/* A repository that is not known has a row without secrets: what is done is the same. */
static enum rc find_repository(struct call *call, struct db *db, const struct forge_named *named,
                               struct id *ret_id, struct err *err)
{
    static const struct sync_row unknown = {.secret = NULL};
    struct str body = http_body(&call->http);
    struct sync_row *rows = NULL;
    size_t count = 0;
    const struct sync_question question = {
        .forge = call->webhook->forge->name, .provider_id = named->id, .full_name = named->name};
    enum rc rc = syncs_find(db, &question, &call->http.arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < count || i == 0; i++) {
        const struct sync_row *row = i < count ? &rows[i] : &unknown;
        bool now = signed_with(call, row->secret, body);
        bool before = signed_with(call, row->old_secret, body);
        if (now || before) {
            *ret_id = row->repository_id;
            return RC_OK;
        }
    }
    return refuse(err);
}

/* Webhooks of an organization or an App also send what is about no repository, as the ping when
   they are set up.  With a secret that some repository has it is taken; nothing is recorded. */
static enum rc check_general(struct call *call, struct db *db, struct err *err)
{
    struct str body = http_body(&call->http);
    const char **names = NULL;
    size_t count = 0;
    bool is_signed = false;
    if (body.len > GENERAL_BYTES_MAX)
        return refuse(err);
    enum rc rc = syncs_secrets(db, call->webhook->forge->name, &call->http.arena, &names, &count,
                               err);
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        is_signed |= signed_with(call, names[i], body);
    return rc == RC_OK && !is_signed ? refuse(err) : rc;
}

/* ---- the receipt ---- */

/* GitLab of some versions sends no id: then the content is one. */
static const char *delivery_id(struct call *call, const char *sha256)
{
    const char *id = call->webhook->head.id;
    return text_empty(id) ? arena_printf(&call->http.arena, "sha256:%s", sha256) : id;
}

static enum rc store_payload(struct call *call, char sha256[SHA256_TEXT_BYTES], struct err *err)
{
    struct str body = http_body(&call->http);
    int fd = http_body_fd(&call->http);
    sha256_hex(body.at, body.len, sha256);
    return fd >= 0 ? artifact_put_nameless(call->api->store, fd, body, sha256, err)
                   : artifact_put(call->api->store, body, sha256, err);
}

static enum rc receive(struct call *call, struct cmd_receive *cmd, struct err *err)
{
    const struct webhook_head *webhook = call->webhook;
    struct arena *arena = &cmd->base.arena;
    char sha256[SHA256_TEXT_BYTES];
    enum rc rc = store_payload(call, sha256, err);
    if (rc != RC_OK)
        return rc;
    cmd->delivery = (struct delivery){
        .forge = webhook->forge->name,
        .event = arena_strdup(arena, webhook->head.event),
        .delivery_id = arena_strdup(arena, delivery_id(call, sha256)),
        .via = DELIVERY_BY_WEBHOOK,
        .body = cmd->base.tree,
        .payload_sha256 = arena_strdup(arena, sha256),
        .payload_bytes = (int64_t)http_body(&call->http).len,
    };
    cmd->base.actor = (struct actor){"system", webhook->forge->name};
    rc = committer_call(control_committer(call->api->control), &cmd->base);
    if (rc != RC_OK)
        *err = cmd->base.err;
    return rc;
}

static void answer(struct call *call, const struct delivery_row *row, const char *status)
{
    struct jw jw = call_answer(call, 202);
    jw_begin(&jw, '{');
    jw_optstr(&jw, "id", row->id.text);
    jw_kstr(&jw, "deliveryId", row->delivery_id);
    jw_kstr(&jw, "event", row->event);
    jw_kstr(&jw, "status", status);
    jw_optstr(&jw, "detail", row->detail);
    jw_end(&jw, '}');
}

static enum rc take(struct call *call, struct db *db, struct str json,
                    const struct forge_named *named, struct err *err)
{
    struct cmd_receive *cmd = cmd_receive_new();
    call_own(call, &cmd->base);
    enum rc rc = find_repository(call, db, named, &cmd->repository_id, err);
    if (rc == RC_OK)
        rc = parse(json, &cmd->base.tree, err);
    if (rc == RC_OK)
        rc = receive(call, cmd, err);
    if (rc == RC_OK)
        answer(call, &cmd->row, cmd->is_new ? cmd->row.status : "duplicate");
    return rc;
}

static enum rc take_general(struct call *call, struct db *db, struct str json, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = check_general(call, db, err);
    if (rc == RC_OK)
        rc = parse(json, &tree, err);
    if (rc != RC_OK)
        return rc;
    const struct delivery_row row = {.delivery_id = call->webhook->head.id,
                                     .event = call->webhook->head.event,
                                     .detail = "it is about no repository"};
    answer(call, &row, DELIVERY_IGNORED);
    return RC_OK;
}

enum rc api_webhook(struct call *call, struct db *db, struct err *err)
{
    struct forge_named named = {.id = "", .name = ""};
    struct str json = {0};
    enum rc rc = call_no_params(call, err);
    if (rc == RC_OK)
        rc = find_json(call, &json, err);
    if (rc != RC_OK)
        return rc;
    (void)forge_event_repository(call->webhook->forge->name, json, &call->http.arena, &named);
    bool general = named.id[0] == '\0' && named.name[0] == '\0';
    return general ? take_general(call, db, json, err) : take(call, db, json, &named, err);
}
