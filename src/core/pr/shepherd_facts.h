/*
 * shepherd_facts.h - from what a forge shows of a pull request, and what drover knows of it, to the
 * facts that core/pr/shepherd.h decides by.
 */
#ifndef CORE_PR_SHEPHERD_FACTS_H
#define CORE_PR_SHEPHERD_FACTS_H
#include "core/pr/pr_view.h"
#include "core/pr/shepherd.h"

/* What drover knows beside the view.  Times are microseconds of the wall clock. */
struct shepherd_known {
    int64_t now_us;
    /* Its last verification: of which head, and how it ended. */
    const char *certified_head; /* NULL: there was none. */
    bool certificate_good;
    bool verify_left; /* The head may be verified (again). */
    bool shown;       /* The certificate of this head stands at the forge, or it cannot. */
    enum pr_work work;
    const char *work_head;     /* For which it was begun. */
    enum ci_cause failure;     /* Of the red checks, classified. */
    const char *conflict_head; /* The train found out that this head conflicts; or NULL */
    const char *rebase_head;   /* The rebase of this head did not apply, */
    const char *empty_head;    /* or left nothing; NULL: no such thing is known. */
    int64_t head_since_us;     /* The head was seen first then. */
    int64_t rerun_us;          /* Checks were told to run again then; 0: not at this head. */
    int64_t reviewed_us;       /* What reviewers said until then was given to a repair. */
    bool unanswered;
    enum pr_person person;
    /* For the merge: */
    enum shepherd_merge merge;
    const char *granted_head; /* A person has agreed to merge this head; NULL: none. */
    bool merge_asked;         /* And is asked about the head as it is. */
    bool forge_reviews;       /* People can approve it at the forge. */
    bool forge_checks;        /* The forge has checks that may still appear. */
    bool merge_refused;       /* The forge has refused to merge it, time and again. */
    bool submitted;           /* drover has told the train or the forge to merge this head. */
    enum pr_way way;
    /* Budgets. */
    bool may_rerun, may_repair, may_rebase, in_time;
    int64_t quiet_us;  /* `shepherd.quietMs` */
    int64_t settle_us; /* `shepherd.settleMs`: checks of a new head may take so long to appear. */
};

struct shepherd_facts shepherd_facts_of(const struct pr_view *view,
                                        const struct shepherd_known *known);

/* For shepherd_facts_of and for those who read a view: */

/* Red, and it counts: not drover's own, and required where the target requires any. */
bool check_counts(const struct pr_view *view, const struct check_view *check);
bool check_is_red(const struct check_view *check);
/* May this person's review cost money: a member of the repository, as far as the forge says. */
bool review_is_trusted(const char *association);
/* A thread that asks for something: open, its last word is not drover's and came after then. */
bool thread_asks(const struct pr_view *view, const struct thread_view *thread, int64_t after_us);
/* When the last of them, or of the reviews that ask for changes, was said; 0: there is none. */
int64_t review_last_us(const struct pr_view *view, int64_t after_us);
/* Approvals of this very head, by people who are trusted. */
int approvals_of_head(const struct pr_view *view);
#endif
