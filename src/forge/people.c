#include "forge/people.h"
#include "base/str.h"
#include "forge/issues_local.h"
#include <string.h>

/* A person who writes an issue there may submit tasks as well: the API has checked that. */
static enum rc local_standing(struct forge_call *call, const char *url, const char *login,
                              struct arena *arena, const char **ret_association, struct err *err)
{
    (void)call;
    (void)url;
    (void)login;
    (void)arena;
    (void)err;
    *ret_association = "MEMBER";
    return RC_OK;
}

static const struct people_ops people_local = {
    .acts = issues_local_acts,
    .standing = local_standing,
};

static const struct {
    const char *forge;
    const struct people_ops *ops;
} forges[] = {
    {"local", &people_local}, {"github", &people_github}, {"gitlab", &people_gitlab},
    {"gitea", &people_gitea}, {"forgejo", &people_gitea},
};

void act_list_add(struct act_list *list, const struct forge_act *act)
{
    if (list->acts == NULL)
        list->acts = arena_array(list->arena, FORGE_ACTS_MAX, sizeof *list->acts);
    if (list->count == FORGE_ACTS_MAX)
        memmove(list->acts, list->acts + 1, --list->count * sizeof *list->acts);
    list->acts[list->count++] = *act;
}

const struct people_ops *people_of(const char *forge)
{
    for (size_t i = 0; i < COUNT_OF(forges); i++)
        if (text_same(forges[i].forge, forge))
            return forges[i].ops;
    return NULL;
}
