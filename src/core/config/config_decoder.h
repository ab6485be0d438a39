/*
 * config_decoder.h - what the files that decode a repository's configuration share.
 */
#ifndef CORE_CONFIG_CONFIG_DECODER_H
#define CORE_CONFIG_CONFIG_DECODER_H
#include "base/fields.h"
#include "core/config/repo_config.h"

#define CONFIG_MINUTE_MS INT64_C(60000)
#define CONFIG_HOUR_MS   (60 * CONFIG_MINUTE_MS)
#define CONFIG_DAY_MS    (24 * CONFIG_HOUR_MS)

enum {
    CONFIG_COMMAND_BYTES_MAX = 16 * 1024,
    CONFIG_TEXT_BYTES_MAX = 256 * 1024,
    CONFIG_NAME_BYTES_MAX = 64,
    CONFIG_ENV_BYTES_MAX = 4096,
    CONFIG_GLOB_BYTES_MAX = 500,
    CONFIG_URL_BYTES_MAX = 2000,
    CONFIG_RETRIES_MAX = 20,
};
extern const struct field_range config_timeout_range; /* Milliseconds. */

/* What a document is decoded with. */
struct decoder {
    struct arena *arena;
    struct err *err;
    const struct js *document; /* The whole of it. */
    struct repo_config config;
    const struct js *agent; /* The section. */
    const char *model;      /* In place of agent.model, or NULL. */
};

typedef enum rc decode_fn(struct decoder *decoder, const struct js *object);
typedef enum rc decode_each_fn(struct decoder *decoder, const struct js *object, const char *path);

struct repo_config config_default(void);
struct shepherd_config config_shepherd_default(void);

/* `forge` and `api`; after `url`. */
void config_forge(struct fields *fields, struct repo_config *config);

/* Sections. */
/* After `forge`. */
MUST_USE enum rc config_decode_credentials(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_agent(struct decoder *decoder, const struct js *object);
/* An entry of agent.fallback; after the rest of agent. */
MUST_USE enum rc config_decode_fallback(struct decoder *decoder, const struct js *object,
                                        const char *path);
MUST_USE enum rc config_decode_verifier(struct decoder *decoder, const struct js *object,
                                        const char *path);
MUST_USE enum rc config_decode_judge(struct decoder *decoder, const struct js *object,
                                     const char *path);
MUST_USE enum rc config_decode_setup(struct decoder *decoder, const struct js *object,
                                     const char *path);
MUST_USE enum rc config_decode_scratch(struct decoder *decoder, const struct js *object);
void config_add_rules_judge(struct repo_config *config); /* Unless it is there. */
MUST_USE enum rc config_decode_policy(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_intake(struct decoder *decoder, const struct js *object);
/* After the timeouts, and before `verify`. */
MUST_USE enum rc config_decode_pr(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_train(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_plan(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_shepherd(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_step(struct decoder *decoder, const struct js *object,
                                    const char *path);
/* After the agent. */
MUST_USE enum rc config_decode_candidate(struct decoder *decoder, const struct js *object,
                                         const char *path);
MUST_USE enum rc config_decode_webhook(struct decoder *decoder, const struct js *object);
MUST_USE enum rc config_decode_sync(struct decoder *decoder, const struct js *object);
/* After plan and steps; sequence may be NULL. */
MUST_USE enum rc config_decode_sequence(struct decoder *decoder, const struct js *sequence);

/* Decodes every element of an array; paths are "key[0]", ... */
MUST_USE enum rc config_decode_each(struct decoder *decoder, const struct js *array,
                                    const char *key, decode_each_fn *decode);

/* `agent.use`, and what the profile has for adapter and prompt: before other fields of agent. */
void config_use_profile(struct decoder *decoder, struct fields *fields);
/* What else the profile has and the repository does not give: after them. */
void config_take_profile(struct decoder *decoder, struct fields *fields);
/* Puts agent.model into a command: WORD_MODEL of profile.h.  true: the word is in it. */
bool config_put_model(struct decoder *decoder, struct fields *fields, const char **command);

/* Fields that several sections have. */
/* An argv; to has room for CONFIG_ARGS_MAX + 1. */
void config_command(struct fields *fields, enum field_need need, const char **to);
/* Strings into a NULL-terminated list with room for max + 1. */
struct config_list {
    const char **to;
    size_t max;
    struct field_text each;
};
void config_strings(struct fields *fields, const char *key, const struct config_list *list);
/* `outputs`: paths inside a checkout; to has room for CONFIG_OUTPUTS_MAX + 1. */
void config_outputs(struct decoder *decoder, struct fields *fields, const char **to);
/* account and accounts; after compute. */
void config_accounts(struct fields *fields, struct agent_config *agent, struct arena *arena);
void config_adapter(struct fields *fields, struct agent_config *agent);
void config_model(struct decoder *decoder, struct fields *fields);
/* Lower-case letters, digits, - and _. */
bool config_name_valid(const char *name);
void config_name(struct fields *fields, const char *key, enum field_need need,
                 const char **ret_name);
/* The name of an environment variable; not one of drover's own. */
void config_variable(struct fields *fields, const char *key, const char **ret_name);
void config_http_url(struct fields *fields, const char *key, enum field_need need,
                     const char **ret_url);
void config_timeout(struct fields *fields, int64_t *ret_ms); /* timeoutMs or timeoutSeconds */

/* {inputPerMTok, outputPerMTok, cachedInputPerMTok}; object may be NULL. */
MUST_USE enum rc config_prices(struct decoder *decoder, const struct js *object, const char *path,
                               struct price_config *prices);

bool config_variable_valid(const char *name);
bool config_text_has_control(const char *text);
#endif
