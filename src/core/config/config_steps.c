/*
 * config_steps.c - the sections `plan`, `steps` and `sequence` of a repository's configuration.
 *
 *   plan:     {approval, command, timeoutMs}
 *   steps:    [{name, phase, command | url, timeoutMs, retries, config}]
 *   sequence: [prepare, hydrate, scan, plan, agent, verify, judge, publish]
 *
 * and the time limit that a configuration gives each step.
 */
#include "core/config/config_decoder.h"

enum { STEP_RETRIES_DEFAULT = 2, STEP_CONFIG_BYTES_MAX = 16 * 1024 };

enum rc config_decode_plan(struct decoder *decoder, const struct js *object)
{
    struct repo_config *config = &decoder->config;
    int approval = (int)config->plan.approval;
    struct fields fields;
    fields_open(&fields, object, "plan", decoder->err);
    fields_choice(&fields, "approval", FIELD_OPTIONAL, approval_rule_names, &approval);
    config_command(&fields, FIELD_OPTIONAL, config->plan.command);
    (void)config_put_model(decoder, &fields, config->plan.command);
    config_timeout(&fields, &config->plan.timeout_ms);
    if (config->agent.compute != COMPUTE_PROCESS && config->plan.command[0] == NULL)
        fields_fail(&fields, "command", "command is missing: compute %s has none to plan with",
                    config->agent.compute == COMPUTE_REMOTE ? "remote" : "pull");
    config->plan.approval = (enum approval_rule)approval;
    config->plan.enabled = true;
    return fields_close(&fields);
}

static bool step_known(const struct blueprint *blueprint, const char *name)
{
    for (size_t i = 0; i < blueprint->custom_count; i++) {
        if (text_same(blueprint->customs[i].name, name))
            return true;
    }
    return false;
}

static void decode_step_name(struct fields *fields, const struct blueprint *blueprint,
                             struct custom_step *step)
{
    config_name(fields, "name", FIELD_REQUIRED, &step->name);
    if (step->name == NULL)
        return;
    if (step_name_reserved(step->name))
        fields_fail(fields, "name", "name %s is that of a built-in step", step->name);
    else if (step_known(blueprint, step->name))
        fields_fail(fields, "name", "name %s is there twice", step->name);
}

static void decode_step_config(struct decoder *decoder, struct fields *fields,
                               struct custom_step *step)
{
    const struct js *config = NULL;
    fields_object(fields, "config", FIELD_OPTIONAL, &config);
    if (config == NULL)
        return;
    step->config = str_of(js_text(config, decoder->arena));
    if (step->config.len > STEP_CONFIG_BYTES_MAX)
        fields_fail(fields, "config", "config may have at most %d bytes", STEP_CONFIG_BYTES_MAX);
}

enum rc config_decode_step(struct decoder *decoder, const struct js *object, const char *path)
{
    static const char *const phases[] = {
        [PHASE_PRE_AGENT] = "pre-agent", [PHASE_POST_AGENT] = "post-agent", NULL};
    struct blueprint *blueprint = &decoder->config.blueprint;
    struct custom_step step = {.timeout_ms = 5 * CONFIG_MINUTE_MS, .retries = STEP_RETRIES_DEFAULT};
    int phase = PHASE_PRE_AGENT;
    struct fields fields;
    fields_open(&fields, object, path, decoder->err);
    decode_step_name(&fields, blueprint, &step);
    fields_choice(&fields, "phase", FIELD_OPTIONAL, phases, &phase);
    fields_string(&fields, "command", FIELD_OPTIONAL,
                  &(struct field_text){.min = 1, .max = CONFIG_COMMAND_BYTES_MAX}, &step.command);
    config_http_url(&fields, "url", FIELD_OPTIONAL, &step.url);
    if ((step.command != NULL) == (step.url != NULL))
        fields_fail(&fields, "command", "a step has either command or url");
    config_timeout(&fields, &step.timeout_ms);
    fields_int(&fields, "retries", FIELD_OPTIONAL, &(struct field_range){0, CONFIG_RETRIES_MAX},
               &step.retries);
    decode_step_config(decoder, &fields, &step);
    step.phase = (enum step_phase)phase;
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        blueprint->customs[blueprint->custom_count++] = step;
    return rc;
}

enum rc config_decode_sequence(struct decoder *decoder, const struct js *sequence)
{
    struct repo_config *config = &decoder->config;
    /* The steps themselves, and admission, approve and finalize. */
    const char *names[BLUEPRINT_STEPS_MAX + 4] = {NULL};
    for (size_t i = 0; i < js_count(sequence); i++)
        names[i] = js_str(js_at(sequence, i), "");
    struct blueprint_wish wish = {.sequence = sequence != NULL ? names : NULL,
                                  .plan = config->plan.enabled};
    enum rc rc = blueprint_arrange(&config->blueprint, &wish, decoder->err);
    if (rc != RC_OK)
        return rc;
    bool planned = blueprint_has(&config->blueprint, STEP_PLAN);
    if (config->plan.enabled && !planned)
        return err_field(decoder->err, RC_INVALID, "INVALID_STEP_SEQUENCE", "sequence",
                         "plan is configured and stands nowhere in the sequence");
    config->plan.enabled = planned;
    return RC_OK;
}

/* Each of the repository's own steps has its own limit within the longest of them. */
static int64_t longest_custom_ms(const struct blueprint *blueprint)
{
    int64_t longest = 0;
    for (size_t i = 0; i < blueprint->custom_count; i++) {
        int64_t ms = blueprint->customs[i].timeout_ms;
        longest = ms > longest ? ms : longest;
    }
    return longest;
}

int64_t repo_config_step_ms(const struct repo_config *config, const struct step_row *step)
{
    int64_t checks_ms = 0, judges_ms = 0, setup_ms = 0, total = step->time_ms;
    for (size_t i = 0; i < config->setup_count; i++)
        setup_ms += config->setup[i].timeout_ms;
    for (size_t i = 0; i < config->verify_count; i++)
        checks_ms += config->verify[i].timeout_ms;
    for (size_t i = 0; i < config->judge_count; i++)
        judges_ms += config->judges[i].timeout_ms;
    const struct {
        unsigned part;
        int64_t ms;
    } parts[] = {
        {TIME_PREPARE, config->timeouts.prepare_ms + setup_ms},
        {TIME_HYDRATE, config->timeouts.hydrate_ms},
        {TIME_PLAN, config->plan.timeout_ms},
        {TIME_AGENT, config->timeouts.agent_ms},
        {TIME_CHECKS, checks_ms},
        {TIME_JUDGES, judges_ms},
        {TIME_PUBLISH, config->timeouts.publish_ms},
        {TIME_CUSTOM, longest_custom_ms(&config->blueprint)},
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        total += (step->time & parts[i].part) != 0 ? parts[i].ms : 0;
    return total;
}
