#include "forge/gitlab/api.h"
#include "net/url.h"
#include <string.h>
#include <strings.h>

/* Personal, project and group tokens are accepted as bearer tokens, as those of OAuth are. */
const struct rest_dialect gitlab_dialect = {
    .name = "GitLab",
    .auth_header = "Authorization",
    .auth_prefix = "Bearer ",
    .limit = "RateLimit-Limit",
    .remaining = "RateLimit-Remaining",
    .reset = "RateLimit-Reset",
};

struct host_api gitlab_at(struct forge_call *call, const struct host_repo *repo,
                          struct arena *arena)
{
    return (struct host_api){.call = call,
                             .dialect = &gitlab_dialect,
                             .repo = repo,
                             .root = arena_printf(arena, "/projects/%s", repo->path),
                             .arena = arena};
}

enum rc gitlab_place(const struct forge_call *call, const char *url, struct arena *arena,
                     struct host_repo *ret_repo, struct err *err)
{
    struct host_repo repo;
    enum rc rc = host_place(call->api, url, "/api/v4", arena, &repo, err);
    if (rc != RC_OK)
        return rc;
    repo.path = host_escaped(arena, repo.path);
    *ret_repo = repo;
    return RC_OK;
}

enum rc gitlab_open(struct forge_call *call, const char *url, struct arena *arena,
                    struct host_api *ret_api, struct err *err)
{
    struct host_repo *repo = arena_alloc(arena, sizeof *repo);
    enum rc rc = gitlab_place(call, url, arena, repo, err);
    if (rc == RC_OK)
        *ret_api = gitlab_at(call, repo, arena);
    return rc;
}

/* "Draft:", "[Draft]" and "(Draft)" count, as often as they stand there. */
const char *gitlab_ready_title(const char *title)
{
    static const char *const signs[] = {"draft:", "[draft]", "(draft)", NULL};
    return host_title_without(title, signs);
}

enum rc gitlab_whoami(const struct host_api *api, const char **ret_login, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(api, "/user", &answer, err);
    if (rc != RC_OK)
        return rc;
    const char *login = host_text(api->arena, answer.document, "username");
    if (text_empty(login))
        return host_unreadable(api, "user", err);
    *ret_login = login;
    return RC_OK;
}

const char *gitlab_user(struct arena *arena, const struct js *object, const char *key)
{
    return arena_strdup(arena, js_get_str(js_get(object, key), "username", ""));
}
