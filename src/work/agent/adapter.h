/*
 * adapter.h - parses what an agent prints on stdout, and speaks to it on its stdin.
 *
 * An adapter turns lines into events, sums up turns, tokens and cost, and notes the result that the
 * agent claims.  Lines of unknown format are skipped: they are in the log.  A line that shows that
 * the agent has to be stopped sets `stop`, once: a limit that is exceeded, a tool that policy
 * denies, an account that is used up, a login that the provider refuses.  After that only what the
 * agent has used is still read: an agent that is interrupted reports its true sums at its end.
 *
 * A usage limit is only a claim of the agent: any program in it may print one.  quota.rejected
 * means that it was a record of the program's own format, which the program then confirms by
 * failing (core/agent/claims.h); matching words are never a record.
 *
 *     line --> adapter_claude.c  \                          /-- progress: events, sums
 *              adapter_codex.c    >-- transcript_*() -------+-- usage, report, summary, error
 *              ...               /                          +-- stop, quota, overloaded
 *     prompt, messages --> begin, say, interrupt             \-- input: bytes for stdin
 *
 * To add one: its file, with the version and the source of the format at its top; its row in
 * adapter.c; a recording in tests/fixtures/transcripts, with its true figures in
 * tests/unit/work/agent/test_recordings.c; and what enum adapter names.
 */
#ifndef WORK_AGENT_ADAPTER_H
#define WORK_AGENT_ADAPTER_H
#include "base/buf.h"
#include "base/clock.h"
#include "base/js.h"
#include "base/str.h"
#include "core/agent/infer.h"
#include "core/agent/price.h"
#include "core/config/repo_config.h"
#include "core/run/question_spec.h"
#include "work/job/progress.h"

enum {
    ADAPTER_TEXT_MAX = 2000,
    ADAPTER_NAME_MAX = 200,
    ADAPTER_ID_MAX = 80,
    ADAPTER_BRIEF_MAX = 120,   /* Of a summary that is kept until a call ends. */
    ADAPTER_CALLS_MAX = 64,    /* Tool calls under way that are remembered. */
    ADAPTER_MESSAGES_MAX = 32, /* Messages of which parts may still come. */
    ADAPTER_TODOS_MAX = 40,
    ADAPTER_INPUT_MAX = 4 * 1024 * 1024,
};

/* Why an agent is stopped; also the outcome of the attempt. */
#define CUT_TURN_LIMIT   "turn_limit"
#define CUT_BUDGET_LIMIT "budget_limit"
#define CUT_TOKEN_LIMIT  "token_limit"
#define CUT_TOOL_DENIED  "tool_denied"
#define CUT_TOOL_RETRIES "tool_retries"
#define CUT_QUOTA        "quota"
#define CUT_LOGIN        "login_failed"
#define CUT_UNREADABLE   "output_unreadable"

/* What the agent may use up and call; 0 and NULL: no limit. */
struct transcript_limits {
    int64_t max_turns;
    double max_budget_usd;
    int64_t max_tokens;               /* Input and output. */
    const char *const *tools_denied;  /* Names, or their start and a *; NULL-terminated. */
    const char *const *tools_allowed; /* The same: people are not asked about these. */
    bool bound_retries;               /* tool_retries counts. */
    int64_t tool_retries;             /* How often a failed call may be repeated unchanged. */
    struct price_config prices;
};

