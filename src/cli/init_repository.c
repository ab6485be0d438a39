/*
 * init_repository.c - the repository of a checkout: its address, its branch, its name, its checks.
 *
 * Checks are looked for in the commit that a task would start from, not in the files here: what is
 * not committed there, no agent and no check will see.
 */
#include "base/str.h"
#include "cli/init_facts.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LIST_BYTES_MAX = 64 << 20,
    TEXTS_BYTES_MAX = 32 << 20,
    NAMES_BYTES_MAX = 1 << 20,
    TEXTS_MAX = 400,
};

void init_warn(struct init_facts *facts, const char *text)
{
    if (facts->warning_count < INIT_WARNINGS_MAX)
        facts->warnings[facts->warning_count++] = text;
}

/* ---- address ---- */

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* An address may hold a password before its host. */
static const char *without_user(const char *url, struct arena *arena)
{
    const char *scheme = strstr(url, "://");
    if (scheme == NULL)
        return url;
    const char *host = scheme + 3, *at = memrchr(host, '@', strcspn(host, "/"));
    return at != NULL ? arena_printf(arena, "%.*s%s", (int)(host - url), url, at + 1) : url;
}

/* Pull requests are refs of a directory: of origin where that is one here, else of the checkout. */
static void find_url(struct init_facts *facts, struct arena *arena)
{
    const struct checkout *checkout = &facts->checkout;
    const char *origin = checkout->remotes[0];
    const char *path = origin != NULL && text_starts(origin, "file://") ? origin + strlen("file://")
                                                                        : origin;
    char real[PATH_MAX];
    if (path != NULL && path[0] == '/' && is_directory(path) && realpath(path, real) != NULL)
        facts->url = (struct fact){arena_strdup(arena, real),
                                   "origin is this directory; pull requests are opened there"};
    else if (origin != NULL)
        facts->url = (struct fact){checkout->top,
                                   arena_printf(arena,
                                                "this checkout; pull requests are branches here, "
                                                "to be pushed to %s by you",
                                                without_user(origin, arena))};
    else
        facts->url = (struct fact){checkout->top,
                                   "this checkout, which has no origin; pull requests are "
                                   "branches here"};
}

/* ---- branch ---- */

static bool has_branch(const struct init_facts *facts, const char *name, struct arena *arena)
{
    const char *ref = arena_printf(arena, "refs/heads/%s^{commit}", name);
    return checkout_line(facts->url.value,
                         CHECKOUT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options", ref),
                         arena) != NULL;
}

static bool take_branch(struct init_facts *facts, const char *name, const char *why,
                        struct arena *arena)
{
    if (text_empty(name) || !branch_name_valid(name) || !has_branch(facts, name, arena))
        return false;
    facts->branch = (struct fact){name, why};
    return true;
}

static enum rc find_branch(const struct init_wishes *wishes, struct init_facts *facts,
                           struct arena *arena, struct err *err)
{
    static const char origin[] = "origin/";
    if (wishes->branch != NULL) {
        if (take_branch(facts, wishes->branch, "you said so", arena))
            return RC_OK;
        return err_set(err, RC_NOT_FOUND, "NO_BRANCH", "there is no branch %.100s in %.200s",
                       wishes->branch, facts->url.value);
    }
    const char *head = checkout_line(
        NULL, CHECKOUT_ARGS("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"),
        arena);
    if (head != NULL && text_starts(head, origin) &&
        take_branch(facts, head + strlen(origin), "the default branch of origin (origin/HEAD)",
                    arena))
        return RC_OK;
    const char *current = checkout_line(
        NULL, CHECKOUT_ARGS("symbolic-ref", "--quiet", "--short", "HEAD"), arena);
    if (take_branch(facts, current, "the branch that is checked out here", arena))
        return RC_OK;
    if (take_branch(facts, "main", "there is a branch of that name", arena) ||
        take_branch(facts, "master", "there is a branch of that name", arena))
        return RC_OK;
    return err_set(err, RC_NOT_FOUND, "NO_BRANCH",
                   "%s, so it is not clear which branch tasks start from. Check one out (git "
                   "switch NAME), or give --branch NAME",
                   current == NULL ? "HEAD is detached" : "the branch here is not in origin");
}

/* ---- name ---- */

static void clean_name(char *name)
{
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && strchr("._-/", *name) == NULL)
            *name = '-';
    }
}

/* The last two parts of an address elsewhere, the last one of a path. */
static char *name_of(const char *address, size_t parts, struct arena *arena)
{
    size_t end = strlen(address);
    while (end > 0 && address[end - 1] == '/')
        end--;
    if (end > 4 && strncmp(address + end - 4, ".git", 4) == 0)
        end -= 4;
    size_t begin = end;
    while (begin > 0) {
        if (strchr("/:", address[begin - 1]) != NULL && --parts == 0)
            break;
        begin--;
    }
    char *name = arena_strndup(arena, address + begin, end - begin);
    clean_name(name);
    return name;
}

static enum rc find_name(const struct init_wishes *wishes, struct init_facts *facts,
                         struct arena *arena, struct err *err)
{
    const char *origin = facts->checkout.remotes[0];
    if (wishes->name != NULL) {
        facts->name = (struct fact){wishes->name, "you said so"};
        if (repo_name_valid(wishes->name))
            return RC_OK;
        return err_set(err, RC_MALFORMED, "INVALID_NAME",
                       "--name: a repository's name has letters, digits, '.', '_', '-' and single "
                       "slashes");
    }
    bool elsewhere = origin != NULL && origin[0] != '/' && !text_starts(origin, "file://");
    if (elsewhere)
        facts->name = (struct fact){name_of(origin, 2, arena), "from the address of origin"};
    if (!elsewhere || !repo_name_valid(facts->name.value))
        facts->name = (struct fact){name_of(facts->url.value, 1, arena), "from the directory"};
    if (!repo_name_valid(facts->name.value))
        facts->name = (struct fact){"repository", "the directory has no name that would do"};
    return RC_OK;
}

