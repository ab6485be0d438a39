/*
 * shepherd_facts.c - see shepherd_facts.h.
 *
 * An approval counts for the head that was approved and for no other.  A request for changes stands
 * until it was given to a repair, or its author approves the head.  What is missing in a view that
 * was cut may speak against the merge: then only a person who agrees to this head in drover grants
 * it.
 */
#include "core/pr/shepherd_facts.h"
#include "base/clock.h"
#include "base/str.h"
#include <string.h>

/* After a rerun the forge may still show the old result for so long. */
#define RERUN_SHOWS_US (2 * US_PER_MINUTE)

/* ---- checks ---- */

static bool any_required(const struct pr_view *view)
{
    for (size_t i = 0; i < view->check_count; i++)
        if (view->checks[i].required && !view->checks[i].own)
            return true;
    return false;
}

bool check_counts(const struct pr_view *view, const struct check_view *check)
{
    return !check->own && (check->required || !any_required(view));
}

bool check_is_red(const struct check_view *check)
{
    return check->state != CHECK_PENDING && check->state != CHECK_PASSED;
}

/* It was told to run again, and the forge does not show that yet. */
static bool reruns(const struct check_view *check, const struct shepherd_known *known)
{
    return known->rerun_us > 0 && known->now_us - known->rerun_us < RERUN_SHOWS_US &&
           check->ended_us <= known->rerun_us;
}

static enum pr_checks sum_checks(const struct pr_view *view, const struct shepherd_known *known)
{
    size_t seen = 0, running = 0, red = 0;
    for (size_t i = 0; i < view->check_count; i++) {
        const struct check_view *check = &view->checks[i];
        if (!check_counts(view, check))
            continue;
        bool again = check_is_red(check) && reruns(check, known);
        seen++;
        running += check->state == CHECK_PENDING || again;
        red += check_is_red(check) && !again;
    }
    if (red > 0)
        return CHECKS_RED;
    bool to_come = seen == 0 && known->forge_checks &&
                   known->now_us - known->head_since_us < known->settle_us;
    return running > 0 || to_come ? CHECKS_RUNNING : CHECKS_GREEN;
}

/* ---- reviews ---- */

bool review_is_trusted(const char *association)
{
    static const char *const members[] = {"OWNER", "MEMBER", "COLLABORATOR"};
    if (association == NULL)
        return true; /* The forge does not tell: who may review there is up to it. */
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (strcmp(members[i], association) == 0)
            return true;
    return false;
}

/* The author's last word on it: a later approval of the head takes a request for changes back. */
static bool taken_back(const struct pr_view *view, size_t at)
{
    for (size_t i = at + 1; i < view->review_count; i++)
        if (text_same(view->reviews[i].author, view->reviews[at].author) &&
            view->reviews[i].verdict == REVIEW_APPROVED)
            return true;
    return false;
}

static bool review_asks(const struct pr_view *view, size_t at, int64_t after_us)
{
    const struct review_view *review = &view->reviews[at];
    return review->verdict == REVIEW_CHANGES_REQUESTED && review->submitted_us > after_us &&
           review_is_trusted(review->association) && !taken_back(view, at);
}

bool thread_asks(const struct pr_view *view, const struct thread_view *thread, int64_t after_us)
{
    if (thread->resolved || thread->comment_count == 0)
        return false;
    const struct thread_comment *last = &thread->comments[thread->comment_count - 1];
    return last->created_us > after_us && !text_same(last->author, view->author) &&
           review_is_trusted(last->association);
}

int64_t review_last_us(const struct pr_view *view, int64_t after_us)
{
    int64_t last_us = 0;
    for (size_t i = 0; i < view->review_count; i++)
        if (review_asks(view, i, after_us) && view->reviews[i].submitted_us > last_us)
            last_us = view->reviews[i].submitted_us;
    for (size_t i = 0; i < view->thread_count; i++) {
        const struct thread_view *thread = &view->threads[i];
        if (!thread_asks(view, thread, after_us))
            continue;
        int64_t said_us = thread->comments[thread->comment_count - 1].created_us;
        last_us = said_us > last_us ? said_us : last_us;
    }
    return last_us;
}

/* Every author of an open comment has submitted a review since. */
static bool reviewers_are_done(const struct pr_view *view, int64_t after_us)
{
    for (size_t i = 0; i < view->thread_count; i++) {
        const struct thread_view *thread = &view->threads[i];
        if (!thread_asks(view, thread, after_us))
            continue;
        const struct thread_comment *last = &thread->comments[thread->comment_count - 1];
        bool done = false;
        for (size_t j = 0; !done && j < view->review_count; j++)
            done = text_same(view->reviews[j].author, last->author) &&
                   view->reviews[j].verdict != REVIEW_PENDING &&
                   view->reviews[j].submitted_us >= last->created_us;
        if (!done)
            return false;
    }
    return true;
}

