/*
 * step_hydrate.c - the prompt: task, repository rules, within a budget of tokens.
 *
 * Rules files are read from the mirror at the base commit, never from the agent's tree.  An issue
 * that no source can give is left out when there is a description beside it; a task that is
 * nothing but an issue fails.
 */
#include "base/log.h"
#include "core/context.h"
#include "core/prose.h"
#include "work/step.h"
#include "work/worktree.h"
#include <string.h>

enum {
    RULES_MAX = 24,
    RULES_FILE_BYTES = 64 * 1024,
    LISTING_BYTES = 256 * 1024,
    PARTS_MAX = RULES_MAX + 2,
};

static const char *const rules_paths[] = {"AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md",
                                          ".cursor/rules"};

struct parts {
    struct context_part items[PARTS_MAX];
    size_t count;
};

static void add_part(struct parts *parts, enum context_kind kind, const char *title,
                     const char *text)
{
    if (parts->count < PARTS_MAX)
        parts->items[parts->count++] = (struct context_part){
            .kind = kind, .title = title, .text = text};
}

/* One blob, cut at RULES_FILE_BYTES; what is no text is passed over. */
static enum rc add_rules_file(struct step *step, struct parts *parts, const char *path,
                              const char *hash, struct err *err)
{
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
    if (rc == RC_OK && text.len > 0 && text_utf8_valid(buf_text(&text), text.len))
        add_part(parts, CONTEXT_RULES, arena_strdup(step->arena, path),
                 arena_strdup(step->arena, buf_text(&text)));
    return rc;
}

/* One entry of `ls-tree -z`: "<mode> blob <hash>\t<path>".  Links and submodules are no rules. */
static enum rc add_entry(struct step *step, struct parts *parts, char *entry, struct err *err)
{
    char *path = strchr(entry, '\t');
    if (!path || !text_starts(entry, "100") || parts->count >= RULES_MAX)
        return RC_OK;
    *path++ = '\0';
    const char *hash = strrchr(entry, ' ');
    return hash ? add_rules_file(step, parts, path, hash + 1, err) : RC_OK;
}

static enum rc add_rules(struct step *step, struct parts *parts, const char *base, const char *path,
                         struct err *err)
{
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
        rc = add_entry(step, parts, listing.data + at, err);
        at += len + 1;
    }
    return rc;
}

static enum rc gather(struct step *step, struct parts *parts, struct err *err)
{
    const struct step_input *input = &step->input;
    const char *base = NULL;
    enum rc rc = worktree_mirror(step, err);
    if (rc == RC_OK)
        rc = worktree_base(step, &base, err);
    for (size_t i = 0; rc == RC_OK && i < COUNT_OF(rules_paths); i++)
        rc = add_rules(step, parts, base, rules_paths[i], err);
    if (rc != RC_OK)
        return rc;
    if (input->config.prompt.system)
        add_part(parts, CONTEXT_SYSTEM, "system", input->config.prompt.system);
    if (!text_empty(input->description))
        add_part(parts, CONTEXT_TASK, "task", input->description);
    return RC_OK;
}

static enum rc check_issue(struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    if (input->issue_number == 0)
        return RC_OK;
    if (!text_empty(input->description)) {
        LOG(LOG_WARN, "no source has the issue of a task; going on with its description",
            LOG_STR("taskId", input->task_id.text), LOG_INT("issueNumber", input->issue_number));
        return RC_OK;
    }
    enum rc rc = err_set(err, RC_NOT_FOUND, "ISSUE_UNAVAILABLE",
                         "The task is nothing but issue %lld, and the forge %.50s has no issues.",
                         (long long)input->issue_number, input->config.forge);
    return step_fail(step, rc, err, (struct port_failure){.code = "issue_unavailable"});
}

static void write_result(struct step *step, const char *sha256,
                         const struct context_result *context)
{
    struct jw jw = jw_to(step->result);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "promptSha256", sha256);
    jw_key(&jw, "sources");
    jw_begin(&jw, '[');
    for (int kind = 0; kind < CONTEXT_KIND_COUNT; kind++) {
        if (context->used[kind])
            jw_str(&jw, context_kind_name((enum context_kind)kind));
    }
    jw_end(&jw, ']');
    jw_kint(&jw, "tokenEstimate", context->token_estimate);
    jw_kbool(&jw, "truncated", context->truncated);
    step_write_artifacts(step, &jw);
    jw_end(&jw, '}');
}

enum rc step_hydrate(struct step *step, struct err *err)
{
    const struct step_input *input = &step->input;
    struct parts *parts = arena_alloc(step->arena, sizeof *parts);
    enum rc rc = check_issue(step, err);
    if (rc == RC_OK)
        rc = gather(step, parts, err);
    if (rc != RC_OK)
        return rc;
    CLEANUP(buf_release) struct buf prompt;
    buf_init(&prompt, STEP_TEXT_ARTIFACT_MAX);
    struct context_input context = {
        .task_id = input->task_id.text,
        .repository = input->repository,
        .parts = parts->items,
        .part_count = parts->count,
        .token_budget = input->config.prompt.token_budget,
    };
    struct context_result assembled;
    rc = context_assemble(&context, &prompt, &assembled, err);
    const char *sha256 = NULL;
    if (rc == RC_OK)
        rc = step_put(step, "prompt", "prompt.md", buf_str(&prompt), &sha256, err);
    if (rc == RC_OK)
        write_result(step, sha256, &assembled);
    return rc;
}
