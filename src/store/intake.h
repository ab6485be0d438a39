/*
 * intake.h - issues that were looked at: one row for each, by repository and number.
 */
#ifndef STORE_INTAKE_H
#define STORE_INTAKE_H
#include "core/pr/intake.h"
#include "store/db.h"

struct intake_row {
    struct id id;
    struct id workspace_id;
    struct id repository_id;
    const char *repository; /* Its name, joined on reading. */
    int64_t issue_number;
    enum issue_state state;
    const char *reason;     /* Why it is in that state; or NULL. */
    struct id task_id;      /* The last one that was made of it, or none. */
    const char *asked_by;   /* Login of the person who asked last; or NULL. */
    const char *started_by; /* "label drover", "command"; or NULL. */
    int64_t last_comment_id;
    int64_t act_us;            /* Of the request that was handled last. */
    const char *text_sha256;   /* Of title and body as they were seen last; or NULL. */
    int64_t text_us;           /* They are that since then, by the forge's clock. */
    const char *view_sha256;   /* The artifact: the issue as it was read last. */
    const char *prompt_sha256; /* Of the text that was approved for the task; or NULL. */
    bool changed;              /* Title or body were changed after that. */
    const char *wanted;        /* What drover's comment is to say; NULL: it has none. */
    const char *told;          /* What it says, as far as is known; or NULL. */
    bool closes;               /* The issue is to be closed with the next comment. */
    bool merged;               /* The merge of its pull request was noticed. */
    int64_t created_us, looked_us, updated_us;
};

MUST_USE enum rc intake_insert(struct db *db, const struct intake_row *row, struct err *err);
/* All but the key and created_us. */
MUST_USE enum rc intake_save(struct db *db, const struct intake_row *row, struct err *err);
/* Locks the row. */
MUST_USE enum rc intake_of_issue(struct db *db, const struct id *repository_id, int64_t number,
                                 struct arena *arena, struct intake_row *ret_row, struct err *err);
MUST_USE enum rc intake_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                                struct intake_row *ret_row, struct err *err);

struct intake_filter {
    const char *repository; /* NULL: all */
    const char *state;      /* NULL: any */
    struct id before;       /* The cursor: newest first. */
    int64_t limit;
};
MUST_USE enum rc intake_list(struct db *db, const struct intake_filter *filter, struct arena *arena,
                             struct intake_row **ret_rows, size_t *ret_count, struct err *err);
#endif
