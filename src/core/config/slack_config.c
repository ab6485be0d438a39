#include "core/config/slack_config.h"
#include "base/fields.h"
#include "core/config/config_decoder.h"
#include <string.h>

enum { VARIABLE_MAX = 100, HOST_MAX = 253 };

static const char *const roles[] = {"operator", "admin", NULL};

static bool is_id(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] == '\0';
}

static void read_id(struct fields *fields, const char *key, enum field_need need,
                    struct arena *arena, const char **ret_id)
{
    const char *text = NULL;
    fields_string(fields, key, need, &(struct field_text){1, SLACK_ID_MAX}, &text);
    if (text != NULL && !is_id(text))
        fields_fail(fields, key, "%s must be an id of Slack, such as U024BE7LH, not a name", key);
    *ret_id = arena_strdup(arena, text);
}

static enum rc read_user(const struct js *document, const char *path, struct arena *arena,
                         struct slack_user *ret_user, struct err *err)
{
    struct slack_user user = {0};
    struct fields fields;
    const char *name = NULL;
    int role = 0;
    fields_open(&fields, document, path, err);
    read_id(&fields, "id", FIELD_REQUIRED, arena, &user.id);
    fields_string(&fields, "name", FIELD_REQUIRED, &(struct field_text){1, SLACK_NAME_MAX}, &name);
    fields_choice(&fields, "role", FIELD_OPTIONAL, roles, &role);
    enum rc rc = fields_close(&fields);
    if (rc != RC_OK)
        return rc;
    user.name = arena_strdup(arena, name);
    user.role = role == 1 ? ROLE_ADMIN : ROLE_OPERATOR;
    *ret_user = user;
    return RC_OK;
}

static enum rc read_users(const struct js *array, const char *path, struct arena *arena,
                          struct slack_config *config, struct err *err)
{
    size_t count = js_count(array);
    struct slack_user *users = arena_array(arena, count + 1, sizeof *users);
    config->users = users;
    for (size_t i = 0; i < count; i++) {
        const char *where = arena_printf(arena, "%s.users[%zu]", path, i);
        enum rc rc = read_user(js_at(array, i), where, arena, &users[i], err);
        if (rc != RC_OK)
            return rc;
        if (slack_config_user(config, users[i].id) != NULL)
            return err_field(err, RC_INVALID, "INVALID_FIELD", where, "the user %s is there twice",
                             users[i].id);
        config->user_count++;
    }
    return RC_OK;
}

static void read_hosts(struct fields *fields, struct arena *arena, struct slack_config *config)
{
    const struct js *array = NULL;
    fields_strings(fields, "replyHosts", FIELD_OPTIONAL, SLACK_HOSTS_MAX,
                   &(struct field_text){1, HOST_MAX}, &array);
    config->reply_hosts[0] = "hooks.slack.com";
    for (size_t i = 0; i < js_count(array) && i < SLACK_HOSTS_MAX; i++)
        config->reply_hosts[i] = arena_strdup(arena, js_str(js_at(array, i), ""));
}

enum rc slack_config_decode(const struct js *document, const char *path, struct arena *arena,
                            struct slack_config *ret_config, struct err *err)
{
    struct slack_config config = {0};
    struct fields fields;
    const struct js *users = NULL;
    const char *secret = NULL;
    fields_open(&fields, document, path, err);
    fields_string(&fields, "secretEnv", FIELD_REQUIRED, &(struct field_text){1, VARIABLE_MAX},
                  &secret);
    if (secret != NULL && !config_variable_valid(secret))
        fields_fail(&fields, "secretEnv",
                    "secretEnv must be the name of an environment variable, not %.100s", secret);
    read_id(&fields, "team", FIELD_OPTIONAL, arena, &config.team);
    fields_array(&fields, "users", FIELD_REQUIRED, SLACK_USERS_MAX, &users);
    fields_bool(&fields, "reply", FIELD_OPTIONAL, &config.reply);
    read_hosts(&fields, arena, &config);
    enum rc rc = fields_close(&fields);
    if (rc == RC_OK)
        rc = read_users(users, path, arena, &config, err);
    if (rc != RC_OK)
        return rc;
    config.secret_env = arena_strdup(arena, secret);
    *ret_config = config;
    return RC_OK;
}

const struct slack_user *slack_config_user(const struct slack_config *config, const char *id)
{
    for (size_t i = 0; i < config->user_count; i++)
        if (text_same(config->users[i].id, id))
            return &config->users[i];
    return NULL;
}

bool slack_config_may_reply(const struct slack_config *config, const char *url)
{
    bool secure = text_starts(url, "https://"), local = text_starts(url, "http://127.0.0.1:");
    if (!config->reply || (!secure && !local))
        return false;
    const char *host = strstr(url, "://") + 3;
    size_t len = strcspn(host, ":/?#");
    if (host[len] == ':' && secure) /* A port, or a password. */
        return false;
    for (size_t i = 0; config->reply_hosts[i] != NULL; i++)
        if (strlen(config->reply_hosts[i]) == len &&
            strncmp(config->reply_hosts[i], host, len) == 0 &&
            memchr(host, '@', strcspn(host, "/?#")) == NULL)
            return true;
    return false;
}
