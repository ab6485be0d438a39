/*
 * schema_index.c - where the schemas of a document are, and what its references mean.
 *
 * A schema with an $id begins a resource: the names in it ($anchor, $dynamicAnchor) and the
 * references in it are relative to that URI, up to the next $id.  Resource 0 is the document.
 */
#include "core/config/schema_parts.h"
#include "core/text/uri_reference.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { RESOURCES_MAX = 1000, ANCHORS_MAX = 1000 };

struct schema_node {
    const struct js *schema;
    size_t resource;
    const struct js *ref;     /* What $ref means; NULL: it has none. */
    const struct js *dynamic; /* What $dynamicRef means by itself; */
    const char *anchor;       /* the $dynamicAnchor that it names, or NULL. */
};

struct schema_resource {
    const char *uri;
    uint32_t hash; /* Of the URI: long ones may differ at their ends only. */
    const struct js *root;
};

struct schema_anchor {
    const char *name;
    size_t resource;
    const struct js *schema;
    bool dynamic;
};

/* ---- finding ---- */

/* Room for one more of the array, whose members count and room are given. */
static void *grow(struct arena *arena, void *items, size_t count, size_t *room, size_t each)
{
    if (count < *room)
        return items;
    *room = *room == 0 ? 16 : 2 * *room;
    void *larger = arena_array(arena, *room, each);
    if (count > 0)
        memcpy(larger, items, count * each);
    return larger;
}

static enum rc too_many(const char *what, struct err *err)
{
    return err_set(err, RC_INVALID, "INVALID_SCHEMA", "the schema has too many of %s", what);
}

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    return hash;
}

static enum rc add_resource(struct schema *schema, const char *uri, const struct js *root,
                            size_t *ret_resource, struct err *err)
{
    struct schema_index *index = schema->index;
    if (index->resource_count == RESOURCES_MAX)
        return too_many("$id", err);
    index->resources = grow(&schema->arena, index->resources, index->resource_count,
                            &index->resource_room, sizeof *index->resources);
    index->resources[index->resource_count] = (struct schema_resource){uri, hash_of(uri), root};
    *ret_resource = index->resource_count++;
    return RC_OK;
}

static enum rc add_anchor(struct schema *schema, const struct schema_node *node,
                          const char *keyword, struct err *err)
{
    struct schema_index *index = schema->index;
    const char *name = js_get_str(node->schema, keyword, NULL);
    if (name == NULL)
        return RC_OK;
    if (index->anchor_count == ANCHORS_MAX)
        return too_many(keyword, err);
    for (size_t i = 0; i < index->anchor_count; i++) {
        const struct schema_anchor *other = &index->anchors[i];
        if (other->resource == node->resource && text_same(other->name, name) &&
            other->schema != node->schema)
            return err_set(err, RC_INVALID, "INVALID_SCHEMA", "the anchor %.60s is there twice",
                           name);
    }
    index->anchors = grow(&schema->arena, index->anchors, index->anchor_count, &index->anchor_room,
                          sizeof *index->anchors);
    index->anchors[index->anchor_count++] = (struct schema_anchor){
        .name = name,
        .resource = node->resource,
        .schema = node->schema,
        .dynamic = text_same(keyword, "$dynamicAnchor")};
    return RC_OK;
}

enum rc schema_index_document(struct schema *schema, const char *uri, const struct js *root,
                              size_t *ret_resource, struct err *err)
{
    if (schema->index == NULL)
        schema->index = arena_alloc(&schema->arena, sizeof *schema->index);
    /* One that has this name by its $id is found by that. */
    bool own = text_same(js_get_str(root, "$id", NULL), uri);
    return add_resource(schema, own ? "" : uri, root, ret_resource, err);
}

enum rc schema_index_add(struct schema *schema, const struct js *node, size_t parent,
                         size_t *ret_resource, struct err *err)
{
    struct schema_index *index = schema->index;
    const char *id = js_get_str(node, "$id", NULL);
    struct schema_node added = {.schema = node, .resource = parent};
    enum rc rc = RC_OK;
    if (id != NULL)
        rc = add_resource(schema, uri_resolve(index->resources[parent].uri, id, &schema->arena),
                          node, &added.resource, err);
    if (rc != RC_OK)
        return rc;
    index->nodes = grow(&schema->arena, index->nodes, index->node_count, &index->node_room,
                        sizeof *index->nodes);
    index->nodes[index->node_count++] = added;
    index->tracks |= js_get(node, "unevaluatedProperties") != NULL ||
                     js_get(node, "unevaluatedItems") != NULL;
    index->is_dynamic |= js_get(node, "$dynamicRef") != NULL;
    *ret_resource = added.resource;
    rc = add_anchor(schema, &added, "$anchor", err);
    return rc == RC_OK ? add_anchor(schema, &added, "$dynamicAnchor", err) : rc;
}

/* ---- looking up ---- */

static int compare_nodes(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct schema_node *)a)->schema;
    uintptr_t right = (uintptr_t)((const struct schema_node *)b)->schema;
    return (left > right) - (left < right);
}

static struct schema_node *find_node(const struct schema *schema, const struct js *node)
{
    const struct schema_node wanted = {.schema = node};
    const struct schema_index *index = schema->index;
    if (index->node_count == 0)
        return NULL;
    return bsearch(&wanted, index->nodes, index->node_count, sizeof wanted, compare_nodes);
}

static const struct schema_resource *find_resource(const struct schema_index *index,
                                                   const char *uri, size_t *ret_place)
{
    uint32_t hash = hash_of(uri);
    for (size_t i = 0; i < index->resource_count; i++) {
        if (index->resources[i].hash == hash && strcmp(index->resources[i].uri, uri) == 0) {
            *ret_place = i;
            return &index->resources[i];
        }
    }
    return NULL;
}

