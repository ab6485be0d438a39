/*
 * attachments.h - files that came with a task, in the payload as {"name", "sha256"}.
 *
 * The agent finds all of them in the directory $DROVER_ATTACHMENTS, made anew for each attempt.
 */
#ifndef WORK_JOB_ATTACHMENTS_H
#define WORK_JOB_ATTACHMENTS_H
#include "core/run/task.h"
#include "work/job/step.h"

enum { ATTACHMENT_BYTES_MAX = 64 * 1024 * 1024 };

struct attachment {
    const char *name; /* Of a file, without a directory. */
    const char *sha256;
};

/* How many there are; those with an invalid name or hash are left out. */
size_t attachments_of(const struct step *step, struct attachment list[ATTACHMENTS_MAX]);
/* Writes them into the directory, which must not be there yet; without any it is not made. */
MUST_USE enum rc attachments_place(struct step *step, const char *dir, struct err *err);
#endif
