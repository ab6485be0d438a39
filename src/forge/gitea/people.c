/*
 * people.c - people at Gitea and Forgejo.
 *
 * The timeline of an issue has a comment for every label that was put there (its body is "1") or
 * taken away, and for every assignee.
 */
#include "forge/port/people.h"
#include "forge/gitea/api.h"
#include "forge/gitea/writers.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

static bool take_entry(void *ctx, const struct js *item)
{
    struct act_list *list = ctx;
    const char *type = js_get_str(item, "type", "");
    bool labelled = text_same(type, "label") && text_same(js_get_str(item, "body", ""), "1");
    bool assigned = text_same(type, "assignees") && !js_get_bool(item, "removed_assignee", false);
    const struct forge_act act = {
        .assigned = assigned,
        .what = labelled ? host_text(list->arena, js_get(item, "label"), "name")
                         : host_text(list->arena, js_get(item, "assignee"), "login"),
        .actor = gitea_user(list->arena, item, "user"),
        .at_us = host_time(item, "created_at"),
    };
    if ((labelled || assigned) && act.what != NULL)
        act_list_add(list, &act);
    return true;
}

static enum rc gitea_acts(struct forge_call *call, const char *url, int64_t number,
                          struct arena *arena, struct forge_act **ret_acts, size_t *ret_count,
                          struct err *err)
{
    struct host_api api;
    struct act_list acts = {.arena = arena};
    enum rc rc = gitea_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const struct host_list list = {
        .path = host_path(&api, "/issues/%" PRId64 "/timeline?limit=50", number),
        .each = take_entry,
        .ctx = &acts};
    rc = host_pages(&api, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_acts = acts.acts;
    *ret_count = acts.count;
    return RC_OK;
}

static enum rc gitea_standing(struct forge_call *call, const char *url, const char *login,
                              struct arena *arena, const char **ret_association, struct err *err)
{
    struct host_api api;
    enum rc rc = gitea_open(call, url, arena, &api, err);
    return rc == RC_OK ? host_people_one(&api, &gitea_writers, login, ret_association, err) : rc;
}

struct team {
    const char *name;
    int64_t id; /* 0: not found */
};

static bool take_team(void *ctx, const struct js *item)
{
    struct team *team = ctx;
    if (strcasecmp(js_get_str(item, "name", ""), team->name) == 0)
        team->id = js_get_int(item, "id", 0);
    return team->id == 0;
}

static enum rc gitea_in_team(struct forge_call *call, const char *url, const char *name,
                             const char *login, bool *ret_in, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct host_api api;
    struct team team = {.name = name};
    enum rc rc = gitea_open(call, url, &arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const char *owner = arena_strndup(&arena, api.repo->path, strcspn(api.repo->path, "/"));
    const struct host_list list = {.path = arena_printf(&arena, "/orgs/%s/teams?limit=50", owner),
                                   .each = take_team,
                                   .ctx = &team};
    rc = host_pages(&api, &list, NULL, err);
    if (rc == RC_OK && team.id == 0)
        return err_set(err, RC_NOT_FOUND, "TEAM_NOT_FOUND", "%s has no team %s.", owner, name);
    if (rc == RC_OK)
        rc = host_get(&api,
                      arena_printf(&arena, "/teams/%" PRId64 "/members/%s", team.id,
                                   host_escaped(&arena, login)),
                      &answer, err);
    if (rc == RC_OK)
        *ret_in = true;
    return rc;
}

const struct people_ops people_gitea = {
    .acts = gitea_acts,
    .standing = gitea_standing,
    .in_team = gitea_in_team,
};
