#include "work/job/site.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "forge/git/git.h"
#include "work/sandbox/hidden.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

enum rc site_dirs_make(const char *work_dir, const char *const *hidden, struct site_dirs *ret_dirs,
                       struct err *err)
{
    char real[PATH_MAX];
    enum rc rc = dir_make_durable(work_dir, 0700, err);
    if (rc != RC_OK)
        return rc;
    if (realpath(work_dir, real) == NULL)
        return err_set(err, RC_IO, "IO_ERROR", "cannot find %.300s: %s", work_dir, strerror(errno));
    CLEANUP(arena_release) struct arena arena = {0};
    rc = git_home_make(arena_printf(&arena, "%s/git", real), err);
    if (rc == RC_OK)
        rc = dir_make_durable(arena_printf(&arena, "%s/runs", real), 0700, err);
    if (rc != RC_OK)
        return rc;
    ret_dirs->work = mem_strdup(real);
    char *slash = strrchr(real, '/');
    if (slash != NULL && slash != real)
        *slash = '\0'; /* Directly below the root there is no data directory to hide. */
    ret_dirs->data = mem_strdup(real);
    ret_dirs->hidden = hidden_list(ret_dirs->data, hidden);
    return RC_OK;
}

void site_dirs_release(struct site_dirs *dirs)
{
    mem_free(dirs->work);
    mem_free(dirs->data);
    hidden_free(dirs->hidden);
    *dirs = (struct site_dirs){0};
}

static char host[HOST_BYTES];

static void find_host(void)
{
    if (gethostname(host, sizeof host - 1) != 0)
        text_copy(host, sizeof host, "unknown");
}

const char *site_host(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_host);
    return host;
}
