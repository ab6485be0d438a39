/*
 * hydrate_rules.c - the rules of a repository: AGENTS.md and the like, or what it names instead.
 */
#include "core/prose.h"
#include "work/hydration.h"
#include <string.h>

enum { RULES_FILE_BYTES = 64 * 1024, LISTING_BYTES = 256 * 1024 };

struct rules {
    struct hydration *hydration;
    size_t files;
};

/* One blob, cut at RULES_FILE_BYTES; what is no text is passed over. */
static enum rc add_file(struct rules *rules, const char *path, const char *hash, struct err *err)
{
    struct step *step = rules->hydration->step;
    struct git git = step_git(step);
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, RULES_FILE_BYTES);
    struct git_call show = {
        .git_dir = step->mirror, .args = GIT_ARGS("cat-file", "blob", hash), .out = &text};
    enum rc rc = git_run(&git, &show, err);
    if (rc == RC_TOO_LARGE) {
        size_t fit = prose_fit(buf_text(&text), text.len, text.len - 4);
        buf_cut(&text, fit);
        rc = RC_OK;
    }
    if (rc != RC_OK || text.len == 0 || !text_utf8_valid(buf_text(&text), text.len))
        return rc;
    rules->files++;
    hydration_add(rules->hydration,
                  &(struct context_part){CONTEXT_RULES, arena_strdup(step->arena, path),
                                         arena_strdup(step->arena, buf_text(&text))});
    return RC_OK;
}

/* One entry of `ls-tree -z`: "<mode> blob <hash>\t<path>".  Links and submodules are no rules. */
static enum rc add_entry(struct rules *rules, char *entry, struct err *err)
{
    char *path = strchr(entry, '\t');
    if (!path || !text_starts(entry, "100") || rules->files >= HYDRATION_RULES_MAX)
        return RC_OK;
    *path++ = '\0';
    const char *hash = strrchr(entry, ' ');
    return hash ? add_file(rules, path, hash + 1, err) : RC_OK;
}

static enum rc add_path(struct rules *rules, const char *base, const char *path, struct err *err)
{
    struct step *step = rules->hydration->step;
    struct git git = step_git(step);
    CLEANUP(buf_release) struct buf listing;
    buf_init(&listing, LISTING_BYTES);
    struct git_call list = {
        .git_dir = step->mirror,
        .args = GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", base, "--", path),
        .out = &listing};
    enum rc rc = git_run(&git, &list, err);
    if (rc == RC_TOO_LARGE)
        rc = RC_OK; /* What fits is more than enough. */
    for (size_t at = 0; rc == RC_OK && at < listing.len;) {
        size_t len = strlen(listing.data + at);
        rc = add_entry(rules, listing.data + at, err);
        at += len + 1;
    }
    return rc;
}

enum rc hydrate_rules(struct hydration *hydration, const char *base, struct err *err)
{
    struct rules rules = {.hydration = hydration};
    const struct repo_config *config = &hydration->step->input.config;
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && config->prompt.rules[i]; i++)
        rc = add_path(&rules, base, config->prompt.rules[i], err);
    return rc == RC_OK ? RC_OK : hydration_degrade(hydration, CONTEXT_RULES, rc, err);
}
