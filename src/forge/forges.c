#include "forge/forges.h"
#include "forge/gitea/api.h"
#include "forge/github/api.h"
#include "forge/gitlab/api.h"
#include "forge/local/local.h"

/* To add one: a room of its own with its struct forge_ops (at a server: with a struct host_ops over
   forge/host/, as in forge/gitlab/gitlab.c), in the order of rooms of tools/layers; a row here, and
   its name in core/config/config_forge.c, schemas/repository.json and docs/CONFIGURATION.md. */
static const struct forge_ops *const forges[] = {&forge_local, &forge_github, &forge_gitlab,
                                                 &forge_gitea, &forge_forgejo};

const struct forge_ops *forge_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(forges); i++) {
        if (text_same(forges[i]->name, name))
            return forges[i];
    }
    return NULL;
}

static enum rc unknown(const char *name, struct err *err)
{
    return err_set(err, RC_INVALID, "UNKNOWN_FORGE", "There is no forge called %.100s.",
                   name != NULL ? name : "(none)");
}

enum rc forge_merge(struct forge_call *call, const struct forge_merge *merge,
                    char ret_commit[GIT_HASH_BYTES], struct err *err)
{
    const struct forge_ops *ops = forge_find(merge->forge);
    return ops != NULL ? ops->merge(ops, call, merge, ret_commit, err) : unknown(merge->forge, err);
}

enum rc forge_close(struct forge_call *call, const struct forge_closing *closing, struct err *err)
{
    const struct forge_ops *ops = forge_find(closing->forge);
    return ops != NULL ? ops->close(ops, call, closing, err) : unknown(closing->forge, err);
}

enum rc issues_find(const char *forge, const struct issue_ops **ret_ops, struct err *err)
{
    const struct forge_ops *found = forge_find(forge);
    if (found == NULL || found->issues == NULL)
        return err_set(err, RC_INVALID, "NO_ISSUES", "The forge %.50s has no issues.",
                       forge != NULL ? forge : "(none)");
    *ret_ops = found->issues;
    return RC_OK;
}

const struct people_ops *people_of(const char *forge)
{
    const struct forge_ops *found = forge_find(forge);
    return found != NULL ? found->people : NULL;
}
