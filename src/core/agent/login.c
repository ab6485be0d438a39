#include "core/agent/login.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/merge_patch.h"
#include <string.h>

static bool has_members_of(const struct js *new, const struct js *old)
{
    size_t at = 0;
    const char *key;
    const struct js *value;
    if (js_type(old) != JS_OBJECT || js_type(new) != JS_OBJECT)
        return false;
    while (js_next(old, &at, &key, &value)) {
        if (js_get(new, key) == NULL)
            return false;
    }
    return true;
}

static bool is_token(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return false;
    }
    return len > 0 && len <= LOGIN_VALUE_MAX;
}

/* Why the new value may not replace the old one, or NULL. */
static const char *why_not(const struct js *old, const struct js *new)
{
    if (new == NULL || js_type(new) != js_type(old))
        return "is missing or of another type";
    switch (js_type(old)) {
    case JS_STRING:
        return is_token(js_str(new, "")) ? NULL : "is empty, too long or not printable";
    case JS_INT:
        return js_int(new, -1) >= js_int(old, 0) ? NULL : "has become smaller";
    case JS_NULL:
        return NULL; /* It had none, and has none. */
    default:
        return "is neither text nor a whole number";
    }
}

static bool same_value(const struct js *a, const struct js *b)
{
    if (js_type(a) == JS_STRING)
        return text_same(js_str(a, ""), js_str(b, ""));
    return js_int(a, 0) == js_int(b, 0);
}

/* {"a":{"b":value}} for a.b */
static void write_patch(struct jw *jw, const char *path, const struct js *value,
                        struct arena *arena)
{
    size_t len = strcspn(path, ".");
    jw_begin(jw, '{');
    jw_key(jw, arena_strndup(arena, path, len));
    if (path[len] == '.')
        write_patch(jw, path + len + 1, value, arena);
    else
        js_write(jw, value);
    jw_end(jw, '}');
}

static bool put(struct str *text, const char *path, const struct js *value, struct arena *arena)
{
    CLEANUP(buf_release) struct buf patch;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&patch, LOGIN_BYTES_MAX);
    struct jw jw = jw_to(&patch);
    write_patch(&jw, path, value, arena);
    return js_parse(buf_text(&patch), patch.len, &tree, NULL) == RC_OK &&
           merge_patch(*text, tree, arena, text, NULL) == RC_OK;
}

static enum login_verdict merge_members(const struct agent_login *login, const struct js *old,
                                        const struct js *new, struct arena *arena, struct str *text,
                                        const char **ret_why)
{
    enum login_verdict verdict = LOGIN_SAME;
    for (size_t i = 0; login->refreshed[i] != NULL; i++) {
        const char *path = login->refreshed[i];
        const struct js *had = js_path(old, path), *has = js_path(new, path);
        if (had == NULL && has == NULL)
            continue;
        const char *why = had == NULL ? "was not there before" : why_not(had, has);
        if (why != NULL) {
            *ret_why = arena_printf(arena, "%s %s", path, why);
            return LOGIN_REFUSED;
        }
        if (same_value(had, has))
            continue;
        if (!put(text, path, has, arena) || text->len > LOGIN_BYTES_MAX) {
            *ret_why = arena_printf(arena, "%s does not fit", path);
            return LOGIN_REFUSED;
        }
        verdict = LOGIN_REFRESHED;
    }
    return verdict;
}

enum login_verdict login_merge(const struct agent_login *login, struct str had, struct str has,
                               struct arena *arena, struct str *ret_text, const char **ret_why)
{
    CLEANUP(js_freep) struct js *old = NULL;
    CLEANUP(js_freep) struct js *new = NULL;
    if (had.len > LOGIN_BYTES_MAX || has.len > LOGIN_BYTES_MAX ||
        js_parse(had.at, had.len, &old, NULL) != RC_OK ||
        js_parse(has.at, has.len, &new, NULL) != RC_OK || !has_members_of(new, old)) {
        *ret_why = "it is not a JSON object with the members that it had";
        return LOGIN_REFUSED;
    }
    struct str text = had;
    enum login_verdict verdict = merge_members(login, old, new, arena, &text, ret_why);
    if (verdict == LOGIN_REFRESHED)
        *ret_text = text;
    return verdict;
}
