/*
 * people_gitlab.c - who people are to a project of GitLab.
 *
 * Labels have events; of an assignment there is only the note that GitLab writes: "assigned to @ann".
 * Developers may push, so they are MEMBER; those below are CONTRIBUTOR.  A team is a group, by its
 * full path.
 */
#include "forge/gitlab_api.h"
#include "forge/people.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROLE_DEVELOPER = 30, ROLE_OWNER = 50 };
#define ASSIGNED "assigned to @"

struct act_reader {
    struct host_api api;
    struct forge_act *acts;
    size_t count, room;
};

static bool add_act(struct act_reader *reader, const struct forge_act *act)
{
    if (reader->count < reader->room)
        reader->acts[reader->count++] = *act;
    return reader->count < reader->room;
}

static bool add_label(void *ctx, const struct js *item)
{
    struct act_reader *reader = ctx;
    struct arena *arena = reader->api.arena;
    const char *label = host_text(arena, js_get(item, "label"), "name");
    if (label == NULL || !text_same(js_get_str(item, "action", ""), "add"))
        return true;
    return add_act(reader, &(struct forge_act){.what = label,
                                               .actor = gitlab_user(arena, item, "user"),
                                               .at_us = host_time(item, "created_at")});
}

/* "assigned to @ann and @bob and unassigned @eve" */
static bool add_assigned(void *ctx, const struct js *note)
{
    struct act_reader *reader = ctx;
    struct arena *arena = reader->api.arena;
    const char *at = js_get_str(note, "body", "");
    if (!js_get_bool(note, "system", false) || !text_starts(at, ASSIGNED))
        return true;
    const char *end = strstr(at, " and unassigned ");
    end = end != NULL ? end : at + strlen(at);
    bool room = true;
    while (room && (at = strchr(at, '@')) != NULL && at < end) {
        at++;
        size_t len = strcspn(at, " ,");
        room = add_act(reader, &(struct forge_act){.assigned = true,
                                                   .what = arena_strndup(arena, at, len),
                                                   .actor = gitlab_user(arena, note, "author"),
                                                   .at_us = host_time(note, "created_at")});
    }
    return room;
}

static int by_time(const void *a, const void *b)
{
    const struct forge_act *left = a, *right = b;
    return (left->at_us > right->at_us) - (left->at_us < right->at_us);
}

static enum rc gitlab_acts(struct forge_call *call, const char *url, int64_t number,
                           struct arena *arena, struct forge_act **ret_acts, size_t *ret_count,
                           struct err *err)
{
    struct act_reader reader = {.room = REST_PAGES_MAX * 100};
    enum rc rc = gitlab_open(call, url, arena, &reader.api, err);
    if (rc != RC_OK)
        return rc;
    reader.acts = arena_array(arena, reader.room, sizeof *reader.acts);
    const struct host_list labels = {
        .path = host_path(&reader.api, "/issues/%" PRId64 "/resource_label_events?per_page=100",
                          number),
        .each = add_label,
        .ctx = &reader};
    const struct host_list notes = {.path = host_path(&reader.api,
                                                      "/issues/%" PRId64
                                                      "/notes?activity_filter=only_activity"
                                                      "&order_by=created_at&sort=asc&per_page=100",
                                                      number),
                                    .each = add_assigned,
                                    .ctx = &reader};
    rc = host_pages(&reader.api, &labels, NULL, err);
    if (rc == RC_OK)
        rc = host_pages(&reader.api, &notes, NULL, err);
    if (rc != RC_OK)
        return rc;
    qsort(reader.acts, reader.count, sizeof *reader.acts, by_time);
    size_t drop = reader.count > FORGE_ACTS_MAX ? reader.count - FORGE_ACTS_MAX : 0;
    *ret_acts = reader.acts + drop;
    *ret_count = reader.count - drop;
    return RC_OK;
}

/* ---- standing ---- */

/* Of one user that was asked for by login. */
struct role {
    const char *login;
    int64_t id, level;
};

static bool take_role(void *ctx, const struct js *member)
{
    struct role *role = ctx;
    int64_t level = js_get_int(member, "access_level", 0);
    if (text_same(js_get_str(member, "username", NULL), role->login) && level > role->level)
        role->level = level;
    return true;
}

static enum rc find_id(const struct host_api *api, struct role *role, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(
        api, arena_printf(api->arena, "/users?username=%s", host_escaped(api->arena, role->login)),
        &answer, err);
    if (rc == RC_OK)
        role->id = js_get_int(js_at(answer.document, 0), "id", 0);
    return rc;
}

/* The role in what is below `path`, "/projects/..." or "/groups/..."; 0: none. */
static enum rc find_role(const struct host_api *api, const char *path, struct role *role,
                         struct err *err)
{
    enum rc rc = find_id(api, role, err);
    if (rc != RC_OK || role->id == 0)
        return rc;
    const struct host_list list = {
        .path = arena_printf(api->arena, "%s/members/all?per_page=100&user_ids%%5B%%5D=%" PRId64,
                             path, role->id),
        .each = take_role,
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
        rc = find_role(&api, api.root, &role, err);
    if (rc == RC_OK)
        *ret_association = role.level >= ROLE_OWNER       ? "OWNER"
                           : role.level >= ROLE_DEVELOPER ? "MEMBER"
                           : role.level > 0               ? "CONTRIBUTOR"
                                                          : "NONE";
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
        rc = find_role(&api, arena_printf(&arena, "/groups/%s", host_escaped(&arena, team)), &role,
                       err);
    if (rc == RC_NOT_FOUND || rc == RC_DENIED)
        rc = RC_OK;
    if (rc == RC_OK)
        *ret_in = role.level > 0;
    return rc;
}

const struct people_ops people_gitlab = {
    .acts = gitlab_acts,
    .standing = gitlab_standing,
    .in_team = gitlab_in_team,
};
