/*
 * people_gitea.c - who people are to a repository of Gitea or Forgejo.
 *
 * The timeline of an issue has its labels and assignments.  Those who may write to the repository are
 * the ones to whom an issue can be assigned: MEMBER.
 */
#include "forge/gitea_api.h"
#include "forge/people.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

struct act_reader {
    struct host_api api;
    struct forge_act *acts; /* The last FORGE_ACTS_MAX, in a ring. */
    size_t count;
};

/* Of a label "1" is added, "" is removed. */
static bool add_event(void *ctx, const struct js *item)
{
    struct act_reader *reader = ctx;
    struct arena *arena = reader->api.arena;
    const char *type = js_get_str(item, "type", "");
    bool labelled = text_same(type, "label") && text_same(js_get_str(item, "body", ""), "1");
    bool assigned = text_same(type, "assignees") && !js_get_bool(item, "removed_assignee", false);
    const char *what = labelled   ? host_text(arena, js_get(item, "label"), "name")
                       : assigned ? host_text(arena, js_get(item, "assignee"), "login")
                                  : NULL;
    if (what != NULL)
        reader->acts[reader->count++ % FORGE_ACTS_MAX] = (struct forge_act){
            .assigned = assigned,
            .what = what,
            .actor = gitea_user(arena, item, "user"),
            .at_us = host_time(item, "created_at")};
    return true;
}

static enum rc gitea_acts(struct forge_call *call, const char *url, int64_t number,
                          struct arena *arena, struct forge_act **ret_acts, size_t *ret_count,
                          struct err *err)
{
    struct act_reader reader = {.count = 0};
    enum rc rc = gitea_open(call, url, arena, &reader.api, err);
    if (rc != RC_OK)
        return rc;
    reader.acts = arena_array(arena, FORGE_ACTS_MAX, sizeof *reader.acts);
    const struct host_list timeline = {
        .path = host_path(&reader.api, "/issues/%" PRId64 "/timeline?limit=50", number),
        .each = add_event,
        .ctx = &reader};
    rc = host_pages(&reader.api, &timeline, NULL, err);
    if (rc != RC_OK)
        return rc;
    size_t count = reader.count < FORGE_ACTS_MAX ? reader.count : FORGE_ACTS_MAX;
    struct forge_act *acts = arena_array(arena, count + 1, sizeof *acts);
    for (size_t i = 0; i < count; i++)
        acts[i] = reader.acts[(reader.count - count + i) % FORGE_ACTS_MAX];
    *ret_acts = acts;
    *ret_count = count;
    return RC_OK;
}

/* ---- standing ---- */

struct writer_search {
    const char *login;
    bool found;
};

static bool look_at_writer(void *ctx, const struct js *item)
{
    struct writer_search *search = ctx;
    search->found = strcasecmp(js_get_str(item, "login", ""), search->login) == 0;
    return !search->found;
}

static enum rc gitea_standing(struct forge_call *call, const char *url, const char *login,
                              struct arena *arena, const char **ret_association, struct err *err)
{
    struct host_api api;
    struct writer_search search = {.login = login};
    enum rc rc = gitea_open(call, url, arena, &api, err);
    if (rc != RC_OK)
        return rc;
    size_t owner = strcspn(api.repo->path, "/");
    const struct host_list writers = {
        .path = host_path(&api, "/assignees"), .each = look_at_writer, .ctx = &search};
    if (strlen(login) == owner && strncasecmp(api.repo->path, login, owner) == 0) {
        *ret_association = "OWNER";
        return RC_OK;
    }
    rc = host_pages(&api, &writers, NULL, err);
    if (rc == RC_OK)
        *ret_association = search.found ? "MEMBER" : "NONE";
    return rc;
}

/* ---- teams ---- */

struct team_search {
    const char *name;
    int64_t id;
};

static bool look_at_team(void *ctx, const struct js *item)
{
    struct team_search *search = ctx;
    if (strcasecmp(js_get_str(item, "name", ""), search->name) == 0)
        search->id = js_get_int(item, "id", 0);
    return search->id == 0;
}

/* Of the organization that owns the repository. */
static enum rc gitea_in_team(struct forge_call *call, const char *url, const char *team,
                             const char *login, bool *ret_in, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct host_api api;
    struct team_search search = {.name = team};
    enum rc rc = gitea_open(call, url, &arena, &api, err);
    if (rc != RC_OK)
        return rc;
    const struct host_list teams = {.path = arena_printf(&arena, "/orgs/%.*s/teams?limit=50",
                                                         (int)strcspn(api.repo->path, "/"),
                                                         api.repo->path),
                                    .each = look_at_team,
                                    .ctx = &search};
    rc = host_pages(&api, &teams, NULL, err);
    if (rc == RC_OK && search.id != 0)
        rc = host_get(&api,
                      arena_printf(&arena, "/teams/%" PRId64 "/members/%s", search.id,
                                   host_escaped(&arena, login)),
                      &answer, err);
    bool in = rc == RC_OK && search.id != 0;
    if (rc == RC_NOT_FOUND || rc == RC_DENIED)
        rc = RC_OK;
    if (rc == RC_OK)
        *ret_in = in;
    return rc;
}

const struct people_ops people_gitea = {
    .acts = gitea_acts,
    .standing = gitea_standing,
    .in_team = gitea_in_team,
};
