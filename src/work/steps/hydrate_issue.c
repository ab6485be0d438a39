/*
 * hydrate_issue.c - the issue of a task, the comments on it and the issues that it names.
 *
 * A task that intake has made gets the text that was approved, which is an artifact: not the issue
 * as it is now.  Other tasks get the issue from the forge.  Calls to a forge that cannot answer are
 * retried with growing pauses.  Then a task with a text of its own continues without the issue; one
 * that is nothing but the issue fails, to be retried later when that may help.
 *
 * Text by people who may not ask for work in this repository is fenced (core/run/untrusted.h).
 */
#include "core/run/untrusted.h"
#include "work/job/retry.h"
#include "work/steps/hydration.h"
#include "work/steps/issue_reading.h"
#include <inttypes.h>

enum { TRIES_MAX = 3 };

/* ---- from the forge ---- */

/* False when a stop was requested meanwhile, or no time is left. */
static bool wait_a_little(const struct step *step, int failures, struct random *random)
{
    int64_t ms = retry_pause_ms(failures, random);
    int64_t left_ms = step_left_ms(step);
    return ms < left_ms && !stop_wait(step->stop, ms);
}

static enum rc ask_forge(struct step *step, struct issue_view *ret_view, struct err *err)
{
    const struct issue_wanted wanted = {.number = step->input.issue_number, .links = true};
    struct random random = random_from_os();
    for (int tries = 1;; tries++) {
        enum rc rc = issue_reading(step, &wanted, ret_view, err);
        if (!retry_may_help(rc) || tries == TRIES_MAX || !wait_a_little(step, tries, &random))
            return rc;
    }
}

/* ---- as it was approved ---- */

static enum rc not_approved(struct step *step, struct err *err)
{
    enum rc rc = err_set(err, RC_CORRUPT, "ISSUE_NOT_APPROVED",
                         "The stored text of the issue is not the one that was approved.");
    return step_fail(step, rc, err, (struct port_failure){.code = "issue_not_approved"});
}

/* Only the comments that were approved stay. */
static enum rc keep_approved(struct step *step, const struct js *origin, struct issue_view *view,
                             struct err *err)
{
    const struct js *list = js_get(origin, "comments");
    size_t count = js_count(list) < view->comment_count ? js_count(list) : view->comment_count;
    int64_t *ids = arena_array(step->arena, count + 1, sizeof *ids);
    struct issue_comment_view *kept = arena_array(step->arena, count + 1, sizeof *kept);
    char sha256[SHA256_TEXT_BYTES];
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        ids[i] = js_int(js_at(list, i), 0);
        const struct issue_comment_view *comment = issue_view_comment(view, ids[i]);
        if (comment != NULL)
            kept[kept_count++] = *comment;
    }
    issue_prompt_sha256(view, ids, count, sha256);
    if (js_count(list) != kept_count || !text_same(js_get_str(origin, "textSha256", ""), sha256))
        return not_approved(step, err);
    view->comments = kept;
    view->comment_count = kept_count;
    return RC_OK;
}

/* People find it with the run. */
static void note_approved(struct step *step, const char *sha256, size_t bytes)
{
    if (step->artifact_count == STEP_ARTIFACTS_MAX)
        return;
    struct step_artifact *noted = &step->artifacts[step->artifact_count++];
    *noted = (struct step_artifact){.kind = "issue", .name = "issue.json", .bytes = (int64_t)bytes};
    text_copy(noted->sha256, sizeof noted->sha256, sha256);
}

static enum rc read_approved(struct step *step, const struct js *origin,
                             struct issue_view *ret_view, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct issue_view view = {.number = 0};
    buf_init(&text, ISSUE_VIEW_BYTES_MAX);
    enum rc rc = step_get(step, js_get_str(origin, "issueSha256", ""), &text, err);
    if (rc == RC_OK && js_parse(buf_text(&text), text.len, &tree, err) != RC_OK)
        return not_approved(step, err);
    if (rc == RC_OK)
        rc = issue_view_decode(tree, step->arena, &view, err);
    if (rc == RC_OK)
        note_approved(step, js_get_str(origin, "issueSha256", ""), text.len);
    if (rc == RC_OK)
        rc = keep_approved(step, origin, &view, err);
    if (rc == RC_OK)
        *ret_view = view;
    return rc;
}

/* ---- parts of the prompt ---- */

