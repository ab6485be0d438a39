/*
 * messages.h - what people say to the agent of a run.
 *
 * Numbered from 1 in each run.  Unread until an agent has it; the job that got it is kept, so that
 * a message whose agent was lost becomes unread again.
 */
#ifndef STORE_MESSAGES_H
#define STORE_MESSAGES_H
#include "store/db.h"

struct message_row {
    struct id run_id;
    int64_t seq;
    const char *author;
    const char *text;
    int64_t created_us;
    int64_t delivered_us; /* 0: unread */
    struct id job_id;     /* Whose agent has it; none: unread */
};
MUST_USE enum rc messages_insert(struct db *db, const struct message_row *row, struct err *err);

/* In order of seq: those after `after_seq`, all or only the unread ones. */
struct message_filter {
    struct id run_id;
    int64_t after_seq;
    int64_t limit;
    bool unread;
};
MUST_USE enum rc messages_list(struct db *db, const struct message_filter *filter,
                               struct arena *arena, struct message_row **ret_rows,
                               size_t *ret_count, struct err *err);

/* The agent of this job has the unread messages up to seq. */
struct message_delivery {
    struct id run_id, job_id;
    int64_t seq;
    int64_t now_us;
};
MUST_USE enum rc messages_deliver(struct db *db, const struct message_delivery *delivery,
                                  struct err *err);
/* The agent of this job is gone: what it had is unread again. */
MUST_USE enum rc messages_take_back(struct db *db, const struct id *run_id, const struct id *job_id,
                                    struct err *err);
#endif
