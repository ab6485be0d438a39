#include "control/commit/supply.h"
#include <string.h>

static struct supply_queue *find(struct supply *supply, const char *name)
{
    for (size_t i = 0; i < supply->count; i++)
        if (strcmp(supply->queues[i].name, name) == 0)
            return &supply->queues[i];
    return NULL;
}

/* When there is no room for another one, it replaces the last. */
static struct supply_queue *find_or_add(struct supply *supply, const char *name,
                                        struct arena *arena)
{
    struct supply_queue *queue = find(supply, name);
    if (queue != NULL)
        return queue;
    if (supply->count < SUPPLY_QUEUES_MAX)
        supply->count++;
    queue = &supply->queues[supply->count - 1];
    *queue = (struct supply_queue){.name = arena_strdup(arena, name)};
    return queue;
}

static enum rc fill(struct supply_queue *queue, struct db *db, const struct supply_wish *wish,
                    struct arena *arena, struct err *err)
{
    int64_t read_ahead = wish->read_ahead < SUPPLY_READ_AHEAD_MAX ? wish->read_ahead
                                                                  : SUPPLY_READ_AHEAD_MAX;
    int64_t limit = wish->jobs > read_ahead ? wish->jobs : read_ahead;
    struct job_row *rows;
    size_t count;
    enum rc rc = jobs_claimable(db, queue->name, wish->now_us, limit, arena, &rows, &count, err);
    if (rc != RC_OK)
        return rc;
    queue->rows = rows;
    queue->count = count;
    queue->next = 0;
    queue->dry = (int64_t)count < limit;
    for (size_t i = 0; rc == RC_OK && i < count; i++)
        if (!id_is_none(&rows[i].run_id))
            rc = wish->read_owner(db, &rows[i], err);
    return rc;
}

enum rc supply_next(struct supply *supply, struct db *db, const struct supply_wish *wish,
                    struct arena *arena, const struct job_row **ret_job, struct err *err)
{
    struct supply_queue *queue = find_or_add(supply, wish->queue, arena);
    if (queue->next == queue->count && !queue->dry) {
        enum rc rc = fill(queue, db, wish, arena, err);
        if (rc != RC_OK)
            return rc;
    }
    *ret_job = queue->next < queue->count ? &queue->rows[queue->next++] : NULL;
    return RC_OK;
}

void supply_pass(struct supply *supply, const char *name)
{
    struct supply_queue *queue = find(supply, name);
    if (queue != NULL)
        queue->dry = true;
}

void supply_refresh(struct supply *supply, const char *name)
{
    struct supply_queue *queue = find(supply, name);
    if (queue == NULL)
        return;
    queue->next = queue->count = 0;
    queue->dry = false;
}

void supply_forget(struct supply *supply, const struct job_row *job)
{
    struct supply_queue *queue = find(supply, job->queue);
    for (size_t i = queue == NULL ? 0 : queue->next; queue != NULL && i < queue->count; i++) {
        if (!id_same(&queue->rows[i].id, &job->id))
            continue;
        memmove(&queue->rows[i], &queue->rows[i + 1], (queue->count - i - 1) * sizeof *queue->rows);
        queue->count--;
        return;
    }
}
