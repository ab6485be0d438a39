/*
 * shepherd.h - the life of a pull request after it was opened, as a pure function.
 *
 *   open -> checks -> review -> mergeable -> merging -> merged
 *
 * and from each of these but the last: failing, changes_requested, conflicting, stale, blocked,
 * from which it returns to open; and closed.  The diagram and the table of moves stand in
 * shepherd.c.
 *
 * The forge is the truth: a look at it gives facts (shepherd_facts.h), and the facts say where the
 * pull request belongs.  So a look that is lost, late or repeated does no harm.
 *
 * Invariants, which shepherd_check asserts for one decision and a test for all of them:
 *   1. Nothing leaves merged or closed.
 *   2. Every decision in another state acts, or waits for a time, or waits for a person.
 *   3. What costs (rerun, repair, rebase, verify) is done only while its budget lasts, and only
 *      when nothing of the kind is under way.
 *   4. Only a head with a certificate, which nothing speaks against, is merged.
 */
#ifndef CORE_PR_SHEPHERD_H
#define CORE_PR_SHEPHERD_H
#include <stdbool.h>
#include <stdint.h>

enum shepherd_state {
    SHEPHERD_OPEN, /* Its head is new: it has no certificate yet, or nothing is known of it. */
    SHEPHERD_CHECKS,
    SHEPHERD_REVIEW,
    SHEPHERD_MERGEABLE,
    SHEPHERD_MERGING, /* In the train, or the forge was told to merge it. */
    SHEPHERD_MERGED,
    SHEPHERD_FAILING, /* Checks are red. */
    SHEPHERD_CHANGES_REQUESTED,
    SHEPHERD_CONFLICTING,
    SHEPHERD_STALE,   /* The target has moved, and the repository wants it up to date. */
    SHEPHERD_BLOCKED, /* A person is asked, or something outside of it has to change. */
    SHEPHERD_CLOSED,
    SHEPHERD_STATE_COUNT
};

enum { SHEPHERD_MOVES_MAX = 6 }; /* From any state to the one where it belongs. */

enum pr_life { LIFE_OPEN, LIFE_MERGED, LIFE_CLOSED, LIFE_COUNT };
/* What drover's own verification says of the head. */
enum pr_certificate { CERT_GOOD, CERT_BAD, CERT_NONE, CERT_UNOBTAINABLE, CERT_COUNT };
/* What drover has under way for it. */
enum pr_work {
    WORK_NONE,
    WORK_REPAIR,
    WORK_REBASE,   /* Or a verification. */
    WORK_OUTDATED, /* Begun for another head: to be stopped. */
    WORK_COUNT
};
enum pr_checks { CHECKS_GREEN, CHECKS_RUNNING, CHECKS_RED, CHECKS_COUNT };
/* Why checks are red: core/pr/ci_failure.h, and what the store knows of it. */
enum ci_cause {
    CI_PATCH,
    CI_FLAKY,
    CI_BASE, /* Red on the target branch as well. */
    CI_INFRASTRUCTURE,
    CI_METADATA, /* Title, labels, sign-off: no patch mends it. */
    CI_REPEATED, /* It was seen before and was not mended then. */
    CI_CAUSE_COUNT
};
enum pr_review {
    REVIEW_QUIET,   /* No reviewer has asked for a change, and no approval is missing. */
    REVIEW_MISSING, /* An approval of this head is missing. */
    REVIEW_TALKING, /* A person reviews it just now. */
    REVIEW_ASKING,  /* The reviewers are done, and ask for changes. */
    REVIEW_COUNT
};
enum pr_base {
    BASE_CLEAN,
    BASE_UNKNOWN,  /* The forge is still working it out. */
    BASE_BEHIND,   /* And it has to be up to date. */
    BASE_CONFLICT, /* It has not been rebased yet. */
    BASE_STUCK,    /* It was, and the rebase did not apply. */
    BASE_EMPTY,    /* It was, and nothing was left: the target has all of it. */
    BASE_COUNT
};
enum pr_permission {
    MERGE_BY_OTHERS, /* People merge it. */
    MERGE_TO_ASK,    /* A person is to be asked. */
    MERGE_ASKED,
    MERGE_GRANTED,
    MERGE_PERMISSION_COUNT
};
/* `shepherd.merge` of the configuration. */
enum shepherd_merge { SHEPHERD_MERGE_NEVER, SHEPHERD_MERGE_APPROVED, SHEPHERD_MERGE_AUTO };

