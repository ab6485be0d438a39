/*
 * compute_output.h - what a command prints: to its log, line by line to a reader, and its last
 * words.
 *
 *     stdout --> redactor --> log
 *                         \-> lines --> reader
 *     stderr --> redactor --> log
 *                         \-> the last bytes
 *
 * A line may have OUTPUT_LINE_MAX bytes.  The memory for it grows with the line and is given back
 * after it; of lines beyond OUTPUT_LINE_KEPT only one is read at a time in the whole process, so
 * that what readers make of them does not add up.  A longer line is dropped as soon as that shows,
 * and the reader is given its beginning.
 */
#ifndef WORK_AGENT_COMPUTE_OUTPUT_H
#define WORK_AGENT_COMPUTE_OUTPUT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/text/redact.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    OUTPUT_LINE_MAX = 16 * 1024 * 1024,
    OUTPUT_LINE_KEPT = 256 * 1024, /* Memory that is kept from line to line. */
    OUTPUT_TAIL_BYTES = 1200,
};

/* All may be NULL. */
struct compute_reader {
    void *ctx;
    /* One line of stdout without its end; false ends the command. */
    bool (*line)(void *ctx, struct str line);
    /* A line is longer than OUTPUT_LINE_MAX and is skipped; false ends the command. */
    bool (*too_long)(void *ctx, struct str beginning);
    /* Something about the command that a person should know: a connection that was refused. */
    void (*note)(void *ctx, const char *text);
    /* The command is to end: the first request for that, in its own protocol.  false: there is no
       such request, it gets SIGINT. */
    bool (*interrupt)(void *ctx);
};

enum stream { STREAM_OUT, STREAM_ERR, STREAM_COUNT };

struct tail {
    char bytes[OUTPUT_TAIL_BYTES];
    size_t len;
    bool cut; /* There was more before. */
};

struct output {
    const struct compute_reader *reader; /* Not owned. */
    int log_fd;
    int64_t log_bytes_max; /* What is beyond is dropped, and the log says so. */
    int64_t log_bytes;
    bool log_truncated;
    bool truncation_logged;
    bool log_failed;
    struct redactor redactors[STREAM_COUNT];
    struct buf line;                 /* The line of stdout being gathered. */
    bool line_skipped;               /* It has become too long. */
    int64_t lines_skipped;           /* Those before. */
    bool refused;                    /* The reader wants the command to end. */
    struct tail tails[STREAM_COUNT]; /* Of stdout, the lines that are no objects. */
};

void output_init(struct output *output, const struct compute_reader *reader,
                 const struct secrets *secrets);
/* The log is made anew. */
MUST_USE enum rc output_open(struct output *output, const char *log_path, int64_t log_bytes_max,
                             struct err *err);
void output_release(struct output *output);
void output_add(struct output *output, enum stream stream, const char *bytes, size_t len);
/* Both streams have ended. */
void output_end(struct output *output);
/* A line of our own among those of the command. */
void output_note(struct output *output, const char *text);
/* The last lines of stderr; of stdout, if there are none: at most max bytes, for people. */
char *output_last_words(const struct output *output, struct arena *arena, size_t max);
/* Does the text stand in the last of stderr? */
bool output_ended_with(const struct output *output, const char *text);
#endif
