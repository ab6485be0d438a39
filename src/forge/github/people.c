/*
 * people.c - people at GitHub.
 *
 * Events of an issue name who has labelled it, and nothing of what that person may do: that is
 * asked for.  A label that a template puts on a new issue counts as put there by its author.
 */
#include "forge/port/people.h"
#include "forge/github/api.h"
#include "forge/host/api.h"
#include <inttypes.h>

static bool take_event(void *ctx, const struct js *item)
{
    struct act_list *list = ctx;
    const char *event = js_get_str(item, "event", "");
    const struct js *assigner = js_get(item, "assigner");
    bool labelled = text_same(event, "labeled"), assigned = text_same(event, "assigned");
    const struct js *of = js_get(item, labelled ? "label" : "assignee");
    const struct forge_act act = {
        .assigned = assigned,
        .what = github_text(of, labelled ? "name" : "login", NULL, list->arena),
        .actor = github_login(assigner != NULL ? assigner : js_get(item, "actor"), list->arena),
        .at_us = github_time(item, "created_at"),
    };
    if ((labelled || assigned) && act.what != NULL)
        act_list_add(list, &act);
    return true;
}

static enum rc github_acts(struct forge_call *call, const char *url, int64_t number,
                           struct arena *arena, struct forge_act **ret_acts, size_t *ret_count,
                           struct err *err)
{
    struct github gh = {.call = call, .arena = arena, .err = err};
    struct act_list list = {.arena = arena};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(
        &gh, "GET", arena_printf(arena, "/issues/%" PRId64 "/events?per_page=100", number));
    rc = rest_pages(call, &request, arena, take_event, &list, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_acts = list.acts;
    *ret_count = list.count;
    return RC_OK;
}

/* Everyone may read a public repository, and a person who may only triage may ask for no work. */
static const char *association_of(const struct js *answer)
{
    const char *permission = js_get_str(answer, "permission", "none");
    const char *role = js_get_str(answer, "role_name", permission);
    if (text_same(permission, "admin"))
        return "OWNER";
    if (text_same(permission, "write"))
        return "COLLABORATOR";
    return text_same(role, "triage") ? "CONTRIBUTOR" : "NONE";
}

static enum rc github_standing(struct forge_call *call, const char *url, const char *login,
                               struct arena *arena, const char **ret_association, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct github gh = {.call = call, .arena = arena, .err = err};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(
        &gh, "GET",
        arena_printf(arena, "/collaborators/%s/permission", host_escaped(arena, login)));
    rc = github_send(&gh, &request, &answer);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return rc;
    *ret_association = rc == RC_OK ? association_of(answer.document) : "NONE";
    err_clear(err);
    return RC_OK;
}

static enum rc github_in_team(struct forge_call *call, const char *url, const char *team,
                              const char *login, bool *ret_in, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    struct rest_request request = github_request(&gh, "GET", "");
    request.path = arena_printf(&arena, "/orgs/%s/teams/%s/memberships/%s", github_owner(&gh),
                                host_escaped(&arena, team), host_escaped(&arena, login));
    rc = github_send(&gh, &request, &answer);
    if (rc != RC_OK && rc != RC_NOT_FOUND && rc != RC_DENIED)
        return rc;
    /* A team that may not be seen has no members here. */
    *ret_in = rc == RC_OK && text_same(js_get_str(answer.document, "state", ""), "active");
    err_clear(err);
    return RC_OK;
}

const struct people_ops people_github = {
    .acts = github_acts,
    .standing = github_standing,
    .in_team = github_in_team,
};
