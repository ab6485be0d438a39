/* forge_kit.c - see forge_kit.h. */
#include "tests/unit/forge_kit.h"
#include "base/clock.h"

static const char patch[] = "diff --git a/file.txt b/file.txt\n"
                            "--- a/file.txt\n"
                            "+++ b/file.txt\n"
                            "@@ -1 +1 @@\n"
                            "-one\n"
                            "+two\n";

const char *forge_kit_open(struct kit *kit)
{
    kit_open(kit);
    return kit_sh(kit, "git clone -q --mirror origin.git mirror.git; "
                       "git --git-dir=origin.git rev-parse main");
}

enum rc forge_kit_may_go_on(void *ctx, struct err *err)
{
    const enum rc *rc = ctx;
    return rc != NULL && *rc != RC_OK ? err_set(err, *rc, "TEST", "not any more") : RC_OK;
}

struct forge_change forge_kit_change(struct kit *kit, const char *base, const char *run)
{
    return (struct forge_change){
        .url = kit->origin,
        .mirror = arena_printf(&kit->arena, "%s/mirror.git", kit->dir),
        .scratch = arena_printf(&kit->arena, "%s/scratch-%s.git", kit->dir, run),
        .run_id = run,
        .base_commit = base,
        .patch = str_of(patch),
        .branch = arena_printf(&kit->arena, "drover/%s", run),
        .target_branch = "main",
        .title = "Make it two",
        .body = "Because one is too few.",
        .time_us = INT64_C(1780000000) * US_PER_SECOND,
        .holder = {.name = "worker a", .may_go_on = forge_kit_may_go_on},
    };
}
