/*
 * pool.c - a queue for each class of work, under one mutex.
 */
#include "api/pool.h"
#include "base/mem.h"
#include <assert.h>
#include <limits.h>
#include <pthread.h>

struct queue {
    struct pool_work *first, **last;
};
struct pool_thread {
    struct pool *pool;
    struct db *db;
    pthread_t thread;
    bool started;
    bool slow;         /* Under the lock: it runs slow work */
    const void *owner; /* of this one. */
};
struct pool {
    struct store *store;
    size_t queue_max;
    int thread_count;
    struct pool_thread *threads;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* Under the lock. */
    struct queue queues[POOL_CLASS_COUNT];
    int running[POOL_CLASS_COUNT];
    enum pool_class next; /* Of slow work and streams: the class that is served next. */
    size_t waiting;
    bool closing;
};

static void queue_init(struct queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

static void queue_put(struct queue *queue, struct pool_work *work)
{
    work->next = NULL;
    *queue->last = work;
    queue->last = &work->next;
}

static struct pool_work *queue_take(struct queue *queue)
{
    struct pool_work *work = queue->first;
    if (work == NULL)
        return NULL;
    queue->first = work->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return work;
}

static int slow_of(const struct pool *pool, const void *owner)
{
    int count = 0;
    for (int i = 0; i < pool->thread_count; i++)
        count += pool->threads[i].slow && pool->threads[i].owner == owner;
    return count;
}

/* Moves the work whose owner occupies the fewest threads to the front, the oldest of several. */
static void queue_turn(struct pool *pool, struct queue *queue)
{
    struct pool_work **best = &queue->first;
    int least = INT_MAX;
    for (struct pool_work **at = &queue->first; *at != NULL && least > 0; at = &(*at)->next) {
        int count = slow_of(pool, (*at)->owner);
        if (count < least) {
            least = count;
            best = at;
        }
    }
    struct pool_work *work = *best;
    if (work == NULL || best == &queue->first)
        return;
    *best = work->next;
    if (*best == NULL)
        queue->last = best;
    work->next = queue->first;
    queue->first = work;
}

static bool may_run(const struct pool *pool, enum pool_class class)
{
    int others = pool->running[POOL_SLOW] + pool->running[POOL_STREAM];
    return class == POOL_QUICK ||
           (pool->running[class] < pool->thread_count / 2 && others < pool->thread_count - 1);
}

static struct pool_work *take_allowed(struct pool *pool)
{
    struct pool_work *work = queue_take(&pool->queues[POOL_QUICK]);
    for (int i = 0; work == NULL && i < 2; i++) {
        enum pool_class class = pool->next;
        pool->next = class == POOL_SLOW ? POOL_STREAM : POOL_SLOW;
        if (!may_run(pool, class))
            continue;
        if (class == POOL_SLOW)
            queue_turn(pool, &pool->queues[class]);
        work = queue_take(&pool->queues[class]);
    }
    return work;
}

/* NULL when there is nothing left to do and the pool closes.  Under the lock. */
static struct pool_work *next_work(struct pool *pool)
{
    for (;;) {
        struct pool_work *work = take_allowed(pool);
        if (work != NULL) {
            pool->waiting--;
            return work;
        }
        if (pool->closing && pool->waiting == 0)
            return NULL;
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
}

static void *thread_main(void *arg)
{
    struct pool_thread *thread = arg;
    struct pool *pool = thread->pool;
    pthread_mutex_lock(&pool->lock);
    struct pool_work *work;
    while ((work = next_work(pool)) != NULL) {
        enum pool_class class = work->class;
        pool->running[class]++;
        thread->slow = class == POOL_SLOW;
        thread->owner = work->owner;
        pthread_mutex_unlock(&pool->lock);
        work->run(work, thread->db); /* The work may be freed when this returns. */
        pthread_mutex_lock(&pool->lock);
        pool->running[class]--;
        thread->slow = false;
        if (class != POOL_QUICK)
            pthread_cond_broadcast(&pool->wake);
    }
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static enum rc thread_start(struct pool *pool, struct pool_thread *thread, struct err *err)
{
    thread->pool = pool;
    enum rc rc = store_reader_open(pool->store, &thread->db, err);
    if (rc != RC_OK)
        return rc;
    if (pthread_create(&thread->thread, NULL, thread_main, thread) != 0)
        return err_set(err, RC_IO, "THREAD", "cannot start a query thread");
    thread->started = true;
    return RC_OK;
}

enum rc pool_new(const struct pool_options *options, struct pool **ret_pool, struct err *err)
{
    assert(options->threads >= 2 && options->queue_max > 0);
    struct pool *pool = mem_alloc(sizeof *pool);
    pool->store = options->store;
    pool->queue_max = options->queue_max;
    pool->thread_count = options->threads;
    pool->threads = mem_array((size_t)options->threads, sizeof *pool->threads);
    pool->next = POOL_SLOW;
    for (int i = 0; i < POOL_CLASS_COUNT; i++)
        queue_init(&pool->queues[i]);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (int i = 0; i < options->threads; i++) {
        enum rc rc = thread_start(pool, &pool->threads[i], err);
        if (rc != RC_OK) {
            pool_free(pool);
            return rc;
        }
    }
    *ret_pool = pool;
    return RC_OK;
}

enum rc pool_post(struct pool *pool, struct pool_work *work)
{
    assert(work->run != NULL);
    pthread_mutex_lock(&pool->lock);
    bool room = pool->waiting < pool->queue_max && !pool->closing;
    if (room) {
        queue_put(&pool->queues[work->class], work);
        pool->waiting++;
        pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
    return room ? RC_OK : RC_BUSY;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->thread_count; i++) {
        struct pool_thread *thread = &pool->threads[i];
        if (thread->started)
            pthread_join(thread->thread, NULL);
        if (thread->db != NULL)
            store_reader_close(pool->store, thread->db);
    }
    assert(pool->waiting == 0);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool->threads);
    mem_free(pool);
}
