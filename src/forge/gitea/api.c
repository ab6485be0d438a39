#include "forge/gitea/api.h"
#include <inttypes.h>
#include <string.h>

/* Neither limits rates by itself; a proxy in front of it answers 429. */
const struct rest_dialect gitea_dialect = {
    .name = "Gitea",
    .auth_header = "Authorization",
    .auth_prefix = "token ",
};

struct host_api gitea_at(struct forge_call *call, const struct host_repo *repo, struct arena *arena)
{
    return (struct host_api){.call = call,
                             .dialect = &gitea_dialect,
                             .repo = repo,
                             .root = arena_printf(arena, "/repos/%s", repo->path),
                             .arena = arena};
}

enum rc gitea_place(const struct forge_call *call, const char *url, struct arena *arena,
                    struct host_repo *ret_repo, struct err *err)
{
    struct host_repo repo;
    enum rc rc = host_place(call->api, url, "/api/v1", arena, &repo, err);
    if (rc != RC_OK)
        return rc;
    /* An installation below a path of its server: owner and name come last. */
    const char *name = strrchr(repo.path, '/');
    const char *owner = memrchr(repo.path, '/', (size_t)(name - repo.path));
    owner = owner != NULL ? owner + 1 : repo.path;
    repo.path = arena_printf(
        arena, "%s/%s", host_escaped(arena, arena_strndup(arena, owner, (size_t)(name - owner))),
        host_escaped(arena, name + 1));
    *ret_repo = repo;
    return RC_OK;
}

enum rc gitea_open(struct forge_call *call, const char *url, struct arena *arena,
                   struct host_api *ret_api, struct err *err)
{
    struct host_repo *repo = arena_alloc(arena, sizeof *repo);
    enum rc rc = gitea_place(call, url, arena, repo, err);
    if (rc == RC_OK)
        *ret_api = gitea_at(call, repo, arena);
    return rc;
}

const char *gitea_ready_title(const char *title)
{
    static const char *const signs[] = {"wip:", "[wip]", NULL};
    return host_title_without(title, signs);
}

enum rc gitea_whoami(const struct host_api *api, const char **ret_login, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_get(api, "/user", &answer, err);
    if (rc == RC_OK || rc == RC_DENIED)
        *ret_login = host_text(api->arena, answer.document, "login");
    return rc == RC_DENIED ? RC_OK : rc;
}

const char *gitea_user(struct arena *arena, const struct js *object, const char *key)
{
    return arena_strdup(arena, js_get_str(js_get(object, key), "login", ""));
}

/* ---- labels ---- */

static bool has_label(const struct js *labels, const char *name)
{
    for (size_t i = 0; i < js_count(labels); i++) {
        if (text_same(js_get_str(js_at(labels, i), "name", NULL), name))
            return true;
    }
    return false;
}

static enum rc send_labels(const struct host_api *api, const char *method, int64_t number,
                           const char *const *labels, struct rest_answer *ret_answer,
                           struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_key(&jw, "labels");
    jw_begin(&jw, '[');
    for (; *labels != NULL; labels++)
        jw_str(&jw, *labels);
    jw_end(&jw, ']');
    host_body_end(&jw);
    return host_send(api, method, host_path(api, "/issues/%" PRId64 "/labels", number), &body,
                     ret_answer, err);
}

static enum rc make_label(const struct host_api *api, const char *name, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    struct jw jw = host_body(&body);
    jw_kstr(&jw, "name", name);
    jw_kstr(&jw, "color", "#ededed");
    host_body_end(&jw);
    return host_send(api, "POST", host_path(api, "/labels"), &body, NULL, err);
}

/* Names that are not known are dropped without a word: the answer has those that were added. */
static enum rc label_all(const struct host_api *api, const char *method, int64_t number,
                         const char *const *labels, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    CLEANUP(rest_answer_release) struct rest_answer again = {0};
    bool made = false;
    enum rc rc = send_labels(api, method, number, labels, &answer, err);
    for (size_t i = 0; labels[i] != NULL && rc == RC_OK; i++) {
        if (has_label(answer.document, labels[i]))
            continue;
        rc = make_label(api, labels[i], err);
        made = true;
    }
    return rc == RC_OK && made ? send_labels(api, method, number, labels, &again, err) : rc;
}

enum rc gitea_add_labels(const struct host_api *api, int64_t number, const char *const *labels,
                         struct err *err)
{
    return *labels != NULL ? label_all(api, "POST", number, labels, err) : RC_OK;
}

enum rc gitea_set_labels(const struct host_api *api, int64_t number, const char *const *labels,
                         struct err *err)
{
    return label_all(api, "PUT", number, labels, err);
}
