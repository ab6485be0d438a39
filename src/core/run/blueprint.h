/*
 * blueprint.h - the steps that a run of a repository goes through, in order.
 *
 * Without a sequence of its own a repository gets the default one, with its custom steps before or
 * after the agent according to their phase:
 *
 *     prepare, hydrate, [pre-agent ...], [plan], agent, [post-agent ...], verify, judge, publish
 *
 * Admission stands before it and finalize behind it, always; approval is requested between judge
 * and publish where policy requires it.  A sequence may name these three at their places, as
 * documentation.
 */
#ifndef CORE_RUN_BLUEPRINT_H
#define CORE_RUN_BLUEPRINT_H
#include "base/rc.h"
#include "base/str.h"
#include "core/step_kind.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLUEPRINT_STEPS_MAX = 32, CUSTOM_STEPS_MAX = 16 };

enum step_phase { PHASE_PRE_AGENT, PHASE_POST_AGENT };

/* A step of the repository's own: a command, or a service that is called. */
struct custom_step {
    const char *name;
    enum step_phase phase;
    const char *command; /* By /bin/sh -c; or NULL */
    const char *url;     /* or NULL */
    int64_t timeout_ms;
    int64_t retries;
    struct str config; /* JSON object: handed to the step; or empty */
};

struct blueprint_step {
    const char *name;
    enum step_kind kind;
    const struct custom_step *custom; /* STEP_CUSTOM; else NULL */
};

struct blueprint {
    struct custom_step customs[CUSTOM_STEPS_MAX];
    size_t custom_count;
    struct blueprint_place {
        enum step_kind kind;
        size_t custom; /* STEP_CUSTOM: which of customs. */
    } places[BLUEPRINT_STEPS_MAX];
    size_t count;
};

/* Puts the steps in order: as in the sequence (NULL: the default one).  RC_INVALID with the code
   INVALID_STEP_SEQUENCE. */
struct blueprint_wish {
    const char *const *sequence; /* NULL-terminated, or NULL */
    bool plan;                   /* The default sequence has a planning step. */
};
MUST_USE enum rc blueprint_arrange(struct blueprint *blueprint, const struct blueprint_wish *wish,
                                   struct err *err);

/* False when there is none (after the last one, or no such name); first: name NULL. */
bool blueprint_after(const struct blueprint *blueprint, const char *name,
                     struct blueprint_step *ret_step);
bool blueprint_find(const struct blueprint *blueprint, const char *name,
                    struct blueprint_step *ret_step);
bool blueprint_has(const struct blueprint *blueprint, enum step_kind kind);

/* Names that no custom step may have. */
bool step_name_reserved(const char *name);
#endif
