#include "control/commit/audit_trail.h"
#include "store/audit.h"
#include <string.h>

/* "dead_letter" of "dead_letter.replay" */
static const char *type_of(const char *action, struct arena *arena)
{
    const char *dot = strrchr(action, '.');
    return dot != NULL ? arena_strndup(arena, action, (size_t)(dot - action)) : NULL;
}

const struct audit_pending *audit_trail_add(const struct audit_pending *before,
                                            const struct audit_entry *entry, struct arena *arena)
{
    struct audit_pending *pending = arena_alloc(arena, sizeof *pending);
    *pending = (struct audit_pending){.before = before, .entry = *entry};
    struct audit_entry *to = &pending->entry;
    if (to->resource_id != NULL)
        to->resource_id = arena_strdup(arena, audit_text(to->resource_id, arena));
    if (to->resource_type == NULL)
        to->resource_type = type_of(to->action, arena);
    if (to->outcome == NULL)
        to->outcome = AUDIT_DONE;
    if (to->count == 0)
        to->count = 1;
    return pending;
}

enum rc audit_trail_write(const struct audit_trail *trail, struct db *db, struct err *err)
{
    size_t count = 0;
    for (const struct audit_pending *one = trail->newest; one != NULL; one = one->before)
        count++;
    if (count == 0)
        return RC_OK;
    const struct audit_pending **all = arena_array(trail->arena, count, sizeof *all);
    size_t at = count;
    for (const struct audit_pending *one = trail->newest; one != NULL; one = one->before)
        all[--at] = one;
    struct audit_mark head;
    enum rc rc = audit_lock(db, &head, err);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        struct audit_entry entry = all[i]->entry;
        rc = audit_append(db, &head, &entry, trail->arena, err);
        if (rc == RC_OK)
            rc = trail->written(trail->ctx, &entry, err);
    }
    return rc == RC_OK ? audit_save_head(db, &head, err) : rc;
}
