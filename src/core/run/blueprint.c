/*
 * blueprint.c - see blueprint.h.
 *
 * Invariants of an arranged blueprint: it begins with prepare; prepare, hydrate and agent are
 * there; the built-in steps stand in their order, each at most once; each custom step stands in it
 * exactly once.
 */
#include "core/run/blueprint.h"
#include "core/step_table.h"
#include <assert.h>
#include <stdio.h>

/* A built-in step that may stand in a sequence, or NULL. */
static const struct step_row *builtin_find(const char *name)
{
    const struct step_row *row = step_find(name);
    return row != NULL && row->place != PLACE_NONE ? row : NULL;
}

bool step_name_reserved(const char *name)
{
    static const char *const others[] = {"admission", "approve", "finalize"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (text_same(others[i], name))
            return true;
    }
    return step_find(name) != NULL;
}

/* ---- arranging ---- */

struct arranger {
    struct blueprint *blueprint;
    bool used[CUSTOM_STEPS_MAX];
    const struct step_row *steps, *end; /* The table of steps. */
    const struct step_row *last;        /* The built-in step that was placed last, or NULL. */
    struct err *err;
};

#define REFUSE(err, ...) \
    err_field(err, RC_INVALID, "INVALID_STEP_SEQUENCE", "sequence", __VA_ARGS__)

static void place(struct blueprint *blueprint, enum step_kind kind, size_t custom)
{
    assert(blueprint->count < BLUEPRINT_STEPS_MAX);
    blueprint->places[blueprint->count++] = (struct blueprint_place){kind, custom};
}

/* The first required step from here up to (not including) the end, or NULL. */
static const struct step_row *required_from(const struct step_row *from, const struct step_row *end)
{
    while (from < end && from->place != PLACE_REQUIRED)
        from++;
    return from < end ? from : NULL;
}

static const struct step_row *after_last(const struct arranger *arranger)
{
    return arranger->last != NULL ? arranger->last + 1 : arranger->steps;
}

static enum rc place_builtin(struct arranger *arranger, const struct step_row *row)
{
    const struct step_row *last = arranger->last;
    if (row == last)
        return REFUSE(arranger->err, "step %s is there twice", row->name);
    if (last != NULL && row < last)
        return REFUSE(arranger->err, "step %s must stand before %s", row->name, last->name);
    const struct step_row *missing = required_from(after_last(arranger), row);
    if (missing != NULL)
        return REFUSE(arranger->err, "step %s must stand before %s", missing->name, row->name);
    arranger->last = row;
    place(arranger->blueprint, row->kind, 0);
    return RC_OK;
}

/* "prepare, hydrate, plan, agent, verify, judge, publish" */
static void list_builtins(const struct arranger *arranger, char *text, size_t bytes)
{
    size_t len = 0;
    text[0] = '\0';
    for (const struct step_row *row = arranger->steps; row < arranger->end && len < bytes; row++)
        if (row->place != PLACE_NONE)
            len += (size_t)snprintf(text + len, bytes - len, "%s%s", len > 0 ? ", " : "",
                                    row->name);
}

static enum rc place_custom(struct arranger *arranger, const char *name)
{
    struct blueprint *blueprint = arranger->blueprint;
    for (size_t i = 0; i < blueprint->custom_count; i++) {
        if (!text_same(blueprint->customs[i].name, name))
            continue;
        if (arranger->used[i])
            return REFUSE(arranger->err, "step %s is there twice", name);
        if (arranger->last == NULL)
            return REFUSE(arranger->err, "step %s must stand after prepare", name);
        arranger->used[i] = true;
        place(blueprint, STEP_CUSTOM, i);
        return RC_OK;
    }
    char builtins[200];
    list_builtins(arranger, builtins, sizeof builtins);
    return REFUSE(arranger->err, "step %s is neither built in (%s) nor one of steps", name,
                  builtins);
}

/* Steps that are always there: they may be named, at their places. */
static enum rc check_fixed(const struct arranger *arranger, const char *const *sequence, size_t at,
                           bool *ret_fixed)
{
    const char *name = sequence[at];
    *ret_fixed = true;
    if (text_same(name, "admission"))
        return at == 0 ? RC_OK : REFUSE(arranger->err, "step admission must be the first");
    if (text_same(name, "finalize"))
        return sequence[at + 1] == NULL ? RC_OK
                                        : REFUSE(arranger->err, "step finalize must be the last");
    if (text_same(name, "approve"))
        return arranger->last != NULL && arranger->last >= step_row(STEP_AGENT) &&
                       arranger->last < step_row(STEP_PUBLISH)
                   ? RC_OK
                   : REFUSE(arranger->err,
                            "step approve must stand after the agent and before publish");
    *ret_fixed = false;
    return RC_OK;
}

