/*
 * ahead.c - see ahead.h.
 */
#include "control/commit/ahead.h"
#include "store/jobs.h"
#include "store/runs.h"
#include "store/tasks.h"
#include <stdlib.h>
#include <string.h>

static void add(struct ahead_ids *to, const struct id *id, struct arena *arena)
{
    if (id_is_none(id))
        return;
    if (to->count == to->room) {
        size_t room = to->room == 0 ? 64 : 2 * to->room;
        struct id *ids = arena_array(arena, room, sizeof(*ids));
        if (to->count > 0)
            memcpy(ids, to->ids, to->count * sizeof(*ids));
        to->ids = ids;
        to->room = room;
    }
    to->ids[to->count++] = *id;
}

void ahead_job(struct ahead *ahead, const struct id *job_id)
{
    add(&ahead->jobs, job_id, ahead->arena);
}

void ahead_task(struct ahead *ahead, const struct id *task_id)
{
    add(&ahead->tasks, task_id, ahead->arena);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct id *)a)->text, ((const struct id *)b)->text);
}

typedef enum rc ahead_fn(struct db *db, const struct id *id, struct err *err);

/* In order, each once. */
static enum rc ask(struct ahead_ids *of, struct db *db, ahead_fn *one, struct err *err)
{
    if (of->count > 1)
        qsort(of->ids, of->count, sizeof(*of->ids), by_text);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < of->count; i++)
        if (i == 0 || by_text(&of->ids[i - 1], &of->ids[i]) != 0)
            rc = one(db, &of->ids[i], err);
    return rc;
}

/* The runs of the jobs and of the tasks, and the tasks of the jobs' runs. */
static enum rc find_owners(struct ahead *ahead, struct ahead_ids *runs, struct db *db,
                           struct err *err)
{
    size_t task_count = ahead->tasks.count;
    struct job_owner owner;
    struct id run_id;
    enum rc rc = ask(&ahead->jobs, db, jobs_owner_ahead, err);
    if (rc == RC_OK)
        rc = ask(&ahead->tasks, db, tasks_latest_run_ahead, err);
    for (size_t i = 0; rc == RC_OK && i < ahead->jobs.count; i++) {
        rc = jobs_owner(db, &ahead->jobs.ids[i], &owner, err);
        if (rc == RC_OK) {
            add(runs, &owner.run_id, ahead->arena);
            add(&ahead->tasks, &owner.task_id, ahead->arena);
        }
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    for (size_t i = 0; rc == RC_OK && i < task_count; i++) {
        rc = tasks_latest_run(db, &ahead->tasks.ids[i], &run_id, err);
        if (rc == RC_OK)
            add(runs, &run_id, ahead->arena);
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return rc;
}

enum rc ahead_read(struct ahead *ahead, struct db *db, struct err *err)
{
    struct ahead_ids runs = {0};
    enum rc rc = find_owners(ahead, &runs, db, err);
    if (rc == RC_OK)
        rc = ask(&runs, db, runs_ahead, err);
    if (rc == RC_OK)
        rc = ask(&ahead->tasks, db, tasks_ahead, err);
    if (rc == RC_OK)
        rc = ask(&ahead->jobs, db, jobs_ahead, err);
    return rc;
}
