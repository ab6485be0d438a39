/*
 * jobs_queue.c - see jobs_queue.h.
 *
 * Held at every claim: the queue is not paused, its concurrency and its rate leave room, the job is
 * the most urgent that may be claimed, and the first of its key, alone.
 * Held at every arrival: there was room; a key that was given once is not given again.
 */
#include "tests/sim/jobs_queue.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

#define MILLIONTHS INT64_C(1000000)

/* Jobs of one ordering key that are not settled, by arrival. */
struct line {
    struct line *next;
    char key[48];
    struct member {
        int64_t seq;
        bool blocked;
    } * members;
    size_t count, room;
    int64_t done_seq; /* The last that succeeded. */
    bool touched;
};

void queue_fact_init(struct queue_fact *queue, const char *name, const struct map *jobs)
{
    *queue = (struct queue_fact){.name = name, .jobs = jobs};
    queue->config = queue->next_config = queue_config_default(name);
}

void queue_fact_release(struct queue_fact *queue)
{
    while (queue->lines != NULL) {
        struct line *line = queue->lines;
        queue->lines = line->next;
        mem_free(line->members);
        mem_free(line);
    }
    mem_free(queue->ready);
}

int64_t queue_waiting(const struct queue_fact *queue)
{
    return queue->count[JOB_QUEUED] + queue->count[JOB_SCHEDULED] + queue->count[JOB_BLOCKED];
}

/* ---- ordering keys ---- */

static struct line *line_of(struct queue_fact *queue, const char *key)
{
    for (struct line *line = queue->lines; line != NULL; line = line->next)
        if (strcmp(line->key, key) == 0)
            return line;
    struct line *line = mem_alloc(sizeof *line);
    text_copy(line->key, sizeof line->key, key);
    line->next = queue->lines;
    queue->lines = line;
    return line;
}

static void line_enter(struct line *line, int64_t seq, bool blocked)
{
    if (line->count == line->room) {
        line->room = line->room > 0 ? 2 * line->room : 16;
        line->members = mem_grow(line->members, line->room * sizeof *line->members);
    }
    size_t i = line->count++;
    for (; i > 0 && line->members[i - 1].seq > seq; i--)
        line->members[i] = line->members[i - 1];
    line->members[i] = (struct member){seq, blocked};
    line->touched = true;
}

static struct member *line_find(struct line *line, int64_t seq)
{
    for (size_t i = 0; i < line->count; i++)
        if (line->members[i].seq == seq)
            return &line->members[i];
    return NULL;
}

static void line_leave(struct line *line, int64_t seq)
{
    struct member *member = line_find(line, seq);
    assert(member != NULL);
    size_t after = (size_t)(&line->members[line->count] - member) - 1;
    memmove(member, member + 1, after * sizeof *member);
    line->count--;
    line->touched = true;
}

static size_t line_heads(const struct line *line)
{
    size_t heads = 0;
    for (size_t i = 0; i < line->count; i++)
        heads += !line->members[i].blocked;
    return heads;
}

static const char *line_unblock(struct line *line, int64_t seq)
{
    for (size_t i = 0; i < line->count; i++) {
        struct member *member = &line->members[i];
        if (!member->blocked)
            continue;
        member->blocked = member->seq != seq;
        line->touched = true;
        return member->blocked ? "came forward before an older one of its key" : NULL;
    }
    return "came forward and was not in line";
}

static const char *line_moved(struct line *line, struct job_fact *job, enum job_state to)
{
    enum job_state from = job->life.state;
    if (from == JOB_DEAD_LETTER) {
        line_enter(line, job->seq, to == JOB_BLOCKED);
        return NULL;
    }
    if (from == JOB_BLOCKED && (to == JOB_QUEUED || to == JOB_SCHEDULED))
        return line_unblock(line, job->seq);
    if (to == JOB_LEASED && line_heads(line) != 1)
        return "was leased while another one of its key was not done";
    if (!job_is_settled(to))
        return NULL;
    line_leave(line, job->seq);
    if (to != JOB_SUCCEEDED || job->replayed)
        return NULL;
    bool late = job->seq < line->done_seq;
    line->done_seq = job->seq;
    return late ? "succeeded after a younger one of its key" : NULL;
}

