/*
 * examine.c - checks that the origin still has what the database lists.
 *
 *     1. refs/pull/<N>/head is there and names the commit that the database names;
 *     2. that commit and the merge commit are there with all files that they show, and what they
 *        changed can be read;
 *     3. the target branch leads to a merge of the last days (later people may have rewritten it);
 *     4. no ref of pull requests and issues is broken, and every issue can be read.
 *
 * A few git processes for a sound repository; one more for each pull request with an error.
 */
#include "forge/git/origin.h"
#include "forge/local/local.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COMMITS_BYTES_MAX = 1 << 20,
    CHANGES_BYTES_MAX = 64 << 20,
    LINE_MAX = 400, /* Of a line up to its hashes. */
    WORDS_BYTES_MAX = 300,
};

struct examiner {
    struct origin origin;
    const struct forge_known *known;
    size_t count;
    const char **wrong; /* For each. */
    struct err *err;
};

static void note(struct examiner *examiner, size_t i, const char *text)
{
    if (examiner->wrong[i] == NULL)
        examiner->wrong[i] = text;
}

/* The first line of git's message. */
static const char *words_of(struct examiner *examiner, struct buf *words)
{
    char *text = arena_strndup(examiner->origin.arena, buf_text(words),
                               strnlen(buf_text(words), WORDS_BYTES_MAX));
    text[strcspn(text, "\n")] = '\0';
    git_clean(text);
    return text;
}

/* ---- refs ---- */

/* NULL: it is not among the refs, or broken. */
static const char *head_of(struct examiner *examiner, const char *refs, int64_t number)
{
    const char *line = arena_printf(examiner->origin.arena, "\nrefs/pull/%" PRId64 "/head ",
                                    number);
    const char *found = strstr(refs, line);
    if (found == NULL)
        return NULL;
    found += strlen(line);
    return arena_strndup(examiner->origin.arena, found, strcspn(found, "\n"));
}

static void compare_head(struct examiner *examiner, size_t i, const char *refs)
{
    const struct forge_known *known = &examiner->known[i];
    struct arena *arena = examiner->origin.arena;
    const char *head = head_of(examiner, refs, known->number);
    if (head == NULL)
        note(examiner, i,
             arena_printf(arena,
                          "refs/pull/%" PRId64 "/head is missing or broken; if git cat-file -t %s "
                          "says commit there, git update-ref refs/pull/%" PRId64 "/head %s puts it "
                          "back, else restore the repository from its backup or retry the task",
                          known->number, known->head, known->number, known->head));
    else if (!known->closed && !text_same(head, known->head))
        note(examiner, i,
             arena_printf(arena,
                          "refs/pull/%" PRId64 "/head is %.12s and should be %.12s; put it back "
                          "with git update-ref, or close the pull request",
                          known->number, head, known->head));
}

static enum rc compare_refs(struct examiner *examiner, const char **ret_broken)
{
    CLEANUP(buf_release) struct buf refs;
    CLEANUP(buf_release) struct buf words;
    buf_init(&refs, ORIGIN_REFS_BYTES_MAX);
    buf_init(&words, GIT_TEXT_MAX);
    buf_addc(&refs, '\n');
    struct git_call list = {.git_dir = examiner->origin.dir,
                            .args = GIT_ARGS("for-each-ref", "--format=%(refname) %(objectname)",
                                             "refs/pull/", "refs/drover/"),
                            .out = &refs,
                            .words = &words};
    enum rc rc = git_run(examiner->origin.git, &list, examiner->err);
    for (size_t i = 0; rc == RC_OK && i < examiner->count; i++)
        compare_head(examiner, i, buf_text(&refs));
    if (rc == RC_OK && words.len > 0)
        *ret_broken = words_of(examiner, &words);
    return rc;
}

/* ---- objects ---- */

/* All that the commits show is there: git looks for the files and does not read them. */
static enum rc find_all(struct examiner *examiner, struct str commits)
{
    struct git_call walk = {
        .git_dir = examiner->origin.dir,
        .args = GIT_ARGS("rev-list", "--objects", "--no-walk=unsorted", "--quiet", "--stdin"),
        .input = commits};
    return git_run(examiner->origin.git, &walk, examiner->err);
}

