#include "core/config/repo_document.h"
#include "base/merge_patch.h"
#include "core/config/profile.h"
#include "core/config/schema.h"
#include "core/config/schema_text.h"
#include <assert.h>
#include <string.h>

enum {
    LAYERS_MAX = 5,
    PATH_BYTES_MAX = 1024,
    FILLED_BYTES_MAX = 8 * 1024 * 1024,
    PROFILE_BYTES_MAX = 2 * 1024 * 1024
};
#define CODE "INVALID_CONFIGURATION"

/* ---- checks ---- */

static enum rc check_by(const char *name, const struct js *document, bool partial,
                        struct arena *arena, struct faults *ret_faults, struct err *err)
{
    CLEANUP(schema_release) struct schema schema = {0};
    enum rc rc = schema_open(&schema, schema_text_of(name), err);
    if (rc != RC_OK)
        return rc;
    const struct schema_options options = {.null_is_absent = true, .partial = partial};
    struct faults faults = {0};
    (void)schema_check(&schema, document, &options, arena, &faults);
    *ret_faults = faults;
    return faults_err(&faults, CODE, err);
}

enum rc repo_layer_check(const struct js *layer, struct arena *arena, struct faults *ret_faults,
                         struct err *err)
{
    return check_by("repository", layer, true, arena, ret_faults, err);
}

/* What a document needs at least, by the way of computing that it has chosen. */
static struct str filler_for(const struct js *layer)
{
    const char *compute = js_str(js_path(layer, "agent.compute"), "process");
    const struct agent_profile *profile = agent_profile_find(
        js_str(js_path(layer, "agent.use"), ""));
    if (profile != NULL && profile->command != NULL)
        return STR("{\"url\":\"/\",\"agent\":{}}");
    if (text_same(compute, "remote"))
        return STR("{\"url\":\"/\",\"agent\":{\"remote\":{\"url\":\"http://localhost/\"}}}");
    if (text_same(compute, "pull"))
        return STR("{\"url\":\"/\",\"agent\":{}}");
    return STR("{\"url\":\"/\",\"agent\":{\"command\":[\"true\"]}}");
}

