#include "core/conductor/conductor_config.h"
#include "base/fields.h"
#include "core/agent/addressee.h"
#include "core/agent/instance.h"

enum { LIST_MAX = 100 };

struct conductor_config conductor_config_default(void)
{
    return (struct conductor_config){.enabled = true};
}

static struct str read_list(struct fields *fields, const char *key, struct arena *arena)
{
    const struct js *names = NULL;
    fields_strings(fields, key, FIELD_OPTIONAL, LIST_MAX,
                   &(struct field_text){1, ISSUE_EVENT_NAME_MAX}, &names);
    return js_count(names) > 0 ? str_of(js_text(names, arena)) : (struct str){0};
}

static enum rc read_agent(const struct js *object, const char *path, struct arena *arena,
                          struct conductor_agent *ret_agent, struct err *err)
{
    struct conductor_agent agent = {.capacity = 1, .in_house = true};
    const char *name = NULL, *persona = NULL, *profile = NULL;
    struct fields fields;
    fields_open(&fields, object, path, err);
    fields_string(&fields, "name", FIELD_REQUIRED, &(struct field_text){1, AGENT_NAME_MAX}, &name);
    fields_string(&fields, "persona", FIELD_OPTIONAL, &(struct field_text){1, PERSONA_NAME_MAX},
                  &persona);
    fields_string(&fields, "profile", FIELD_OPTIONAL, &(struct field_text){1, ISSUE_EVENT_NAME_MAX},
                  &profile);
    fields_int(&fields, "capacity", FIELD_OPTIONAL, &(struct field_range){1, INSTANCE_CAPACITY_MAX},
               &agent.capacity);
    agent.repositories = read_list(&fields, "repositories", arena);
    agent.labels = read_list(&fields, "labels", arena);
    if (name != NULL && !agent_name_valid(name))
        fields_fail(&fields, "name", AGENT_NAME_RULE);
    if (persona != NULL && !persona_name_valid(persona))
        fields_fail(&fields, "persona", PERSONA_NAME_RULE);
    enum rc rc = fields_close(&fields);
    agent.name = arena_strdup(arena, name);
    agent.persona = arena_strdup(arena, persona);
    agent.profile = arena_strdup(arena, profile);
    if (rc == RC_OK)
        *ret_agent = agent;
    return rc;
}

enum rc conductor_config_decode(const struct js *object, struct arena *arena,
                                struct conductor_config *ret_config, struct err *err)
{
    struct conductor_config config = *ret_config;
    const struct js *list = NULL;
    struct fields fields;
    fields_open(&fields, object, "conductor", err);
    fields_bool(&fields, "enabled", FIELD_OPTIONAL, &config.enabled);
    fields_int(&fields, "maxAtWork", FIELD_OPTIONAL,
               &(struct field_range){0, CONDUCTOR_AT_WORK_MAX}, &config.at_work_max);
    fields_array(&fields, "agents", FIELD_OPTIONAL, CONDUCTOR_AGENTS_MAX, &list);
    enum rc rc = fields_close(&fields);
    size_t count = rc == RC_OK ? js_count(list) : 0;
    struct conductor_agent *agents = arena_array(arena, count + 1, sizeof *agents);
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        const char *path = arena_printf(arena, "conductor.agents[%zu]", i);
        rc = read_agent(js_at(list, i), path, arena, &agents[i], err);
        for (size_t k = 0; rc == RC_OK && k < i; k++)
            if (text_same(agents[k].name, agents[i].name))
                rc = err_field(err, RC_INVALID, "INVALID_FIELD", path, "%s has the name %s twice",
                               "conductor.agents", agents[i].name);
    }
    if (rc != RC_OK)
        return rc;
    if (list != NULL) {
        config.agents = agents;
        config.count = count;
    }
    *ret_config = config;
    return RC_OK;
}
