/*
 * hydrate_rules.c - the rules of a repository: AGENTS.md and the like, or what it names instead.
 */
#include "core/text/prose.h"
#include "work/steps/hydration.h"
#include <string.h>

enum { RULES_FILE_BYTES = 64 * 1024, LISTING_BYTES = 256 * 1024 };

struct rules {
    struct hydration *hydration;
    size_t files;
};

/* One blob, cut at RULES_FILE_BYTES; a blob that is no text is skipped. */
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
                  &(struct prompt_part){.kind = PROMPT_RULES,
                                        .title = arena_strdup(step->arena, path),
                                        .text = arena_strdup(step->arena, buf_text(&text))});
    return RC_OK;
}

/* One entry of `ls-tree -z`: "<mode> blob <hash>\t<path>".  Links and submodules are no rules. */
static enum rc add_entry(struct rules *rules, const char *entry, const char *named, struct err *err)
{
    const char *tab = strchr(entry, '\t');
    if (tab == NULL || !text_starts(entry, "100") || rules->files >= HYDRATION_RULES_MAX ||
        !path_is_inside(tab + 1, named))
        return RC_OK;
    struct arena *arena = rules->hydration->step->arena;
    const char *head = arena_strndup(arena, entry, (size_t)(tab - entry));
    const char *hash = strrchr(head, ' ');
    return hash != NULL ? add_file(rules, tab + 1, hash + 1, err) : RC_OK;
}

static enum rc add_named(struct rules *rules, const struct buf *listing, const char *named,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t at = 0; rc == RC_OK && at < listing->len; at += strlen(listing->data + at) + 1)
        rc = add_entry(rules, listing->data + at, named, err);
    return rc;
}

/* All that is named, in the order of the tree. */
static enum rc list(const struct step *step, const char *base, struct buf *listing, struct err *err)
{
    const char *args[CONFIG_RULES_MAX + 8] = {"ls-tree", "-r", "-z", "--full-tree", base, "--"};
    size_t count = 6;
    for (size_t i = 0; step->input.config.prompt.rules[i] != NULL; i++)
        args[count++] = step->input.config.prompt.rules[i];
    struct git git = step_git(step);
    struct git_call call = {.git_dir = step->mirror, .args = args, .out = listing};
    enum rc rc = git_run(&git, &call, err);
    return rc == RC_TOO_LARGE ? RC_OK : rc; /* What fits is more than enough. */
}

enum rc hydrate_rules(struct hydration *hydration, const char *base, struct err *err)
{
    struct rules rules = {.hydration = hydration};
    const char *const *named = hydration->step->input.config.prompt.rules;
    if (named[0] == NULL)
        return RC_OK;
    CLEANUP(buf_release) struct buf listing;
    buf_init(&listing, LISTING_BYTES);
    enum rc rc = list(hydration->step, base, &listing, err);
    for (size_t i = 0; rc == RC_OK && named[i] != NULL; i++)
        rc = add_named(&rules, &listing, named[i], err);
    return rc == RC_OK ? RC_OK : hydration_degrade(hydration, PROMPT_RULES, rc, err);
}
