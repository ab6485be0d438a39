#include "base/rotation.h"
#include "base/str.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "PATH.number"; 0: the path itself. */
static void number_path(const char *path, int64_t number, char to[PATH_MAX])
{
    if (number == 0)
        (void)snprintf(to, PATH_MAX, "%s", path);
    else
        (void)snprintf(to, PATH_MAX, "%s.%lld", path, (long long)number);
}

enum rc rotation_move(const char *path, int64_t keep, struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    int64_t number = 1;
    for (; number < keep; number++) {
        number_path(path, number, to);
        if (access(to, F_OK) != 0 && errno == ENOENT)
            break;
    }
    for (; number >= 1; number--) {
        number_path(path, number - 1, from);
        number_path(path, number, to);
        if (rename(from, to) != 0 && errno != ENOENT)
            return err_set(err, RC_IO, "IO_ERROR", "cannot rename %.300s: %s", from,
                           strerror(errno));
    }
    return RC_OK;
}

bool rotation_has(const char *path, int64_t keep, const char *other)
{
    size_t len = strlen(path);
    int64_t number;
    return strncmp(other, path, len) == 0 && other[len] == '.' &&
           text_to_i64(other + len + 1, &number) && number >= 1 && number <= keep;
}
