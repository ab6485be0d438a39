/*
 * survey.c - see survey.h.
 *
 * One git lists it all, sorted by name: refs/drover/closed/ and refs/drover/pulls/ come before
 * refs/pull/, so the numbers that are closed, or have a run, are known when refs/pull/<N>/head is
 * read.
 */
#include "forge/git/origin.h"
#include "forge/local/local.h"
#include "forge/local/standing.h"
#include <stdlib.h>
#include <string.h>

#define BRANCHES "refs/heads/"
#define RUNS     "refs/drover/pulls/"
#define CLOSED   "refs/drover/closed/"

struct numbers {
    int64_t *items;
    size_t count;
    bool sorted;
};

struct survey {
    struct arena *arena;
    struct forge_traces traces;
    struct numbers closed, opened; /* opened: by a run. */
};

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool has_number(struct numbers *numbers, int64_t number)
{
    if (numbers->count == 0)
        return false;
    if (!numbers->sorted)
        qsort(numbers->items, numbers->count, sizeof *numbers->items, compare);
    numbers->sorted = true;
    return bsearch(&number, numbers->items, numbers->count, sizeof number, compare) != NULL;
}

static void add_number(struct numbers *numbers, int64_t number)
{
    numbers->items[numbers->count++] = number;
    numbers->sorted = false;
}

static void add_pr(struct survey *survey, struct forge_trace *trace)
{
    bool of_run = text_starts(trace->ref, RUNS);
    trace->number = pr_number_of(trace->ref);
    if (trace->number == 0)
        return;
    if (text_starts(trace->ref, CLOSED)) {
        add_number(&survey->closed, trace->number);
        return;
    }
    if (has_number(&survey->closed, trace->number) ||
        (!of_run && has_number(&survey->opened, trace->number)))
        return;
    if (of_run) {
        const char *run = trace->ref + strlen(RUNS);
        trace->run_id = arena_strndup(survey->arena, run, strcspn(run, "/"));
        add_number(&survey->opened, trace->number);
    }
    survey->traces.items[survey->traces.count++] = *trace;
}

/* "<hash> <ref> <run id>"; the last is empty where the commit names none. */
static void add_line(struct survey *survey, struct str line)
{
    char *hash = str_dup(survey->arena, line), *rest = hash;
    (void)strsep(&rest, " ");
    char *ref = strsep(&rest, " ");
    if (ref == NULL)
        return;
    struct forge_trace trace = {.ref = ref, .head = hash, .named = text_empty(rest) ? NULL : rest};
    if (!text_starts(ref, BRANCHES)) {
        add_pr(survey, &trace);
        return;
    }
    trace.branch = ref + strlen(BRANCHES);
    survey->traces.items[survey->traces.count++] = trace;
}

static size_t count_lines(struct str lines)
{
    size_t count = 0;
    struct str line;
    while (str_take_line(&lines, &line))
        count++;
    return count;
}

enum rc local_survey(const struct forge_ops *forge, struct forge_call *call, const char *url,
                     struct arena *arena, struct forge_traces *ret_traces, struct err *err)
{
    (void)forge;
    const struct git *git = &call->git;
    struct origin origin = {.git = git, .arena = arena};
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, ORIGIN_REFS_BYTES_MAX);
    enum rc rc = origin_open(&origin, url, err);
    if (rc != RC_OK)
        return rc;
    struct git_call list = {.git_dir = origin.dir,
                            .args = GIT_ARGS("for-each-ref",
                                             "--format=%(objectname) %(refname) " //
                                             ORIGIN_RUN_OF_COMMIT,
                                             BRANCHES "drover/", CLOSED, RUNS, "refs/pull/"),
                            .out = &out};
    rc = git_run(git, &list, err);
    if (rc != RC_OK)
        return rc;
    struct str rest = buf_str(&out), line;
    size_t count = count_lines(rest);
    struct survey survey = {.arena = arena};
    survey.traces.items = arena_array(arena, count, sizeof *survey.traces.items);
    survey.closed.items = arena_array(arena, count, sizeof *survey.closed.items);
    survey.opened.items = arena_array(arena, count, sizeof *survey.opened.items);
    while (str_take_line(&rest, &line))
        add_line(&survey, line);
    *ret_traces = survey.traces;
    return RC_OK;
}
