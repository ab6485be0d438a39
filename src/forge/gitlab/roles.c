#include "forge/gitlab/roles.h"
#include <inttypes.h>

enum { LEVEL_DEVELOPER = 30, LEVEL_OWNER = 50 };

void gitlab_roles_add(struct gitlab_roles *roles, struct arena *arena, const struct js *user)
{
    int64_t id = js_get_int(user, "id", 0);
    const char *login = js_get_str(user, "username", NULL);
    for (size_t i = 0; i < roles->count; i++) {
        if (roles->people[i].id == id)
            return;
    }
    if (id > 0 && login != NULL && roles->count < GITLAB_PEOPLE_MAX)
        roles->people[roles->count++] = (struct gitlab_person){.login = arena_strdup(arena, login),
                                                               .id = id};
}

static bool take_member(void *ctx, const struct js *member)
{
    struct gitlab_roles *roles = ctx;
    int64_t id = js_get_int(member, "id", 0), level = js_get_int(member, "access_level", 0);
    for (size_t i = 0; i < roles->count; i++) {
        if (roles->people[i].id == id && level > roles->people[i].level)
            roles->people[i].level = level;
    }
    return true;
}

/* Members of the groups above count too. */
enum rc gitlab_roles_read(const struct host_api *api, struct gitlab_roles *roles, struct err *err)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, HOST_BODY_MAX);
    if (roles->count == 0)
        return RC_OK;
    buf_addf(&path, "%s/members/all?per_page=100", api->root);
    for (size_t i = 0; i < roles->count; i++)
        buf_addf(&path, "&user_ids%%5B%%5D=%" PRId64, roles->people[i].id);
    const struct host_list list = {.path = buf_text(&path), .each = take_member, .ctx = roles};
    enum rc rc = host_pages(api, &list, NULL, err);
    roles->known = rc == RC_OK;
    return rc == RC_DENIED ? RC_OK : rc;
}

const char *gitlab_association(const struct gitlab_roles *roles, const char *login)
{
    for (size_t i = 0; i < roles->count && roles->known; i++) {
        int64_t level = roles->people[i].level;
        if (text_same(roles->people[i].login, login))
            return level >= LEVEL_OWNER       ? "OWNER"
                   : level >= LEVEL_DEVELOPER ? "MEMBER"
                   : level > 0                ? "CONTRIBUTOR"
                                              : "NONE";
    }
    return roles->known ? "NONE" : NULL;
}
