/*
 * port.h - the lease port: every call that a worker makes to the server.
 *
 * In process under `drover serve` (server/port_local.c); over HTTP under `drover worker`
 * (work/job/port_http.c).  A worker has no other access to the server.
 *
 * All calls may block for the length of one commit; lease blocks up to wait_ms.
 * RC_STALE: the lease was lost (LEASE_LOST): stop the work, discard the result.
 * RC_BUSY, RC_UNREACHABLE, RC_IO: the server cannot answer now; retry, the lease may still be
 * valid.
 */
#ifndef WORK_JOB_PORT_H
#define WORK_JOB_PORT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/rc.h"
#include "base/str.h"
#include "core/run/question_spec.h"
#include "forge/token_source.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct port_job {
    struct id id;
    const char *queue;
    const char *type; /* prepare, hydrate, agent, verify, judge, publish, clean */
    struct str payload;
    struct str headers; /* A JSON object, or empty. */
    int64_t attempt;    /* From 1: this attempt of this job. */
    int64_t epoch;
    int64_t lease_until_us;
};

struct port_lease_request {
    const char *const *queues; /* NULL-terminated, in order of preference. */
    const char *worker;
    int64_t max;
    int64_t wait_ms;
    int64_t lease_ms;
};

/* A request for the next job when one is completed: it may be leased in the same commit. */
struct port_next {
    struct port_lease_request request; /* It never waits: wait_ms is ignored. */
    struct arena *arena;
    struct port_job *job; /* The answer; NULL: none was leased, call lease. */
};

/* One lease, as a later call names it. */
struct port_ref {
    struct id id;
    int64_t epoch;
};
/* While a run is held its agent's time limits stand still: idle and wall clock. */
enum port_hold {
    PORT_HOLD_NONE,
    PORT_HOLD_PAUSED, /* A person has paused the run: the agent's process is to stop, not to end. */
    PORT_HOLD_ASKING, /* The agent's question is open: it may work on. */
};
struct port_beat {
    bool ok;     /* false: lost. */
    bool cancel; /* The server wants this job stopped; it is not held then. */
    /* Of the steps that run an agent: */
    enum port_hold hold;
    int64_t message_seq; /* The newest message of people to the run's agent; 0: none. */
};
/* What a person says to the agent. */
struct port_message {
    int64_t seq; /* From 1 in each run, growing. */
    const char *text;
};
/* What the agent has asked people. */
struct port_question {
    struct id id;
    bool open;
    const char *answer; /* Once it is closed; NULL: there is none. */
};
struct port_failure {
    const char *code;    /* prepare_failed, agent_start_failed, cancelled, ... */
    const char *message; /* For people. */
    bool retryable;
    bool policy; /* Policy or security: never retried. */
};

/* Why a job is given back until later. */
struct port_wait {
    int64_t ms;
    const char *code, *message;
};

/* What a step asks for before and while it calls its repository's forge. */
struct port_forge_request {
    const struct repo_config *config; /* The step's; another process has its own copy. */
    const char *repository;
    enum forge_access access;
    bool token; /* A token is wanted. */
    /* The hash of one that the forge has refused: the token that is wanted is to be another. */
    const char *refused_sha256;
    /* Calls of its API, in blocks: the governor of the forge's quota (core/pr/governor.h). */
    const char *host, *resource; /* NULL: this is not about calls. */
    int64_t want;                /* So many more; 0: none. */
    int64_t used, back;          /* Of what was granted: made since the last time; unused. */
    const struct forge_limit_seen *seen; /* What the forge said last; or NULL. */
};
/* Deliveries of the webhook of the App that serves the repository; only the server can ask. */
struct port_hook_request {
    const struct repo_config *config; /* As above. */
    const char *repository;
    int64_t since_us;   /* A list back to then, */
    const char *handle; /* or the payload of this one, where it is not NULL. */
};
struct port_forge_answer {
    struct forge_token token; /* "": the server has none, the worker's own is used. */
    int64_t calls;            /* Granted; 0 when some were wanted: */
    int64_t retry_ms;         /* not before that. */
    char why[ERR_TEXT_MAX];   /* For people. */
};

/* What a circuit breaker of the server answers before an outgoing call. */
struct port_verdict {
    bool allowed;
    int64_t retry_ms; /* Denied: retry after that. */
};
/* The result of such a call. */
struct port_outcome {
    bool ok;
    const char *error; /* or NULL */
};

/* What a worker reports about itself. */
enum port_presence { PORT_ACTIVE, PORT_DRAINING, PORT_LEFT };
struct port_worker {
    const char *name;
    const char *host;
    const char *const *queues; /* NULL-terminated */
    int64_t pid;
    int slots, busy;
    int64_t lease_ms;
    enum port_presence presence;
    int64_t unpublished_count, unpublished_bytes; /* Kept there for people: retention.h. */
    int64_t disk_free;                            /* disk.h; -1: not known. */
    bool disk_low;
    int64_t leased_ports, leased_databases; /* scratch_book.h */
};