enum rc repo_defaults_check(const struct js *layer, struct arena *arena, struct faults *ret_faults,
                            struct err *err)
{
    enum rc rc = repo_layer_check(layer, arena, ret_faults, err);
    if (rc == RC_OK && js_get(layer, "url") != NULL) {
        faults_add(ret_faults, arena, "url", "belongs to each repository, not to all of them");
        return faults_err(ret_faults, CODE, err);
    }
    struct str whole;
    if (rc == RC_OK)
        rc = merge_patch(filler_for(layer), layer, arena, &whole, err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(js_freep) struct js *document = NULL;
    rc = js_parse(whole.at, whole.len, &document, err);
    return rc == RC_OK ? repo_document_check(document, arena, ret_faults, err) : rc;
}

enum rc repo_overrides_check(const struct js *overrides, struct arena *arena,
                             struct faults *ret_faults, struct err *err)
{
    return check_by("overrides", overrides, true, arena, ret_faults, err);
}

enum rc repo_document_check(const struct js *document, struct arena *arena,
                            struct faults *ret_faults, struct err *err)
{
    enum rc rc = check_by("repository", document, false, arena, ret_faults, err);
    if (rc != RC_OK)
        return rc;
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    struct err meaning = {0};
    rc = repo_config_decode(document, NULL, arena, config, &meaning);
    if (rc == RC_OK)
        return rc;
    faults_add(ret_faults, arena, meaning.field, meaning.text);
    bool plain = text_ends(meaning.code, "_FIELD"); /* Of fields.h: no more specific than ours. */
    return err_field(err, rc, plain ? CODE : meaning.code, meaning.field, "%s", meaning.text);
}

/* ---- layers ---- */

static enum rc add_layer(struct str layer, struct arena *arena, struct str *document,
                         struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (layer.len == 0)
        return RC_OK;
    enum rc rc = js_parse(layer.at, layer.len, &tree, err);
    return rc == RC_OK ? merge_patch(*document, tree, arena, document, err) : rc;
}

enum rc repo_layers_merge(const struct repo_layers *layers, struct arena *arena,
                          struct str *ret_document, struct err *err)
{
    bool alone = layers->platform.len + layers->task.len + layers->snapshot.len == 0;
    if (alone && memmem(layers->repository.at, layers->repository.len, "null", 4) == NULL) {
        *ret_document = layers->repository;
        return RC_OK;
    }
    struct str document = {0};
    enum rc rc = add_layer(layers->snapshot, arena, &document, err);
    if (rc == RC_OK)
        rc = add_layer(layers->platform, arena, &document, err);
    if (rc == RC_OK)
        rc = add_layer(layers->repository, arena, &document, err);
    if (rc == RC_OK)
        rc = add_layer(layers->task, arena, &document, err);
    if (rc == RC_OK)
        *ret_document = document;
    return rc;
}

enum rc repo_layers_decode(const struct repo_layers *layers, struct arena *arena,
                           struct js **ret_tree, struct repo_config *ret_config, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct str document;
    enum rc rc = repo_layers_merge(layers, arena, &document, err);
    if (rc == RC_OK)
        rc = js_parse(document.at, document.len, &tree, err);
    if (rc == RC_OK)
        rc = repo_config_decode(tree, NULL, arena, ret_config, err);
    if (rc != RC_OK)
        return rc;
    *ret_tree = tree;
    tree = NULL;
    return RC_OK;
}

enum rc repo_layers_check(const struct repo_layers *layers, struct arena *arena,
                          struct faults *ret_faults, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    struct str document;
    enum rc rc = repo_layers_merge(layers, arena, &document, err);
    if (rc == RC_OK)
        rc = js_parse(document.at, document.len, &tree, err);
    return rc == RC_OK ? repo_document_check(tree, arena, ret_faults, err) : rc;
}

/* ---- origins ---- */

/* The layers side by side at one path, from the highest; NULL where one sets nothing there. */
struct views {
    const struct js *at[LAYERS_MAX];
};
static const char *const layer_names[LAYERS_MAX] = {"task", "repository", "platform", "snapshot",
                                                    "profile"};

static const char *origin_of(const struct views *views)
{
    for (size_t i = 0; i < LAYERS_MAX; i++) {
        if (js_type(views->at[i]) != JS_NULL)
            return layer_names[i];
    }
    return "default";
}

/* A layer below one that has null or another value than an object here has no effect. */
static struct views views_below(const struct views *views, const char *key)
{
    struct views below = {0};
    for (size_t i = 0; i < LAYERS_MAX; i++) {
        const struct js *here = views->at[i];
        if (here == NULL)
            continue;
        if (js_type(here) != JS_OBJECT)
            break;
        below.at[i] = js_get(here, key);
        if (below.at[i] != NULL && js_type(below.at[i]) == JS_NULL)
            break;
    }
    return below;
}

/* As deep as the document, which was limited when read. */
static void write_origins(struct jw *jw, const struct js *object, const struct views *views,
                          struct buf *path)
{
    size_t at = 0;
    const char *key;
    const struct js *member;
    while (js_next(object, &at, &key, &member)) {
        size_t len = path->len;
        struct views below = views_below(views, key);
        buf_addf(path, "%s%s", len > 0 ? "." : "", key);
        if (js_type(member) == JS_OBJECT && js_count(member) > 0)
            write_origins(jw, member, &below, path);
        else
            jw_kstr(jw, buf_text(path), origin_of(&below));
        buf_cut(path, len);
    }
}

static void free_views(struct js *(*trees)[LAYERS_MAX])
{
    for (size_t i = 0; i < LAYERS_MAX; i++)
        js_free((*trees)[i]);
}

static enum rc write_layer_origins(const struct repo_layers *layers, struct str profile,
                                   const struct js *effective, struct jw *jw, struct err *err)
{
    const struct str texts[LAYERS_MAX] = {layers->task, layers->repository, layers->platform,
                                          layers->snapshot, profile};
    CLEANUP(free_views) struct js *trees[LAYERS_MAX] = {NULL};
    struct views views = {0};
    for (size_t i = 0; i < LAYERS_MAX; i++) {
        enum rc rc = texts[i].len > 0 ? js_parse(texts[i].at, texts[i].len, &trees[i], err) : RC_OK;
        if (rc != RC_OK)
            return rc;
        views.at[i] = trees[i];
    }
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    jw_key(jw, "origins");
    jw_begin(jw, '{');
    write_origins(jw, effective, &views, &path);
    jw_end(jw, '}');
    return RC_OK;
}

enum rc repo_document_fill(const struct js *document, struct jw *jw, struct err *err)
{
    CLEANUP(schema_release) struct schema schema = {0};
    enum rc rc = schema_open(&schema, schema_text_of("repository"), err);
    if (rc == RC_OK)
        schema_fill(&schema, document, jw);
    return rc;
}

static void write_list(struct jw *jw, const char *key, const char *const *items)
{
    jw_key(jw, key);
    jw_begin(jw, '[');
    for (size_t i = 0; items[i] != NULL; i++)
        jw_str(jw, items[i]);
    jw_end(jw, ']');
}

/* What the document gets from its profile, as one more layer below all others; empty: nothing. */
static struct str profile_layer(const struct js *document, struct arena *arena)
{
    struct repo_config *config = arena_alloc(arena, sizeof *config);
    struct err ignored = {0};
    if (js_path(document, "agent.use") == NULL ||
        repo_config_decode(document, "/", arena, config, &ignored) != RC_OK ||
        config->agent.profile == NULL)
        return (struct str){0};
    const struct agent_config *agent = &config->agent;
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, PROFILE_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_key(&jw, "agent");
    jw_begin(&jw, '{');
    write_list(&jw, "command", agent->command);
    jw_kstr(&jw, "adapter", adapter_name(agent->adapter));
    jw_kstr(&jw, "prompt", agent->prompt == PROMPT_FILE ? "file" : "stdin");
    write_list(&jw, "egress", agent->egress);
    write_list(&jw, "env", agent->env);
    jw_end(&jw, '}');
    jw_end(&jw, '}');
    return (struct str){arena_strndup(arena, buf_text(&text), text.len), text.len};
}

/* The document over its profile; entries of env add up. */
static enum rc add_profile(struct str profile, const struct js *document, struct arena *arena,
                           struct str *ret_text, struct err *err)
{
    CLEANUP(js_freep) struct js *layer = NULL;
    CLEANUP(js_freep) struct js *env = NULL;
    enum rc rc = js_parse(profile.at, profile.len, &layer, err);
    if (rc == RC_OK)
        rc = merge_patch(profile, document, arena, ret_text, err);
    if (rc != RC_OK)
        return rc;
    const char *all = js_text(js_path(layer, "agent.env"), arena);
    struct str patch = str_of(arena_printf(arena, "{\"agent\":{\"env\":%s}}", all));
    rc = js_parse(patch.at, patch.len, &env, err);
    return rc == RC_OK ? merge_patch(*ret_text, env, arena, ret_text, err) : rc;
}

/* With the values of its profile; *ret_profile: its layer. */
static enum rc document_of(struct str merged, struct arena *arena, struct str *ret_profile,
                           struct js **ret_document, struct err *err)
{
    CLEANUP(js_freep) struct js *document = NULL;
    struct str text;
    enum rc rc = js_parse(merged.at, merged.len, &document, err);
    if (rc != RC_OK)
        return rc;
    *ret_profile = profile_layer(document, arena);
    if (ret_profile->len == 0) {
        *ret_document = document;
        document = NULL;
        return RC_OK;
    }
    rc = add_profile(*ret_profile, document, arena, &text, err);
    return rc == RC_OK ? js_parse(text.at, text.len, ret_document, err) : rc;
}

enum rc repo_layers_write(const struct repo_layers *layers, struct arena *arena, struct jw *jw,
                          struct err *err)
{
    CLEANUP(js_freep) struct js *document = NULL;
    CLEANUP(js_freep) struct js *effective = NULL;
    CLEANUP(buf_release) struct buf filled;
    struct str merged, profile = {0};
    buf_init(&filled, FILLED_BYTES_MAX);
    struct jw into = jw_to(&filled);
    enum rc rc = repo_layers_merge(layers, arena, &merged, err);
    if (rc == RC_OK)
        rc = document_of(merged, arena, &profile, &document, err);
    if (rc == RC_OK)
        rc = repo_document_fill(document, &into, err);
    if (rc == RC_OK)
        rc = js_parse(buf_text(&filled), filled.len, &effective, err);
    if (rc != RC_OK)
        return rc;
    jw_kraw(jw, "effective", buf_str(&filled));
    return write_layer_origins(layers, profile, effective, jw, err);
}
