#include "work/agent/setup_key.h"
#include "work/job/site.h"
#include <string.h>
#include <sys/utsname.h>

enum { FILES_BYTES_MAX = 64 * 1024 * 1024, KEY_VERSION = 1 };

/* With its end: two texts are never one. */
static void add_text(struct sha256 *sha, const char *text)
{
    sha256_add(sha, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

static void add_list(struct sha256 *sha, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        add_text(sha, *texts);
    add_text(sha, "");
}

static bool is_key(const struct setup_config *config, const char *path)
{
    for (size_t i = 0; config->keys[i] != NULL; i++) {
        if (glob_match(config->keys[i], path))
            return true;
    }
    return false;
}

/* "<mode> ... <hash> ...\t<path>": git ls-tree has the type and git ls-files the stage too. */
static void add_file(struct sha256 *sha, const char *line, const char *path)
{
    sha256_add(sha, line, strcspn(line, " "));
    for (const char *at = line; at < path;) {
        size_t len = strcspn(at, " \t");
        if (len == 40 || len == 64)
            sha256_add(sha, at, len);
        at += len + 1;
    }
    add_text(sha, path);
}

enum rc setup_files(struct step *step, const struct setup_config *config, const char *commit,
                    const char *tree, struct setup_files *ret_files, struct err *err)
{
    CLEANUP(buf_release) struct buf names;
    buf_init(&names, FILES_BYTES_MAX);
    struct git git = step_git(step);
    const struct git_call of_commit = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", commit),
        .out = &names};
    const struct git_call of_tree = {
        .dir = tree, .args = GIT_ARGS("ls-files", "-s", "-z"), .out = &names};
    enum rc rc = git_run(&git, tree != NULL ? &of_tree : &of_commit, err);
    if (rc == RC_OK && names.overflow)
        rc = err_set(err, RC_TOO_LARGE, "TOO_MANY_FILES", "The commit has too many files.");
    if (rc != RC_OK)
        return rc;
    struct sha256 *sha = sha256_begin();
    int64_t count = 0;
    const char *end = buf_text(&names) + names.len;
    for (const char *line = buf_text(&names); line < end; line += strlen(line) + 1) {
        const char *tab = strchr(line, '\t');
        if (tab == NULL || !is_key(config, tab + 1))
            continue;
        add_file(sha, line, tab + 1);
        count++;
    }
    sha256_end(sha, ret_files->sha256);
    ret_files->count = count;
    return RC_OK;
}

enum rc setup_is_trusted(struct step *step, const char *commit, bool *ret_trusted, struct err *err)
{
    struct git git = step_git(step);
    int status = 1;
    const char *branch = arena_printf(step->arena, "refs/heads/%s",
                                      step->input.config.default_branch);
    const struct git_call call = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("merge-base", "--is-ancestor", commit, branch),
    };
    enum rc rc = git_ask(&git, &call, &status, err);
    if (rc != RC_OK && rc != RC_IO) /* RC_IO: there is no such branch. */
        return rc;
    *ret_trusted = rc == RC_OK && status == 0;
    return RC_OK;
}

void setup_key(const struct step *step, const struct setup_key *key, char to[SHA256_TEXT_BYTES])
{
    const struct setup_config *config = key->config;
    struct utsname machine = {0};
    (void)uname(&machine);
    struct sha256 *sha = sha256_begin();
    add_text(sha, arena_printf(step->arena, "%d", KEY_VERSION));
    add_text(sha, step->input.config.url);
    add_text(sha, config->command);
    add_list(sha, config->outputs);
    add_list(sha, step->input.config.agent.env);
    add_text(sha, key->files->sha256);
    add_text(sha, key->commit);
    add_text(sha, key->before);
    add_text(sha, sandbox_name(&step->site->sandbox));
    add_text(sha, site_host());
    add_text(sha, machine.machine);
    sha256_end(sha, to);
}
