#include "forge/git/origin_access.h"
#include "base/fd.h"
#include "forge/git/origin.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASSWD_BYTES = 4096, USER_BYTES = 64 };

static const char *name_of(uid_t uid, struct arena *arena)
{
    struct passwd entry, *found = NULL;
    char *room = arena_alloc(arena, PASSWD_BYTES);
    if (getpwuid_r(uid, &entry, room, PASSWD_BYTES, &found) == 0 && found != NULL)
        return arena_printf(arena, "%.*s", USER_BYTES, found->pw_name);
    return arena_printf(arena, "%u", (unsigned)uid);
}

/* For the user that acts; anything but "not allowed" is left to git to report. */
static bool is_allowed(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || (errno != EACCES && errno != EPERM);
}

static enum rc cannot_read(const char *path, struct arena *arena, struct err *err)
{
    struct stat status;
    const char *owner = lstat(path, &status) == 0 ? name_of(status.st_uid, arena) : "its owner";
    const char *self = name_of(geteuid(), arena);
    return err_set(err, RC_DENIED, "ORIGIN_NOT_READABLE",
                   "drover runs as user %s, which may not read %.200s. Run drover as %s, or let "
                   "%s read it and pass the directories above it.",
                   self, path, owner, self);
}

/* group: what both users need. */
static enum rc cannot_write(const char *dir, uid_t owner, const char *code, struct arena *arena,
                            struct err *err)
{
    const char *self = name_of(geteuid(), arena), *other = name_of(owner, arena);
    return err_set(err, RC_DENIED, code,
                   "drover runs as user %s, and %.150s belongs to %s. Run drover as %s, or share "
                   "it: git -C %.150s config core.sharedRepository group, and give it to a group "
                   "of both (chgrp -R, chmod -R g+rwX).",
                   self, dir, other, other, dir);
}

static bool is_shared(const struct git *git, const char *dir, struct arena *arena)
{
    const char *value = NULL;
    struct git_call ask = {.git_dir = dir,
                           .args = GIT_ARGS("config", "--get", "core.sharedRepository")};
    if (git_line(git, &ask, arena, &value, NULL) != RC_OK)
        return false;
    static const char *const alone[] = {"", "umask", "false", "0"};
    for (size_t i = 0; i < COUNT_OF(alone); i++) {
        if (strcasecmp(value, alone[i]) == 0)
            return false;
    }
    return true;
}

static enum rc check_dir(const struct git *git, const char *dir, struct arena *arena,
                         struct err *err)
{
    static const char *const written[] = {"", "/objects", "/refs"};
    struct stat status;
    if (stat(dir, &status) != 0)
        return RC_OK;
    for (size_t i = 0; i < COUNT_OF(written); i++) {
        if (!is_allowed(arena_printf(arena, "%s%s", dir, written[i]), W_OK | X_OK))
            return cannot_write(dir, status.st_uid, "ORIGIN_NOT_WRITABLE", arena, err);
    }
    if (status.st_uid == geteuid() || is_shared(git, dir, arena))
        return RC_OK;
    return cannot_write(dir, status.st_uid, "ORIGIN_NOT_SHARED", arena, err);
}

enum rc origin_access(const struct git *git, const char *url, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct origin origin = {.git = git, .arena = &arena};
    if (!origin_is_here(url))
        return RC_OK;
    const char *path = text_starts(url, "file://") ? url + strlen("file://") : url;
    if (!is_allowed(path, R_OK | X_OK))
        return cannot_read(path, &arena, err);
    if (origin_open(&origin, url, NULL) != RC_OK) {
        const char *dir = arena_printf(&arena, "%s/.git", path);
        return is_allowed(dir, R_OK | X_OK) ? RC_OK : cannot_read(dir, &arena, err);
    }
    return check_dir(git, origin.dir, &arena, err);
}

enum rc origin_explain(const struct git *git, const char *url, enum rc rc, struct err *err)
{
    struct err why = {0};
    if (rc != RC_IO && rc != RC_UNREACHABLE)
        return rc;
    enum rc access = origin_access(git, url, &why);
    if (access != RC_DENIED || text_same(why.code, "ORIGIN_NOT_SHARED"))
        return rc;
    return err_set(err, RC_CONFLICT, why.code, "%s", why.text);
}
