#include "core/queue/topic.h"
#include "base/str.h"
#include <ctype.h>
#include <string.h>

/* Cuts the token at the front off; false at the end.  "a..b" has an empty one in the middle. */
static bool next_token(const char **rest, struct str *ret_token)
{
    if (*rest == NULL)
        return false;
    const char *dot = strchr(*rest, '.');
    *ret_token = (struct str){*rest, dot != NULL ? (size_t)(dot - *rest) : strlen(*rest)};
    *rest = dot != NULL ? dot + 1 : NULL;
    return true;
}

static bool is_word(struct str token)
{
    for (size_t i = 0; i < token.len; i++)
        if (!isalnum((unsigned char)token.at[i]) && token.at[i] != '_' && token.at[i] != '-')
            return false;
    return token.len > 0;
}

static bool is_valid(const char *text, bool wild)
{
    struct str token;
    size_t tokens = 0;
    if (strlen(text) > TOPIC_BYTES_MAX)
        return false;
    for (const char *rest = text; next_token(&rest, &token);) {
        bool star = wild && str_is(token, "*");
        bool tail = wild && str_is(token, ">") && rest == NULL;
        if (++tokens > TOPIC_TOKENS_MAX || (!star && !tail && !is_word(token)))
            return false;
    }
    return true;
}

bool topic_valid(const char *topic)
{
    return is_valid(topic, false);
}

bool topic_pattern_valid(const char *pattern)
{
    return is_valid(pattern, true);
}

bool topic_matches(const char *pattern, const char *topic)
{
    struct str want, have;
    while (next_token(&pattern, &want)) {
        if (!next_token(&topic, &have))
            return false;
        if (str_is(want, ">"))
            return true;
        if (!str_is(want, "*") && !str_same(want, have))
            return false;
    }
    return topic == NULL;
}
