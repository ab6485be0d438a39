/*
 * effective.c - see effective.h.
 */
#include "control/effective.h"
#include "core/repo_document.h"

enum rc effective_config(struct cx *cx, const struct repository_row *repository,
                         struct str overrides, struct str *ret_document)
{
    const struct repo_layers layers = {
        .platform = cx->defaults, .repository = repository->config, .task = overrides};
    struct str document;
    enum rc rc = repo_layers_merge(&layers, cx->arena, &document, cx->err);
    if (rc != RC_OK)
        return err_wrap(cx->err, RC_CORRUPT, "the stored configuration");
    if (document.at != repository->config.at) { /* Together they may be less than each alone. */
        CLEANUP(js_freep) struct js *tree = NULL;
        struct repo_config *config = arena_alloc(cx->arena, sizeof *config);
        struct err why = {0};
        if (repo_layers_decode(&layers, cx->arena, &tree, config, &why) != RC_OK)
            return err_field(cx->err, RC_INVALID, "CONFIGURATION_CONFLICT", why.field,
                             "the server's defaults, the configuration of %s and the task's "
                             "overrides do not go together: %.250s",
                             repository->name, why.text);
    }
    *ret_document = document;
    return RC_OK;
}

void effective_now(struct cx *cx, const struct repository_row *repository, struct js **ret_tree,
                   struct repo_config *ret_config)
{
    const struct repo_layers own = {.repository = repository->config};
    struct repo_layers all = own;
    all.platform = cx->defaults;
    if (repo_layers_decode(&all, cx->arena, ret_tree, ret_config, NULL) != RC_OK &&
        repo_layers_decode(&own, cx->arena, ret_tree, ret_config, NULL) != RC_OK)
        *ret_config = (struct repo_config){.url = NULL}; /* No limits that anybody knows. */
}
