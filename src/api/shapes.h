/*
 * shapes.h - rows in JSON: one function per noun, straight into the writer.
 * camelCase, times in RFC 3339, money in USD, null for what is not known.
 */
#ifndef API_SHAPES_H
#define API_SHAPES_H
#include "base/jw.h"
#include "control/queue/jobs.h"
#include "core/role.h"
#include "store/approvals.h"
#include "store/artifacts.h"
#include "store/jobs.h"
#include "store/patches.h"
#include "store/pull_requests.h"
#include "store/repositories.h"
#include "store/runs.h"
#include "store/tasks.h"
#include "store/verifications.h"

struct task_extras {
    const struct run_row *runs; /* In order. */
    size_t run_count;
    int64_t queue_position; /* From 1, in the workspace; 0: not queued, or not looked up. */
    bool alone;             /* Not in a listing: the following were looked up. */
    int64_t child_count;
    const struct budget_node *tree;              /* Its latest run in its budget tree, or NULL */
    const struct pull_request_row *pull_request; /* Of its latest run, or NULL */
};
void shape_task(struct jw *jw, const struct task_row *task, const struct task_extras *extras);

/* What belongs to a run, as far as it was looked up. */
struct run_extras {
    const char *repository;                      /* or NULL */
    const struct pull_request_row *pull_request; /* or NULL */
};
/* Leaves the object open: the caller may add to it, and closes it. */
void shape_run_open(struct jw *jw, const struct run_row *run, const struct run_extras *extras);
void shape_patch(struct jw *jw, const struct patch_row *patch);
void shape_verification(struct jw *jw, const struct verification_row *row);
void shape_artifact(struct jw *jw, const struct artifact_row *artifact);
void shape_repository(struct jw *jw, const struct repository_row *repository);
/* Leaves the object open. */
void shape_repository_open(struct jw *jw, const struct repository_row *repository);
struct sync_row;
void shape_sync(struct jw *jw, const struct sync_row *row); /* syncs.c */
void shape_approval(struct jw *jw, const struct approval_row *approval);
void shape_pull_request(struct jw *jw, const struct pull_request_row *row);
/* What its shepherd has done; NULL: it is not followed. */
struct shepherd_row;
void shape_shepherd(struct jw *jw, const struct shepherd_row *shepherd);
/* Both. */
void shape_followed(struct jw *jw, const struct pull_request_row *row,
                    const struct shepherd_row *shepherd);
/* A job in a listing; leaves the object open. */
void shape_job_open(struct jw *jw, const struct job_row *job);
/* "payload" as the role may see it: the channel of a notification is for those who may list
   channels, a viewer gets its name and type. */
void shape_payload(struct jw *jw, const struct job_row *job, enum role role);
/* The result of an enqueue: members of an open object. */
void shape_taken(struct jw *jw, const char *id_key, const struct enqueue_answer *answer);
/* "attempts": a member of an open object. */
void shape_attempts(struct jw *jw, const struct attempt_row *attempts, size_t count);
/* Leaves the object open. */
void shape_queue_open(struct jw *jw, const struct queue_counts *counts);
#endif