static const struct schema_anchor *find_anchor(const struct schema_index *index, size_t resource,
                                               const char *name)
{
    for (size_t i = 0; i < index->anchor_count; i++) {
        if (index->anchors[i].resource == resource && strcmp(index->anchors[i].name, name) == 0)
            return &index->anchors[i];
    }
    return NULL;
}

/* One step of a JSON Pointer: ~1 is a slash, ~0 a tilde. */
static const struct js *step_to(const struct js *at, struct str token, struct arena *arena)
{
    char *key = str_dup(arena, token), *end = key;
    int64_t place;
    for (const char *c = key; *c != '\0'; c++) {
        bool escape = c[0] == '~' && (c[1] == '0' || c[1] == '1');
        *end++ = escape ? (char)(c[1] == '0' ? '~' : '/') : *c;
        c += escape;
    }
    *end = '\0';
    if (js_type(at) == JS_OBJECT)
        return js_get(at, key);
    if (js_type(at) != JS_ARRAY || !text_to_i64(key, &place) || place < 0 ||
        (size_t)place >= js_count(at))
        return NULL;
    return js_at(at, (size_t)place);
}

static const struct js *point(const struct js *root, const char *pointer, struct arena *arena)
{
    const struct js *at = root;
    while (at != NULL && *pointer == '/') {
        struct str token = {pointer + 1, strcspn(pointer + 1, "/")};
        at = step_to(at, token, arena);
        pointer += 1 + token.len;
    }
    return *pointer == '\0' ? at : NULL;
}

/* ---- linking ---- */

static enum rc refuse(const char *keyword, const char *text, const char *why, struct err *err)
{
    return err_set(err, RC_INVALID, "INVALID_SCHEMA", "%s %.200s %s", keyword, text, why);
}

/* *ret_target NULL: it is in a document that is not there yet, *ret_wanted. */
static enum rc resolve(struct schema *schema, const struct schema_node *node, const char *keyword,
                       const struct js **ret_target, const char **ret_anchor,
                       const char **ret_wanted, struct err *err)
{
    struct schema_index *index = schema->index;
    const char *text = js_get_str(node->schema, keyword, "");
    const char *uri = uri_resolve(index->resources[node->resource].uri, text, &schema->arena);
    const char *fragment = uri_fragment(text, &schema->arena);
    size_t place = 0;
    const struct schema_resource *resource = find_resource(index, uri, &place);
    if (fragment == NULL)
        return refuse(keyword, text, "is not percent-encoded", err);
    if (resource == NULL) {
        *ret_wanted = uri;
        return RC_OK;
    }
    const struct schema_anchor *anchor = NULL;
    const struct js *target = NULL;
    if (*fragment == '\0' || *fragment == '/')
        target = point(resource->root, fragment, &schema->arena);
    else if ((anchor = find_anchor(index, place, fragment)) != NULL)
        target = anchor->schema;
    if (target == NULL)
        return refuse(keyword, text, "leads nowhere", err);
    if (js_type(target) != JS_BOOL && find_node(schema, target) == NULL)
        return refuse(keyword, text, "does not lead to a schema", err);
    *ret_target = target;
    if (anchor != NULL && anchor->dynamic)
        *ret_anchor = anchor->name;
    return RC_OK;
}

enum rc schema_index_link(struct schema *schema, const char **ret_wanted, struct err *err)
{
    struct schema_index *index = schema->index;
    enum rc rc = RC_OK;
    if (index->node_count > 0)
        qsort(index->nodes, index->node_count, sizeof *index->nodes, compare_nodes);
    for (size_t i = 0; rc == RC_OK && *ret_wanted == NULL && i < index->node_count; i++) {
        struct schema_node *node = &index->nodes[i];
        struct arena_mark mark = arena_mark(&schema->arena);
        const char *anchor = NULL;
        if (js_get(node->schema, "$ref") != NULL)
            rc = resolve(schema, node, "$ref", &node->ref, &anchor, ret_wanted, err);
        anchor = NULL;
        if (rc == RC_OK && js_get(node->schema, "$dynamicRef") != NULL)
            rc = resolve(schema, node, "$dynamicRef", &node->dynamic, &anchor, ret_wanted, err);
        node->anchor = anchor;
        if (*ret_wanted == NULL) /* A URI is long, and references are many. */
            arena_rewind(&schema->arena, &mark);
    }
    return rc;
}

/* ---- while checking ---- */

size_t schema_resource_of(const struct schema *schema, const struct js *node)
{
    const struct schema_node *found = find_node(schema, node);
    assert(found != NULL);
    return found->resource;
}

const struct js *schema_ref(const struct schema *schema, const struct js *node)
{
    const struct schema_node *found = find_node(schema, node);
    assert(found != NULL && found->ref != NULL);
    return found->ref;
}

/* The outermost resource of the scope that has the anchor decides. */
const struct js *schema_dynamic_ref(const struct schema *schema, const struct js *node,
                                    const struct scope *scope)
{
    const struct schema_node *found = find_node(schema, node);
    assert(found != NULL && found->dynamic != NULL);
    const struct js *target = found->dynamic;
    for (; found->anchor != NULL && scope != NULL; scope = scope->outer) {
        const struct schema_anchor *anchor = find_anchor(schema->index, scope->resource,
                                                         found->anchor);
        if (anchor != NULL && anchor->dynamic)
            target = anchor->schema;
    }
    return target;
}

const struct js *schema_follow(const struct schema *schema, const struct js *node)
{
    for (size_t i = 0; i < JS_DEPTH_MAX; i++) {
        if (js_get(node, "$ref") == NULL)
            return node;
        node = schema_ref(schema, node);
    }
    return NULL;
}
