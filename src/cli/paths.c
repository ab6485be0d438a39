#include "cli/paths.h"
#include "base/str.h"
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

enum { PASSWD_BYTES = 4096 };

static const char *home_dir(struct arena *arena)
{
    const char *home = getenv("HOME");
    if (!text_empty(home))
        return home;
    struct passwd entry, *found = NULL;
    char *room = arena_alloc(arena, PASSWD_BYTES);
    if (getpwuid_r(getuid(), &entry, room, PASSWD_BYTES, &found) != 0 || found == NULL)
        return NULL;
    return found->pw_dir;
}

enum rc cli_data_dir(const char *flag, struct arena *arena, const char **ret_dir, struct err *err)
{
    const char *given = flag != NULL ? flag : getenv("DROVER_DATA");
    if (!text_empty(given)) {
        *ret_dir = given;
        return RC_OK;
    }
    const char *state = getenv("XDG_STATE_HOME");
    if (state != NULL && state[0] == '/') { /* By the XDG standard a relative one is ignored. */
        *ret_dir = arena_printf(arena, "%s/drover", state);
        return RC_OK;
    }
    const char *home = home_dir(arena);
    if (text_empty(home))
        return err_set(err, RC_NOT_FOUND, "NO_DATA_DIR",
                       "there is no home directory to keep data in: give --data DIR");
    *ret_dir = arena_printf(arena, "%s/.local/state/drover", home);
    return RC_OK;
}
