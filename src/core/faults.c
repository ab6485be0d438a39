/*
 * faults.c - see faults.h.
 */
#include "core/faults.h"
#include "base/str.h"

static bool is_known(const struct faults *faults, const char *path, const char *message)
{
    for (size_t i = 0; i < faults->count; i++) {
        if (text_same(faults->items[i].path, path) && text_same(faults->items[i].message, message))
            return true;
    }
    return false;
}

void faults_add(struct faults *faults, struct arena *arena, const char *path, const char *message)
{
    if (is_known(faults, path, message))
        return;
    if (faults->count == FAULTS_MAX) {
        faults->left_out++;
        return;
    }
    faults->items[faults->count++] = (struct fault){
        .path = arena_strdup(arena, path),
        .message = arena_strdup(arena, message),
    };
}

enum rc faults_err(const struct faults *faults, const char *code, struct err *err)
{
    if (faults->count == 0)
        return RC_OK;
    const struct fault *first = &faults->items[0];
    const char *name = first->path[0] != '\0' ? first->path : "the document";
    size_t more = faults->count - 1 + faults->left_out;
    if (more == 0)
        return err_field(err, RC_INVALID, code, first->path, "%.80s: %.400s", name, first->message);
    return err_field(err, RC_INVALID, code, first->path, "%.80s: %.380s (and %zu more)", name,
                     first->message, more);
}
