/*
 * read_ahead.c - see read_ahead.h.
 */
#include "control/commit/read_ahead.h"
#include "store/jobs.h"
#include "store/runs.h"
#include "store/tasks.h"
#include <stdlib.h>
#include <string.h>

static void add(struct read_ahead_ids *to, const struct id *id, struct arena *arena)
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

void read_ahead_job(struct read_ahead *read_ahead, const struct id *job_id)
{
    add(&read_ahead->jobs, job_id, read_ahead->arena);
}

void read_ahead_task(struct read_ahead *read_ahead, const struct id *task_id)
{
    add(&read_ahead->tasks, task_id, read_ahead->arena);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct id *)a)->text, ((const struct id *)b)->text);
}

typedef enum rc read_ahead_fn(struct db *db, const struct id *id, struct err *err);

/* In order, each once. */
static enum rc ask(struct read_ahead_ids *of, struct db *db, read_ahead_fn *one, struct err *err)
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
static enum rc find_owners(struct read_ahead *read_ahead, struct read_ahead_ids *runs,
                           struct db *db, struct err *err)
{
    size_t task_count = read_ahead->tasks.count;
    struct job_owner owner;
    struct id run_id;
    enum rc rc = ask(&read_ahead->jobs, db, jobs_owner_read_ahead, err);
    if (rc == RC_OK)
        rc = ask(&read_ahead->tasks, db, tasks_latest_run_read_ahead, err);
    for (size_t i = 0; rc == RC_OK && i < read_ahead->jobs.count; i++) {
        rc = jobs_owner(db, &read_ahead->jobs.ids[i], &owner, err);
        if (rc == RC_OK) {
            add(runs, &owner.run_id, read_ahead->arena);
            add(&read_ahead->tasks, &owner.task_id, read_ahead->arena);
        }
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    for (size_t i = 0; rc == RC_OK && i < task_count; i++) {
        rc = tasks_latest_run(db, &read_ahead->tasks.ids[i], &run_id, err);
        if (rc == RC_OK)
            add(runs, &run_id, read_ahead->arena);
        rc = rc == RC_NOT_FOUND ? RC_OK : rc;
    }
    return rc;
}

enum rc read_ahead_fetch(struct read_ahead *read_ahead, struct db *db, struct err *err)
{
    struct read_ahead_ids runs = {0};
    enum rc rc = find_owners(read_ahead, &runs, db, err);
    if (rc == RC_OK)
        rc = ask(&runs, db, runs_read_ahead, err);
    if (rc == RC_OK)
        rc = ask(&read_ahead->tasks, db, tasks_read_ahead, err);
    if (rc == RC_OK)
        rc = ask(&read_ahead->jobs, db, jobs_read_ahead, err);
    return rc;
}
