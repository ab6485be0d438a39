/*
 * issue_view.h - what a forge shows of an issue at one moment: its text, its comments, who has put
 * its labels there, and the issues that it names.
 *
 * The step `issue` writes it as an artifact, intake decides by it (intake.h), and the prompt of a
 * task is made of it: the text that was approved, not the issue as it is later.  All texts are by
 * people at the forge, and untrusted.
 */
#ifndef CORE_PR_ISSUE_VIEW_H
#define CORE_PR_ISSUE_VIEW_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/js.h"
#include "base/jw.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ISSUE_VIEW_COMMENTS_MAX = 500,
    ISSUE_VIEW_TEXT_MAX = 1024 * 1024,      /* Of all comments; the oldest are left out. */
    ISSUE_VIEW_BYTES_MAX = 8 * 1024 * 1024, /* As JSON, every byte of a text escaped. */
    ISSUE_VIEW_ACTS_MAX = 200,
    ISSUE_VIEW_LINKS_MAX = 8,
    ISSUE_VIEW_TEAMS_MAX = 8,
    ISSUE_VIEW_WORDS_MAX = 100, /* Labels, assignees. */
};

struct issue_person {
    const char *login;        /* "" when the account is gone. */
    const char *association;  /* OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE; NULL: not told. */
    const char *const *teams; /* "team/NAME", of those that were asked for; NULL-terminated. */
};

struct issue_comment_view {
    int64_t id;
    struct issue_person author;
    const char *body;
    int64_t created_us;
    bool edited; /* Its text was changed after it was written. */
};

enum issue_act_kind { ACT_LABELED, ACT_ASSIGNED };

/* Who has put a label there, or assigned it to someone.  Oldest first. */
struct issue_act {
    enum issue_act_kind kind;
    const char *what; /* The label, or the assignee. */
    struct issue_person by;
    int64_t at_us;
};

enum issue_relation { LINK_MENTIONED, LINK_BLOCKED_BY };

struct issue_link {
    enum issue_relation relation;
    int64_t number;
    const char *title, *body;
    bool open;
    struct issue_person author;
};

struct issue_view {
    const char *repository_id; /* So that no two repositories have the same text; or NULL. */
    int64_t number;
    const char *title, *body;
    bool open;
    struct issue_person author;
    int64_t created_us;
    int64_t updated_us; /* Of anything about it, by the forge's clock. */
    const char *const *labels;
    const char *const *assignees;        /* Both NULL-terminated. */
    struct issue_comment_view *comments; /* Oldest first. */
    size_t comment_count;
    struct issue_act *acts;
    size_t act_count;
    struct issue_link *links;
    size_t link_count;
    bool cut; /* There are more comments, older ones. */
};

/* As JSON, and back. */
void issue_view_write(struct jw *jw, const struct issue_view *view);
MUST_USE enum rc issue_view_decode(const struct js *document, struct arena *arena,
                                   struct issue_view *ret_view, struct err *err);

/* The numbers of other issues of this repository that a text names (#12), in order, each once. */
size_t issue_mentions(const char *text, int64_t self, int64_t *to, size_t max);

/* Of title and body: has the text of the issue changed? */
void issue_text_sha256(const struct issue_view *view, char to[SHA256_TEXT_BYTES]);
/* Of title, body and the comments with these ids: what a prompt is made of. */
void issue_prompt_sha256(const struct issue_view *view, const int64_t *ids, size_t count,
                         char to[SHA256_TEXT_BYTES]);
/* NULL: there is no such comment. */
const struct issue_comment_view *issue_view_comment(const struct issue_view *view, int64_t id);
#endif
