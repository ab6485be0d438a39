#include "work/agent/compute_output.h"
#include "base/fd.h"
#include "core/text/terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void take_out(void *ctx, const char *bytes, size_t len);
static void take_err(void *ctx, const char *bytes, size_t len);

void output_init(struct output *output, const struct compute_reader *reader,
                 const struct secrets *secrets)
{
    *output = (struct output){.reader = reader, .log_fd = -1};
    buf_init(&output->line, OUTPUT_LINE_MAX);
    redact_init(&output->redactors[STREAM_OUT], secrets, (struct redact_sink){take_out, output});
    redact_init(&output->redactors[STREAM_ERR], secrets, (struct redact_sink){take_err, output});
}

enum rc output_open(struct output *output, const char *log_path, int64_t log_bytes_max,
                    struct err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
    output->log_bytes_max = log_bytes_max;
    output->log_fd = open(log_path, flags, 0600);
    if (output->log_fd < 0)
        return err_set(err, RC_IO, "IO_ERROR", "cannot open %.300s: %s", log_path, strerror(errno));
    return RC_OK;
}

void output_release(struct output *output)
{
    fd_closep(&output->log_fd);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        redact_release(&output->redactors[i]);
    buf_release(&output->line);
}

/* ---- the log ---- */

void output_note(struct output *output, const char *text)
{
    char line[400];
    int len = snprintf(line, sizeof line, "\n[%s]\n", text);
    size_t bytes = (size_t)len < sizeof line ? (size_t)len : sizeof line - 1;
    if (!output->log_failed && fd_write_all(output->log_fd, line, bytes, NULL) == RC_OK)
        output->log_bytes += (int64_t)bytes;
}

static void log_bytes(struct output *output, const char *bytes, size_t len)
{
    int64_t room = output->log_bytes_max - output->log_bytes;
    if ((int64_t)len > room) {
        output->log_truncated = true;
        len = room > 0 ? (size_t)room : 0;
    }
    if (output->log_failed)
        return;
    if (fd_write_all(output->log_fd, bytes, len, NULL) != RC_OK) {
        output->log_failed = output->log_truncated = true; /* The disk is full: no more log. */
        return;
    }
    output->log_bytes += (int64_t)len;
    if (output->log_truncated && !output->truncation_logged) {
        output->truncation_logged = true;
        output_note(output, "output truncated here");
    }
}

/* ---- last words ---- */

static void keep_tail(struct tail *tail, const char *bytes, size_t len)
{
    if (len > sizeof tail->bytes) {
        bytes += len - sizeof tail->bytes;
        len = sizeof tail->bytes;
        tail->cut = true;
    }
    size_t keep = sizeof tail->bytes - len;
    if (tail->len > keep) {
        memmove(tail->bytes, tail->bytes + tail->len - keep, keep);
        tail->len = keep;
        tail->cut = true;
    }
    memcpy(tail->bytes + tail->len, bytes, len);
    tail->len += len;
}

char *output_last_words(const struct output *output, struct arena *arena, size_t max)
{
    char *words = NULL;
    for (int i = STREAM_COUNT - 1; i >= 0 && text_empty(words); i--) {
        const struct tail *tail = &output->tails[i];
        words = terminal_last_lines(arena, (struct str){tail->bytes, tail->len}, tail->cut, max);
    }
    return words;
}

bool output_ended_with(const struct output *output, const char *text)
{
    const struct tail *tail = &output->tails[STREAM_ERR];
    return memmem(tail->bytes, tail->len, text, strlen(text)) != NULL;
}

/* ---- lines ---- */

static bool is_object(struct str line)
{
    return line.len > 0 && line.at[0] == '{';
}

static bool read_line(struct output *output, struct str line)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    const struct compute_reader *reader = output->reader;
    if (reader->line == NULL)
        return true;
    if (line.len <= OUTPUT_LINE_KEPT)
        return reader->line(reader->ctx, line);
    (void)pthread_mutex_lock(&one_at_a_time);
    bool more = reader->line(reader->ctx, line);
    (void)pthread_mutex_unlock(&one_at_a_time);
    return more;
}

static void line_end(struct output *output)
{
    struct str line = buf_str(&output->line);
    if (output->line_skipped)
        output->lines_skipped++;
    else if (!read_line(output, line))
        output->refused = true;
    if (!output->line_skipped && !is_object(line)) {
        keep_tail(&output->tails[STREAM_OUT], line.at, line.len);
        keep_tail(&output->tails[STREAM_OUT], "\n", 1);
    }
    output->line_skipped = false;
    if (output->line.room > OUTPUT_LINE_KEPT + 1)
        buf_release(&output->line);
    else
        buf_clear(&output->line);
}

static void skip_line(struct output *output)
{
    const struct compute_reader *reader = output->reader;
    output->line_skipped = true;
    if (reader->too_long != NULL && !reader->too_long(reader->ctx, buf_str(&output->line)))
        output->refused = true;
    buf_release(&output->line);
}

static void split_lines(struct output *output, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) : len;
        if (!output->line_skipped && output->line.len + part > OUTPUT_LINE_MAX)
            skip_line(output);
        if (!output->line_skipped)
            buf_add(&output->line, bytes, part);
        if (end == NULL)
            return;
        line_end(output);
        bytes += part + 1;
        len -= part + 1;
    }
}

static void take_out(void *ctx, const char *bytes, size_t len)
{
    log_bytes(ctx, bytes, len);
    split_lines(ctx, bytes, len);
}

static void take_err(void *ctx, const char *bytes, size_t len)
{
    struct output *output = ctx;
    log_bytes(output, bytes, len);
    keep_tail(&output->tails[STREAM_ERR], bytes, len);
}

void output_add(struct output *output, enum stream stream, const char *bytes, size_t len)
{
    redact_add(&output->redactors[stream], bytes, len);
}

void output_end(struct output *output)
{
    for (size_t i = 0; i < STREAM_COUNT; i++)
        redact_end(&output->redactors[i]);
    if (output->line.len > 0 || output->line_skipped)
        line_end(output);
}