/* The files that the commits have changed, a hash a line. */
static enum rc list_changed(struct examiner *examiner, struct str commits, struct buf *hashes)
{
    CLEANUP(buf_release) struct buf lines;
    buf_init(&lines, CHANGES_BYTES_MAX);
    struct git_call list = {
        .git_dir = examiner->origin.dir,
        .args = GIT_ARGS("diff-tree", "--stdin", "--root", "-r", "--no-renames", "--no-commit-id"),
        .input = commits,
        .out = &lines};
    enum rc rc = git_run(examiner->origin.git, &list, examiner->err);
    struct str rest = buf_str(&lines), line;
    while (rc == RC_OK && str_take_line(&rest, &line)) {
        char modes[2][8], before[GIT_HASH_BYTES], after[GIT_HASH_BYTES];
        const char *text = arena_strndup(examiner->origin.arena, line.at,
                                         line.len < LINE_MAX ? line.len : LINE_MAX);
        if (sscanf(text, ":%7s %7s %64s %64s", modes[0], modes[1], before, after) == 4 &&
            strspn(after, "0") != strlen(after) && !text_same(modes[1], "160000"))
            buf_addf(hashes, "%s\n", after);
    }
    return rc;
}

/* git prints "<hash> missing" for one whose file is empty, and fails at one that is torn. */
static enum rc read_all(struct examiner *examiner, struct str hashes)
{
    CLEANUP(buf_release) struct buf kinds;
    buf_init(&kinds, CHANGES_BYTES_MAX);
    struct git_call ask = {.git_dir = examiner->origin.dir,
                           .args = GIT_ARGS("cat-file", "--batch-check=%(objecttype)"),
                           .input = hashes,
                           .out = &kinds};
    struct git_call read = {
        .git_dir = examiner->origin.dir, .args = GIT_ARGS("cat-file", "--batch"), .input = hashes};
    enum rc rc = git_run(examiner->origin.git, &ask, examiner->err);
    if (rc == RC_OK && strstr(buf_text(&kinds), " missing") != NULL)
        return RC_IO;
    return rc == RC_OK ? git_run(examiner->origin.git, &read, examiner->err) : rc;
}

/* False: something that the commits show is missing, or something that they changed is damaged. */
static enum rc can_read(struct examiner *examiner, struct str commits, bool *ret_can)
{
    CLEANUP(buf_release) struct buf hashes;
    buf_init(&hashes, CHANGES_BYTES_MAX);
    enum rc rc = find_all(examiner, commits);
    if (rc == RC_OK)
        rc = list_changed(examiner, commits, &hashes);
    if (rc == RC_OK && hashes.len > 0)
        rc = read_all(examiner, buf_str(&hashes));
    *ret_can = rc == RC_OK;
    return rc == RC_IO ? RC_OK : rc;
}

static void add_commits(struct buf *commits, const struct forge_known *known)
{
    if (git_hash_valid(known->head))
        buf_addf(commits, "%s\n", known->head);
    if (git_hash_valid(known->merge_commit))
        buf_addf(commits, "%s\n", known->merge_commit);
}

static enum rc read_objects(struct examiner *examiner)
{
    CLEANUP(buf_release) struct buf commits;
    buf_init(&commits, COMMITS_BYTES_MAX);
    bool good = true;
    for (size_t i = 0; i < examiner->count; i++)
        add_commits(&commits, &examiner->known[i]);
    enum rc rc = commits.len > 0 ? can_read(examiner, buf_str(&commits), &good) : RC_OK;
    for (size_t i = 0; rc == RC_OK && !good && i < examiner->count; i++) {
        bool one_good = true;
        buf_clear(&commits);
        add_commits(&commits, &examiner->known[i]);
        if (commits.len > 0)
            rc = can_read(examiner, buf_str(&commits), &one_good);
        if (rc == RC_OK && !one_good)
            note(examiner, i,
                 arena_printf(examiner->origin.arena,
                              "an object of commit %.12s is missing or damaged; git fsck names it: "
                              "restore it from a clone or a backup, or retry the task",
                              examiner->known[i].head));
    }
    return rc;
}

/* ---- merges ---- */

