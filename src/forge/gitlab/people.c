/*
 * people.c - people at GitLab: roles in the project and the groups above it.
 *
 * Roles count as in issues.c.  A team is a group: team/acme/core.  GitLab has no list of who
 * was assigned by whom.
 */
#include "forge/port/people.h"
#include "forge/gitlab/roles.h"
#include <inttypes.h>
#include <strings.h>

static bool take_event(void *ctx, const struct js *item)
{
    struct act_list *list = ctx;
    const struct forge_act act = {
        .what = host_text(list->arena, js_get(item, "label"), "name"),
        .actor = gitlab_user(list->arena, item, "user"),
        .at_us = host_time(item, "created_at"),
    };
    if (text_same(js_get_str(item, "action", ""), "add") && act.what != NULL)
        act_list_add(list, &act);
    return true;
}

static enum rc gitlab_acts(struct forge_call *call, const char *url, int64_t number,
                           struct arena *arena, struct forge_act **ret_acts, size_t *ret_count,
                           struct err *err)
{
    struct host_api api;
    struct act_list acts = {.arena = arena};
    enum rc rc = gitlab_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const struct host_list list = {
        .path = host_path(&api, "/issues/%" PRId64 "/resource_label_events?per_page=100", number),
        .each = take_event,
        .ctx = &acts};
    rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_acts = acts.acts;
    *ret_count = acts.count;
    return RC_OK;
}

struct role {
    const char *login;
    int64_t level; /* The highest of those that it is listed with. */
};

static bool take_member(void *ctx, const struct js *item)
{
    struct role *role = ctx;
    int64_t level = js_get_int(item, "access_level", 0);
    if (strcasecmp(js_get_str(item, "username", ""), role->login) == 0 && level > role->level)
        role->level = level;
    return true;
}

static enum rc find_role(const struct host_api *api, const char *members, struct role *role,
                         struct err *err)
{
    const struct host_list list = {.path = arena_printf(api->arena, "%s?per_page=100&query=%s",
                                                        members,
                                                        host_escaped(api->arena, role->login)),
                                   .each = take_member,
                                   .ctx = role};
    return host_pages(api, &list, NULL, err);
}

static enum rc gitlab_standing(struct forge_call *call, const char *url, const char *login,
                               struct arena *arena, const char **ret_association, struct err *err)
{
    struct host_api api;
    struct role role = {.login = login};
    enum rc rc = gitlab_open(call, url, arena, &api, err);
    if (rc == RC_OK)
        rc = find_role(&api, host_path(&api, "/members/all"), &role, err);
    if (rc == RC_OK)
        *ret_association = gitlab_role(role.level);
    return rc;
}

static enum rc gitlab_in_team(struct forge_call *call, const char *url, const char *team,
                              const char *login, bool *ret_in, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct host_api api;
    struct role role = {.login = login};
    enum rc rc = gitlab_open(call, url, &arena, &api, err);
    if (rc == RC_OK)
        rc = find_role(&api,
                       arena_printf(&arena, "/groups/%s/members/all", host_escaped(&arena, team)),
                       &role, err);
    if (rc == RC_OK)
        *ret_in = role.level > 0;
    return rc;
}

const struct people_ops people_gitlab = {
    .acts = gitlab_acts,
    .standing = gitlab_standing,
    .in_team = gitlab_in_team,
};
