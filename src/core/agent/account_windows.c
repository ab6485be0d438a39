#include "core/agent/account_windows.h"
#include "base/clock.h"
#include "base/jw.h"
#include <string.h>

enum { TEXT_BYTES_MAX = 4096 };
/* A report that says the same is stored again after this, so that seenUs stays true enough. */
#define SEEN_AGAIN_US US_PER_MINUTE
static const double utilization_step = 0.005;

enum rc account_windows_parse(struct str json, struct arena *arena,
                              struct account_windows *ret_windows, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct account_windows windows = {0};
    if (json.len > 0 && js_parse(json.at, json.len, &tree, err) != RC_OK)
        return err_wrap(err, RC_CORRUPT, "the windows of an account");
    for (size_t i = 0; i < js_count(tree) && i < ACCOUNT_WINDOWS_MAX; i++) {
        const struct js *one = js_at(tree, i);
        const char *status = js_get_str(one, "status", NULL);
        windows.items[windows.count++] = (struct account_window){
            .name = arena_strdup(arena, js_get_str(one, "name", "")),
            .utilization = js_num(js_get(one, "utilization"), 0),
            .status = arena_strdup(arena, status),
            .warned = status != NULL && !text_same(status, "allowed"),
            .resets_us = js_get_int(one, "resetsUs", 0),
            .seen_us = js_get_int(one, "seenUs", 0),
            .expires_us = js_get_int(one, "expiresUs", 0),
        };
    }
    *ret_windows = windows;
    return RC_OK;
}

struct str account_windows_text(const struct account_windows *windows, struct arena *arena)
{
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, TEXT_BYTES_MAX);
    struct jw jw = jw_to(&buf);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < windows->count; i++) {
        const struct account_window *window = &windows->items[i];
        jw_begin(&jw, '{');
        jw_kstr(&jw, "name", window->name);
        jw_kreal(&jw, "utilization", window->utilization);
        jw_optstr(&jw, "status", window->status);
        jw_kint(&jw, "resetsUs", window->resets_us);
        jw_kint(&jw, "seenUs", window->seen_us);
        jw_kint(&jw, "expiresUs", window->expires_us);
        jw_end(&jw, '}');
    }
    jw_end(&jw, ']');
    return (struct str){arena_strndup(arena, buf.data, buf.len), buf.len};
}

static bool is_same(const struct account_window *a, const struct account_window *b)
{
    double change = a->utilization - b->utilization;
    return change < utilization_step && change > -utilization_step &&
           text_same(a->status, b->status) && a->resets_us == b->resets_us &&
           b->seen_us - a->seen_us < SEEN_AGAIN_US;
}

bool account_windows_take(struct account_windows *windows, const struct account_window *window)
{
    size_t at = 0, first = 0;
    for (; at < windows->count && !text_same(windows->items[at].name, window->name); at++)
        if (windows->items[at].expires_us < windows->items[first].expires_us)
            first = at;
    if (at < windows->count && is_same(&windows->items[at], window))
        return false;
    if (at == ACCOUNT_WINDOWS_MAX)
        at = first;
    else if (at == windows->count)
        windows->count++;
    windows->items[at] = *window;
    return true;
}

const struct account_window *account_windows_fullest(const struct account_windows *windows,
                                                     int64_t now_us)
{
    const struct account_window *fullest = NULL;
    for (size_t i = 0; i < windows->count; i++) {
        const struct account_window *window = &windows->items[i];
        if (window->expires_us > now_us &&
            (fullest == NULL || window->utilization > fullest->utilization))
            fullest = window;
    }
    return fullest;
}
