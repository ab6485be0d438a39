#include "core/conductor/choose.h"
#include "base/js.h"
#include <string.h>

/* A JSON array of names; NULL: none. */
static struct js *names_of(struct str json)
{
    struct js *names = NULL;
    return json.len > 0 && js_parse(json.at, json.len, &names, NULL) == RC_OK ? names : NULL;
}

static bool works_for(const struct conductor_agent *agent, const char *repository)
{
    CLEANUP(js_freep) struct js *globs = names_of(agent->repositories);
    if (js_count(globs) == 0)
        return true;
    for (size_t i = 0; repository != NULL && i < js_count(globs); i++)
        if (glob_match(js_str(js_at(globs, i), ""), repository))
            return true;
    return false;
}

/* How many labels of the issue the agent is for; -1: it is for others. */
static int64_t labels_in_common(const struct conductor_agent *agent, const struct js *labels)
{
    CLEANUP(js_freep) struct js *wanted = names_of(agent->labels);
    int64_t common = 0;
    if (js_count(wanted) == 0)
        return 0;
    for (size_t i = 0; i < js_count(labels); i++)
        for (size_t k = 0; k < js_count(wanted); k++)
            common += text_same(js_str(js_at(labels, i), ""), js_str(js_at(wanted, k), ""));
    return common > 0 ? common : -1;
}

struct rank {
    bool again;
    int64_t labels;
    double busy, stuck, seconds;
    const char *name;
};

static struct rank rank_of(const struct issue_life *issue, const struct conductor_agent *agent,
                           int64_t labels)
{
    double had = (double)(agent->done + agent->stuck);
    return (struct rank){
        .again = text_same(agent->name, issue->last_stuck),
        .labels = labels,
        .busy = (double)agent->load / (double)agent->capacity,
        .stuck = had > 0 ? (double)agent->stuck / had : 0,
        .seconds = agent->done > 0 ? (double)agent->work_us / (double)agent->done : 0,
        .name = agent->name,
    };
}

static bool is_better(const struct rank *a, const struct rank *b)
{
    if (a->again != b->again)
        return !a->again;
    if (a->labels != b->labels)
        return a->labels > b->labels;
    if (a->busy != b->busy)
        return a->busy < b->busy;
    if (a->stuck != b->stuck)
        return a->stuck < b->stuck;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds;
    return strcmp(a->name, b->name) < 0;
}

int choose_agent(const struct issue_life *issue, bool may_submit,
                 const struct conductor_agent *agents, size_t count)
{
    CLEANUP(js_freep) struct js *labels = names_of(issue->labels);
    struct rank best = {0};
    int chosen = CHOOSE_NONE;
    for (size_t i = 0; i < count; i++) {
        const struct conductor_agent *agent = &agents[i];
        int64_t common = labels_in_common(agent, labels);
        bool fits = common >= 0 && agent->load < agent->capacity &&
                    (issue->persona == NULL || text_same(issue->persona, agent->persona)) &&
                    works_for(agent, issue->repository) && (!agent->in_house || may_submit);
        if (!fits)
            continue;
        const struct rank rank = rank_of(issue, agent, common);
        if (chosen == CHOOSE_NONE || is_better(&rank, &best)) {
            best = rank;
            chosen = (int)i;
        }
    }
    return chosen;
}