/* ---- who is next ---- */

static bool is_before(const struct ready *a, const struct ready *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->seq < b->seq;
}

static void ready_swap(struct ready *a, struct ready *b)
{
    struct ready kept = *a;
    *a = *b;
    *b = kept;
}

static void ready_push(struct queue_fact *queue, struct ready ready)
{
    if (queue->ready_count == queue->ready_room) {
        queue->ready_room = queue->ready_room > 0 ? 2 * queue->ready_room : 64;
        queue->ready = mem_grow(queue->ready, queue->ready_room * sizeof *queue->ready);
    }
    size_t i = queue->ready_count++;
    queue->ready[i] = ready;
    for (; i > 0 && is_before(&queue->ready[i], &queue->ready[(i - 1) / 2]); i = (i - 1) / 2)
        ready_swap(&queue->ready[i], &queue->ready[(i - 1) / 2]);
}

static struct ready ready_pop(struct queue_fact *queue)
{
    struct ready first = queue->ready[0];
    queue->ready[0] = queue->ready[--queue->ready_count];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < queue->ready_count && is_before(&queue->ready[left], &queue->ready[least]))
            least = left;
        if (right < queue->ready_count && is_before(&queue->ready[right], &queue->ready[least]))
            least = right;
        if (least == i)
            return first;
        ready_swap(&queue->ready[i], &queue->ready[least]);
        i = least;
    }
}

/* Those past their time wait to be buried, and may not be claimed; unless the clock steps back. */
static bool is_next(struct queue_fact *queue, const struct job_fact *job, int64_t now_us)
{
    struct ready past[64];
    size_t past_count = 0;
    bool next = false;
    while (!next && queue->ready_count > 0 && past_count < COUNT_OF(past)) {
        struct ready first = ready_pop(queue);
        const struct job_fact *fact = map_find(queue->jobs, &first.id);
        if (fact->life.state != JOB_QUEUED || fact->rank != first.rank)
            continue;
        next = id_same(&first.id, &job->id);
        bool expired = fact->life.expires_us > 0 && fact->life.expires_us < now_us;
        if (!next)
            past[past_count++] = first;
        if (!next && !expired)
            break;
    }
    bool unknown = past_count == COUNT_OF(past);
    while (past_count > 0)
        ready_push(queue, past[--past_count]);
    return next || unknown;
}

/* ---- rules ---- */

static const char *rate_take(struct queue_fact *queue, int64_t now_us)
{
    int64_t rate = queue->config.rate, burst = rate / 10 > 0 ? rate / 10 : 1;
    int64_t full = burst * MILLIONTHS;
    int64_t passed_us = now_us - queue->filled_us;
    if (passed_us < 0)
        passed_us = 0;
    if (queue->filled_us == 0 || passed_us > 10 * US_PER_SECOND)
        passed_us = 10 * US_PER_SECOND; /* Fills whatever burst there is. */
    queue->tokens += passed_us * rate;
    if (queue->tokens > full)
        queue->tokens = full;
    queue->filled_us = now_us;
    queue->tokens -= MILLIONTHS;
    return queue->tokens < 0 ? "was leased faster than its queue's rate allows" : NULL;
}

static const char *claimed(struct queue_fact *queue, const struct job_fact *job, int64_t now_us)
{
    const struct queue_config *config = &queue->config;
    if (queue->paused)
        return "was leased while its queue was paused";
    if (config->concurrency > 0 && queue->count[JOB_LEASED] >= config->concurrency)
        return "was leased past its queue's concurrency";
    if (job->life.expires_us > 0 && job->life.expires_us < now_us)
        return "was leased past its time to live";
    if (!is_next(queue, job, now_us))
        return "was leased before a more urgent one";
    return config->rate > 0 ? rate_take(queue, now_us) : NULL;
}

