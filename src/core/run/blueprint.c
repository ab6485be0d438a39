/*
 * blueprint.c - see blueprint.h.
 *
 * Invariants of an arranged blueprint: it begins with prepare; prepare, hydrate and agent are
 * there; the built-in steps stand in their order, each at most once; each custom step stands in it
 * exactly once.
 */
#include "core/run/blueprint.h"
#include <assert.h>

static const char *const builtin_names[BUILTIN_COUNT] = {
    [BUILTIN_PREPARE] = "prepare", [BUILTIN_HYDRATE] = "hydrate", [BUILTIN_PLAN] = "plan",
    [BUILTIN_AGENT] = "agent",     [BUILTIN_VERIFY] = "verify",   [BUILTIN_JUDGE] = "judge",
    [BUILTIN_PUBLISH] = "publish",
};

/* What a run cannot do without. */
static const bool required[BUILTIN_COUNT] = {
    [BUILTIN_PREPARE] = true,
    [BUILTIN_HYDRATE] = true,
    [BUILTIN_AGENT] = true,
};

const char *builtin_name(enum builtin builtin)
{
    assert((unsigned)builtin < BUILTIN_COUNT);
    return builtin_names[builtin];
}

static enum builtin builtin_find(const char *name)
{
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        if (text_same(builtin_names[i], name))
            return (enum builtin)i;
    }
    return BUILTIN_NONE;
}

bool step_name_reserved(const char *name)
{
    static const char *const others[] = {"admission", "approve", "finalize", "collect", "pull",
                                         "unpublish", "clean",   "custom",   "notify"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (text_same(others[i], name))
            return true;
    }
    return builtin_find(name) != BUILTIN_NONE;
}

/* ---- arranging ---- */

struct arranger {
    struct blueprint *blueprint;
    bool used[CUSTOM_STEPS_MAX];
    int last; /* The built-in step that was placed last; -1: none */
    struct err *err;
};

#define REFUSE(err, ...) \
    err_field(err, RC_INVALID, "INVALID_STEP_SEQUENCE", "sequence", __VA_ARGS__)

static void place(struct blueprint *blueprint, enum builtin builtin, size_t custom)
{
    assert(blueprint->count < BLUEPRINT_STEPS_MAX);
    blueprint->places[blueprint->count++] = (struct blueprint_place){builtin, custom};
}

static enum rc place_builtin(struct arranger *arranger, enum builtin builtin)
{
    assert((unsigned)builtin < BUILTIN_COUNT);
    assert(arranger->last >= -1 && arranger->last < BUILTIN_COUNT);
    const char *name = builtin_names[builtin];
    if ((int)builtin == arranger->last)
        return REFUSE(arranger->err, "step %s is there twice", name);
    if ((int)builtin < arranger->last)
        return REFUSE(arranger->err, "step %s must stand before %s", name,
                      builtin_name((enum builtin)arranger->last));
    for (int i = arranger->last + 1; i < (int)builtin; i++) {
        if (required[i])
            return REFUSE(arranger->err, "step %s must stand before %s", builtin_names[i], name);
    }
    arranger->last = (int)builtin;
    place(arranger->blueprint, builtin, 0);
    return RC_OK;
}

static enum rc place_custom(struct arranger *arranger, const char *name)
{
    struct blueprint *blueprint = arranger->blueprint;
    for (size_t i = 0; i < blueprint->custom_count; i++) {
        if (!text_same(blueprint->customs[i].name, name))
            continue;
        if (arranger->used[i])
            return REFUSE(arranger->err, "step %s is there twice", name);
        if (arranger->last < BUILTIN_PREPARE)
            return REFUSE(arranger->err, "step %s must stand after prepare", name);
        arranger->used[i] = true;
        place(blueprint, BUILTIN_NONE, i);
        return RC_OK;
    }
    return REFUSE(arranger->err,
                  "step %s is neither built in (prepare, hydrate, plan, agent, verify, judge, "
                  "publish) nor one of steps",
                  name);
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
        return arranger->last >= BUILTIN_AGENT && arranger->last < BUILTIN_PUBLISH
                   ? RC_OK
                   : REFUSE(arranger->err,
                            "step approve must stand after the agent and before publish");
    *ret_fixed = false;
    return RC_OK;
}

