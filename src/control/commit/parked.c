#include "control/commit/parked.h"
#include "base/mem.h"
#include <assert.h>
#include <pthread.h>

struct parked {
    pthread_mutex_t lock;
    struct command_list list; /* In order of arrival. */
    int64_t arrivals;         /* So far. */
    int64_t news;
    int64_t next_us; /* No parked lease ends before this; 0: none is parked. */
    bool look;       /* A lease may have to end before that. */
    const char *draining;
};

struct parked *parked_new(void)
{
    struct parked *parked = mem_alloc(sizeof *parked);
    pthread_mutex_init(&parked->lock, NULL);
    command_list_init(&parked->list);
    return parked;
}

void parked_free(struct parked *parked)
{
    if (parked == NULL)
        return;
    assert(parked->list.count == 0);
    pthread_mutex_destroy(&parked->lock);
    mem_free(parked);
}

int64_t parked_news(struct parked *parked)
{
    pthread_mutex_lock(&parked->lock);
    int64_t news = parked->news;
    pthread_mutex_unlock(&parked->lock);
    return news;
}

void parked_note_work(struct parked *parked)
{
    pthread_mutex_lock(&parked->lock);
    parked->news++;
    pthread_mutex_unlock(&parked->lock);
}

static void note_end(struct parked *parked, const struct command *command)
{
    int64_t us = command->wait_until_us;
    if (command->look_us > 0 && command->look_us < us)
        us = command->look_us;
    if (parked->next_us == 0 || us < parked->next_us)
        parked->next_us = us;
}

/* Under the lock.  *link: where the one before it came to stand. */
static void put_in_place(struct parked *parked, struct command *command, struct command ***link)
{
    /* It can be answered from here: see command.h. */
    assert(command->before == NULL && command->wait_until_us > 0);
    if (command->arrival == 0)
        command->arrival = ++parked->arrivals;
    if (**link != NULL && (**link)->arrival > command->arrival)
        *link = &parked->list.first;
    while (**link != NULL && (**link)->arrival < command->arrival)
        *link = &(**link)->next;
    command_list_insert(&parked->list, *link, command);
    note_end(parked, command);
}

void parked_add(struct parked *parked, struct command_list *from, int64_t news)
{
    pthread_mutex_lock(&parked->lock);
    struct command *command;
    struct command **link = &parked->list.first;
    while (parked->news == news && (command = command_list_pop(from)) != NULL) {
        if (command->arrival == 0)
            link = parked->list.end; /* A new one is the last. */
        put_in_place(parked, command, &link);
    }
    pthread_mutex_unlock(&parked->lock);
}

void parked_take(struct parked *parked, const struct round *round, size_t max,
                 struct command_list *into)
{
    pthread_mutex_lock(&parked->lock);
    struct command **link = &parked->list.first;
    while (*link != NULL && into->count < max) {
        if (round_serves(round, *link))
            command_list_push(into, command_list_unlink(&parked->list, link));
        else
            link = &(*link)->next;
    }
    pthread_mutex_unlock(&parked->lock);
}

void parked_drain(struct parked *parked, const char *worker_prefix)
{
    pthread_mutex_lock(&parked->lock);
    parked->draining = worker_prefix;
    parked->look = true;
    pthread_mutex_unlock(&parked->lock);
}

/* Under the lock. */
static bool gives_up(const struct parked *parked, const struct command *command)
{
    return command->abandoned ||
           (parked->draining != NULL && text_starts(command->waiter, parked->draining));
}

bool parked_gives_up(struct parked *parked, const struct command *command)
{
    pthread_mutex_lock(&parked->lock);
    bool up = gives_up(parked, command);
    pthread_mutex_unlock(&parked->lock);
    return up;
}

/* Where a command goes now; NULL: it stays. */
static struct command_list *way_out(const struct parked *parked, const struct command *command,
                                    int64_t now_us, struct parked_swept *swept)
{
    if (command->wait_until_us <= now_us || gives_up(parked, command))
        return &swept->over;
    return command->look_us > 0 && command->look_us <= now_us ? &swept->again : NULL;
}

void parked_sweep(struct parked *parked, int64_t now_us, struct parked_swept *ret_swept)
{
    command_list_init(&ret_swept->over);
    command_list_init(&ret_swept->again);
    pthread_mutex_lock(&parked->lock);
    if (parked->look || (parked->next_us > 0 && parked->next_us <= now_us)) {
        parked->look = false;
        parked->next_us = 0;
        struct command **link = &parked->list.first;
        while (*link != NULL) {
            struct command *command = *link;
            struct command_list *out = way_out(parked, command, now_us, ret_swept);
            if (out != NULL) {
                command_list_push(out, command_list_unlink(&parked->list, link));
                continue;
            }
            note_end(parked, command);
            link = &command->next;
        }
    }
    pthread_mutex_unlock(&parked->lock);
}

void parked_look(struct parked *parked)
{
    pthread_mutex_lock(&parked->lock);
    parked->look = true;
    pthread_mutex_unlock(&parked->lock);
}

void parked_look_at(struct parked *parked, int64_t look_us)
{
    pthread_mutex_lock(&parked->lock);
    for (struct command *command = parked->list.first; command != NULL; command = command->next) {
        if (command->look_us == 0 || command->look_us > look_us)
            command->look_us = look_us;
        note_end(parked, command);
    }
    pthread_mutex_unlock(&parked->lock);
}

size_t parked_count(struct parked *parked)
{
    pthread_mutex_lock(&parked->lock);
    size_t count = parked->list.count;
    pthread_mutex_unlock(&parked->lock);
    return count;
}

int64_t parked_next_us(struct parked *parked)
{
    pthread_mutex_lock(&parked->lock);
    int64_t next_us = parked->look ? 1 : parked->next_us;
    pthread_mutex_unlock(&parked->lock);
    return next_us;
}
