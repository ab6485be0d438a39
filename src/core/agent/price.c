#include "core/agent/price.h"
#include "base/str.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { NAME_MAX_BYTES = 80, MILLION = 1000000 };

/* List prices in USD for a million tokens, as the providers published them in November 2026;
   promotions are left out.  A name stands for all that begin with it and continue with none of
   a-z, 0-9 and '.', so that a date, a variant and "[1m]" are covered, and "gpt-5" is not "gpt-5.9".
   The longest name that fits counts.  Cache writes of 0 cost as much as input. */
struct price {
    const char *name;
    double input, cached_input, cache_write, cache_write_1h, output;
    int64_t long_over; /* Requests with more input cost the following times as much; 0: none do. */
    double long_input, long_output;
};

#define FLAT        0, 1, 1
#define LONG_GPT    272000, 2, 1.5
#define LONG_GEMINI 200000, 2, 1.5

static const struct price prices[] = {
    {"claude-fable-5", 10, 1, 12.5, 20, 50, FLAT},
    {"claude-fable-5-1", 10, 0.25, 12.5, 20, 50, FLAT},
    {"claude-mythos-5", 10, 1, 12.5, 20, 50, FLAT},
    {"claude-mythos-5-1", 10, 0.25, 12.5, 20, 50, FLAT},
    {"claude-opus-5-5", 4, 0.2, 5, 8, 20, FLAT},
    {"claude-opus-5", 5, 0.5, 6.25, 10, 25, FLAT},
    {"claude-opus-4", 5, 0.5, 6.25, 10, 25, FLAT},
    {"claude-opus-4-1", 15, 1.5, 18.75, 30, 75, FLAT},
    {"claude-opus-4-0", 15, 1.5, 18.75, 30, 75, FLAT},
    {"claude-opus-4-20250514", 15, 1.5, 18.75, 30, 75, FLAT},
    {"claude-3-opus", 15, 1.5, 18.75, 30, 75, FLAT},
    {"claude-sonnet-5-5", 2, 0.1, 2.5, 4, 10, FLAT},
    {"claude-sonnet-5", 2, 0.2, 2.5, 4, 10, FLAT},
    {"claude-sonnet-4", 3, 0.3, 3.75, 6, 15, FLAT},
    {"claude-3-7-sonnet", 3, 0.3, 3.75, 6, 15, FLAT},
    {"claude-3-5-sonnet", 3, 0.3, 3.75, 6, 15, FLAT},
    {"claude-haiku-5-5", 0.1, 0.01, 0.125, 0.2, 0.5, 100000, 5, 5},
    {"claude-haiku-4", 1, 0.1, 1.25, 2, 5, FLAT},
    {"claude-3-5-haiku", 0.8, 0.08, 1, 1.6, 4, FLAT},
    {"claude-3-haiku", 0.25, 0.03, 0.3, 0.5, 1.25, FLAT},
    {"gpt-6-astra", 10, 1, 0, 0, 50, LONG_GPT},
    {"gpt-6.1-sol", 2, 0.1, 2.5, 2.5, 10, LONG_GPT},
    {"gpt-6.1-terra", 1, 0.05, 1.25, 1.25, 5, LONG_GPT},
    {"gpt-6-sol", 2, 0.2, 2.5, 2.5, 10, LONG_GPT},
    {"gpt-6-luna", 0.1, 0.01, 0.125, 0.125, 0.5, LONG_GPT},
    {"gpt-5.6", 5, 0.5, 6.25, 6.25, 30, LONG_GPT},
    {"gpt-5.6-terra", 2, 0.2, 2.5, 2.5, 12, LONG_GPT},
    {"gpt-5.6-luna", 0.2, 0.02, 0.25, 0.25, 1.2, LONG_GPT},
    {"gpt-5.5", 5, 0.5, 0, 0, 30, LONG_GPT},
    {"gpt-5.5-pro", 30, 30, 0, 0, 180, FLAT},
    {"gpt-5.4", 2.5, 0.25, 0, 0, 15, LONG_GPT},
    {"gpt-5.4-mini", 0.75, 0.075, 0, 0, 4.5, FLAT},
    {"gpt-5.4-nano", 0.2, 0.02, 0, 0, 1.25, FLAT},
    {"gpt-5.4-pro", 30, 30, 0, 0, 180, FLAT},
    {"gpt-5.3", 1.75, 0.175, 0, 0, 14, FLAT},
    {"gpt-5.2", 1.75, 0.175, 0, 0, 14, FLAT},
    {"gpt-5.1", 1.25, 0.125, 0, 0, 10, FLAT},
    {"gpt-5.1-codex-mini", 0.25, 0.025, 0, 0, 2, FLAT},
    {"gpt-5", 1.25, 0.125, 0, 0, 10, FLAT},
    {"gpt-5-mini", 0.25, 0.025, 0, 0, 2, FLAT},
    {"gpt-5-nano", 0.05, 0.005, 0, 0, 0.4, FLAT},
    {"codex-mini", 1.5, 0.375, 0, 0, 6, FLAT},
    {"gemini-3.8-flash", 1.5, 0.15, 0, 0, 7.5, FLAT},
    {"gemini-3.7-flash", 1.5, 0.15, 0, 0, 7.5, FLAT},
    {"gemini-3.6-flash", 1.5, 0.15, 0, 0, 7.5, FLAT},
    {"gemini-3.5-flash", 1.5, 0.15, 0, 0, 9, FLAT},
    {"gemini-3.1-flash-lite", 0.25, 0.025, 0, 0, 1.5, FLAT},
    {"gemini-3.1-pro", 2, 0.2, 0, 0, 12, LONG_GEMINI},
    {"gemini-3-pro", 2, 0.2, 0, 0, 12, LONG_GEMINI},
    {"gemini-3-flash", 0.5, 0.05, 0, 0, 3, FLAT},
    {"gemini-2.5-pro", 1.25, 0.125, 0, 0, 10, LONG_GEMINI},
    {"gemini-2.5-flash", 0.3, 0.03, 0, 0, 2.5, FLAT},
    {"gemini-2.5-flash-lite", 0.1, 0.01, 0, 0, 0.4, FLAT},
};

