/*
 * cx.c - see cx.h.
 */
#include "control/commit/cx.h"
#include "store/events.h"
#include <string.h>

bool round_serves(const struct round *round, const struct command *command)
{
    for (size_t i = 0; i < round->ready_count; i++)
        if (command->ops->wants(command, round->ready[i].queue))
            return true;
    return round->all_ready;
}

struct id cx_id(struct cx *cx)
{
    int64_t us = cx->now_us > *cx->last_id_us ? cx->now_us : *cx->last_id_us + 1;
    *cx->last_id_us = us;
    return id_new(us, cx->dice);
}

const struct queue_rules *cx_queue(const struct cx *cx, const char *queue)
{
    return queue_book_find(cx->queues, queue);
}

void cx_ready(struct cx *cx, const char *queue)
{
    struct round *round = cx->round;
    round->brought = true;
    supply_refresh(&round->supply, queue);
    for (size_t i = 0; i < round->ready_count; i++) {
        if (strcmp(round->ready[i].queue, queue) == 0) {
            round->ready[i].jobs++;
            return;
        }
    }
    if (round->ready_count == ROUND_QUEUES_MAX) {
        round->all_ready = true;
        return;
    }
    round->ready[round->ready_count++] = (struct ready){
        .queue = arena_strdup(cx->batch_arena, queue), .jobs = 1};
}

void cx_due(struct cx *cx, int64_t due_us)
{
    if (cx->round->due_us == 0 || due_us < cx->round->due_us)
        cx->round->due_us = due_us;
}

enum rc cx_append(struct cx *cx, struct event *event, struct id *ret_id)
{
    event->id = cx_id(cx);
    event->version = 1;
    if (event->time_us < cx->now_us)
        event->time_us = cx->now_us;
    event->workspace_id = cx->workspace_id;
    event->actor = cx->actor;
    event->traceparent = cx->traceparent;
    enum rc rc = events_append(cx->db, event, cx->err);
    if (rc != RC_OK)
        return rc;
    cx->round->told = true;
    if (ret_id != NULL)
        *ret_id = event->id;
    return RC_OK;
}
