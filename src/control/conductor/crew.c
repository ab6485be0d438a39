#include "control/conductor/crew.h"
#include "control/agents/registry.h"
#include "store/agents.h"
#include "store/issue_states.h"
#include <stdlib.h>
#include <string.h>

enum { CREW_MAX = AGENTS_MAX + CONDUCTOR_AGENTS_MAX, STANDINGS_MAX = 10000 };

const struct conductor_agent *crew_find(const struct conductor_config *config, const char *name)
{
    for (size_t i = 0; i < config->count; i++)
        if (text_same(config->agents[i].name, name))
            return &config->agents[i];
    return NULL;
}

static struct conductor_agent of_registry(const struct agent_row *row)
{
    return (struct conductor_agent){
        .name = row->name,
        .persona = row->persona,
        .repositories = row->repositories,
        .labels = row->labels,
        .capacity = row->capacity,
    };
}

static int by_agent(const void *key, const void *item)
{
    return strcmp(key, ((const struct agent_standing *)item)->result.agent);
}

static void add_standing(struct conductor_agent *agent, const struct agent_standing *standings,
                         size_t count)
{
    const struct agent_standing *standing = count > 0 ? bsearch(agent->name, standings, count,
                                                                sizeof *standings, by_agent)
                                                      : NULL;
    if (standing == NULL)
        return;
    agent->load = standing->load;
    agent->done = standing->result.done;
    agent->work_us = standing->result.work_us;
    agent->stuck = standing->result.stuck;
}

enum rc crew_load(struct context *ctx, const struct conductor_config *config, struct crew *ret_crew)
{
    const struct agent_filter all = {.state = -1, .limit = AGENTS_MAX};
    struct agent_row *rows = NULL;
    struct agent_standing *standings = NULL;
    size_t count = 0, standing_count = 0;
    struct crew crew = {.agents = arena_array(ctx->arena, CREW_MAX, sizeof *crew.agents)};
    enum rc rc = agents_list(ctx->db, &all, ctx->arena, &rows, &count, ctx->err);
    if (rc == RC_OK)
        rc = agent_standings(ctx->db, STANDINGS_MAX, ctx->arena, &standings, &standing_count,
                             ctx->err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < config->count; i++)
        crew.agents[crew.count++] = config->agents[i];
    for (size_t i = 0; i < count; i++)
        if (instance_may_claim(rows[i].state) && crew_find(config, rows[i].name) == NULL)
            crew.agents[crew.count++] = of_registry(&rows[i]);
    for (size_t i = 0; i < crew.count; i++)
        add_standing(&crew.agents[i], standings, standing_count);
    for (size_t i = 0; i < standing_count; i++)
        crew.at_work += standings[i].load;
    *ret_crew = crew;
    return RC_OK;
}
