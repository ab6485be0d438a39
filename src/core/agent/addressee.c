#include "core/agent/addressee.h"
#include "core/queue/queue_config.h"
#include <ctype.h>
#include <string.h>

static bool is_lower_alnum(unsigned char c)
{
    return isdigit(c) || (c >= 'a' && c <= 'z');
}

bool persona_name_valid(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > PERSONA_NAME_MAX || !is_lower_alnum((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower_alnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return true;
}

bool agent_name_valid(const char *name)
{
    size_t len = strlen(name);
    return len <= AGENT_NAME_MAX && queue_name_valid(name) && isalnum((unsigned char)name[0]);
}

static const char *queue_of_agent(const struct addressee *to, struct arena *arena)
{
    return arena_printf(arena, "%s.agent.%s", to->queue, to->agent);
}

static const char *queue_of_persona(const struct addressee *to, struct arena *arena)
{
    return arena_printf(arena, "%s.%s", to->queue, to->persona);
}

const char *addressee_queue(const struct addressee *to, struct arena *arena)
{
    if (to->agent != NULL)
        return queue_of_agent(to, arena);
    return to->persona != NULL ? queue_of_persona(to, arena) : to->queue;
}

enum rc addressee_check(const struct addressee *to, struct arena *arena, struct err *err)
{
    const char *queue = addressee_queue(to, arena);
    if (queue_name_valid(queue))
        return RC_OK;
    return err_field(err, RC_INVALID, "INVALID_FIELD", to->agent != NULL ? "agent" : "persona",
                     "the queue %s would have a name of more than 100 bytes: shorten agent.queue "
                     "of the repository",
                     queue);
}

const char *const *addressee_queues(const struct addressee *to, bool general, struct arena *arena)
{
    const char **queues = arena_array(arena, ADDRESSEE_QUEUES_MAX + 1, sizeof *queues);
    size_t count = 0;
    if (to->agent != NULL)
        queues[count++] = queue_of_agent(to, arena);
    if (to->persona != NULL)
        queues[count++] = queue_of_persona(to, arena);
    if (general || count == 0)
        queues[count++] = arena_strdup(arena, to->queue);
    return queues;
}
