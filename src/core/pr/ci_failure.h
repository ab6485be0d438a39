/*
 * ci_failure.h - why a check at a forge failed: its cause, a fingerprint, and a summary of its log.
 *
 * The cause decides what a failure may cost: a rerun, a repair, or a person's time.  The
 * fingerprint is the same for the same failure at another time, on another machine and at another
 * commit, so that it is paid for once.
 */
#ifndef CORE_PR_CI_FAILURE_H
#define CORE_PR_CI_FAILURE_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/pr/pr_view.h"
#include "core/pr/shepherd.h"

enum {
    CI_LOG_MAX = 256 * 1024,   /* Of the end: what is further back is not read. */
    CI_SUMMARY_MAX = 4 * 1024, /* For a prompt; FEEDBACK_SUMMARY_MAX and a heading. */
    CI_LINES_MAX = 12,         /* That a fingerprint is made of. */
};

/* What is known of a failed check. */
struct ci_evidence {
    const struct check_view *check;
    struct str log;           /* Its end; empty: it has none. */
    const char *const *paths; /* That the pull request changes; NULL-terminated, or NULL. */
    bool red_on_base;         /* The check of this name is red on the target branch, */
    bool base_differs;        /* by a log with another fingerprint. */
    bool passed_before;       /* It passed at this very head before. */
};

struct ci_failure {
    enum ci_cause cause;
    const char *why; /* A clause for people: what speaks for this cause. */
    char fingerprint[SHA256_TEXT_BYTES];
    const char *summary; /* For a prompt, at most CI_SUMMARY_MAX bytes; untrusted. */
    const char *line;    /* The one line that says most. */
};

struct ci_failure ci_failure_classify(const struct ci_evidence *evidence, struct arena *arena);

/* For tests: a line without times, hashes, numbers and paths of this machine. */
char *ci_line_normal(struct str line, struct arena *arena);
/* Of a log alone, to compare it with that of the target branch. */
void ci_fingerprint(const char *check, struct str log, struct arena *arena,
                    char to[SHA256_TEXT_BYTES]);

/* The cause of a whole pull request, whose checks failed for these: the one that has to be dealt
   with first. */
enum ci_cause ci_cause_worse(enum ci_cause a, enum ci_cause b);
#endif
