/*
 * publish_parts.h - what a publish consists of, in order, and how far each part came.
 *
 *   branch         commit and push                    compensation: the branch is deleted
 *   pull_request   found or opened                    compensation: it is closed
 *   labels, reviewers, certificate, ready, approval   none: they end with the pull request
 *   recorded       by the server, with the result of the step
 *
 * A part that the repository does not want, or the forge does not have, is left out.  A list is in
 * the order of the parts, and only its last one can have failed.
 */
#ifndef CORE_PUBLISH_PARTS_H
#define CORE_PUBLISH_PARTS_H
#include "base/js.h"
#include "base/jw.h"
#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

enum publish_part {
    PART_BRANCH,
    PART_PULL_REQUEST,
    PART_LABELS,
    PART_REVIEWERS,
    PART_CERTIFICATE,
    PART_READY,
    PART_APPROVAL,
    PART_RECORDED,
    PART_COUNT,
};

enum part_outcome {
    PART_FAILED, /* From its begin until it is known to be done. */
    PART_DONE,
    PART_FOUND,   /* It was there already: an earlier try did it, or a person. */
    PART_REFUSED, /* The forge will never accept it; the pull request is there without it. */
    PART_OUTCOME_COUNT,
};

struct publish_parts {
    struct publish_part_state {
        enum publish_part part;
        enum part_outcome outcome;
        const char *detail; /* For people, or NULL.  Not owned. */
    } items[PART_COUNT];
    size_t count;
};

/* NULL-terminated, in the order of the enums: also the choices of a report's members. */
extern const char *const publish_part_names[PART_COUNT + 1];
extern const char *const part_outcome_names[PART_OUTCOME_COUNT + 1];

/* Of an element of a list in a report. */
struct report_shape;
extern const struct report_shape publish_parts_shape;

/* In these parts may be NULL.  A part that is tried again stands in the list once. */
void publish_part_begin(struct publish_parts *parts, enum publish_part part);
/* Notes that it was tried, and gives back how that ended. */
MUST_USE enum rc publish_part_try(struct publish_parts *parts, enum publish_part part, enum rc rc);
void publish_part_end(struct publish_parts *parts, enum publish_part part,
                      enum part_outcome outcome, const char *detail);
/* The publish as a whole failed: at its last part, or at the one behind it. */
void publish_parts_fail(struct publish_parts *parts, const char *detail);
/* Has the forge something that must be undone when the publish as a whole fails? */
bool publish_part_undone(enum publish_part part);

/* [{"part", "outcome", "detail"}, ...] */
void publish_parts_write(struct jw *jw, const struct publish_parts *parts);
/* What is written like that; what is not known is left out.  Texts stay the array's. */
void publish_parts_read(const struct js *array, struct publish_parts *ret_parts);
/* "branch done, pull request found, labels refused: ..." */
char *publish_parts_text(const struct publish_parts *parts, struct arena *arena);
#endif
