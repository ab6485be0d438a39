#include "control/commit/read_ahead.h"
#include "control/commit/hooks.h"
#include "store/jobs.h"
#include <stdlib.h>
#include <string.h>

void read_ahead_add(struct read_ahead_ids *to, const struct id *id, struct arena *arena)
{
    if (id_is_none(id))
        return;
    if (to->count == to->room) {
        size_t room = to->room == 0 ? 64 : 2 * to->room;
        struct id *ids = arena_array(arena, room, sizeof *ids);
        if (to->count > 0)
            memcpy(ids, to->ids, to->count * sizeof *ids);
        to->ids = ids;
        to->room = room;
    }
    to->ids[to->count++] = *id;
}

void read_ahead_job(struct read_ahead *read_ahead, const struct id *job_id)
{
    read_ahead_add(&read_ahead->jobs, job_id, read_ahead->arena);
}

void read_ahead_owner(struct read_ahead *read_ahead, const struct id *owner_id)
{
    read_ahead_add(&read_ahead->owners, owner_id, read_ahead->arena);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct id *)a)->text, ((const struct id *)b)->text);
}

enum rc read_ahead_each(struct read_ahead_ids *of, struct db *db, read_ahead_fn *one,
                        struct err *err)
{
    if (of->count > 1)
        qsort(of->ids, of->count, sizeof *of->ids, by_text);
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && i < of->count; i++)
        if (i == 0 || by_text(&of->ids[i - 1], &of->ids[i]) != 0)
            rc = one(db, &of->ids[i], err);
    return rc;
}

enum rc read_ahead_fetch(struct read_ahead *read_ahead, const struct control_hooks *hooks,
                         struct db *db, struct err *err)
{
    enum rc rc = hooks->read_owners(read_ahead, db, err);
    return rc == RC_OK ? read_ahead_each(&read_ahead->jobs, db, jobs_read_ahead, err) : rc;
}
