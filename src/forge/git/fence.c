#include "forge/git/fence.h"
#include "base/random.h"
#include <inttypes.h>

const char *fence_ref(const char *run_id, struct arena *arena)
{
    return arena_printf(arena, FENCE_REFS "%s", run_id);
}

enum rc fence_make(const struct git *git, const char *git_dir, const struct fence_text *text,
                   struct fence *fence, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct random random = random_from_os();
    uint64_t high = random_next(&random), low = random_next(&random);
    const char *blob = arena_printf(&arena, "%s by %s\n%016" PRIx64 "%016" PRIx64 "\n", text->act,
                                    text->holder, high, low);
    const char *hash = NULL;
    struct git_call write = {.git_dir = git_dir,
                             .args = GIT_ARGS("hash-object", "-w", "--stdin"),
                             .input = str_of(blob),
                             .durable = true};
    enum rc rc = git_line(git, &write, &arena, &hash, err);
    if (rc != RC_OK)
        return rc;
    text_copy(fence->value, sizeof fence->value, hash);
    fence->moved = false;
    return RC_OK;
}

struct ref_move fence_move(const struct fence *fence)
{
    return (struct ref_move){.from = fence->moved ? fence->value : fence->old, .to = fence->value};
}
