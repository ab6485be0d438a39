/*
 * merge_patch.c - see merge_patch.h.  The result is written straight from the two trees: members
 * of the document in their order, then those that the patch adds.
 */
#include "base/merge_patch.h"
#include "base/jw.h"

static void write_patched(struct jw *jw, const struct js *document, const struct js *patch);

static void write_kept(struct jw *jw, const struct js *document, const struct js *patch)
{
    size_t position = 0;
    const char *key;
    const struct js *member;
    while (js_next(document, &position, &key, &member)) {
        const struct js *change = js_get(patch, key);
        bool removed = change != NULL && js_type(change) == JS_NULL;
        if (removed)
            continue;
        jw_key(jw, key);
        if (change != NULL)
            write_patched(jw, member, change);
        else
            js_write(jw, member);
    }
}

static void write_added(struct jw *jw, const struct js *document, const struct js *patch)
{
    size_t position = 0;
    const char *key;
    const struct js *change;
    while (js_next(patch, &position, &key, &change)) {
        if (js_get(document, key) != NULL || js_type(change) == JS_NULL)
            continue;
        jw_key(jw, key);
        write_patched(jw, NULL, change);
    }
}

/* As deep as the deeper of the two, and those were limited when read. */
static void write_patched(struct jw *jw, const struct js *document, const struct js *patch)
{
    if (js_type(patch) != JS_OBJECT) {
        js_write(jw, patch);
        return;
    }
    if (js_type(document) != JS_OBJECT)
        document = NULL;
    jw_begin(jw, '{');
    if (document != NULL)
        write_kept(jw, document, patch);
    write_added(jw, document, patch);
    jw_end(jw, '}');
}

enum rc merge_patch(struct str document, const struct js *patch, struct arena *arena,
                    struct str *ret_text, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = document.len > 0 ? js_parse(document.at, document.len, &tree, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    CLEANUP(buf_release) struct buf buf;
    buf_init(&buf, SIZE_MAX / 8); /* No larger than the two trees, which were limited when read. */
    struct jw jw = jw_to(&buf);
    write_patched(&jw, tree, patch);
    *ret_text = (struct str){arena_strndup(arena, buf_text(&buf), buf.len), buf.len};
    return RC_OK;
}