/* "us.anthropic.claude-opus-4.5" is claude-opus-4-5: the name without its vendor, in lower case. */
static void plain_name(char to[NAME_MAX_BYTES], const char *model)
{
    static const char *const families[] = {"claude-", "gpt-", "codex-", "gemini-"};
    const char *slash = strrchr(model, '/');
    text_copy(to, NAME_MAX_BYTES, slash != NULL ? slash + 1 : model);
    for (char *at = to; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        const char *at = strstr(to, families[i]);
        if (at != NULL && at > to && at[-1] == '.')
            memmove(to, at, strlen(at) + 1);
    }
    for (char *dot = to; text_starts(to, "claude-") && (dot = strchr(dot, '.')) != NULL;)
        *dot = '-';
}

static const struct price *find(const char *model)
{
    char name[NAME_MAX_BYTES];
    const struct price *best = NULL;
    size_t best_len = 0;
    if (text_empty(model))
        return NULL;
    plain_name(name, model);
    for (size_t i = 0; i < COUNT_OF(prices); i++) {
        size_t len = strlen(prices[i].name);
        unsigned char next = text_starts(name, prices[i].name) ? (unsigned char)name[len] : 'x';
        if (len > best_len && !isalnum(next) && next != '.') {
            best = &prices[i];
            best_len = len;
        }
    }
    return best;
}

double price_of(const struct token_sale *sale, const struct price_config *own)
{
    const struct tokens *tokens = &sale->tokens;
    bool has_own = own->input > 0 || own->cached_input > 0 || own->output > 0;
    const struct price configured = {
        .input = own->input, .cached_input = own->cached_input, .output = own->output};
    const struct price *price = has_own ? &configured : find(sale->model);
    if (price == NULL)
        return 0;
    bool is_long = price->long_over > 0 && sale->request_input > price->long_over;
    int64_t plain = tokens->input - tokens->cached_input - tokens->cache_write -
                    tokens->cache_write_1h;
    double write = price->cache_write > 0 ? price->cache_write : price->input;
    double write_1h = price->cache_write_1h > 0 ? price->cache_write_1h : price->input;
    double input = (double)(plain > 0 ? plain : 0) * price->input +
                   (double)tokens->cached_input * price->cached_input +
                   (double)tokens->cache_write * write + (double)tokens->cache_write_1h * write_1h;
    double output = (double)tokens->output * price->output;
    return (input * (is_long ? price->long_input : 1) +
            output * (is_long ? price->long_output : 1)) /
           MILLION;
}