static enum rc check_complete(const struct arranger *arranger)
{
    for (int i = arranger->last + 1; i < BUILTIN_COUNT; i++) {
        if (required[i])
            return REFUSE(arranger->err, "step %s is missing", builtin_names[i]);
    }
    for (size_t i = 0; i < arranger->blueprint->custom_count; i++) {
        if (!arranger->used[i])
            return REFUSE(arranger->err, "step %s of steps stands nowhere in the sequence",
                          arranger->blueprint->customs[i].name);
    }
    return RC_OK;
}

static enum rc arrange_as_told(struct arranger *arranger, const char *const *sequence)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; rc == RC_OK && sequence[i] != NULL; i++) {
        bool fixed;
        rc = check_fixed(arranger, sequence, i, &fixed);
        if (rc != RC_OK || fixed)
            continue;
        if (arranger->blueprint->count == BLUEPRINT_STEPS_MAX)
            return REFUSE(arranger->err, "a sequence has at most %d steps", BLUEPRINT_STEPS_MAX);
        enum builtin builtin = builtin_find(sequence[i]);
        rc = builtin != BUILTIN_NONE ? place_builtin(arranger, builtin)
                                     : place_custom(arranger, sequence[i]);
    }
    return rc == RC_OK ? check_complete(arranger) : rc;
}

static void place_phase(struct blueprint *blueprint, enum step_phase phase)
{
    for (size_t i = 0; i < blueprint->custom_count; i++) {
        if (blueprint->customs[i].phase == phase)
            place(blueprint, BUILTIN_NONE, i);
    }
}

static void arrange_default(struct blueprint *blueprint, bool plan)
{
    place(blueprint, BUILTIN_PREPARE, 0);
    place(blueprint, BUILTIN_HYDRATE, 0);
    place_phase(blueprint, PHASE_PRE_AGENT);
    if (plan)
        place(blueprint, BUILTIN_PLAN, 0);
    place(blueprint, BUILTIN_AGENT, 0);
    place_phase(blueprint, PHASE_POST_AGENT);
    place(blueprint, BUILTIN_VERIFY, 0);
    place(blueprint, BUILTIN_JUDGE, 0);
    place(blueprint, BUILTIN_PUBLISH, 0);
}
_Static_assert(BUILTIN_COUNT + CUSTOM_STEPS_MAX <= BLUEPRINT_STEPS_MAX, "the default one fits");

enum rc blueprint_arrange(struct blueprint *blueprint, const struct blueprint_wish *wish,
                          struct err *err)
{
    struct arranger arranger = {.blueprint = blueprint, .last = -1, .err = err};
    blueprint->count = 0;
    if (wish->sequence != NULL)
        return arrange_as_told(&arranger, wish->sequence);
    arrange_default(blueprint, wish->plan);
    return RC_OK;
}

/* ---- reading ---- */

static struct blueprint_step step_at(const struct blueprint *blueprint, size_t index)
{
    const struct blueprint_place *found = &blueprint->places[index];
    if (found->builtin != BUILTIN_NONE)
        return (struct blueprint_step){builtin_names[found->builtin], found->builtin, NULL};
    const struct custom_step *custom = &blueprint->customs[found->custom];
    return (struct blueprint_step){custom->name, BUILTIN_NONE, custom};
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

bool blueprint_has(const struct blueprint *blueprint, enum builtin builtin)
{
    for (size_t i = 0; i < blueprint->count; i++) {
        if (blueprint->places[i].builtin == builtin)
            return true;
    }
    return false;
}
