#include "control/commit/supply.h"
#include <string.h>

static bool is_whole(const struct job_cell *cell)
{
    return !cell->marked;
}

static struct supply_queue *find(struct supply *supply, const char *name,
                                 const struct job_cell *cell)
{
    for (size_t i = 0; i < supply->count; i++) {
        struct supply_queue *queue = &supply->queues[i];
        if (strcmp(queue->name, name) == 0 && queue->cell.marked == cell->marked &&
            text_same(queue->cell.repository, cell->repository) &&
            text_same(queue->cell.label, cell->label))
            return queue;
    }
    return NULL;
}

/* When there is no room for another one, it replaces the last. */
static struct supply_queue *find_or_add(struct supply *supply, const struct supply_wish *wish,
                                        struct arena *arena)
{
    struct supply_queue *queue = find(supply, wish->queue, &wish->cell);
    if (queue != NULL)
        return queue;
    if (supply->count < SUPPLY_QUEUES_MAX)
        supply->count++;
    queue = &supply->queues[supply->count - 1];
    *queue = (struct supply_queue){.name = arena_strdup(arena, wish->queue)};
    queue->cell.marked = wish->cell.marked;
    queue->cell.repository = arena_strdup(arena, wish->cell.repository);
    queue->cell.label = arena_strdup(arena, wish->cell.label);
    supply->celled |= !is_whole(&wish->cell);
    return queue;
}

static enum rc read_rows(struct supply_queue *queue, struct db *db, const struct supply_wish *wish,
                         int64_t limit, struct arena *arena, struct err *err)
{
    if (is_whole(&queue->cell))
        return jobs_claimable(db, queue->name, wish->now_us, limit, arena, &queue->rows,
                              &queue->count, err);
    struct marked_ask ask = {queue->name, queue->cell, wish->now_us, limit};
    return job_marks_claimable(db, &ask, arena, &queue->rows, &queue->count, err);
}

static enum rc fill(struct supply_queue *queue, struct db *db, const struct supply_wish *wish,
                    struct arena *arena, struct err *err)
{
    int64_t read_ahead = wish->read_ahead < SUPPLY_READ_AHEAD_MAX ? wish->read_ahead
                                                                  : SUPPLY_READ_AHEAD_MAX;
    int64_t limit = wish->jobs > read_ahead ? wish->jobs : read_ahead;
    enum rc rc = read_rows(queue, db, wish, limit, arena, err);
    if (rc != RC_OK)
        return rc;
    queue->next = 0;
    queue->dry = (int64_t)queue->count < limit;
    for (size_t i = 0; rc == RC_OK && i < queue->count; i++)
        if (!id_is_none(&queue->rows[i].run_id))
            rc = wish->read_owner(db, &queue->rows[i], err);
    return rc;
}

static enum rc reach(struct supply *supply, struct db *db, const struct supply_wish *wish,
                     struct arena *arena, struct supply_queue **ret_queue, struct err *err)
{
    struct supply_queue *queue = find_or_add(supply, wish, arena);
    enum rc rc = RC_OK;
    if (queue->next == queue->count && !queue->dry)
        rc = fill(queue, db, wish, arena, err);
    *ret_queue = queue;
    return rc;
}

enum rc supply_peek(struct supply *supply, struct db *db, const struct supply_wish *wish,
                    struct arena *arena, const struct job_row **ret_job, struct err *err)
{
    struct supply_queue *queue;
    enum rc rc = reach(supply, db, wish, arena, &queue, err);
    if (rc == RC_OK)
        *ret_job = queue->next < queue->count ? &queue->rows[queue->next] : NULL;
    return rc;
}

enum rc supply_next(struct supply *supply, struct db *db, const struct supply_wish *wish,
                    struct arena *arena, const struct job_row **ret_job, struct err *err)
{
    struct supply_queue *queue;
    enum rc rc = reach(supply, db, wish, arena, &queue, err);
    if (rc == RC_OK)
        *ret_job = queue->next < queue->count ? &queue->rows[queue->next++] : NULL;
    return rc;
}

enum rc supply_any(struct supply *supply, struct db *db, const char *name, struct arena *arena,
                   bool *ret_any, struct err *err)
{
    struct supply_queue *queue = find_or_add(supply, &(struct supply_wish){.queue = name}, arena);
    enum rc rc = RC_OK;
    if (!queue->probed)
        rc = jobs_any_queued(db, name, &queue->any, err);
    if (rc != RC_OK)
        return rc;
    queue->probed = true;
    *ret_any = queue->any;
    return RC_OK;
}

void supply_pass(struct supply *supply, const char *name)
{
    for (size_t i = 0; i < supply->count; i++)
        if (strcmp(supply->queues[i].name, name) == 0)
            supply->queues[i].dry = true;
}

void supply_refresh(struct supply *supply, const char *name)
{
    for (size_t i = 0; i < supply->count; i++) {
        struct supply_queue *queue = &supply->queues[i];
        if (strcmp(queue->name, name) != 0)
            continue;
        queue->next = queue->count = 0;
        queue->dry = queue->probed = false;
    }
}

static void forget(struct supply_queue *queue, const struct job_row *job)
{
    for (size_t i = queue->next; i < queue->count; i++) {
        if (!id_same(&queue->rows[i].id, &job->id))
            continue;
        memmove(&queue->rows[i], &queue->rows[i + 1], (queue->count - i - 1) * sizeof *queue->rows);
        queue->count--;
        return;
    }
}

void supply_forget(struct supply *supply, const struct job_row *job)
{
    for (size_t i = 0; i < supply->count; i++)
        if (strcmp(supply->queues[i].name, job->queue) == 0)
            forget(&supply->queues[i], job);
}
