/*
 * people_github.c - people at GitHub: who has labelled or assigned an issue, what a person may do
 * in the repository, who is in a team.
 *
 * A team is one of the organization that owns the repository.  Reading its members takes the
 * permission "members" of the organization; without it a team has none.
 */
#include "forge/github.h"
#include "forge/people.h"
#include "net/url.h"
#include <inttypes.h>
#include <string.h>

enum { PATH_BYTES_MAX = 2048, EVENTS_MAX = REST_PAGES_MAX * 100 };

/* ---- acts ---- */

struct act_reader {
    struct arena *arena;
    struct forge_act *acts;
    size_t count;
};

/* Of an assignment `actor` may be the one who was assigned: `assigner` has done it. */
static bool take_event(void *ctx, const struct js *event)
{
    struct act_reader *reader = ctx;
    const char *kind = js_get_str(event, "event", "");
    bool assigned = text_same(kind, "assigned");
    if (!assigned && !text_same(kind, "labeled"))
        return true;
    const struct js *by = js_get(event, "assigner");
    if (!assigned || js_type(by) != JS_OBJECT)
        by = js_get(event, "actor");
    const char *what = assigned ? js_str(js_path(event, "assignee.login"), NULL)
                                : js_str(js_path(event, "label.name"), NULL);
    if (what == NULL || reader->count == EVENTS_MAX)
        return reader->count < EVENTS_MAX;
    reader->acts[reader->count++] = (struct forge_act){
        .assigned = assigned,
        .what = arena_strdup(reader->arena, what),
        .actor = github_login(by, reader->arena),
        .at_us = github_time(event, "created_at"),
    };
    return true;
}

static enum rc acts(struct forge_call *call, const char *url, int64_t number, struct arena *arena,
                    struct forge_act **ret_acts, size_t *ret_count, struct err *err)
{
    struct github gh = {.call = call, .arena = arena, .err = err};
    struct act_reader reader = {.arena = arena,
                                .acts = arena_array(arena, EVENTS_MAX, sizeof(struct forge_act))};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request list = github_request(
        &gh, "GET", arena_printf(arena, "/issues/%" PRId64 "/events?per_page=100", number));
    rc = rest_pages(call, &list, arena, take_event, &reader, NULL, err);
    if (rc != RC_OK)
        return rc;
    size_t drop = reader.count > FORGE_ACTS_MAX ? reader.count - FORGE_ACTS_MAX : 0;
    *ret_acts = reader.acts + drop;
    *ret_count = reader.count - drop;
    return RC_OK;
}

/* ---- rights ---- */

/* Anybody may read a public repository: reading gives no standing. */
static const char *association_of(const char *permission)
{
    if (text_same(permission, "admin"))
        return "OWNER";
    return text_same(permission, "write") || text_same(permission, "maintain") ? "COLLABORATOR"
                                                                               : "NONE";
}

static enum rc standing(struct forge_call *call, const char *url, const char *login,
                        struct arena *arena, const char **ret_association, struct err *err)
{
    struct github gh = {.call = call, .arena = arena, .err = err};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/collaborators/");
    url_add_escaped(&path, login);
    buf_adds(&path, "/permission");
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(&gh, "GET", buf_text(&path));
    rc = github_send(&gh, &request, &answer);
    if (rc == RC_NOT_FOUND) { /* No such person. */
        err_clear(err);
        *ret_association = "NONE";
        return RC_OK;
    }
    if (rc == RC_OK)
        *ret_association = association_of(js_get_str(answer.document, "permission", ""));
    return rc;
}

/* ---- teams ---- */

static enum rc in_team(struct forge_call *call, const char *url, const char *team,
                       const char *login, bool *ret_in, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(buf_release) struct buf path;
    struct github gh = {.call = call, .arena = &arena, .err = err};
    buf_init(&path, PATH_BYTES_MAX);
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    buf_adds(&path, "/orgs/");
    url_add_escaped(&path, github_owner(&gh));
    buf_adds(&path, "/teams/");
    url_add_escaped(&path, team);
    buf_adds(&path, "/memberships/");
    url_add_escaped(&path, login);
    struct rest_request request = github_request(&gh, "GET", "");
    request.path = buf_text(&path);
    rc = github_send(&gh, &request, &answer);
    if (rc == RC_NOT_FOUND || rc == RC_DENIED) {
        err_clear(err);
        *ret_in = false;
        return RC_OK;
    }
    if (rc == RC_OK) /* One who was invited has not accepted: "pending". */
        *ret_in = text_same(js_get_str(answer.document, "state", ""), "active");
    return rc;
}

const struct people_ops people_github = {
    .acts = acts,
    .standing = standing,
    .in_team = in_team,
};
