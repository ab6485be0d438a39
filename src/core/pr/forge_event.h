/*
 * forge_event.h - what a delivery of a forge's webhook is about, the same for every forge.
 *
 * A delivery says where to look, not what is true: drover reads the issue or the pull request from
 * the forge again, so that deliveries that are late, doubled or out of order do no harm.
 */
#ifndef CORE_PR_FORGE_EVENT_H
#define CORE_PR_FORGE_EVENT_H
#include "base/arena.h"
#include "base/js.h"
#include "base/rc.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum forge_subject {
    SUBJECT_NONE,   /* Nothing that drover acts upon: recorded and ignored. */
    SUBJECT_PING,   /* The webhook was set up. */
    SUBJECT_ISSUE,  /* An issue, its labels, assignees or comments. */
    SUBJECT_PR,     /* A pull request, its comments, reviews or threads. */
    SUBJECT_COMMIT, /* Checks or statuses of a commit. */
    SUBJECT_BRANCH, /* A branch was moved or deleted. */
    SUBJECT_REPO,   /* The repository was renamed, moved or deleted. */
};

struct forge_event {
    enum forge_subject subject;
    const char *name;            /* "issues.labeled", as recorded. */
    const char *repository_id;   /* The provider's id of the repository, as text; NULL: none. */
    const char *repository_name; /* acme/billing, as it is called now; NULL: none. */
    int64_t number;              /* Of the issue or pull request. */
    const char *commit;          /* SUBJECT_COMMIT, SUBJECT_BRANCH: the new head. */
    const char *branch;          /* SUBJECT_BRANCH; of a pull request: its head. */
    const char *actor;           /* Login of the person or program that caused it. */
    bool actor_is_bot;
};

/*
 * Decodes a delivery: `forge` is github, gitlab or gitea; `event` is its header (X-GitHub-Event,
 * X-Gitlab-Event, X-Gitea-Event).  One that is not known is SUBJECT_NONE and RC_OK.  RC_INVALID:
 * the body lacks what a delivery of this event always has.
 */
MUST_USE enum rc forge_event_decode(const char *forge, const char *event, const struct js *body,
                                    struct arena *arena, struct forge_event *ret_event,
                                    struct err *err);
const char *forge_subject_name(enum forge_subject subject);
bool forge_subject_parse(const char *name, enum forge_subject *ret_subject);

/* The repository that a delivery names, read from its bytes without building a tree: before the
   signature is checked nothing more is done with a body.  Both may be "". */
struct forge_named {
    const char *id;   /* The provider's, as text. */
    const char *name; /* acme/billing, in lower case. */
};
/* false: `forge` is none that sends deliveries. */
bool forge_event_repository(const char *forge, struct str body, struct arena *arena,
                            struct forge_named *ret_named);

/* acme/billing, in lower case, of a repository's address; NULL: it has no such part. */
const char *forge_name_of_url(const char *url, struct arena *arena);
#endif
