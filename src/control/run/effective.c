#include "control/run/effective.h"

enum rc effective_config(struct context *ctx, const struct repository_row *repository,
                         struct str overrides, struct str *ret_document)
{
    const struct repo_layers layers = {
        .platform = ctx->defaults, .repository = repository->config, .task = overrides};
    CLEANUP(config_book_putp) struct known_config *known = NULL;
    struct err why = {0};
    enum rc rc = config_book_take(ctx->configs, &layers, &known, &why);
    if (rc == RC_OK) {
        *ret_document = (struct str){str_dup(ctx->arena, known->document), known->document.len};
        return RC_OK;
    }
    if (rc == RC_MALFORMED || layers.platform.len + layers.task.len == 0) {
        *ctx->err = why;
        return err_wrap(ctx->err, RC_CORRUPT, "the stored configuration");
    }
    return err_field(ctx->err, RC_INVALID, "CONFIGURATION_CONFLICT", why.field,
                     "the server's defaults, the configuration of %s and the task's "
                     "overrides do not go together: %.250s",
                     repository->name, why.text); /* Each alone was valid. */
}

struct known_config *effective_now(struct context *ctx, const struct repository_row *repository)
{
    const struct repo_layers own = {.repository = repository->config};
    struct repo_layers all = own;
    all.platform = ctx->defaults;
    struct known_config *known = NULL;
    if (config_book_take(ctx->configs, &all, &known, NULL) == RC_OK ||
        config_book_take(ctx->configs, &own, &known, NULL) == RC_OK)
        return known;
    return NULL;
}
