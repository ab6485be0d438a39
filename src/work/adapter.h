/*
 * adapter.h - what an agent says on stdout, understood.
 *
 * An adapter turns lines into events, sums up turns, tokens and cost, and notes the result that
 * the agent claims.  Lines that it does not know are passed over: they stand in the log.
 */
#ifndef WORK_ADAPTER_H
#define WORK_ADAPTER_H
#include "base/str.h"
#include "core/infer.h"
#include "core/repo_config.h"
#include "work/progress.h"

enum { ADAPTER_TEXT_MAX = 2000, ADAPTER_NAME_MAX = 200 };

/* What was understood so far. */
struct transcript {
    const struct adapter_ops *ops;
    struct progress *progress;
    struct usage usage;
    enum report report; /* What the agent says of its own work. */
    char summary[ADAPTER_TEXT_MAX];
    char error[ADAPTER_TEXT_MAX];
};

struct adapter_ops {
    void (*line)(struct transcript *transcript, struct str line); /* NULL: none is looked at. */
};
extern const struct adapter_ops adapter_ndjson;

void transcript_init(struct transcript *transcript, enum adapter adapter,
                     struct progress *progress);
void transcript_line(struct transcript *transcript, struct str line);

/* Copies with truncation at a whole character. */
void transcript_copy(char *to, size_t to_bytes, const char *from);
#endif