struct port {
    const struct port_ops *ops;
};
struct port_ops {
    enum rc (*lease)(struct port *port, const struct port_lease_request *request,
                     struct arena *arena, struct port_job **ret_jobs, size_t *ret_count,
                     struct err *err);
    /* Renews many; beats[i] answers leases[i]. */
    enum rc (*heartbeat)(struct port *port, const char *worker, const struct port_ref *leases,
                         size_t count, int64_t extend_ms, struct port_beat *ret_beats,
                         struct err *err);
    /* events: a JSON array of {"type": ..., "data": {...}}, at most 64 KB. */
    enum rc (*progress)(struct port *port, const struct port_ref *lease, struct str events,
                        struct port_beat *ret_beat, struct err *err);
    /* Messages to the agent that no agent has read yet, after this seq, in order.  The assignment
       has those that were there before it, and with messageSeq the seq to begin with.  What the
       agent has got is reported with the event agent.message.delivered. */
    enum rc (*messages)(struct port *port, const struct port_ref *lease, int64_t after_seq,
                        struct arena *arena, struct port_message **ret_messages, size_t *ret_count,
                        struct err *err);
    /* Asks people for the agent; the run's clocks stand still until it is answered.  The same
       question again is the one that is open.  RC_CONFLICT QUESTION_OPEN: another one is. */
    enum rc (*ask)(struct port *port, const struct port_ref *lease,
                   const struct question_spec *spec, struct arena *arena,
                   struct port_question *ret_question, struct err *err);
    /* What has become of it.  An answer that was read counts as delivered to the agent. */
    enum rc (*question)(struct port *port, const struct port_ref *lease, const struct id *id,
                        struct arena *arena, struct port_question *ret_question, struct err *err);
    /* The agent does not want to know any more; closed or not. */
    enum rc (*withdraw)(struct port *port, const struct port_ref *lease, const struct id *id,
                        struct err *err);
    /* Reports that many jobs are being worked on, without events; the state of each lease is
       reported by the heartbeat.  NULL: this port is for workers, whose steps report for
       themselves. */
    enum rc (*show_life)(struct port *port, const struct port_ref *leases, size_t count,
                         struct err *err);
    /* next: NULL when no other job is wanted.  Its answer is valid also when this call fails. */
    enum rc (*complete)(struct port *port, const struct port_ref *lease, struct str result,
                        struct port_next *next, struct err *err);
    enum rc (*fail)(struct port *port, const struct port_ref *lease,
                    const struct port_failure *failure, struct err *err);
    /* Gives a job back in an orderly way (shutdown): no attempt, no loss is counted. */
    enum rc (*release)(struct port *port, const struct port_ref *lease, struct err *err);
    /* Gives it back, to be handed out again after that time: no attempt, no loss is counted. */
    enum rc (*put_off)(struct port *port, const struct port_ref *lease,
                       const struct port_wait *wait, struct err *err);
    /* Stores bytes or a file; the same content is stored once. */
    enum rc (*artifact_put)(struct port *port, struct str bytes, char ret_sha256[65],
                            struct err *err);
    enum rc (*artifact_put_file)(struct port *port, const char *path, char ret_sha256[65],
                                 int64_t *ret_bytes, struct err *err);
    enum rc (*artifact_get)(struct port *port, const char *sha256, struct buf *into,
                            struct err *err);
    /* The token of the agent of the run that this lease works for: valid for that run only, revoked
       when it ends. */
    enum rc (*run_token)(struct port *port, const struct port_ref *lease, const struct id *run_id,
                         char *to, size_t to_bytes, struct err *err);
    /* A new token for the agent whose process this lease starts; earlier ones are revoked.  It is
       launched from then on. */
    enum rc (*agent_token)(struct port *port, const struct port_ref *lease, char *to,
                           size_t to_bytes, struct err *err);
    /* Access to the forge of the repository that this lease works for, and to no other; a token
       that can write only for a step that writes there.  NULL: this port has none. */
    enum rc (*forge_access)(struct port *port, const struct port_ref *lease,
                            const struct port_forge_request *request,
                            struct port_forge_answer *ret_answer, struct err *err);
    /* {"deliveries": [...]}, or {"sha256"} of the payload, as api/app_hook.h has them.
       RC_NOT_FOUND: there is no such webhook, or no such delivery.  NULL: this port has none. */
    enum rc (*app_deliveries)(struct port *port, const struct port_ref *lease,
                              const struct port_hook_request *request, struct buf *into,
                              struct err *err);
    /* Circuit breakers, by name.  A caller that was allowed reports the result. */
    enum rc (*breaker_ask)(struct port *port, const char *name, struct port_verdict *ret_verdict,
                           struct err *err);
    enum rc (*breaker_report)(struct port *port, const char *name,
                              const struct port_outcome *outcome, struct err *err);
    /* Sent at the start and with every heartbeat; nothing depends on it. */
    enum rc (*announce)(struct port *port, const struct port_worker *worker, struct err *err);
    /* Makes waiting lease calls return without jobs: for shutdown. */
    void (*interrupt)(struct port *port);
};
#endif
