#include "work/sandbox/hidden.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/rc.h"
#include "base/str.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ABOVE_MAX = 64 }; /* Directories above data_dir that are checked. */

/* Without links; also of a file that is not there yet, in a directory that is. */
static char *real_of(const char *path)
{
    char real[PATH_MAX], dir[PATH_MAX], whole[PATH_MAX];
    if (realpath(path, real) != NULL)
        return mem_strdup(real);
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    int len = snprintf(dir, sizeof dir, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                       slash != NULL ? path : ".");
    if (len < 0 || (size_t)len >= sizeof dir || name[0] == '\0' || realpath(dir, real) == NULL)
        return NULL;
    len = snprintf(whole, sizeof whole, "%s/%s", real[1] ? real : "", name);
    return len > 0 && (size_t)len < sizeof whole ? mem_strdup(whole) : NULL;
}

/* The marks of a server's or worker's data directory. */
static bool is_data_dir(const char *dir)
{
    static const char *const marks[] = {"server.lock", "admin.token", "drover.db"};
    char path[PATH_MAX];
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        int len = snprintf(path, sizeof path, "%s/%s", dir, marks[i]);
        if (len > 0 && (size_t)len < sizeof path && file_exists(path))
            return true;
    }
    return false;
}

char **hidden_list(const char *data_dir, const char *const *given)
{
    size_t count = 0, kept = 0;
    while (given != NULL && given[count] != NULL)
        count++;
    char **list = mem_array(count + ABOVE_MAX + 1, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        char *real = real_of(given[i]);
        if (real != NULL)
            list[kept++] = real;
    }
    char above[PATH_MAX];
    text_copy(above, sizeof above, data_dir);
    for (int i = 0; i < ABOVE_MAX; i++) {
        char *slash = strrchr(above, '/');
        if (slash == NULL || slash == above)
            break;
        *slash = '\0';
        if (is_data_dir(above))
            list[kept++] = mem_strdup(above);
    }
    return list;
}

void hidden_free(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        mem_free(list[i]);
    mem_free(list);
}
