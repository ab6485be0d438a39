/*
 * redact.h - text without its secrets: each is replaced by [redacted:RULE].
 *
 * The redactor takes a stream in pieces of any size.  It holds back the line that has not ended, so
 * that a secret is found wherever the pieces were cut; of a line without an end it keeps only as
 * much as a secret may be long.
 */
#ifndef CORE_TEXT_REDACT_H
#define CORE_TEXT_REDACT_H
#include "base/buf.h"
#include "core/text/secrets.h"

enum { REDACT_LINE_MAX = 256 * 1024, REDACT_OVERLAP = 32 * 1024 };

/* Gets the clean text, in pieces. */
struct redact_sink {
    void (*take)(void *ctx, const char *bytes, size_t len);
    void *ctx;
};

struct redactor {
    const struct secrets *secrets; /* NULL: nothing is secret. */
    struct redact_sink sink;
    struct buf line; /* The line that has not ended. */
    enum key_state key;
};

void redact_init(struct redactor *redactor, const struct secrets *secrets, struct redact_sink sink);
void redact_add(struct redactor *redactor, const char *bytes, size_t len);
void redact_end(struct redactor *redactor); /* The end of the stream: writes what was held back. */
void redact_release(struct redactor *redactor);

/* A whole text. */
void redact_text(const struct secrets *secrets, struct str text, struct buf *into);
char *redact_dup(const struct secrets *secrets, const char *text, struct arena *arena);
#endif
