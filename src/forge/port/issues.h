/*
 * issues.h - issues of a forge: the work that people request, and their comments.
 */
#ifndef FORGE_PORT_ISSUES_H
#define FORGE_PORT_ISSUES_H
#include "forge/port/call.h"

enum {
    ISSUE_TITLE_MAX = 300,
    ISSUE_BODY_MAX = 64 * 1024,
    ISSUE_LABELS_MAX = 50,
    ISSUE_LABEL_MAX = 100,
    ISSUE_COMMENTS_MAX = 500,
    ISSUES_LISTED_MAX = 1000,
};

/* Members that a forge does not tell are NULL, 0 or empty: intake then trusts no person by them. */
struct issue_comment {
    const char *author;
    const char *body;
    int64_t created_us;
    int64_t id;              /* As the forge numbers them: larger ones are later. */
    const char *association; /* Of the author, in GitHub's words: OWNER, MEMBER, COLLABORATOR,
                                CONTRIBUTOR, NONE; NULL: not told. */
    int64_t updated_us;      /* When its text was changed last; created_us: never. */
};

struct issue {
    int64_t number;
    const char *title;
    const char *body;  /* "" when it has none, and in listings. */
    const char *state; /* open, closed */
    const char *author;
    struct str labels; /* A JSON array of texts. */
    int64_t created_us, updated_us;
    int64_t comment_count;
    struct issue_comment *comments; /* The newest, oldest first; NULL in listings. */
    const char *association;        /* Of the author, as above. */
    struct str assignees;           /* A JSON array of logins; empty: not told. */
};

/* For one more comment: of ISSUE_COMMENTS_MAX the oldest goes.  Commands are in the newest. */
void issue_make_room(struct issue *issue);

struct forge_comment; /* forge/port/prs.h */

/* Text by one author: a new issue (title), a change of its state (state), of its labels (labels,
   and body is NULL), or a comment. */
struct issue_words {
    const char *title;
    const char *state; /* open, closed, or NULL */
    const char *body;
    struct str labels; /* A JSON array of texts, or empty. */
    const char *author;
    int64_t time_us;
    const char *key; /* Of a note; NULL otherwise. */
};

struct issue_filter {
    const char *state; /* or NULL: any */
    int64_t before;    /* Only smaller numbers; 0: from the newest. */
    size_t limit;      /* At most ISSUES_LISTED_MAX. */
};

/*
 * RC_NOT_FOUND, code ISSUE_NOT_FOUND: there is no such issue.  RC_UNREACHABLE, RC_IO, RC_TIMEOUT:
 * the forge cannot answer now.  RC_CORRUPT: what it answers is no issue.
 * All texts live in the arena, or are those of the caller's words.
 */
struct host_issues;
/* Every function is given the struct that it is a member of. */
struct issue_ops {
    const struct host_issues *host; /* forge/host/issues.h; NULL: its functions need none. */
    enum rc (*get)(const struct issue_ops *ops, struct forge_call *call, const char *url,
                   int64_t number, struct arena *arena, struct issue *ret_issue, struct err *err);
    enum rc (*open)(const struct issue_ops *ops, struct forge_call *call, const char *url,
                    const struct issue_words *words, struct arena *arena, struct issue *ret_issue,
                    struct err *err);
    /* RC_CONFLICT: there are ISSUE_COMMENTS_MAX already (TOO_MANY_COMMENTS), it has as much text
       as can be read back (ISSUE_FULL), or is what it should become (ISSUE_OPEN, ISSUE_CLOSED). */
    enum rc (*change)(const struct issue_ops *ops, struct forge_call *call, const char *url,
                      int64_t number, const struct issue_words *words, struct arena *arena,
                      struct issue *ret_issue, struct err *err);
    /* The newest first. */
    enum rc (*list)(const struct issue_ops *ops, struct forge_call *call, const char *url,
                    const struct issue_filter *filter, struct arena *arena,
                    struct issue **ret_issues, size_t *ret_count, struct err *err);
    /* Numbers of the issues of this repository that it waits for; NULL without
       CAN_DEPENDENCIES. */
    enum rc (*blocked_by)(const struct issue_ops *ops, struct forge_call *call, const char *url,
                          int64_t number, struct arena *arena, int64_t **ret_numbers,
                          size_t *ret_count, struct err *err);
    /* Creates or edits the comment with this key; NULL: pr_ops.comment does that. */
    enum rc (*note)(const struct issue_ops *ops, struct forge_call *call, const char *url,
                    int64_t number, const struct forge_comment *comment, struct err *err);
};
#endif