static enum rc check_complete(const struct arranger *arranger)
{
    const struct step_row *missing = required_from(after_last(arranger), arranger->end);
    if (missing != NULL)
        return REFUSE(arranger->err, "step %s is missing", missing->name);
    for (size_t i = 0; i < arranger->blueprint->custom_count; i++) {
        if (!arranger->used[i])
            return REFUSE(arranger->err, "step %s of steps stands nowhere in the sequence",
                          arranger->blueprint->customs[i].name);
    }
    return RC_OK;
}

static enum rc arrange_sequence(struct arranger *arranger, const char *const *sequence)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && sequence[i] != NULL; i++) {
        bool fixed;
        rc = check_fixed(arranger, sequence, i, &fixed);
        if (rc != RC_OK || fixed)
            continue;
        if (arranger->blueprint->count == BLUEPRINT_STEPS_MAX)
            return REFUSE(arranger->err, "a sequence has at most %d steps", BLUEPRINT_STEPS_MAX);
        const struct step_row *builtin = builtin_find(sequence[i]);
        rc = builtin != NULL ? place_builtin(arranger, builtin)
                             : place_custom(arranger, sequence[i]);
    }
    return rc == RC_OK ? check_complete(arranger) : rc;
}

static void place_phase(struct blueprint *blueprint, enum step_phase phase)
{
    for (size_t i = 0; i < blueprint->custom_count; i++) {
        if (blueprint->customs[i].phase == phase)
            place(blueprint, STEP_CUSTOM, i);
    }
}

static void arrange_default(const struct arranger *arranger, bool plan)
{
    struct blueprint *blueprint = arranger->blueprint;
    for (const struct step_row *row = arranger->steps; row < arranger->end; row++) {
        if (row->kind == STEP_PLAN)
            place_phase(blueprint, PHASE_PRE_AGENT);
        if (row->place != PLACE_NONE && (row->kind != STEP_PLAN || plan))
            place(blueprint, row->kind, 0);
        if (row->kind == STEP_AGENT)
            place_phase(blueprint, PHASE_POST_AGENT);
    }
}
/* STEP_PUBLISH is the last one that has a place. */
_Static_assert((int)STEP_PUBLISH + 1 + (int)CUSTOM_STEPS_MAX < (int)BLUEPRINT_STEPS_MAX,
               "the default one fits, and one more, which a test adds");

enum rc blueprint_arrange(struct blueprint *blueprint, const struct blueprint_wish *wish,
                          struct err *err)
{
    struct arranger arranger = {.blueprint = blueprint, .err = err};
    size_t count;
    arranger.steps = step_table(&count);
    arranger.end = arranger.steps + count;
    blueprint->count = 0;
    if (wish->sequence != NULL)
        return arrange_sequence(&arranger, wish->sequence);
    arrange_default(&arranger, wish->plan);
    return RC_OK;
}

/* ---- reading ---- */

static struct blueprint_step step_at(const struct blueprint *blueprint, size_t index)
{
    const struct blueprint_place *found = &blueprint->places[index];
    if (found->kind != STEP_CUSTOM)
        return (struct blueprint_step){step_row(found->kind)->name, found->kind, NULL};
    const struct custom_step *custom = &blueprint->customs[found->custom];
    return (struct blueprint_step){custom->name, STEP_CUSTOM, custom};
}

static bool index_of(const struct blueprint *blueprint, const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < blueprint->count; i++) {
        if (text_same(step_at(blueprint, i).name, name)) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

bool blueprint_find(const struct blueprint *blueprint, const char *name,
                    struct blueprint_step *ret_step)
{
    size_t index;
    if (!index_of(blueprint, name, &index))
        return false;
    *ret_step = step_at(blueprint, index);
    return true;
}

bool blueprint_after(const struct blueprint *blueprint, const char *name,
                     struct blueprint_step *ret_step)
{
    size_t index = 0;
    if (name != NULL) {
        if (!index_of(blueprint, name, &index))
            return false;
        index++;
    }
    if (index >= blueprint->count)
        return false;
    *ret_step = step_at(blueprint, index);
    return true;
}

bool blueprint_has(const struct blueprint *blueprint, enum step_kind kind)
{
    for (size_t i = 0; i < blueprint->count; i++) {
        if (blueprint->places[i].kind == kind)
            return true;
    }
    return false;
}
