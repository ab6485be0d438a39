#include "tests/unit/host_kit.h"
#include <string.h>

struct arena host_arena;
struct forge_call host_call;
struct err host_err;
struct api_script *host_script;

const char *Q(const char *text)
{
    char *copy = arena_strdup(&host_arena, text);
    for (char *at = copy; *at != '\0'; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

void host_kit_open(struct api_script *script, const char *path)
{
    host_script = script;
    host_call.api = arena_printf(&host_arena, "%s%s", api_script_url(script), path);
}

void host_kit_setup(void)
{
    memset(&host_err, 0, sizeof host_err);
    host_script = NULL;
    host_call = (struct forge_call){.git = {.credential = "s3cret-token"}};
}

void host_kit_teardown(void)
{
    forge_call_release(&host_call);
    if (host_script != NULL)
        api_script_done(host_script);
    arena_release(&host_arena);
}
