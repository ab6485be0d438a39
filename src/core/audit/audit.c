#include "core/audit/audit.h"
#include "base/clock.h"
#include "base/str.h"
#include "core/text/redact.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VERSION "drover-audit-1"

static void add_text(struct sha256 *sha, const char *text)
{
    char head[32];
    size_t len = text != NULL ? strlen(text) : 0;
    int head_len = snprintf(head, sizeof head, "%zu:", len);
    sha256_add(sha, head, (size_t)head_len);
    sha256_add(sha, text != NULL ? text : "", len);
    sha256_add(sha, ",", 1);
}

static void add_number(struct sha256 *sha, int64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    add_text(sha, text);
}

void audit_hash(const struct audit_entry *entry, char to[SHA256_TEXT_BYTES])
{
    struct sha256 *sha = sha256_begin();
    add_text(sha, VERSION);
    add_number(sha, entry->seq);
    add_number(sha, entry->time_us);
    add_text(sha, entry->actor_type);
    add_text(sha, entry->actor_id);
    add_text(sha, entry->token_id);
    add_text(sha, entry->role);
    add_text(sha, entry->address);
    add_text(sha, entry->action);
    add_text(sha, entry->resource_type);
    add_text(sha, entry->resource_id);
    add_text(sha, entry->outcome);
    add_text(sha, entry->code);
    add_number(sha, entry->count);
    add_text(sha, entry->request_id);
    add_text(sha, entry->details);
    add_text(sha, entry->prev_hash);
    sha256_end(sha, to);
}

bool audit_is_security(const struct audit_entry *entry)
{
    return text_same(entry->outcome, AUDIT_DENIED) || text_same(entry->action, "token.create") ||
           text_same(entry->action, "token.revoke") || text_starts(entry->action, "secret.") ||
           text_same(entry->action, "policy.override");
}

void audit_write(struct jw *jw, const struct audit_entry *entry)
{
    jw_begin(jw, '{');
    jw_kint(jw, "seq", entry->seq);
    jw_ktime(jw, "time", entry->time_us);
    jw_key(jw, "actor");
    jw_begin(jw, '{');
    jw_kstr(jw, "type", entry->actor_type);
    jw_optstr(jw, "id", entry->actor_id);
    jw_optstr(jw, "tokenId", entry->token_id);
    jw_optstr(jw, "role", entry->role);
    jw_optstr(jw, "address", entry->address);
    jw_end(jw, '}');
    jw_kstr(jw, "action", entry->action);
    jw_optstr(jw, "resourceType", entry->resource_type);
    jw_optstr(jw, "resourceId", entry->resource_id);
    jw_kstr(jw, "outcome", entry->outcome);
    jw_optstr(jw, "code", entry->code);
    jw_kint(jw, "count", entry->count);
    jw_optstr(jw, "requestId", entry->request_id);
    if (!text_empty(entry->details))
        jw_kraw(jw, "details", str_of(entry->details));
    jw_kstr(jw, "prevHash", entry->prev_hash);
    jw_kstr(jw, "hash", entry->hash);
    jw_end(jw, '}');
}

/* Only members that the hash is over, each of its type: what was added to a row is not of it. */
static bool has_only(const struct js *object, const char *const names[], const char *const others[])
{
    const struct js *value;
    const char *name;
    for (size_t at = 0; js_next(object, &at, &name, &value);) {
        bool known = false;
        for (size_t i = 0; names[i] != NULL; i++)
            known |= text_same(names[i], name) && js_type(value) == JS_STRING;
        for (size_t i = 0; others[i] != NULL; i++)
            known |= text_same(others[i], name);
        if (!known)
            return false;
    }
    return js_type(object) == JS_OBJECT;
}

static bool is_row(const struct js *tree)
{
    static const char *const texts[] = {"time",    "action", "resourceType", "resourceId",
                                        "outcome", "code",   "requestId",    "prevHash",
                                        "hash",    NULL};
    static const char *const others[] = {"seq", "count", "actor", "details", NULL};
    static const char *const actor[] = {"type", "id", "tokenId", "role", "address", NULL};
    static const char *const none[] = {NULL};
    const struct js *details = js_get(tree, "details");
    return has_only(tree, texts, others) && has_only(js_get(tree, "actor"), actor, none) &&
           js_type(js_get(tree, "seq")) == JS_INT && js_type(js_get(tree, "count")) == JS_INT &&
           (details == NULL || js_type(details) == JS_OBJECT);
}

bool audit_read(const struct js *tree, struct arena *arena, struct audit_entry *ret_entry)
{
    if (!is_row(tree))
        return false;
    const struct js *actor = js_get(tree, "actor"), *details = js_get(tree, "details");
    struct audit_entry entry = {
        .seq = js_get_int(tree, "seq", 0),
        .actor_type = js_get_str(actor, "type", NULL),
        .actor_id = js_get_str(actor, "id", NULL),
        .token_id = js_get_str(actor, "tokenId", NULL),
        .role = js_get_str(actor, "role", NULL),
        .address = js_get_str(actor, "address", NULL),
        .action = js_get_str(tree, "action", NULL),
        .resource_type = js_get_str(tree, "resourceType", NULL),
        .resource_id = js_get_str(tree, "resourceId", NULL),
        .outcome = js_get_str(tree, "outcome", NULL),
        .code = js_get_str(tree, "code", NULL),
        .count = js_get_int(tree, "count", 0),
        .request_id = js_get_str(tree, "requestId", NULL),
        .details = details != NULL ? js_text(details, arena) : NULL,
        .prev_hash = js_get_str(tree, "prevHash", NULL),
        .hash = js_get_str(tree, "hash", NULL),
    };
    const char *time = js_get_str(tree, "time", "");
    bool whole = entry.seq > 0 && entry.action != NULL && entry.prev_hash != NULL &&
                 entry.hash != NULL;
    if (!whole || !time_parse(time, &entry.time_us))
        return false;
    *ret_entry = entry;
    return true;
}

const char *audit_text(const char *text, struct arena *arena)
{
    if (text == NULL)
        return NULL;
    size_t len = strlen(text), cut = 0;
    if (len <= AUDIT_TEXT_MAX)
        return text;
    while (cut < len) {
        size_t next = utf8_len(text + cut, len - cut);
        if (next == 0 || cut + next > AUDIT_TEXT_MAX)
            break;
        cut += next;
    }
    return str_dup(arena, (struct str){text, cut});
}

const char *audit_words(const char *text, struct arena *arena)
{
    struct secrets secrets;
    if (text_empty(text))
        return text;
    secrets_init(&secrets);
    return audit_text(redact_dup(&secrets, text, arena), arena);
}

const char *audit_details(struct arena *arena, const char *key, ...)
{
    va_list pairs;
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, AUDIT_DETAILS_MAX);
    struct jw jw = jw_to(&json);
    jw_begin(&jw, '{');
    size_t empty = json.len;
    va_start(pairs, key);
    while (key != NULL) {
        jw_optstr(&jw, key, audit_words(va_arg(pairs, const char *), arena));
        key = va_arg(pairs, const char *);
    }
    va_end(pairs);
    if (json.len == empty || json.overflow)
        return NULL;
    jw_end(&jw, '}');
    return arena_strdup(arena, buf_text(&json));
}
