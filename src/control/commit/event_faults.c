#include "control/commit/event_faults.h"
#include "base/fd.h"
#include "base/log.h"
#include "core/config/event_contract.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

enum { EVENT_BYTES_MAX = 4 * 1024 * 1024, LINE_BYTES_MAX = 64 * 1024, WHOLE_MAX = 100 };

static const char *path; /* NULL: nothing is checked. */

static void read_environment(void)
{
    const char *wish = getenv("DROVER_EVENT_FAULTS");
    path = text_empty(wish) ? NULL : wish;
}

static void report(const struct faults *faults, struct str event)
{
    CLEANUP(buf_release) struct buf line;
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    struct err err = {0};
    buf_init(&line, EVENT_BYTES_MAX + LINE_BYTES_MAX);
    for (size_t i = 0; i < faults->count; i++)
        buf_addf(&line, "%s%s %s", i > 0 ? "; " : "", faults->items[i].path,
                 faults->items[i].message);
    buf_addf(&line, ": %.*s\n", (int)event.len, event.at);
    if (fd < 0 || fd_write_all(fd, line.data, line.len, &err) != RC_OK)
        LOG(LOG_ERROR, "cannot report that an event breaks its contract", LOG_STR("file", path));
}

/* The whole event, as it is written. */
static void check_whole(struct event_contracts *contracts, const struct event *event,
                        struct arena *arena, struct faults *faults)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, EVENT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    event_write(&jw, event);
    if (js_parse(buf_text(&text), text.len, &tree, NULL) != RC_OK)
        faults_add(faults, arena, "", "is not JSON");
    else
        (void)event_contracts_check(contracts, tree, arena, faults);
    if (faults->count > 0)
        report(faults, buf_str(&text));
}

static void check_data(struct event_contracts *contracts, const struct event_type *entry,
                       struct str data, struct arena *arena, struct faults *faults)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    if (data.len == 0)
        data = STR("{}");
    if (js_parse(data.at, data.len, &tree, NULL) != RC_OK)
        faults_add(faults, arena, "data", "is not JSON");
    else
        (void)event_contracts_check_data(contracts, entry, tree, arena, faults);
}

/* Envelopes are made by one function: those of the first events of a type stand for the others,
   whose data is checked alone.  That is a sixth of the work. */
static void check(const struct event *event)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct event_contracts contracts;
    static unsigned seen[EVENT_TYPE_COUNT];
    CLEANUP(arena_release) struct arena arena = {0};
    struct faults faults = {0};
    const struct event_type *entry = event_type_find(event->type);
    (void)pthread_mutex_lock(&lock);
    if (entry != NULL && seen[event_type_index(entry)]++ >= WHOLE_MAX)
        check_data(&contracts, entry, event->data, &arena, &faults);
    if (entry == NULL || seen[event_type_index(entry)] <= WHOLE_MAX || faults.count > 0)
        check_whole(&contracts, event, &arena, &faults);
    (void)pthread_mutex_unlock(&lock);
}

void event_faults_look(const struct event *event)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_environment);
    if (path != NULL)
        check(event);
}