int approvals_of_head(const struct pr_view *view)
{
    int count = 0;
    for (size_t i = 0; i < view->review_count; i++) {
        const struct review_view *review = &view->reviews[i];
        bool counts = review->verdict == REVIEW_APPROVED && text_same(review->commit, view->head) &&
                      review_is_trusted(review->association) &&
                      !text_same(review->author, view->author);
        for (size_t j = i + 1; counts && j < view->review_count; j++) /* Each person once, last. */
            counts = !text_same(view->reviews[j].author, review->author) ||
                     view->reviews[j].verdict == REVIEW_COMMENTED ||
                     view->reviews[j].verdict == REVIEW_PENDING;
        count += counts;
    }
    return count;
}

static bool is_granted(const struct pr_view *view, const struct shepherd_known *known)
{
    return known->granted_head != NULL && text_same(known->granted_head, view->head);
}

static enum pr_review sum_reviews(const struct pr_view *view, const struct shepherd_known *known)
{
    int64_t last_us = review_last_us(view, known->reviewed_us);
    if (last_us > 0) {
        bool quiet = known->now_us - last_us >= known->quiet_us;
        return quiet || reviewers_are_done(view, known->reviewed_us) ? REVIEW_ASKING
                                                                     : REVIEW_TALKING;
    }
    bool wanted = known->merge == SHEPHERD_MERGE_APPROVED && known->forge_reviews && !view->cut &&
                  !is_granted(view, known);
    if (wanted && approvals_of_head(view) == 0)
        return REVIEW_MISSING;
    return view->mergeable == MERGE_BLOCKED ? REVIEW_MISSING : REVIEW_QUIET;
}

/* ---- the rest ---- */

static enum pr_base sum_base(const struct pr_view *view, const struct shepherd_known *known)
{
    if (known->empty_head != NULL && text_same(known->empty_head, view->head))
        return BASE_EMPTY;
    if (known->rebase_head != NULL && text_same(known->rebase_head, view->head))
        return BASE_STUCK;
    if (known->conflict_head != NULL && text_same(known->conflict_head, view->head))
        return BASE_CONFLICT;
    switch (view->mergeable) {
    case MERGE_UNKNOWN:
        return BASE_UNKNOWN;
    case MERGE_CONFLICT:
        return BASE_CONFLICT;
    case MERGE_BEHIND:
        return BASE_BEHIND;
    case MERGE_CLEAN:
    case MERGE_BLOCKED:
        break;
    }
    return BASE_CLEAN;
}

static enum pr_certificate certificate_of(const struct pr_view *view,
                                          const struct shepherd_known *known)
{
    if (known->certified_head == NULL || !text_same(known->certified_head, view->head))
        return known->verify_left ? CERT_NONE : CERT_UNOBTAINABLE;
    return known->certificate_good ? CERT_GOOD : CERT_BAD;
}

static enum pr_permission permission_of(const struct pr_view *view,
                                        const struct shepherd_known *known)
{
    if (known->merge == SHEPHERD_MERGE_NEVER)
        return MERGE_BY_OTHERS;
    bool shown = known->merge == SHEPHERD_MERGE_AUTO || approvals_of_head(view) > 0;
    if (is_granted(view, known) || (shown && !view->cut))
        return MERGE_GRANTED;
    return known->merge_asked ? MERGE_ASKED : MERGE_TO_ASK;
}

static enum pr_life life_of(const struct pr_view *view)
{
    if (view->state == PR_MERGED)
        return LIFE_MERGED;
    return view->state == PR_CLOSED ? LIFE_CLOSED : LIFE_OPEN;
}

struct shepherd_facts shepherd_facts_of(const struct pr_view *view,
                                        const struct shepherd_known *known)
{
    bool outdated = known->work != WORK_NONE && !text_same(known->work_head, view->head);
    struct shepherd_facts facts = {
        .life = life_of(view),
        .certificate = certificate_of(view, known),
        .work = outdated ? WORK_OUTDATED : known->work,
        .checks = sum_checks(view, known),
        .failure = known->failure,
        .review = sum_reviews(view, known),
        .base = sum_base(view, known),
        .permission = permission_of(view, known),
        .way = known->way,
        .person = known->person,
        .draft = view->draft,
        .cut = view->cut,
        .merge_refused = known->merge_refused,
        .submitted = known->submitted || view->queued || view->auto_merge,
        .may_rerun = known->may_rerun,
        .may_repair = known->may_repair,
        .may_rebase = known->may_rebase,
        .in_time = known->in_time,
        .shown = known->shown,
        .unanswered = known->unanswered,
    };
    if (facts.certificate == CERT_BAD) /* Drover's own checks: red by the patch. */
        facts.failure = facts.failure == CI_REPEATED ? CI_REPEATED : CI_PATCH;
    return facts;
}