/* The merge commits of the last days into this branch that it does not lead to, one a line. */
static enum rc find_lost(struct examiner *examiner, const char *branch, struct buf *lost)
{
    CLEANUP(buf_release) struct buf commits;
    buf_init(&commits, COMMITS_BYTES_MAX);
    const char *tip = NULL;
    for (size_t i = 0; i < examiner->count; i++) {
        const struct forge_known *known = &examiner->known[i];
        if (examiner->wrong[i] == NULL && text_same(known->target_branch, branch) &&
            known->merged_lately && git_hash_valid(known->merge_commit))
            buf_addf(&commits, "%s\n", known->merge_commit);
    }
    const char *ref = arena_printf(examiner->origin.arena, "refs/heads/%s", branch);
    enum rc rc = commits.len > 0 ? origin_ref(&examiner->origin, ref, &tip, examiner->err) : RC_OK;
    if (rc != RC_OK || tip == NULL)
        return rc;
    buf_addf(&commits, "^%s\n", tip);
    struct git_call walk = {.git_dir = examiner->origin.dir,
                            .args = GIT_ARGS("rev-list", "--stdin"),
                            .input = buf_str(&commits),
                            .out = lost};
    rc = git_run(examiner->origin.git, &walk, examiner->err);
    return rc == RC_IO ? RC_OK : rc; /* Of objects that cannot be read: reported already. */
}

static bool is_first_of_branch(const struct examiner *examiner, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (text_same(examiner->known[i].target_branch, examiner->known[at].target_branch))
            return false;
    }
    return true;
}

static enum rc look_for_merges(struct examiner *examiner)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < examiner->count; i++) {
        CLEANUP(buf_release) struct buf lost;
        const char *branch = examiner->known[i].target_branch;
        buf_init(&lost, COMMITS_BYTES_MAX);
        if (branch == NULL || !is_first_of_branch(examiner, i))
            continue;
        rc = find_lost(examiner, branch, &lost);
        for (size_t j = i; rc == RC_OK && lost.len > 0 && j < examiner->count; j++) {
            const struct forge_known *known = &examiner->known[j];
            if (text_same(known->target_branch, branch) && known->merge_commit != NULL &&
                strstr(buf_text(&lost), known->merge_commit) != NULL)
                note(examiner, j,
                     arena_printf(examiner->origin.arena,
                                  "it was merged as %.12s, to which %.100s does not lead; merge "
                                  "that commit again, unless it was removed on purpose",
                                  known->merge_commit, branch));
        }
    }
    return rc;
}

/* ---- issues ---- */

static enum rc read_issues(struct examiner *examiner, const char **ret_broken)
{
    CLEANUP(buf_release) struct buf words;
    buf_init(&words, GIT_TEXT_MAX);
    struct git_call walk = {
        .git_dir = examiner->origin.dir,
        .args = GIT_ARGS("rev-list", "--objects", "--quiet", "--glob=refs/drover/issues/*"),
        .words = &words};
    enum rc rc = git_run(examiner->origin.git, &walk, examiner->err);
    if (rc == RC_IO)
        *ret_broken = words_of(examiner, &words);
    return rc == RC_IO ? RC_OK : rc;
}

enum rc local_examine(const struct forge_ops *forge, struct forge_call *call, const char *url,
                      const struct forge_known *known, size_t count, struct arena *arena,
                      struct forge_examined *ret, struct err *err)
{
    (void)forge;
    const struct git *git = &call->git;
    struct examiner examiner = {
        .origin = {.git = git, .arena = arena},
        .known = known,
        .count = count,
        .wrong = arena_array(arena, count + 1, sizeof(char *)),
        .err = err,
    };
    const char *broken = NULL;
    enum rc rc = origin_open(&examiner.origin, url, err);
    if (rc == RC_OK)
        rc = compare_refs(&examiner, &broken);
    if (rc == RC_OK)
        rc = read_objects(&examiner);
    if (rc == RC_OK)
        rc = look_for_merges(&examiner);
    if (rc == RC_OK)
        rc = read_issues(&examiner, &broken);
    if (rc == RC_OK)
        *ret = (struct forge_examined){.wrong = examiner.wrong, .broken = broken};
    return rc;
}