/* ---- checks ---- */

struct listing {
    struct project_file *files;
    size_t count;
    size_t texts[TEXTS_MAX]; /* Files whose text is asked for, in this order. */
    size_t text_count;
    struct buf asked;
};

static void take_path(struct listing *listing, const char *path, const char *branch)
{
    enum project_need need = project_needs(path);
    if (need == PROJECT_NOTHING || listing->count == PROJECT_FILES_MAX)
        return;
    if (need == PROJECT_TEXT) {
        if (listing->text_count == TEXTS_MAX || strchr(path, '\n') != NULL)
            return;
        listing->texts[listing->text_count++] = listing->count;
        buf_addf(&listing->asked, "refs/heads/%s:%s\n", branch, path);
    }
    listing->files[listing->count++].path = path;
}

/* Names from `git ls-tree -z`. */
static enum rc list_files(const struct init_facts *facts, struct arena *arena,
                          struct listing *listing, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    buf_init(&out, LIST_BYTES_MAX);
    int status = 1;
    const char *ref = arena_printf(arena, "refs/heads/%s", facts->branch.value);
    const struct checkout_call call = {
        .dir = facts->url.value,
        .args = CHECKOUT_ARGS("ls-tree", "-r", "-z", "--name-only", "--full-tree", ref),
        .out = &out};
    enum rc rc = checkout_ask(&call, &status, err);
    if (rc != RC_OK || status != 0)
        return rc != RC_OK ? rc : RC_IO;
    for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1) {
        if (project_needs(out.data + at) != PROJECT_NOTHING)
            take_path(listing, arena_strdup(arena, out.data + at), facts->branch.value);
    }
    return RC_OK;
}

/* One of "<hash> blob <bytes>\n<text>\n", or "<name> missing\n"; false at the end. */
static bool take_text(struct str *rest, struct str *ret_text)
{
    struct str line;
    long long bytes = 0;
    char kind[16] = "";
    if (!str_take_line(rest, &line))
        return false;
    *ret_text = (struct str){0};
    char head[160];
    text_copy(head, line.len + 1 < sizeof head ? line.len + 1 : sizeof head, line.at);
    if (sscanf(head, "%*s %15s %lld", kind, &bytes) != 2 || !text_same(kind, "blob"))
        return true;
    if (bytes < 0 || (unsigned long long)bytes + 1 > rest->len)
        return false;
    if (bytes <= PROJECT_TEXT_BYTES_MAX)
        *ret_text = (struct str){rest->at, (size_t)bytes};
    *rest = (struct str){rest->at + bytes + 1, rest->len - (size_t)bytes - 1};
    return true;
}

static enum rc find_checks(struct init_facts *facts, struct arena *arena, struct err *err)
{
    CLEANUP(buf_release) struct buf out;
    struct listing *listing = arena_alloc(arena, sizeof *listing);
    int status = 1;
    listing->files = arena_array(arena, PROJECT_FILES_MAX, sizeof *listing->files);
    buf_init(&out, TEXTS_BYTES_MAX);
    buf_init(&listing->asked, NAMES_BYTES_MAX);
    enum rc rc = list_files(facts, arena, listing, err);
    const struct checkout_call call = {.dir = facts->url.value,
                                       .args = CHECKOUT_ARGS("cat-file", "--batch"),
                                       .input = buf_str(&listing->asked),
                                       .out = &out};
    if (rc == RC_OK && listing->text_count > 0)
        rc = checkout_ask(&call, &status, err);
    struct str rest = buf_str(&out);
    for (size_t i = 0; rc == RC_OK && i < listing->text_count; i++) {
        if (!take_text(&rest, &listing->files[listing->texts[i]].text))
            break;
    }
    if (rc == RC_OK)
        project_read(listing->files, listing->count, arena, &facts->project);
    buf_release(&listing->asked);
    return rc;
}

/* ---- all of it ---- */

static enum rc find_checkout(struct init_facts *facts, struct arena *arena, struct err *err)
{
    enum rc rc = checkout_find(arena, &facts->checkout, err);
    if (rc == RC_NOT_FOUND && strstr(err->text, "not a git repository") != NULL)
        return err_set(err, rc, "NOT_A_CHECKOUT",
                       "this directory is in no git checkout: go to one, or make one (git init)");
    if (rc != RC_OK)
        return rc;
    if (facts->checkout.bare)
        return err_set(err, RC_INVALID, "BARE_REPOSITORY",
                       "%.300s is a bare repository, which has no files to look at. Run drover "
                       "init in a clone of it: it will be the address of the repository",
                       facts->checkout.common_dir);
    if (checkout_line(NULL, CHECKOUT_ARGS("rev-parse", "--verify", "--quiet", "HEAD^{commit}"),
                      arena) == NULL)
        return err_set(err, RC_INVALID, "NO_COMMITS",
                       "there is no commit yet, and tasks start from one: git add, git commit, "
                       "then drover init");
    return RC_OK;
}

enum rc init_find_repository(const struct init_wishes *wishes, struct arena *arena,
                             struct init_facts *facts, struct err *err)
{
    enum rc rc = find_checkout(facts, arena, err);
    if (rc != RC_OK)
        return rc;
    find_url(facts, arena);
    rc = find_branch(wishes, facts, arena, err);
    if (rc == RC_OK)
        rc = find_name(wishes, facts, arena, err);
    return rc == RC_OK ? find_checks(facts, arena, err) : rc;
}