enum pr_way { WAY_TRAIN, WAY_DIRECT, WAY_AUTO, WAY_QUEUE, WAY_COUNT };
enum pr_person {
    PERSON_NONE,
    PERSON_ASKED,
    PERSON_STOPS, /* Has said that drover is to leave it alone. */
    PERSON_COUNT
};

struct shepherd_facts {
    enum pr_life life;
    enum pr_certificate certificate;
    enum pr_work work;
    enum pr_checks checks;
    enum ci_cause failure; /* CHECKS_RED */
    enum pr_review review;
    enum pr_base base;
    enum pr_permission permission;
    enum pr_way way;
    enum pr_person person;
    bool draft;
    bool cut;           /* The forge has more to show than was read. */
    bool merge_refused; /* By the forge, time and again. */
    bool submitted;     /* In the train, or the forge was told to merge this head. */
    /* Attempts, money and time are left for it. */
    bool may_rerun, may_repair, may_rebase;
    bool in_time;    /* Of shepherd.maxHours. */
    bool shown;      /* The certificate stands at the forge, or cannot. */
    bool unanswered; /* Threads that a repair has dealt with are not answered yet. */
};

enum shepherd_act {
    ACT_RERUN = 1 << 0,       /* The failed checks that may be flaky. */
    ACT_REPAIR = 1 << 1,      /* A run of an agent on top of the head. */
    ACT_REBASE = 1 << 2,      /* Onto the target's tip, verified again. */
    ACT_VERIFY = 1 << 3,      /* The head as it is. */
    ACT_READY = 1 << 4,       /* It is no draft any more. */
    ACT_CERTIFICATE = 1 << 5, /* Shown at the forge. */
    ACT_ANSWER = 1 << 6,      /* Threads are answered and resolved. */
    ACT_TRAIN = 1 << 7,
    ACT_MERGE = 1 << 8,
    ACT_AUTO_MERGE = 1 << 9,
    ACT_ENQUEUE = 1 << 10,
    ACT_ASK = 1 << 11,       /* A person, how to go on. */
    ACT_ASK_MERGE = 1 << 12, /* A person, whether to merge. */
    ACT_STOP_WORK = 1 << 13,
    ACT_LEAVE = 1 << 14, /* The train. */
    ACT_CLOSE = 1 << 15,
    ACT_COUNT = 16
};

/* What a repair is to mend. */
enum repair_cause {
    REPAIR_NOTHING,
    REPAIR_CHECKS,
    REPAIR_REVIEW,
    REPAIR_CONFLICT,
    REPAIR_CAUSE_COUNT
};

/* When to look again, if nothing is heard before. */
enum shepherd_wait {
    WAIT_NEVER, /* It is over. */
    WAIT_SOON,  /* The forge, or a job, is about to change it. */
    WAIT_QUIET, /* Until the reviewer has been quiet for long enough. */
    WAIT_POLL,
    WAIT_LONG, /* A person, or another branch, has to move. */
};

struct shepherd_decision {
    enum shepherd_state state;
    unsigned acts; /* Of enum shepherd_act. */
    enum repair_cause cause;
    enum shepherd_wait wait;
    const char *reason; /* A sentence for people. */
};

/* Where the facts lead: the state in which the pull request settles. */
struct shepherd_decision shepherd_decide(const struct shepherd_facts *facts);
/* The next state on the way from one to another, as the table of moves has it; `from` itself when
   it is final, or is there. */
enum shepherd_state shepherd_toward(enum shepherd_state from, enum shepherd_state aim);
bool shepherd_may_move(enum shepherd_state from, enum shepherd_state to);
bool shepherd_is_final(enum shepherd_state state);
/* Asserts the invariants for one decision. */
void shepherd_check(const struct shepherd_facts *facts, const struct shepherd_decision *decision);

const char *shepherd_state_name(enum shepherd_state state);
bool shepherd_state_parse(const char *name, enum shepherd_state *ret_state);
const char *shepherd_act_name(enum shepherd_act act);
const char *ci_cause_name(enum ci_cause failure);
bool ci_cause_parse(const char *name, enum ci_cause *ret_failure);
const char *repair_cause_name(enum repair_cause cause);
#endif
