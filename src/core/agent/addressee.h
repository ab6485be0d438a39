/*
 * addressee.h - for which agents a piece of work is (any, those of a persona, one by its name), and
 * the queue that follows from it.
 *
 *   agents               work for any agent: agent.queue of the repository
 *   agents.reviewer      work for agents of a persona
 *   agents.agent.bob     work for one agent
 *
 * A persona has no dot, so that the queue of a persona is never that of an agent.
 */
#ifndef CORE_AGENT_ADDRESSEE_H
#define CORE_AGENT_ADDRESSEE_H
#include "base/arena.h"
#include "base/rc.h"
#include <stdbool.h>

enum { PERSONA_NAME_MAX = 32, AGENT_NAME_MAX = 48, ADDRESSEE_QUEUES_MAX = 3 };
#define AGENT_QUEUE_DEFAULT "agents" /* agent.queue of a repository that names none. */

struct addressee {
    const char *queue;   /* agent.queue */
    const char *persona; /* or NULL */
    const char *agent;   /* or NULL */
};

#define PERSONA_NAME_RULE "a persona's name has lower-case letters, digits, '_' and '-'"
#define AGENT_NAME_RULE   "an agent's name begins with a letter or digit and has '.', '_' and '-'"
bool persona_name_valid(const char *name); /* [a-z0-9][a-z0-9_-]{0,31} */
bool agent_name_valid(const char *name);   /* [A-Za-z0-9][A-Za-z0-9._-]{0,47} */

/* The queue that work of this addressee waits in.  An agent's name decides alone. */
const char *addressee_queue(const struct addressee *to, struct arena *arena);
/* RC_INVALID, INVALID_FIELD at persona or agent: the queue's name would be too long. */
MUST_USE enum rc addressee_check(const struct addressee *to, struct arena *arena, struct err *err);

/* The queues that an agent of this kind takes work from, in order of preference, with NULL behind
   the last: its own, its persona's and, if it may, that of work for any.  All in the arena. */
const char *const *addressee_queues(const struct addressee *to, bool general, struct arena *arena);
#endif