struct transcript {
    const struct adapter_ops *ops;
    struct progress *progress;
    struct clock clock;
    struct transcript_limits limits;
    struct usage usage;
    struct usage counted; /* By single requests alone. */
    int64_t calls;        /* Tool calls that began. */
    int64_t retries;      /* Those among them that repeat one that has just failed. */
    struct {
        char hash[80]; /* Of name and arguments; "": not known. */
        int64_t failures;
    } same;           /* The call that is repeated. */
    const char *stop; /* One of CUT_*; NULL: it may continue. */
    struct {
        int64_t resets_us; /* 0: not said. */
        bool rejected;     /* By a record of the format, the provider refused a request. */
        char message[ADAPTER_NAME_MAX];
    } quota;
    size_t open_next;
    struct {
        char id[ADAPTER_ID_MAX];
        struct tokens tokens;
    } messages[ADAPTER_MESSAGES_MAX]; /* A ring. */
    size_t message_next;
    struct {
        /* Looks for requests that are noted elsewhere (rollout.h); false: there is no such place.
           NULL: there is none. */
        bool (*look)(void *ctx);
        void *ctx;
        bool known;             /* Turns are requests that were found there. */
        bool waits;             /* A whole turn was printed, and none of its requests found yet: */
        struct tokens of_waits; /* its tokens. */
    } requests;
    size_t todo_count;
    struct {
        struct tokens tokens;
        double usd;
    } results;              /* What results have said of the requests before each. */
    int64_t login_failures; /* Retries in a row that the provider refused a login. */
    struct buf input;       /* Bytes for the agent's stdin that are not written yet. */
    double session_usd;     /* What the agent says of its session's cost; 0: nothing. */
    struct acp *acp;        /* Of adapter_acp.c, or NULL. */
    enum report report;     /* What the agent reports of its own work. */
    /* The provider was overloaded or the connection to it was lost, after the program's own
       retries: the agent itself has not failed. */
    bool overloaded;
    bool answering;    /* The model answers: what comes now is the same turn. */
    bool input_waits;  /* The adapter keeps a message for the next turn. */
    bool input_over;   /* stdin is closed once `input` is empty. */
    bool session_lost; /* The agent says that it cannot resume the session. */
    struct {
        char id[16], text[ADAPTER_BRIEF_MAX];
        char mark; /* ' ', '>' or 'x' */
    } todos[ADAPTER_TODOS_MAX];
    struct {
        char id[ADAPTER_ID_MAX], name[ADAPTER_ID_MAX], summary[ADAPTER_BRIEF_MAX];
    } open[ADAPTER_CALLS_MAX]; /* A ring: an old call that never ended gives way. */
    char summary[ADAPTER_TEXT_MAX];
    char error[ADAPTER_TEXT_MAX];
    char session_id[ADAPTER_ID_MAX];   /* As reported; "": none yet. */
    char message_id[ADAPTER_ID_MAX];   /* Of the message that is streamed; "": none. */
    char words[ADAPTER_TEXT_MAX];      /* Of an answer that comes in pieces. */
    char plan_hash[65];                /* Of the plan that was reported last; "": none yet. */
    char retry_text[ADAPTER_NAME_MAX]; /* Of the last retry that was reported. */
};

/* What an agent is told when it is spoken to on its stdin. */
struct conversation {
    const char *prompt;
    const char *session_id; /* To resume, or NULL. */
    double session_usd;     /* What that session has cost in earlier attempts. */
    const char *cwd;        /* As the agent sees it. */
    const char *model;      /* Or NULL. */
    bool asks_permission;   /* People decide about calls of tools. */
    bool asks_forms;        /* People are asked what the agent wants to know. */
};

/* Functions other than the first two append to transcript->input; each may be NULL. */
struct adapter_ops {
    void (*line)(struct transcript *transcript, struct str line); /* NULL: lines are not parsed. */
    /* The same after a stop, for what the agent has used; NULL: the lines are not read. */
    void (*late_line)(struct transcript *transcript, struct str line);
    bool turn_is_whole; /* A turn is the whole work on a prompt: tool calls are counted too. */
    bool tells_end;     /* A session that began ends with a record, or has been broken off. */
    /* Begins the conversation on the agent's stdin; NULL: the prompt is a file on stdin. */
    void (*begin)(struct transcript *transcript, const struct conversation *conversation);
    const char *begin_flag; /* Without this argument the agent reads no conversation; or NULL. */
    /* One message of a person, for the agent's next turn; NULL: waits for the next attempt. */
    void (*say)(struct transcript *transcript, const char *text);
    /* What the agent asks people and waits for, or NULL; the same until it is answered. */
    const struct question_spec *(*asks)(const struct transcript *transcript);
    /* The answer to that; NULL: there is none. */
    void (*answer)(struct transcript *transcript, const char *answer);
    /* Asks the agent to end in its own protocol, before any signal; NULL: no such request. */
    void (*interrupt)(struct transcript *transcript);
};
extern const struct adapter_ops adapter_ndjson, adapter_claude, adapter_codex, adapter_gemini,
    adapter_copilot, adapter_cursor, adapter_opencode, adapter_goose, adapter_amp, adapter_text,
    adapter_acp;
struct acp;
void acp_free(struct acp *acp); /* adapter_acp.c */

/* Without limits; set them after it. */
void transcript_init(struct transcript *transcript, enum adapter adapter,
                     struct progress *progress);
void transcript_release(struct transcript *transcript);
/* Does the agent with this command (NULL-terminated) read a conversation on its stdin? */
bool transcript_converses(const struct transcript *transcript, const char *const *command);
/* Lines after a stop are welcome too: the agent's last sums are among them. */
void transcript_line(struct transcript *transcript, struct str line);

/* ---- for adapters: lines and texts ---- */

/* A line that is a JSON object; NULL when it is not. */
struct js *transcript_parse(struct str line);
/* One JSON object for the agent's stdin, as a line.  What does not fit is left out as a whole and
   is the agent's error. */
void transcript_send(struct transcript *transcript, const struct buf *object);
/* Copies with truncation at a whole character. */
void transcript_copy(char *to, size_t to_bytes, const char *from);

/* ---- tools (adapter_tools.c) ---- */

