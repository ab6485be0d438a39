#include "forge/gitea/writers.h"
#include <string.h>
#include <strings.h>

enum { WRITERS_MAX = 1000 };

struct writers {
    struct arena *arena;
    const char **logins;
    size_t count;
    bool known; /* false: not asked, or the token may not ask. */
};

static bool add_writer(void *ctx, const struct js *item)
{
    struct writers *writers = ctx;
    const char *login = host_text(writers->arena, item, "login");
    if (login != NULL)
        writers->logins[writers->count++] = login;
    return writers->count < WRITERS_MAX;
}

static enum rc read_writers(const struct host_api *api, void *kept, struct err *err)
{
    struct writers *writers = kept;
    const struct host_list list = {
        .path = host_path(api, "/assignees"), .each = add_writer, .ctx = writers};
    *writers = (struct writers){
        .arena = api->arena,
        .logins = arena_array(api->arena, WRITERS_MAX, sizeof *writers->logins)};
    enum rc rc = host_pages(api, &list, NULL, err);
    writers->known = rc == RC_OK;
    return rc == RC_DENIED ? RC_OK : rc;
}

static bool whole(const void *kept)
{
    const struct writers *writers = kept;
    return writers->known && writers->count < WRITERS_MAX;
}

static const char *association(const struct host_api *api, const void *kept, const char *login)
{
    const struct writers *writers = kept;
    const char *owner = api->repo->path;
    size_t len = strcspn(owner, "/");
    if (!writers->known)
        return NULL;
    if (strlen(login) == len && strncasecmp(owner, login, len) == 0)
        return "OWNER";
    for (size_t i = 0; i < writers->count; i++) {
        if (strcasecmp(writers->logins[i], login) == 0)
            return "MEMBER";
    }
    return "NONE";
}

const struct host_people_ops gitea_writers = {
    .kept_bytes = sizeof(struct writers),
    .read = read_writers,
    .whole = whole,
    .association = association,
};
