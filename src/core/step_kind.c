/*
 * step_kind.c - see step_kind.h.  Everything is looked up in what step_table() gives.
 */
#include "core/step_kind.h"
#include "base/str.h"
#include "core/step_table.h"
#include <assert.h>

const struct step_row *step_row(enum step_kind kind)
{
    size_t count, at = 0;
    const struct step_row *rows = step_table(&count);
    while (at < count && rows[at].kind != kind)
        at++;
    assert(at < count);
    return &rows[at];
}

const struct step_row *step_find(const char *name)
{
    size_t count;
    const struct step_row *rows = step_table(&count);
    for (size_t i = 0; i < count; i++)
        if (text_same(rows[i].name, name))
            return &rows[i];
    return NULL;
}

const struct step_row *step_find_queue(const char *queue)
{
    size_t count;
    const struct step_row *rows = step_table(&count);
    for (size_t i = 0; queue != NULL && i < count; i++)
        if (text_same(rows[i].queue, queue))
            return &rows[i];
    return NULL;
}

bool step_is(const char *name, enum step_kind kind)
{
    return text_same(step_row(kind)->name, name);
}

bool step_runs_agent(const char *name)
{
    const struct step_row *row = step_find(name);
    return row != NULL && row->runs_agent;
}

enum step_class step_class_of(const char *queue)
{
    const struct step_row *row = step_find_queue(queue);
    assert(row != NULL);
    return row->class;
}

struct step_queues step_queues(void)
{
    struct step_queues queues = {0};
    int preferences[STEP_ROWS_MAX];
    size_t row_count, count = 0;
    const struct step_row *rows = step_table(&row_count);
    assert(row_count <= STEP_ROWS_MAX);
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].queue == NULL)
            continue;
        size_t at = count++;
        for (; at > 0 && preferences[at - 1] < rows[i].preference; at--) {
            preferences[at] = preferences[at - 1];
            queues.names[at] = queues.names[at - 1];
        }
        preferences[at] = rows[i].preference;
        queues.names[at] = rows[i].queue;
    }
    return queues;
}
