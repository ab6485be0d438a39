/*
 * adapter_text.c - agents that print text for people, with the sums of aider:
 *
 *     Tokens: 2.3k sent, 1.1k received. Cost: $0.01 message, $0.02 session.
 *     Tokens: 12k sent, 3.0k cache write, 8.2k cache hit, 640 received.
 *     Cost: $0.02 message, $0.05 session.
 *
 * Written after the source of aider 0.86 (Coder.calculate_and_show_tokens_and_cost).  Every line of
 * tokens is one turn; from 1,000 on they are rounded to two or three digits.  The cost of the
 * session is a sum.  What is sent has those in it that were written to the cache, and those that
 * hit it where the provider counts them so.  There is no report: the exit code decides.
 */
#include "work/agent/adapter.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 400 };

/* "2.3k" and "640", before " sent"; 0 when it is not there. */
static int64_t tokens_before(const char *line, const char *word)
{
    const char *end = strstr(line, word);
    if (end == NULL)
        return 0;
    const char *from = end;
    while (from > line && (isdigit((unsigned char)from[-1]) || strchr(".kM", from[-1]) != NULL))
        from--;
    char *rest = NULL;
    double value = strtod(from, &rest);
    double unit = rest < end && *rest == 'k' ? 1e3 : rest < end && *rest == 'M' ? 1e6 : 1;
    return value > 0 && value < 1e9 ? (int64_t)(value * unit + 0.5) : 0;
}

static void take_cost(struct transcript *transcript, const char *line)
{
    const char *session = strstr(line, " session.");
    const char *dollar = session;
    while (dollar != NULL && dollar > line && *dollar != '$')
        dollar--;
    double usd = dollar != NULL && *dollar == '$' ? strtod(dollar + 1, NULL) : 0;
    if (usd > transcript->usage.cost_usd)
        transcript->usage.cost_usd = cost_bounded(usd);
}

static void text_line(struct transcript *transcript, struct str line)
{
    char text[LINE_BYTES_MAX];
    bool tokens = line.len < sizeof text && line.len > 7 && memcmp(line.at, "Tokens:", 7) == 0;
    bool cost = line.len < sizeof text && line.len > 5 && memcmp(line.at, "Cost:", 5) == 0;
    if (!tokens && !cost)
        return;
    memcpy(text, line.at, line.len);
    text[line.len] = '\0';
    double before = transcript->usage.cost_usd;
    if (tokens) {
        int64_t sent = tokens_before(text, " sent"), cached = tokens_before(text, " cache hit");
        struct request_usage request = {
            .tokens = {.input = sent > cached ? sent : cached,
                       .cached_input = cached,
                       .cache_write = tokens_before(text, " cache write"),
                       .output = tokens_before(text, " received")},
        };
        (void)transcript_tokens(transcript, &request);
    }
    if (strstr(text, " session.") != NULL) {
        transcript->usage.cost_usd = before; /* Its own cost overrides our prices. */
        take_cost(transcript, text);
    }
    if (tokens)
        transcript_turn(transcript, 0);
    else
        transcript_sums(transcript);
}

const struct adapter_ops adapter_text = {.line = text_line};
