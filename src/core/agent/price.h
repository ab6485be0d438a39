/*
 * price.h - what the tokens of a model cost.  Pure.
 *
 * Agents report their cost at their end, if at all.  So that a budget holds while they work, the
 * cost of every request is computed: from `agent.prices` of the configuration where it has them,
 * else from the list prices of the provider for that model (price.c).  A model without a price
 * costs 0: then only what the agent itself reports counts.
 */
#ifndef CORE_AGENT_PRICE_H
#define CORE_AGENT_PRICE_H
#include "core/config/repo_config.h"
#include <stdint.h>

/* Tokens of one request or of several. */
struct tokens {
    int64_t input;          /* All of it; the next three are parts of it. */
    int64_t cached_input;   /* Read from the cache. */
    int64_t cache_write;    /* Written to the cache for 5 minutes, */
    int64_t cache_write_1h; /* and for an hour. */
    int64_t output;
};

/* What is to be paid for. */
struct token_sale {
    const char *model;     /* As the agent names it: "claude-opus-4-8[1m]", "openai/gpt-5.5". */
    struct tokens tokens;  /* Of one request, or what it has used more than was known. */
    int64_t request_input; /* The whole input of that request: long ones cost more. */
};
/* USD.  Own prices (not all zero) override those of the model. */
double price_of(const struct token_sale *sale, const struct price_config *own);
#endif
