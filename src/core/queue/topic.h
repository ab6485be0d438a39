/*
 * topic.h - names of topics, and patterns over them.
 *
 *     topic      token *( "." token )       token: letters, digits, '_' and '-'
 *     pattern    the same, where a token may also be
 *                  *   any one token
 *                  >   one token or more; only at the end
 *
 *     ticket.*   matches  ticket.created            not ticket, ticket.created.eu
 *     ticket.>   matches  ticket.created.eu as well  not ticket
 */
#ifndef CORE_QUEUE_TOPIC_H
#define CORE_QUEUE_TOPIC_H
#include <stdbool.h>

enum { TOPIC_BYTES_MAX = 200, TOPIC_TOKENS_MAX = 16 };

/* For messages about names that are not valid. */
#define TOPIC_RULE                                                                         \
    "a topic has up to 16 tokens of letters, digits, '_' and '-' with a '.' between them," \
    " at most 200 bytes"
#define TOPIC_PATTERN_RULE TOPIC_RULE "; in a pattern a token may be *, and the last one >"

bool topic_valid(const char *topic);
bool topic_pattern_valid(const char *pattern);
/* Both must be valid. */
bool topic_matches(const char *pattern, const char *topic);
#endif
