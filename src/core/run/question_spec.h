/*
 * question_spec.h - a question of an agent, as it is asked: over HTTP, and in the completion record
 * of an agent that ends with it.
 *
 *     {"text": "Keep the old API?", "options": ["yes", "no"], "default": "yes", "timeoutMs": 60000}
 */
#ifndef CORE_RUN_QUESTION_SPEC_H
#define CORE_RUN_QUESTION_SPEC_H
#include "base/js.h"
#include "base/jw.h"
#include "base/rc.h"

enum {
    QUESTION_BYTES_MAX = 4 * 1024,
    QUESTION_OPTIONS_MAX = 10,
    OPTION_BYTES_MAX = 200,
    QUESTION_MS_MIN = 1000,
};

struct question_spec {
    const char *text;
    const char *options[QUESTION_OPTIONS_MAX]; /* The only answers; none: any text. */
    size_t option_count;
    const char *default_answer; /* At the deadline; or NULL */
    int64_t timeout_ms;         /* 0: as long as the repository allows */
};

/* RC_INVALID: err has the member.  path: of the object, in messages.  Texts point into the tree. */
MUST_USE enum rc question_spec_decode(const struct js *object, const char *path,
                                      struct question_spec *ret_spec, struct err *err);
/* Adds an option that a program has named: as a line, and other than those that are there. */
void question_spec_add(struct question_spec *spec, const char *label, struct arena *arena);
/* As an object that question_spec_decode takes. */
void question_spec_write(struct jw *jw, const struct question_spec *spec);
/* The options as a JSON array; empty: there are none. */
struct str question_spec_options(const struct question_spec *spec, struct arena *arena);
#endif