static const char *has_room(const struct queue_fact *queue, int64_t priority)
{
    const struct queue_config *config = &queue->config;
    int64_t waiting = queue_waiting(queue) - queue->came_back;
    if (config->max_length > 0 && waiting >= config->max_length)
        return "was taken into a queue that was full";
    if (config->shed.drop_at > 0 && waiting >= config->shed.drop_at &&
        urgency_of(priority) == URGENCY_LOW)
        return "was taken while jobs of its priority are turned away";
    return NULL;
}

/* ---- dedup keys ---- */

/* "d-17": 17.  Batches that are open have keys of another kind: -1. */
static int64_t dedup_number(const char *key)
{
    int64_t number;
    bool ours = text_starts(key, "d-") && text_to_i64(key + 2, &number);
    assert(!ours || (number >= 0 && number < SIM_DEDUP_KEYS));
    return ours ? number : -1;
}

static const char *dedup_enter(struct queue_fact *queue, const struct job_fact *job,
                               const char *key)
{
    int64_t number = dedup_number(key);
    if (number < 0)
        return NULL;
    struct id *last = &queue->dedup[number];
    const struct job_fact *before = id_is_none(last) ? NULL : map_find(queue->jobs, last);
    *last = job->id;
    if (before == NULL || before->deleted)
        return NULL;
    int64_t window_us = queue->config.dedup_us;
    bool forgotten = window_us > 0 && job_is_settled(before->life.state) &&
                     before->created_us + window_us <= job->created_us;
    return forgotten ? NULL : "came a second time with the same dedup key";
}

/* ---- what happens ---- */

static void make_ready(struct queue_fact *queue, const struct sighting *seen)
{
    if (seen->life.state == JOB_QUEUED)
        ready_push(queue, (struct ready){seen->rank, seen->seq, seen->id});
}

const char *queue_came(struct queue_fact *queue, struct job_fact *job, const struct sighting *seen)
{
    const char *wrong = has_room(queue, seen->priority);
    bool blocked = seen->life.state == JOB_BLOCKED;
    if (seen->key != NULL) {
        job->line = line_of(queue, seen->key);
        if (wrong == NULL && blocked != (job->line->count > 0))
            wrong = blocked ? "came and is blocked by nothing" : "came past others of its key";
        line_enter(job->line, seen->seq, blocked);
    }
    queue->count[seen->life.state]++;
    make_ready(queue, seen);
    return wrong == NULL && seen->dedup != NULL ? dedup_enter(queue, job, seen->dedup) : wrong;
}

const char *queue_moved(struct queue_fact *queue, struct job_fact *job, const struct sighting *seen)
{
    enum job_state from = job->life.state, to = seen->life.state;
    const char *wrong = NULL;
    if (to == JOB_LEASED)
        wrong = claimed(queue, job, seen->updated_us);
    if (wrong == NULL && job->line != NULL)
        wrong = line_moved(job->line, job, to);
    queue->count[from]--;
    queue->count[to]++;
    if ((from == JOB_LEASED || from == JOB_DEAD_LETTER) && !job_is_settled(to))
        queue->came_back++;
    make_ready(queue, seen);
    return wrong;
}

void queue_gone(struct queue_fact *queue, const struct job_fact *job)
{
    queue->count[job->life.state]--;
}

void queue_ruled(struct queue_fact *queue, const struct sighting *seen)
{
    CLEANUP(js_freep) struct js *document = NULL;
    enum rc rc = js_parse(seen->word, strlen(seen->word), &document, NULL);
    if (rc == RC_OK)
        rc = queue_config_decode(queue->name, document, &queue->next_config, NULL);
    assert(rc == RC_OK);
    queue->next_paused = seen->paused;
}

const char *queue_committed(struct queue_fact *queue)
{
    queue->config = queue->next_config;
    queue->paused = queue->next_paused;
    queue->came_back = 0;
    for (struct line *line = queue->lines; line != NULL; line = line->next) {
        bool sound = !line->touched || line_heads(line) == (line->count > 0);
        line->touched = false;
        if (!sound)
            return "has a key with no head, or with two";
    }
    return NULL;
}
