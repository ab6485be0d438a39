/*
 * adapter.c - which adapter reads an agent's stdout.
 */
#include "work/adapter.h"
#include "core/prose.h"
#include <string.h>

static const struct adapter_ops adapter_none = {.line = NULL};

static const struct adapter_ops *const adapters[] = {
    [ADAPTER_NONE] = &adapter_none,
    [ADAPTER_NDJSON] = &adapter_ndjson,
};

void transcript_init(struct transcript *transcript, enum adapter adapter, struct progress *progress)
{
    *transcript = (struct transcript){
        .ops = adapters[adapter], .progress = progress, .report = REPORT_UNKNOWN};
}

void transcript_line(struct transcript *transcript, struct str line)
{
    if (transcript->ops->line)
        transcript->ops->line(transcript, line);
}

void transcript_copy(char *to, size_t to_bytes, const char *from)
{
    size_t len = prose_fit(from, strlen(from), to_bytes - 1);
    memcpy(to, from, len);
    to[len] = '\0';
}