/* Requested and allowed: only of calls that drover, or an agent that says so, decides about. */
enum tool_status {
    TOOL_REQUESTED,
    TOOL_ALLOWED,
    TOOL_STARTED,
    TOOL_COMPLETED,
    TOOL_FAILED,
    TOOL_DENIED,
    TOOL_TIMED_OUT
};
struct tool_event {
    enum tool_status status;
    const char *id;             /* Of the call, or NULL. */
    const char *name;           /* NULL: the one that the call began with. */
    const char *summary;        /* In a few words; NULL: at an end that of the beginning. */
    const struct js *arguments; /* Only their hash is reported; NULL: not known. */
    const char *error;          /* Why it failed or was denied: the last lines count; or NULL. */
    int64_t exit_code;          /* Of a command that failed; 0: not known. */
};
/* An end without a beginning is fine; a beginning is reported once until its call has ended. */
void transcript_tool(struct transcript *transcript, const struct tool_event *event);
/* A call is about to be made of which only the name is known: it may be denied already. */
void transcript_tool_named(struct transcript *transcript, const char *id, const char *name);
/* The first rule that has this name of a tool: a name, or its start and a *; NULL: none has. */
const char *tool_rule(const char *const *rules, const char *name);
/* The most descriptive argument of a call, by its usual names; NULL: none has one. */
const char *tool_summary(const struct js *arguments);

/* ---- what the agent says ---- */

/* Reports the plan unless it is the one that was reported last. */
void transcript_plan(struct transcript *transcript, const char *text, const char *reason);
void transcript_message(struct transcript *transcript, const char *text);
/* A piece of the model's answer, which is reported as one message when it is over. */
void transcript_words(struct transcript *transcript, const char *piece);
void transcript_words_over(struct transcript *transcript);
/* Reported once for each id. */
void transcript_session(struct transcript *transcript, const char *id, const char *model);
void transcript_model(struct transcript *transcript, const char *model);

/* ---- sums ---- */

/* What one request to the model has used, as far as it is known. */
struct request_usage {
    const char *message_id; /* Counts once for each id, as far as it grows; NULL: one of its own. */
    const char *model;      /* For its price; NULL: that of the session. */
    bool many;              /* A sum of requests: none of them counts as a long one. */
    struct tokens tokens;
};
/* True when it is a new request. */
bool transcript_tokens(struct transcript *transcript, const struct request_usage *request);
/* One turn more; the cost is added. */
void transcript_turn(struct transcript *transcript, double cost_usd);
/* The model answers: one turn more, unless this is more of the same answer. */
void transcript_answers(struct transcript *transcript);
/* A turn of a program that prints the tokens of a whole turn only: counts unless its requests are
   noted elsewhere, and are known before transcript_requests_over. */
void transcript_whole_turn(struct transcript *transcript, const struct tokens *tokens);
/* The first request was found: whole turns that were counted give way. */
void transcript_requests_known(struct transcript *transcript);
void transcript_requests_over(struct transcript *transcript);
/* The sums have changed: reports them and compares them with the limits. */
void transcript_sums(struct transcript *transcript);
/* Only compares. */
void transcript_check(struct transcript *transcript);
/* The agent's own total of all requests replaces what was added up. */
void transcript_total(struct transcript *transcript, const struct tokens *total);
int64_t tokens_bounded(int64_t tokens);
double cost_bounded(double usd);

/* ---- the provider (adapter_provider.c) ---- */

/* The program repeats a request by itself. */
struct provider_retry {
    int64_t attempt, attempts_max; /* 0: not known. */
    int64_t delay_ms;              /* 0: not known. */
    int64_t status;                /* Of HTTP; 0: not known. */
    const char *why;
};
/* Reported as a message.  A login that is refused again and again stops the agent. */
void transcript_retrying(struct transcript *transcript, const struct provider_retry *retry);

/* How much of the account's limit is used up: agent.account.usage. */
struct account_usage {
    const char *window; /* "five_hour", "seven_day", ...; or NULL. */
    double utilization; /* 0 to 1; less: not known. */
    int64_t resets_us;  /* 0: not known. */
    const char *status; /* "allowed", "allowed_warning", "rejected". */
};
void transcript_account(struct transcript *transcript, const struct account_usage *usage);

/* An error record of the program's own format: it has given up, because of its provider perhaps
   (refusal.h). */
struct provider_refusal {
    int64_t status; /* Of HTTP; 0: not known. */
    const char *text;
    bool has_no_status; /* The format has none: a text about a limit is a record of one. */
};
void transcript_refused(struct transcript *transcript, const struct provider_refusal *refusal);

/* ---- how it ended ---- */

void transcript_succeeded(struct transcript *transcript, const char *summary);
/* An error of the agent, which may be that its account is used up. */
void transcript_failed(struct transcript *transcript, const char *error);
/* The account is used up, by this message. */
void transcript_quota(struct transcript *transcript, const char *message);
/* The first reason counts. */
void transcript_stop(struct transcript *transcript, const char *why);
#endif
