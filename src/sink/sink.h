/*
 * sink.h - a place outside that events are copied to, behind one interface.
 *
 *   settled log ── control/watch/sink_relay.h ── deliver(records in order) ──► the sink
 *                     cursor in the store  ◄── outcome ──┘
 *
 * Invariants
 * 1. Records reach a sink in the order of the log, and one call of deliver at a time.
 * 2. A record counts as delivered when the receiver keeps it through a crash of its own.
 * 3. After a crash of drover, records behind the stored cursor are delivered again: a sink may
 *    repeat records, and never leaves one out.  event->id removes the repeated ones.
 * 4. A sink knows nothing of cursors, retries and other sinks: those are the relay's.
 */
#ifndef SINK_SINK_H
#define SINK_SINK_H
#include "base/fields.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/event.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SINKS_MAX = 16,      /* In the server's configuration, */
    SINKS_MADE_MAX = 16, /* and those that the API has made. */
    SINK_NAME_MAX = 64,
    SINK_PATTERNS_MAX = 16,
    SINK_BATCH_RECORDS = 1024, /* One commit and one round trip or flush for all of them. */
    SINK_BATCH_BYTES = 4 * 1024 * 1024, /* Of JSON; a larger event is refused for good. */
};

struct sink_record {
    const struct event *event;
    struct str json; /* The CloudEvent in its structured form, without a line end. */
};

enum sink_verdict {
    SINK_DELIVERED, /* The first `delivered` of them, at least one; the rest comes again at once. */
    SINK_RETRY,     /* The first `delivered` of them; the next one may succeed later. */
    SINK_REFUSED,   /* The first `delivered` of them; the next one never will. */
};
struct sink_outcome {
    enum sink_verdict verdict;
    size_t delivered; /* With SINK_RETRY and SINK_REFUSED: fewer than all. */
    struct err why;   /* With SINK_RETRY and SINK_REFUSED; retry_ms where the receiver said it. */
};

/* A kind of sink.  Its functions are called by one thread; none takes longer than 5 s, so that a
   server can stop. */
struct sink_ops {
    const char *type;
    bool target_is_path; /* It writes a file of this machine. */
    /* Reads the members of a configuration that only this kind has; texts go into the arena. */
    const void *(*decode)(struct fields *fields, struct arena *arena);
    /* Where it writes, for people; without secrets. */
    const char *(*target)(const void *settings);
    /* Would they write to the same place? */
    bool (*same)(const void *settings, const void *other);
    /* settings outlive the sink.  A failure is retried like one of deliver. */
    enum rc (*open)(const void *settings, void **ret_sink, struct err *err);
    /* 1 to SINK_BATCH_RECORDS records; what it returns is durable. */
    struct sink_outcome (*deliver)(void *sink, const struct sink_record *records, size_t count);
    void (*close)(void *sink);
};
extern const struct sink_ops sink_file, sink_webhook, sink_kafka, sink_nats, sink_rabbitmq;

/* Where a sink that is new starts in the log. */
struct sink_from {
    enum { SINK_FROM_START, SINK_FROM_END, SINK_FROM_SEQ, SINK_FROM_TIME } kind;
    int64_t value; /* The first event's place, or the earliest time in microseconds. */
};

/*
 *     sinks:
 *       - name: audit-file
 *         type: file
 *         types: ["agent.run.*", "agent.pr.>"]   # patterns of event types; all, when left out
 *         from: start                            # of the log; end: only what comes from now on;
 *                                                # a sequence, or a time (RFC 3339)
 *         path: /var/log/drover/events.ndjson    # and what else the kind has (sink_file.c)
 *
 * Members of a kind hold no secrets: they name variables or files of the server (secret.h).  So a
 * configuration can be stored and shown.
 */
struct sink_config {
    const char *name;
    const struct sink_ops *ops;
    const char *types[SINK_PATTERNS_MAX + 1]; /* NULL-terminated; none: all. */
    struct sink_from from;
    const void *settings; /* Of the kind. */
};
struct sink_configs { /* In order of name. */
    const struct sink_config *items;
    size_t count;
};

/* Texts are copied into the arena.  path names the array in messages: "sinks". */
MUST_USE enum rc sink_configs_decode(const struct js *array, const char *path, struct arena *arena,
                                     struct sink_configs *ret_configs, struct err *err);
/* One of them.  name: of the sink, where the document need not hold it; or NULL. */
MUST_USE enum rc sink_config_decode(const struct js *document, const char *path, const char *name,
                                    struct arena *arena, struct sink_config *ret_config,
                                    struct err *err);
bool sink_name_valid(const char *name);
/* RC_INVALID: both write to the same place, and would mix their events. */
MUST_USE enum rc sink_config_apart(const struct sink_config *config,
                                   const struct sink_config *other, const char *path,
                                   struct err *err);
bool sink_wants(const struct sink_config *config, const char *event_type);
#endif
