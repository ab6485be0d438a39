#include "control/run/names.h"
#include "base/js.h"

static const char what[] = "a stored list of names";

enum rc names_read(struct context *ctx, struct str json, const char *member, struct names *ret)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (json.len > 0 && js_parse(json.at, json.len, &tree, ctx->err) != RC_OK)
        return err_wrap(ctx->err, RC_CORRUPT, what);
    const struct js *array = member != NULL ? js_path(tree, member) : tree;
    if (array != NULL && js_type(array) != JS_ARRAY)
        return err_set(ctx->err, RC_CORRUPT, "CORRUPT", "%s is no list", what);
    struct names names = {.count = js_count(array)};
    names.at = arena_array(ctx->arena, names.count, sizeof *names.at);
    for (size_t i = 0; i < names.count; i++)
        names.at[i] = arena_strdup(ctx->arena, js_str(js_at(array, i), ""));
    *ret = names;
    return RC_OK;
}
