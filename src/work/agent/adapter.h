/*
 * adapter.h - parses what an agent prints on stdout.
 *
 * An adapter turns lines into events, sums up turns, tokens and cost, and notes the result that the
 * agent claims.  Lines of unknown format are skipped: they are in the log.  A line that shows that
 * the agent has to be stopped sets `stop`, once: a limit that is exceeded, a tool that policy
 * denies, an account that is used up.
 *
 * A usage limit is only a claim of the agent: any program in it may print one.  quota.rejected
 * means that it was a record of the program's own format, which the program then confirms by
 * failing (core/agent/claims.h); matching words are never a record.
 *
 *     line --> adapter_claude.c  \                          /-- progress: events, sums
 *              adapter_codex.c    >-- transcript_*() -------+-- usage, report, summary, error
 *              adapter_ndjson.c  /                          \-- stop, quota
 */
#ifndef WORK_AGENT_ADAPTER_H
#define WORK_AGENT_ADAPTER_H
#include "base/buf.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/str.h"
#include "core/agent/infer.h"
#include "core/config/repo_config.h"
#include "work/job/progress.h"

enum {
    ADAPTER_TEXT_MAX = 2000,
    ADAPTER_NAME_MAX = 200,
    ADAPTER_ID_MAX = 80,
    ADAPTER_CALLS_MAX = 64,    /* Tool calls under way that are remembered. */
    ADAPTER_MESSAGES_MAX = 32, /* Messages of which parts may still come. */
    ADAPTER_INPUT_MAX = 4 * 1024 * 1024,
};

/* Why an agent is stopped; also the outcome of the attempt. */
#define CUT_TURN_LIMIT   "turn_limit"
#define CUT_BUDGET_LIMIT "budget_limit"
#define CUT_TOOL_DENIED  "tool_denied"
#define CUT_TOOL_RETRIES "tool_retries"
#define CUT_QUOTA        "quota"
#define CUT_UNREADABLE   "output_unreadable"

/* What the agent may use up and call; 0 and NULL: no limit. */
struct transcript_limits {
    int64_t max_turns;
    double max_budget_usd;
    const char *const *tools_denied; /* Names, or their start and a *; NULL-terminated. */
    bool bound_retries;              /* tool_retries counts. */
    int64_t tool_retries;            /* How often a failed call may be repeated unchanged. */
    struct price_config prices;
};

/* Tokens of one answer of the model. */
struct tokens {
    int64_t input; /* The cached ones among them. */
    int64_t cached_input;
    int64_t output;
};

struct transcript {
    const struct adapter_ops *ops;
    struct progress *progress;
    struct clock clock;
    struct transcript_limits limits;
    struct usage usage;
    int64_t calls;   /* Tool calls that began. */
    int64_t retries; /* Those among them that repeat one that has just failed. */
    struct {
        char hash[80]; /* Of name and arguments; "": not known. */
        int64_t failures;
    } same;             /* The call that is repeated. */
    enum report report; /* What the agent reports of its own work. */
    const char *stop;   /* One of CUT_*; NULL: it may continue. */
    struct {
        int64_t resets_us; /* 0: not said. */
        bool rejected;     /* By a record of the format, the provider refused a request. */
        char message[ADAPTER_NAME_MAX];
    } quota;
    char summary[ADAPTER_TEXT_MAX];
    char error[ADAPTER_TEXT_MAX];
    struct {
        char id[ADAPTER_ID_MAX], name[ADAPTER_ID_MAX];
    } open[ADAPTER_CALLS_MAX]; /* A ring: an old call that never ended gives way. */
    size_t open_next;
    struct {
        char id[ADAPTER_ID_MAX];
        struct tokens tokens;
    } messages[ADAPTER_MESSAGES_MAX]; /* A ring. */
    size_t message_next;
    char plan_hash[65]; /* Of the plan that was reported last; "": none yet. */
    /* The provider was overloaded or the connection to it was lost, after the program's own
       retries: the agent itself has not failed. */
    bool overloaded;
    struct buf input;  /* Bytes for the agent's stdin that are not written yet. */
    bool input_over;   /* stdin is closed once `input` is empty. */
    bool session_lost; /* The agent says that it cannot resume the session. */
};

/* What an agent is told when it is spoken to on its stdin. */
struct conversation {
    const char *prompt;
    const char *session_id; /* To resume, or NULL. */
    const char *cwd;        /* As the agent sees it. */
    const char *model;      /* Or NULL. */
};

/* Functions other than `line` append to transcript->input; each may be NULL. */
struct adapter_ops {
    void (*line)(struct transcript *transcript, struct str line); /* NULL: lines are not parsed. */
    bool turn_is_whole; /* A turn is the whole work on a prompt: tool calls are counted too. */
    /* Begins the conversation on the agent's stdin; NULL: the prompt is a file on stdin. */
    void (*begin)(struct transcript *transcript, const struct conversation *conversation);
    /* One message of a person, for the agent's next turn; NULL: waits for the next attempt. */
    void (*say)(struct transcript *transcript, const char *text);
    /* Asks the agent to end in its own protocol, before any signal; NULL: no such request. */
    void (*interrupt)(struct transcript *transcript);
};
extern const struct adapter_ops adapter_ndjson, adapter_claude, adapter_codex;

/* Without limits; set them after it. */
void transcript_init(struct transcript *transcript, enum adapter adapter,
                     struct progress *progress);
void transcript_release(struct transcript *transcript);
/* Does the agent with this command (NULL-terminated) read a conversation on its stdin? */
bool transcript_converses(const struct transcript *transcript, const char *const *command);
void transcript_line(struct transcript *transcript, struct str line);

/* ---- for adapters ---- */

/* A line that is a JSON object; NULL when it is not. */
struct js *transcript_parse(struct str line);

enum tool_status { TOOL_STARTED, TOOL_COMPLETED, TOOL_FAILED, TOOL_DENIED, TOOL_TIMED_OUT };
struct tool_event {
    enum tool_status status;
    const char *id;             /* Of the call, or NULL. */
    const char *name;           /* NULL: the one that the call began with. */
    const char *summary;        /* In a few words, or NULL. */
    const struct js *arguments; /* Only their hash is reported; NULL: not known. */
    const char *error;          /* Why it failed or was denied, or NULL. */
};
/* An end without a beginning is fine; a beginning is reported once until its call has ended. */
void transcript_tool(struct transcript *transcript, const struct tool_event *event);
/* Reports the plan unless it is the one that was reported last. */
void transcript_plan(struct transcript *transcript, const char *text, const char *reason);
void transcript_message(struct transcript *transcript, const char *text);
void transcript_session(struct transcript *transcript, const char *id, const char *model);

/* Tokens count once for each id (NULL: a message of its own); true when it is a new one. */
bool transcript_tokens(struct transcript *transcript, const char *message_id, struct tokens tokens);
/* One turn more; the cost is added. */
void transcript_turn(struct transcript *transcript, double cost_usd);
/* The sums have changed: reports them and compares them with the limits. */
void transcript_sums(struct transcript *transcript);
int64_t tokens_bounded(int64_t tokens);
double cost_bounded(double usd);

/* An error of the agent, which may be that its account is used up. */
void transcript_failed(struct transcript *transcript, const char *error);
/* The account is used up, by this message. */
void transcript_quota(struct transcript *transcript, const char *message);

/* Copies with truncation at a whole character. */
void transcript_copy(char *to, size_t to_bytes, const char *from);
#endif
