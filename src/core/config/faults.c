#include "core/config/faults.h"
#include "base/str.h"
#include "base/yaml_places.h"

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

void faults_locate(struct faults *faults, struct str source)
{
    struct yaml_place places[FAULTS_MAX];
    for (size_t i = 0; i < faults->count; i++)
        places[i] = (struct yaml_place){.path = faults->items[i].path};
    yaml_locate(source, places, faults->count);
    for (size_t i = 0; i < faults->count; i++) {
        faults->items[i].line = places[i].line;
        faults->items[i].column = places[i].column;
    }
}

bool faults_of_syntax(struct faults *faults, struct arena *arena, const struct err *err)
{
    struct yaml_place place;
    const char *why;
    if (!yaml_err_place(err, &place, &why) || faults->count == FAULTS_MAX)
        return false;
    faults->items[faults->count++] = (struct fault){.path = "",
                                                    .message = arena_strdup(arena, why),
                                                    .line = place.line,
                                                    .column = place.column};
    return true;
}

void faults_write(const struct faults *faults, struct jw *jw)
{
    jw_begin(jw, '[');
    for (size_t i = 0; i < faults->count; i++) {
        const struct fault *fault = &faults->items[i];
        jw_begin(jw, '{');
        jw_kstr(jw, "path", fault->path);
        jw_kstr(jw, "message", fault->message);
        if (fault->line > 0) {
            jw_kint(jw, "line", (int64_t)fault->line);
            jw_kint(jw, "column", (int64_t)fault->column);
        }
        jw_end(jw, '}');
    }
    jw_end(jw, ']');
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
