/*
 * intake.h - whether an issue becomes a task: who asks, who may, and which text was approved.
 *
 * An issue is asked for by a label, by an assignee, or by a comment `/drover run`.  The request
 * counts for the person who made it, not for the author of the issue.
 *
 *   1. A person may ask by association, login or team.  Where the forge does not tell who has put a
 *      label there, the author of the issue counts as the one who asks.
 *   2. Text by people who may ask needs no approval.  Other text is approved by the request of a
 *      person who may ask, and only as it was then: title and body must be known not to have
 *      changed since, comments that were written later are left out, and so are edited ones.
 *   3. A command is handled once: comments have growing ids, and the last one that was looked at is
 *      remembered.  A request by a label is handled once by its time.
 *
 *   state      asked, may, approved   asked otherwise   command by one who may   closed, label gone
 *   seen       submit -> active       -> awaiting       as its name says         -
 *   awaiting   submit -> active       -                 the same                 -> seen
 *   active     -                      -                 cancel, status           cancel
 *   done       submit, if newer       -> awaiting       run, retry, status       -> seen
 */
#ifndef CORE_PR_INTAKE_H
#define CORE_PR_INTAKE_H
#include "core/pr/issue_view.h"
#include "core/run/task.h"

enum {
    INTAKE_STARTS_MAX = 16,
    INTAKE_RULES_MAX = 32,
    INTAKE_PEOPLE_MAX = 100,
    INTAKE_TEAMS_MAX = ISSUE_VIEW_TEAMS_MAX,
    INTAKE_ASSOCIATIONS_MAX = 8,
};

/* Beginning of drover's hidden mark in the comments that it writes. */
#define INTAKE_MARK "<!-- drover"

/* What a task gets; -1, 0 or NULL: nothing is said of it. */
struct issue_task {
    const char *task_type;
    int risk; /* enum risk */
    int mode; /* enum mode */
    int64_t priority;
    int64_t max_budget_microusd;
    const char *target_branch;
};

/* Every rule that matches applies, in order: later ones win. */
struct intake_rule {
    const char *label, *assignee, *command; /* One of them. */
    struct issue_task task;
};

/* `intake:` of a repository's configuration. */
struct intake_rules {
    bool enabled;                                          /* The section is there. */
    const char *labels[INTAKE_STARTS_MAX + 1];             /* Each of them is a request. */
    const char *assignees[INTAKE_STARTS_MAX + 1];          /* The same. */
    bool commands;                                         /* true */
    const char *associations[INTAKE_ASSOCIATIONS_MAX + 1]; /* Who may ask. */
    const char *people[INTAKE_PEOPLE_MAX + 1];
    const char *teams[INTAKE_TEAMS_MAX + 1]; /* "team/NAME" */
    struct intake_rule rules[INTAKE_RULES_MAX];
    size_t rule_count;
    bool comment; /* true: progress is reported in a comment. */
    bool close;   /* true: the issue is closed when its pull request is merged. */
};
/* Nothing is taken in by it; OWNER, MEMBER and COLLABORATOR may ask. */
struct intake_rules intake_rules_default(void);

enum issue_state { ISSUE_SEEN, ISSUE_AWAITING, ISSUE_ACTIVE, ISSUE_DONE, ISSUE_STATE_COUNT };
const char *issue_state_name(enum issue_state state);
MUST_USE bool issue_state_parse(const char *name, enum issue_state *ret_state);

/* What drover has stored of the issue. */
struct issue_known {
    bool there; /* It was looked at before. */
    enum issue_state state;
    bool completed;          /* ISSUE_DONE: its task has completed; it cannot be retried. */
    const char *started_by;  /* "label drover", "assignee x", "command"; NULL: nothing yet. */
    const char *text_sha256; /* Of title and body as they were; or NULL. */
    int64_t text_us;         /* They are known to have been that since then, or a second earlier. */
    int64_t last_comment_id; /* Handled up to here. */
    int64_t act_us;          /* Of the request that was handled last. */
    int64_t since_us;        /* Commands from before then are not meant for drover. */
};

enum issue_do {
    ISSUE_NOTHING,
    ISSUE_SUBMIT, /* A task. */
    ISSUE_AWAIT,  /* A person who may is asked to approve it. */
    ISSUE_CANCEL, /* The run. */
    ISSUE_FORGET, /* The request was taken back. */
    ISSUE_RETRY,
    ISSUE_STATUS, /* The comment is written again. */
    ISSUE_HELP,
    ISSUE_DO_COUNT
};
const char *issue_do_name(enum issue_do what);

struct issue_decision {
    enum issue_do what;
    const char *reason; /* For people; in the arena. */
    struct issue_person asker;
    const char *by; /* As started_by. */
    struct issue_task task;
    int64_t act_us;          /* Of the request. */
    int64_t last_comment_id; /* To be stored with every decision. */
    char text_sha256[SHA256_TEXT_BYTES];
    int64_t text_us;
    bool changed;  /* Title or body are not what they were. */
    size_t denied; /* Commands by people who may not. */
    /* ISSUE_SUBMIT: what is approved. */
    int64_t *comment_ids;
    size_t comment_count;
    char prompt_sha256[SHA256_TEXT_BYTES];
};

struct issue_decision issue_decide(const struct intake_rules *rules, const struct issue_view *view,
                                   const struct issue_known *known, struct arena *arena);

bool intake_may_ask(const struct intake_rules *rules, const struct issue_person *person);
/* Is there a request at all, by whomever?  Only then are linked issues worth reading. */
bool intake_is_asked(const struct intake_rules *rules, const struct issue_view *view);
/* By drover, or nothing but commands: not for a prompt. */
bool intake_skips(const struct issue_comment_view *comment);

enum issue_command {
    COMMAND_NONE,
    COMMAND_RUN,
    COMMAND_RETRY,
    COMMAND_CANCEL,
    COMMAND_STATUS,
    COMMAND_HELP
};
/* The first line `/drover WORD [ARGUMENT]` outside quotes and code; *ret_argument: "" or the word,
   in the arena.  A word that is not known is COMMAND_HELP. */
enum issue_command issue_command_find(const char *body, struct arena *arena,
                                      const char **ret_argument);
#endif
