/*
 * assign.c - see assign.h.  Trees do not change, so every word makes a new text.
 */
#include "cli/assign.h"
#include "base/jw.h"
#include "base/str.h"
#include <ctype.h>
#include <string.h>

enum { DOCUMENT_BYTES_MAX = 1024 * 1024, PARTS_MAX = 8 };

struct change {
    const char *path; /* "a.b" */
    const char *json; /* NULL: it is removed. */
    struct arena *arena;
};

static const char *changed(const struct js *object, const struct change *change);

/* The member that the path's first part names, changed. */
static void write_changed(struct jw *jw, const struct js *member, const struct change *change)
{
    size_t len = strcspn(change->path, ".");
    const char *key = arena_strndup(change->arena, change->path, len);
    const char *json = change->json;
    if (change->path[len] == '.') {
        struct change inner = *change;
        inner.path += len + 1;
        json = changed(js_type(member) == JS_OBJECT ? member : NULL, &inner);
        if (change->json == NULL && text_same(json, "{}"))
            json = NULL;
    }
    if (json != NULL)
        jw_kraw(jw, key, str_of(json));
}

/* The object's text with the change; NULL is an empty one. */
static const char *changed(const struct js *object, const struct change *change)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    struct str part = {change->path, strcspn(change->path, ".")};
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    bool found = false;
    jw_begin(&jw, '{');
    while (object != NULL && js_next(object, &at, &key, &value)) {
        if (str_is(part, key)) {
            write_changed(&jw, value, change);
            found = true;
        } else {
            jw_kraw(&jw, key, str_of(js_text(value, change->arena)));
        }
    }
    if (!found)
        write_changed(&jw, NULL, change);
    jw_end(&jw, '}');
    return arena_strdup(change->arena, buf_text(&text));
}

static bool path_valid(const char *path)
{
    size_t parts = 1, len = 0;
    for (const char *c = path; *c != '\0'; c++) {
        if (*c == '.' && (len == 0 || ++parts > PARTS_MAX))
            return false;
        if (*c != '.' && !isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            return false;
        len = *c == '.' ? 0 : len + 1;
    }
    return len > 0;
}

/* JSON as it is, anything else as a text. */
static const char *value_json(const char *value, struct arena *arena)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (js_parse(value, strlen(value), &tree, NULL) == RC_OK)
        return js_text(tree, arena);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_str(&jw, value);
    return arena_strdup(arena, buf_text(&text));
}

static enum rc read_word(const char *word, struct arena *arena, struct change *ret_change,
                         struct err *err)
{
    const char *equals = strchr(word, '=');
    const char *path = arena_strndup(arena, word, strcspn(word, "="));
    if (equals == NULL || !path_valid(path))
        return err_set(err, RC_MALFORMED, "INVALID_ASSIGNMENT",
                       "\"%s\" is not KEY=VALUE, like maxLength=1000 or backoff.baseMs=500", word);
    *ret_change = (struct change){.path = path, .arena = arena};
    if (equals[1] != '\0')
        ret_change->json = value_json(equals + 1, arena);
    return RC_OK;
}

enum rc cli_assign(const struct js *document, const char *const *words, size_t count,
                   struct arena *arena, const char **ret_text, struct err *err)
{
    CLEANUP(js_freep) struct js *step = NULL; /* The document after the words so far. */
    const char *text = document != NULL ? js_text(document, arena) : "{}";
    for (size_t i = 0; i < count; i++) {
        struct change change;
        enum rc rc = read_word(words[i], arena, &change, err);
        if (rc != RC_OK)
            return rc;
        text = changed(step != NULL ? step : document, &change);
        js_freep(&step);
        step = NULL;
        rc = js_parse(text, strlen(text), &step, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_text = text;
    return RC_OK;
}
