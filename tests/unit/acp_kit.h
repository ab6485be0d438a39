/*
 * acp_kit.h - a scripted agent that speaks the Agent Client Protocol, for tests of the adapter.
 */
#ifndef TESTS_ACP_KIT_H
#define TESTS_ACP_KIT_H
#include "tests/unit/work_kit.h"
#include "work/agent/adapter.h"

struct acp_kit {
    struct kit kit;
    struct progress progress;
    struct transcript transcript;
};
extern struct acp_kit acp_kit; /* One at a time; a test ends with its process. */

void acp_kit_open(void);
void acp_kit_close(void);

void acp_begin_with(const struct conversation *conversation);
void acp_begin(void);
/* The next message of drover, as text; NULL: there is none. */
const char *acp_told(void);
/* A line of the agent. */
void acp_says(const char *line);
/* The next message, which the agent answers: member is the text of "result" or "error". */
const char *acp_answers(const char *member);
/* A session/update: the members of its update. */
void acp_updates(const char *update);
void acp_speaks(const char *text);
/* Up to its first prompt, which is not answered yet. */
void acp_open_session(void);
/* All that the server has heard. */
const char *acp_events(void);
/* How often a text stands in another. */
size_t acp_count(const char *text, const char *what);

#define INITIALIZED "\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}"
#define OPENED      "\"result\":{\"sessionId\":\"s1\"}"
#define ENDED       "\"result\":{\"stopReason\":\"end_turn\"}"
#endif
