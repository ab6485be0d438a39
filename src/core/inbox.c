#include "core/inbox.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/jw.h"
#include "base/str.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    BEHIND_MAX = 24,
    PRIORITY_USUAL = 100,
    PRIORITY_STEPS_MAX = 100,
    ISSUE_BYTES_MAX = 8 * 1024,
};

#define BEHIND_US   (2 * US_PER_HOUR)
#define PRIORITY_US (30 * US_PER_MINUTE)
#define EXPIRY_US   (24 * US_PER_HOUR)

/* %s in a command is the argument, %j {"issueId": argument}; both quoted for a shell. */
static const struct kind {
    const char *name;
    int64_t head_start_hours;
    const char *command, *show;
    const char *href; /* Before the key ('/' at its end), or the argument ('='). */
} kinds[INBOX_KIND_COUNT] = {
    [INBOX_ESCALATION] = {"escalation", 72,
                          "drover event append --type conductor.issue.approved %j",
                          "drover issue status %s", "/v1/lifecycle/"},
    [INBOX_GATE] = {"gate", 48, "drover event append --type conductor.human_gate.approved %j",
                    "drover issue status %s", "/v1/lifecycle/"},
    [INBOX_QUARANTINE] = {"quarantine", 48, "drover repo release %s", "drover repo show %s",
                          "/v1/repositories/"},
    [INBOX_COST_LIMIT] = {"cost_limit", 48, "drover tasks --status deferred",
                          "drover tasks --status deferred", "/v1/tasks?status=deferred"},
    [INBOX_TRAIN] = {"train", 24, "drover train %s", "drover train %s", "/v1/trains?repository="},
    [INBOX_APPROVAL] = {"approval", 12, "drover approve %s", "drover approval %s",
                        "/v1/approvals/"},
    [INBOX_QUESTION] = {"question", 12, "drover answer %s TEXT", "drover question %s",
                        "/v1/questions/"},
    [INBOX_ACCOUNT] = {"account", 8, "drover accounts resume %s", "drover accounts",
                       "/v1/accounts"},
    [INBOX_SAGA] = {"saga", 8, "drover dlq replay %s", "drover dlq show %s", "/v1/sagas/"},
    [INBOX_BATCH] = {"batch", 6, "drover batch show %s", "drover batch show %s", "/v1/batches/"},
    [INBOX_BUDGET] = {"budget", 4, "drover retry %s", "drover task %s", "/v1/tasks/"},
    [INBOX_SINK] = {"sink", 2, "drover sink resume %s", "drover sink show %s", "/v1/sinks/"},
    [INBOX_SINK_LETTERS] = {"sink_letters", 2, "drover sink replay %s --all", "drover sink dead %s",
                            "/v1/sinks/"},
    [INBOX_DEAD_LETTERS] = {"dead_letters", 2, "drover dlq replay --queue %s",
                            "drover dlq list --queue %s", "/v1/dead-letters?queue="},
};

const char *const inbox_kind_names[] = {"escalation",   "gate",         "quarantine", "cost_limit",
                                        "train",        "approval",     "question",   "account",
                                        "saga",         "batch",        "budget",     "sink",
                                        "sink_letters", "dead_letters", NULL};

const char *inbox_kind_name(enum inbox_kind kind)
{
    assert(kind < INBOX_KIND_COUNT);
    return kinds[kind].name;
}

bool inbox_kind_parse(const char *name, enum inbox_kind *ret_kind)
{
    for (int i = 0; i < INBOX_KIND_COUNT; i++)
        if (text_same(kinds[i].name, name)) {
            *ret_kind = (enum inbox_kind)i;
            return true;
        }
    return false;
}

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

int64_t inbox_rank(const struct inbox_facts *facts)
{
    assert(facts->kind < INBOX_KIND_COUNT);
    int64_t since_us = facts->since_us;
    if (facts->expires_us > 0 && facts->expires_us - EXPIRY_US < since_us)
        since_us = facts->expires_us - EXPIRY_US;
    int64_t steps = clamp(PRIORITY_USUAL - facts->priority, -PRIORITY_STEPS_MAX,
                          PRIORITY_STEPS_MAX);
    return since_us - kinds[facts->kind].head_start_hours * US_PER_HOUR -
           clamp(facts->behind, 0, BEHIND_MAX) * BEHIND_US - steps * PRIORITY_US;
}

int inbox_compare(const struct inbox_place *a, const struct inbox_place *b)
{
    if (a->rank_us != b->rank_us)
        return a->rank_us < b->rank_us ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->key, b->key);
}

enum role inbox_role(enum inbox_kind kind)
{
    return kind == INBOX_ESCALATION || kind == INBOX_GATE ? ROLE_ADMIN : ROLE_OPERATOR;
}

static const char *issue_json(const char *issue_id, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, ISSUE_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "issueId", issue_id);
    jw_end(&jw, '}');
    return arena_strdup(arena, buf_text(&text));
}

/* pattern has one %s or %j, or none. */
static const char *put(const char *pattern, const char *argument, struct arena *arena)
{
    const char *at = strchr(pattern, '%');
    if (at == NULL)
        return pattern;
    const char *word = at[1] == 'j' ? issue_json(argument, arena) : argument;
    return arena_printf(arena, "%.*s%s%s", (int)(at - pattern), pattern, shell_quote(word, arena),
                        at + 2);
}

static const char *escape(const char *text, struct arena *arena)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t len = strlen(text);
    char *to = arena_alloc(arena, 3 * len + 1), *end = to;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL)
            *end++ = (char)*at;
        else
            end += snprintf(end, 4, "%%%02X", *at);
    }
    *end = '\0';
    return to;
}

struct inbox_ways inbox_ways(enum inbox_kind kind, const char *key, const char *argument,
                             struct arena *arena)
{
    assert(kind < INBOX_KIND_COUNT);
    const struct kind *about = &kinds[kind];
    char last = about->href[strlen(about->href) - 1];
    const char *name = last == '/' ? key : last == '=' ? argument : "";
    return (struct inbox_ways){
        .command = put(about->command, argument, arena),
        .show = put(about->show, argument, arena),
        .href = arena_printf(arena, "%s%s", about->href, escape(name, arena)),
    };
}
