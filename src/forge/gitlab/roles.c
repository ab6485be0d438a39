#include "forge/gitlab/roles.h"
#include <inttypes.h>

enum { PEOPLE_MAX = 100, LEVEL_DEVELOPER = 30, LEVEL_OWNER = 50 };

struct person {
    const char *login;
    int64_t id;
    int64_t level; /* 0: no member.  The highest of those that it is listed with. */
};
struct roles {
    struct person people[PEOPLE_MAX];
    size_t count;
    bool known; /* false: not asked, or the token may not ask. */
    bool cut;   /* There are more people. */
};

const char *gitlab_role(int64_t level)
{
    return level >= LEVEL_OWNER       ? "OWNER"
           : level >= LEVEL_DEVELOPER ? "MEMBER"
           : level > 0                ? "CONTRIBUTOR"
                                      : "NONE";
}

static void add_person(void *kept, struct arena *arena, const struct js *user)
{
    struct roles *roles = kept;
    int64_t id = js_get_int(user, "id", 0);
    const char *login = js_get_str(user, "username", NULL);
    for (size_t i = 0; i < roles->count; i++) {
        if (roles->people[i].id == id)
            return;
    }
    if (id <= 0 || login == NULL)
        return;
    roles->cut |= roles->count == PEOPLE_MAX;
    if (!roles->cut)
        roles->people[roles->count++] = (struct person){.login = arena_strdup(arena, login),
                                                        .id = id};
}

static bool take_member(void *ctx, const struct js *member)
{
    struct roles *roles = ctx;
    int64_t id = js_get_int(member, "id", 0), level = js_get_int(member, "access_level", 0);
    for (size_t i = 0; i < roles->count; i++) {
        if (roles->people[i].id == id && level > roles->people[i].level)
            roles->people[i].level = level;
    }
    return true;
}

/* Members of the groups above count too. */
static enum rc read_roles(const struct host_api *api, void *kept, struct err *err)
{
    struct roles *roles = kept;
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

static bool whole(const void *kept)
{
    const struct roles *roles = kept;
    return roles->known && !roles->cut;
}

static const char *association(const struct host_api *api, const void *kept, const char *login)
{
    const struct roles *roles = kept;
    (void)api;
    for (size_t i = 0; i < roles->count && roles->known; i++) {
        if (text_same(roles->people[i].login, login))
            return gitlab_role(roles->people[i].level);
    }
    return whole(roles) ? "NONE" : NULL;
}

const struct host_people_ops gitlab_roles = {
    .kept_bytes = sizeof(struct roles),
    .add = add_person,
    .read = read_roles,
    .whole = whole,
    .association = association,
};