struct issue_part {
    enum prompt_kind kind;
    const struct issue_person *author;
    const char *title; /* Without the author; of a comment NULL. */
    const char *text;
};

static void add_part(struct hydration *hydration, const struct issue_part *part)
{
    struct step *step = hydration->step;
    struct arena *arena = step->arena;
    const char *who = untrusted_name(part->author->login, arena);
    bool trusted = intake_may_ask(&step->input.config.intake, part->author);
    const char *mark = trusted ? "" : " (not trusted)";
    hydration_add(
        hydration,
        &(struct prompt_part){
            .kind = part->kind,
            .title = part->title == NULL
                         ? arena_printf(arena, "%s%s", who, mark)
                         : arena_printf(arena, "%s by %s%s", part->title, who, mark),
            .text = trusted ? part->text : untrusted_clean(part->text, hydration->boundary, arena),
            .untrusted = !trusted,
        });
}

/* The title of an issue is a text like its body: of a stranger it stands in the fence. */
static void add_issue(struct hydration *hydration, const struct issue_view *view)
{
    struct step *step = hydration->step;
    struct arena *arena = step->arena;
    const char *body = text_empty(view->body) ? "(It has no text but its title.)" : view->body;
    if (intake_may_ask(&step->input.config.intake, &view->author)) {
        const char *title = arena_printf(arena, "#%" PRId64 " %s", view->number, view->title);
        hydration_add(hydration,
                      &(struct prompt_part){.kind = PROMPT_ISSUE, .title = title, .text = body});
        return;
    }
    const struct issue_part part = {
        .kind = PROMPT_ISSUE,
        .author = &view->author,
        .title = arena_printf(arena, "#%" PRId64, view->number),
        .text = arena_printf(arena, "%s\n\n%s", view->title, body),
    };
    add_part(hydration, &part);
}

static void add_link(struct hydration *hydration, const struct issue_link *link)
{
    struct arena *arena = hydration->step->arena;
    const char *how = link->relation == LINK_BLOCKED_BY ? ", which this one waits for" : "";
    const char *state = link->open ? "open" : "closed";
    const struct issue_part part = {
        .kind = PROMPT_LINKED,
        .author = &link->author,
        .title = arena_printf(arena, "#%" PRId64 " (%s%s)", link->number, state, how),
        .text = text_empty(link->title) ? "(Its text is not shown: its author is not trusted.)"
                                        : arena_printf(arena, "%s\n\n%s", link->title, link->body),
    };
    add_part(hydration, &part);
}

static void add_view(struct hydration *hydration, const struct issue_view *view)
{
    add_issue(hydration, view);
    for (size_t i = 0; i < view->comment_count; i++) {
        const struct issue_comment_view *comment = &view->comments[i];
        const struct issue_part part = {
            .kind = PROMPT_COMMENT, .author = &comment->author, .text = comment->body};
        if (!intake_skips(comment))
            add_part(hydration, &part);
    }
    for (size_t i = 0; i < view->link_count; i++)
        add_link(hydration, &view->links[i]);
}

/* A stranger's text would be the only one that says what to do. */
static enum rc fail_without(struct hydration *hydration, enum rc rc, struct err *err)
{
    struct step *step = hydration->step;
    if (rc == RC_LIMIT) /* It waits for the forge's limit. */
        return rc;
    if (!text_empty(step->input.description))
        return hydration_degrade(hydration, PROMPT_ISSUE, rc, err);
    if (rc == RC_TIMEOUT || rc == RC_CANCELLED)
        return rc;
    const struct port_failure failure = {.code = "issue_unavailable",
                                         .retryable = retry_may_help(rc)};
    (void)err_wrap(err, rc, "the task is nothing but its issue, which cannot be read");
    return step_fail(step, rc, err, failure);
}

enum rc hydrate_issue(struct hydration *hydration, struct err *err)
{
    struct step *step = hydration->step;
    const struct js *origin = js_get(step->input.payload, "origin");
    struct issue_view view = {.number = 0};
    if (step->input.issue_number == 0)
        return RC_OK;
    bool approved = js_get(origin, "issueSha256") != NULL;
    enum rc rc = approved ? read_approved(step, origin, &view, err) : ask_forge(step, &view, err);
    if (rc == RC_OK)
        add_view(hydration, &view);
    else if (step->failure.code == NULL)
        rc = fail_without(hydration, rc, err);
    return rc;
}
