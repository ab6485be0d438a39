#include "tests/unit/github_kit.h"
#include <check.h>
#include <string.h>

struct arena kit_arena;
struct forge_call kit_call;
struct err kit_err;
struct host_repo kit_repo;
static struct api_script *kit_script;

void github_kit_open(struct api_script *script)
{
    kit_script = script;
    memset(&kit_err, 0, sizeof kit_err);
    kit_call = (struct forge_call){
        .git = {.credential = "ghs_0123456789012345678901234567890123456789"},
        .api = arena_printf(&kit_arena, "%s/api/v3", api_script_url(script))};
    ck_assert_int_eq(github_place(&kit_call, KIT_URL, &kit_arena, &kit_repo, &kit_err), RC_OK);
}

void github_kit_close(void)
{
    forge_call_release(&kit_call);
    arena_release(&kit_arena);
    api_script_done(kit_script);
    kit_script = NULL;
}
