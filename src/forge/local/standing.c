#include "forge/local/standing.h"
#include "forge/git/fence.h"
#include "forge/git/origin.h"
#include <inttypes.h>
#include <string.h>

#define PULLS  "refs/pull/"
#define RUNS   "refs/drover/pulls/"
#define CLOSED "refs/drover/closed/"

const char *pr_ref(struct arena *arena, int64_t number)
{
    return arena_printf(arena, PULLS "%" PRId64 "/head", number);
}

const char *pr_run_ref(struct arena *arena, const char *run_id, int64_t number)
{
    return arena_printf(arena, RUNS "%s/%" PRId64, run_id, number);
}

const char *pr_closed_ref(struct arena *arena, int64_t number)
{
    return arena_printf(arena, CLOSED "%" PRId64, number);
}

int64_t pr_number_of(const char *ref)
{
    char digits[24];
    const char *at = NULL, *end = ref + strlen(ref);
    if (text_starts(ref, PULLS) && text_ends(ref, "/head")) {
        at = ref + strlen(PULLS);
        end -= strlen("/head");
    } else if (text_starts(ref, CLOSED)) {
        at = ref + strlen(CLOSED);
    } else if (text_starts(ref, RUNS)) {
        at = strrchr(ref, '/') + 1;
    }
    if (at == NULL || end <= at || (size_t)(end - at) >= sizeof digits)
        return 0;
    int64_t number = 0;
    text_copy(digits, (size_t)(end - at) + 1, at);
    return text_to_i64(digits, &number) && number > 0 && number <= ORIGIN_NUMBER_MAX ? number : 0;
}

/* A look at the refs of a run: the names that are its own. */
struct look {
    const char *fence, *branch, *runs;
    struct standing *standing;
};

static void note_own(struct look *look, const char *hash, const char *ref)
{
    struct standing *standing = look->standing;
    if (text_same(ref, look->fence))
        text_copy(standing->fence, sizeof standing->fence, hash);
    else if (text_same(ref, look->branch))
        text_copy(standing->branch, sizeof standing->branch, hash);
    else if (text_starts(ref, look->runs) && pr_number_of(ref) > standing->number) {
        standing->number = pr_number_of(ref);
        text_copy(standing->run_head, sizeof standing->run_head, hash);
    }
}

static void note_number(struct look *look, const char *hash, const char *ref)
{
    struct standing *standing = look->standing;
    int64_t number = pr_number_of(ref);
    if (number > standing->highest)
        standing->highest = number;
    if (number == 0 || number != standing->number)
        return;
    if (text_starts(ref, PULLS))
        text_copy(standing->pr_head, sizeof standing->pr_head, hash);
    else if (text_starts(ref, CLOSED))
        text_copy(standing->closed, sizeof standing->closed, hash);
}

/* Calls note for every line "<hash> <ref>". */
static void each_ref(struct look *look, struct arena *arena, struct str lines,
                     void (*note)(struct look *look, const char *hash, const char *ref))
{
    struct str line;
    while (str_take_line(&lines, &line)) {
        char *hash = str_dup(arena, line);
        char *blank = strchr(hash, ' ');
        if (blank == NULL)
            continue;
        *blank = '\0';
        note(look, hash, blank + 1);
    }
}

enum rc standing_read(const struct origin *origin, const struct standing_query *query,
                      struct standing *ret_standing, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    struct standing standing = {.number = 0};
    struct look look = {.fence = fence_ref(query->run_id, &arena),
                        .branch = arena_printf(&arena, "refs/heads/%s", query->branch),
                        .runs = arena_printf(&arena, RUNS "%s/", query->run_id),
                        .standing = &standing};
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--format=%(objectname) %(refname)", look.fence,
                         look.branch, query->numbers ? RUNS : look.runs,
                         query->numbers ? PULLS : NULL, query->numbers ? CLOSED : NULL),
        .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc != RC_OK)
        return rc;
    each_ref(&look, &arena, buf_str(&out), note_own);
    if (query->numbers)
        each_ref(&look, &arena, buf_str(&out), note_number);
    *ret_standing = standing;
    return RC_OK;
}

enum rc pr_is_ours(const struct origin *origin, int64_t number, bool *ret_ours, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, GIT_TEXT_MAX);
    const char *pattern = arena_printf(origin->arena, "refs/drover/pulls/*/%" PRId64, number);
    struct git_call list = {
        .git_dir = origin->dir,
        .args = GIT_ARGS("for-each-ref", "--count=1", "--format=%(refname)", pattern),
        .out = &out};
    enum rc rc = git_run(origin->git, &list, err);
    if (rc == RC_OK)
        *ret_ours = out.len > 0;
    return rc;
}
