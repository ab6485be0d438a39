/*
 * people.c - who people are to a repository on disk.
 */
#include "forge/local/issues.h"
#include "forge/local/local.h"

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

const struct people_ops people_local = {
    .acts = issues_local_acts,
    .standing = local_standing,
};
