#include "work/sandbox/run_user.h"
#include "base/buf.h"
#include "base/fd.h"
#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASSWD_BYTES_MAX = 1024 * 1024 };

uid_t run_user_of(const char *name)
{
    /* FNV-1a: two runs at work at the same time should hardly ever share a user. */
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = name != NULL ? name : ""; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return (uid_t)(RUN_USER_FIRST + hash % RUN_USER_COUNT);
}

static void ftsp_close(FTS **walk)
{
    if (*walk != NULL)
        (void)fts_close(*walk);
}

static enum rc give_all(FTS *walk, uid_t user, const char *path, struct err *err)
{
    const FTSENT *entry;
    errno = 0;
    while ((entry = fts_read(walk)) != NULL) {
        bool before = entry->fts_info == FTS_D;
        bool failed = entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
                      entry->fts_info == FTS_NS;
        if (failed)
            return err_set(err, RC_IO, "IO_ERROR", "cannot hand over %.300s: %s", path,
                           strerror(entry->fts_errno));
        if (!before && lchown(entry->fts_accpath, user, (gid_t)user) != 0)
            return err_set(err, RC_IO, "IO_ERROR", "cannot hand over %.300s: %s", path,
                           strerror(errno));
        errno = 0;
    }
    if (errno != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot list %.300s: %s", path, strerror(errno));
    return RC_OK;
}

enum rc run_user_give(const char *path, uid_t user, struct err *err)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot find %.300s: %s", path, strerror(errno));
    if (status.st_uid == user)
        return RC_OK;
    char *const tops[] = {(char *)(uintptr_t)path, NULL}; /* Not const for historical reasons. */
    CLEANUP(ftsp_close) FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    if (walk == NULL)
        return err_set(err, RC_IO, "IO_ERROR", "cannot list %.300s: %s", path, strerror(errno));
    return give_all(walk, user, path, err);
}

enum rc run_user_passwd(uid_t user, const char *home, int *ret_fd, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, PASSWD_BYTES_MAX);
    (void)!file_read("/etc/passwd", &text, NULL); /* Without it this is the only line. */
    buf_addf(&text, "drover:x:%u:%u:drover:%s:/bin/sh\n", (unsigned)user, (unsigned)user, home);
    return fd_of_bytes(buf_text(&text), text.len, ret_fd, err);
}
