/*
 * effective.c - see effective.h.
 */
#include "control/effective.h"
#include "core/repo_document.h"

static enum rc decode(struct cx *cx, struct str document, struct js **ret_tree,
                      struct repo_config *ret_config, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    enum rc rc = js_parse(document.at, document.len, &tree, err);
    if (rc == RC_OK)
        rc = repo_config_decode(tree, NULL, cx->arena, ret_config, err);
    if (rc != RC_OK)
        return rc;
    *ret_tree = tree;
    tree = NULL;
    return RC_OK;
}

enum rc effective_config(struct cx *cx, const struct repository_row *repository,
                         struct str overrides, struct str *ret_document)
{
    const struct repo_layers layers = {
        .platform = cx->defaults, .repository = repository->config, .task = overrides};
    struct str document;
    enum rc rc = repo_layers_merge(&layers, cx->arena, &document, cx->err);
    if (rc != RC_OK)
        return err_wrap(cx->err, RC_CORRUPT, "the stored configuration");
    if (document.at != repository->config.at) {
        CLEANUP(js_freep) struct js *tree = NULL;
        struct repo_config *config = arena_alloc(cx->arena, sizeof *config);
        struct err why = {0};
        rc = decode(cx, document, &tree, config, &why);
        if (rc != RC_OK)
            return err_field(cx->err, RC_INVALID, "CONFIGURATION_CONFLICT", why.field,
                             "the server's defaults, the configuration of %s and the task's "
                             "overrides do not go together: %.250s",
                             repository->name, why.text);
    }
    *ret_document = document;
    return RC_OK;
}

enum rc effective_now(struct cx *cx, const struct repository_row *repository, struct js **ret_tree,
                      struct repo_config *ret_config)
{
    const struct repo_layers layers = {.platform = cx->defaults, .repository = repository->config};
    struct str document;
    struct repo_config *config = arena_alloc(cx->arena, sizeof *config);
    enum rc rc = repo_layers_merge(&layers, cx->arena, &document, cx->err);
    if (rc != RC_OK)
        return err_wrap(cx->err, RC_CORRUPT, "the stored configuration");
    rc = decode(cx, document, ret_tree, config, NULL);
    if (rc == RC_INVALID)
        rc = decode(cx, repository->config, ret_tree, config, NULL);
    if (rc == RC_OK)
        *ret_config = *config;
    else
        *ret_config = (struct repo_config){.url = NULL}; /* No limits that anybody knows. */
    return RC_OK;
}
